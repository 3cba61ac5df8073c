//! An error in transport form.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ErrorCode, Exit};

/// Begins a hint that an agent passes on to its user.
const FOR_PERSON: &str = "a person can go on with this: ";

/// Why an operation failed. Never contains a secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The code that programs act on.
    pub code: ErrorCode,
    /// The message for people.
    pub message: String,
    /// How to fix it, if more exact than the code's own hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The gate or rule that decided, or the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Further details: the server, the approval, the call.
    #[serde(flatten)]
    pub details: Box<Map<String, Value>>,
}

impl ApiError {
    /// An error with the default hint of its code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, reason: None, details: Box::default() }
    }

    /// Sets the hint.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Sets the gate, the rule or the cause.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets the hint to what a person can do, for an agent that can only pass it on.
    #[must_use]
    pub fn with_hint_for_person(self, hint: &str) -> Self {
        self.with_hint(format!("{FOR_PERSON}{hint}"))
    }

    /// The same error for an agent, with the hint for agents.
    #[must_use]
    pub fn for_agent(mut self) -> Self {
        self.hint = Some(self.code.agent_hint().to_owned());
        self
    }

    /// Adds a detail for programs.
    #[must_use]
    pub fn with_detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// How to fix it.
    pub fn hint(&self) -> &str {
        self.hint.as_deref().unwrap_or(self.code.spec().hint)
    }

    /// How a person fixes it, also if the error was made for an agent.
    pub fn hint_for_person(&self) -> &str {
        self.hint().trim_start_matches(FOR_PERSON)
    }

    /// The exit status of a command that fails with it.
    pub const fn exit(&self) -> Exit {
        self.code.spec().exit
    }

    /// Its HTTP status.
    pub const fn http_status(&self) -> u16 {
        self.code.spec().http
    }

    /// The message and the error's own hint in one text. The default hint of the code is too general for
    /// that.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }

    /// The error data for programs, without the message, which is sent beside it.
    pub fn data(&self) -> Value {
        let mut data =
            Map::from_iter([("code".to_owned(), json!(self.code)), ("hint".to_owned(), json!(self.hint()))]);
        data.extend(self.reason.as_ref().map(|reason| ("reason".to_owned(), json!(reason))));
        for (name, value) in self.details.iter() {
            data.entry(name.clone()).or_insert_with(|| value.clone());
        }
        Value::Object(data)
    }
}
