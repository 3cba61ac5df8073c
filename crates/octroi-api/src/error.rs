//! Errors: stable codes, and their meaning for clients, HTTP and the command line.

mod api;
mod request_specs;
mod rescue;
mod specs;
mod table;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use api::ApiError;
pub use rescue::{Answered, META_ERROR, RequestKind, describe, rescue};
pub use table::{ErrorCode, ErrorSpec, RESERVED_NUMBERS};

/// The exit status of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exit {
    /// Success.
    Done,
    /// Failure.
    Failed,
    /// The command line is invalid.
    Usage,
    /// A token or a sign-in is needed.
    SignIn,
    /// The gateway cannot be reached.
    Unreachable,
    /// The tool reported an error.
    ToolError,
    /// A gate, a policy or a person denied the call.
    Denied,
    /// The call is pending approval, or its approval expired.
    Approval,
}

impl Exit {
    /// All exit statuses, in the order of their codes.
    pub const ALL: [Self; 8] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::SignIn,
        Self::Unreachable,
        Self::ToolError,
        Self::Denied,
        Self::Approval,
    ];

    /// The exit code of the process.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Its meaning, for the reference page.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::SignIn => "sign-in needed",
            Self::Unreachable => "unreachable",
            Self::ToolError => "the tool reported an error",
            Self::Denied => "denied by policy",
            Self::Approval => "waiting for approval, or expired",
        }
    }
}

/// Who caused an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The caller: another request would have succeeded.
    Client,
    /// This gateway.
    Gateway,
    /// A server behind the gateway.
    Upstream,
}

impl Fault {
    /// Its name in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Gateway => "gateway",
            Self::Upstream => "upstream",
        }
    }
}

/// Whether the same request can succeed when it is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It fails again until somebody changes something.
    No,
    /// Yes, immediately.
    Yes,
    /// Later, or after a decision.
    After,
}

impl Retry {
    /// Its name in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Yes => "yes",
            Self::After => "after",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&word).ok_or_else(|| D::Error::custom(format_args!("unknown error code `{word}`")))
    }
}

impl JsonSchema for ErrorCode {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ErrorCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Self::ALL.iter().map(|code| code.as_str()).collect();
        json_schema!({"type": "string", "enum": words})
    }
}
