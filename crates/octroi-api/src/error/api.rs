//! An error as it travels.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ErrorCode, Exit};

/// Why an operation failed. Never holds a secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What programs act on.
    pub code: ErrorCode,
    /// What failed, in a sentence for people.
    pub message: String,
    /// What to do about it, if that is more exact than the code's own hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The gate or rule that says so, or the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What else is known: the server, the approval, the call.
    #[serde(flatten)]
    pub details: Box<Map<String, Value>>,
}

impl ApiError {
    /// An error with the hint of its code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, reason: None, details: Box::default() }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says which gate or rule, or what caused it.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Adds something that programs may want to know.
    #[must_use]
    pub fn with_detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        self.hint.as_deref().unwrap_or(self.code.spec().hint)
    }

    /// With what a command ends that fails so.
    pub const fn exit(&self) -> Exit {
        self.code.spec().exit
    }

    /// The HTTP status where HTTP is the interface.
    pub const fn http_status(&self) -> u16 {
        self.code.spec().http
    }

    /// What failed and what to do about it, in one text. The hint of the code is too general for that.
    pub fn text(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }

    /// The error for programs, without the message, which stands beside it.
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
