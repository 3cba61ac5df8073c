//! Why something failed: stable codes, and what each means to a client, to HTTP and to the command line.

mod api;
mod rescue;
mod specs;
mod table;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use api::ApiError;
pub use rescue::{Answered, META_ERROR, RequestKind, rescue};
pub use table::{ErrorCode, ErrorSpec, RESERVED_NUMBERS};

/// With what a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exit {
    /// It is done.
    Done,
    /// It failed.
    Failed,
    /// It was written wrongly.
    Usage,
    /// A token or a sign-in is needed.
    SignIn,
    /// The gateway cannot be reached.
    Unreachable,
    /// The tool reported an error.
    ToolError,
    /// A gate, a policy or a person said no.
    Denied,
    /// The call waits for approval, or its approval expired.
    Approval,
}

impl Exit {
    /// All of them, in the order of their numbers.
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

    /// What it means.
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

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Of whoever asks: another request would have gone well.
    Client,
    /// Of this gateway.
    Gateway,
    /// Of a server behind it.
    Upstream,
}

impl Fault {
    /// The word in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Gateway => "gateway",
            Self::Upstream => "upstream",
        }
    }
}

/// Whether the same request can go well when it is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It fails again until somebody changes something.
    No,
    /// At once.
    Yes,
    /// Later, or after somebody has decided.
    After,
}

impl Retry {
    /// The word in documents.
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
