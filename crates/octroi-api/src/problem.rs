//! Errors as problem details (RFC 9457), as REST answers them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{ApiError, ErrorCode};
use crate::messages::{Language, Texts};
use crate::route::Subject;

/// The media type of problem details.
pub const PROBLEM_TYPE: &str = "application/problem+json";

/// Why a request failed, in the form of RFC 9457.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// The code as a URI
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in a few words, in the language of the answer
    pub title: String,
    /// The HTTP status
    pub status: u16,
    /// What exactly failed, in English
    pub detail: String,
    /// The stable code, which programs compare
    pub code: ErrorCode,
    /// What failed, for people, in the language of the answer
    pub message: String,
    /// How to go on
    pub hint: String,
    /// The gate or rule that decided, or the cause
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The id of the request, which the gateway's log has as well
    pub request_id: String,
    /// Further details: the server, the approval, the call.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl Problem {
    /// The problem of an error.
    pub fn of(error: &ApiError, subject: Subject, language: Language, request_id: &str) -> Self {
        let texts = Texts::of(error.code, subject, language);
        // Exact hints name commands and objects in English; in another language the general one is understood.
        let hint = match language {
            Language::English => error.hint(),
            Language::Chinese => texts.hint,
        };
        let own = ["type", "title", "status", "detail", "code", "message", "hint", "reason", "request_id"];
        let details = error.details.iter().filter(|(name, _)| !own.contains(&name.as_str()));
        Self {
            kind: format!("urn:octroi:error:{}", error.code),
            title: texts.title.to_owned(),
            status: error.http_status(),
            detail: error.message.clone(),
            code: error.code,
            message: texts.message_of(error).into_owned(),
            hint: hint.to_owned(),
            reason: error.reason.clone(),
            request_id: request_id.to_owned(),
            details: details.map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }
}
