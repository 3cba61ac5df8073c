//! Operations on definitions that are quarantined until a person has reviewed them.

use octroi_core::audit::Kind;
use octroi_core::pin::{ChangeClass, PinKind, PinPolicy, Severity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<PinsList>(),
    OperationEntry::of::<PinsAccept>(),
    OperationEntry::of::<PinsReject>(),
    OperationEntry::of::<PinsForget>(),
    OperationEntry::of::<PinsLock>(),
    OperationEntry::of::<PinsHistory>(),
];

/// A quarantined definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldPin {
    /// Its server
    pub server: String,
    /// Its kind
    pub kind: Wire<PinKind>,
    /// The server's name for it; empty for the server's own instructions
    pub name: String,
    /// The hash of the definition
    pub hash: String,
    /// Why it is quarantined
    pub reason: String,
    /// Who reviewed and rejected it; it is no longer pending then
    pub kept_out_by: Option<String>,
    /// When the previous definition was accepted
    pub accepted_at: Option<String>,
    /// Who accepted it
    pub accepted_by: Option<String>,
    /// The differences from the previous definition
    pub changes: Vec<DefinitionChange>,
    /// Suspicious details
    pub findings: Vec<DefinitionFinding>,
    /// Tools of other servers with a similar name, as `server.tool`
    pub look_alikes: Vec<String>,
    /// The definition itself; a string if it is not JSON
    pub definition: Value,
}

/// A difference between two definitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionChange {
    /// Its path, as `inputSchema.properties.path.type`; empty for the whole definition
    pub path: String,
    /// The old value
    pub old: Option<String>,
    /// The new value
    pub new: Option<String>,
    /// The class of the change
    pub class: Wire<ChangeClass>,
}

/// A suspicious detail of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionFinding {
    /// Its kind, as `hidden_text` or `instruction`
    pub kind: String,
    /// Its severity
    pub severity: Wire<Severity>,
    /// Its path; empty for the whole definition
    pub path: String,
    /// The surrounding text, with hidden characters escaped
    pub excerpt: String,
}

/// Lists quarantined definitions.
pub struct PinsList;

/// The definitions to list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPinsRequest {
    /// Include definitions that were reviewed and rejected
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

/// The quarantined definitions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldPins {
    /// The definitions, by server, kind and name
    pub held: Vec<HeldPin>,
    /// The number of definitions
    pub count: u64,
}

impl Operation for PinsList {
    type Request = ListPinsRequest;
    type Response = HeldPins;

    const NAME: &'static str = "pins_list";
    const TITLE: &'static str = "List quarantined definitions";
    const DESCRIPTION: &'static str =
        "Quarantined definitions that need review, with their changes and suspicious details.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(_: &ListPinsRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// The decision about a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinDecision {
    /// Its server
    pub server: String,
    /// Its kind
    pub kind: Wire<PinKind>,
    /// The server's name for it
    pub name: String,
    /// The hash of the definition
    pub hash: String,
    /// Whether it was accepted
    pub accepted: bool,
    /// Whether it can be used now; a lock file can still forbid it
    pub in_use: bool,
}

/// Accepts a definition.
pub struct PinsAccept;

/// The definition to accept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptPinRequest {
    /// Its server
    pub server: String,
    /// Its kind [default: tool]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Wire<PinKind>>,
    /// The server's name for it; omitted for a server's own instructions
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The hash of the reviewed definition, from `pins_list`
    pub hash: String,
}

impl Operation for PinsAccept {
    type Request = AcceptPinRequest;
    type Response = PinDecision;

    const NAME: &'static str = "pins_accept";
    const TITLE: &'static str = "Accept a quarantined definition";
    const DESCRIPTION: &'static str = "Accept a quarantined definition, so that it can be used.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Changes { audit: Kind::PinChanged };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::Conflict,
        ErrorCode::StorageUnavailable,
    ];
    const IDEMPOTENT: bool = true;

    fn object(_: &AcceptPinRequest) -> ObjectRef<'_> {
        // Also of a server that is gone.
        ObjectRef::Administration
    }
}

/// Rejects a definition.
pub struct PinsReject;

/// The definition to reject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectPinRequest {
    /// Its server
    pub server: String,
    /// Its kind [default: tool]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Wire<PinKind>>,
    /// The server's name for it; omitted for a server's own instructions
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The hash of the reviewed definition [default: the current one]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl Operation for PinsReject {
    type Request = RejectPinRequest;
    type Response = PinDecision;

    const NAME: &'static str = "pins_reject";
    const TITLE: &'static str = "Reject a quarantined definition";
    const DESCRIPTION: &'static str = "Reject a definition permanently. A different one under its name needs review again; \
         `pins_accept` undoes it.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Changes { audit: Kind::PinChanged };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::Conflict,
        ErrorCode::StorageUnavailable,
    ];
    const IDEMPOTENT: bool = true;

    fn object(_: &RejectPinRequest) -> ObjectRef<'_> {
        // Also of a server that is gone.
        ObjectRef::Administration
    }
}

/// Forgets accepted definitions.
pub struct PinsForget;

/// The definitions to forget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetPinsRequest {
    /// Their server
    pub server: String,
    /// Their kind, if the name is ambiguous
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Wire<PinKind>>,
    /// The server's name; omitted for all of the server's definitions
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The forgotten definitions, and the consequences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenPins {
    /// Their server
    pub server: String,
    /// The name; null for all of the server's definitions
    pub name: Option<String>,
    /// The number of forgotten definitions
    pub forgotten: u64,
    /// How definitions are treated when they are first seen
    pub mode: Wire<PinPolicy>,
    /// How many of them are in the lock file, which still applies
    pub locked: u64,
    /// How many are pending review now
    pub waiting: u64,
    /// The consequences, in a sentence
    pub next: String,
}

impl Operation for PinsForget {
    type Request = ForgetPinsRequest;
    type Response = ForgottenPins;

    const NAME: &'static str = "pins_forget";
    const TITLE: &'static str = "Forget accepted definitions";
    const DESCRIPTION: &'static str = "Forget the accepted definitions of a server, or one of them, so that they are treated as seen for the \
         first time. Rejected ones stay rejected.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Changes { audit: Kind::PinChanged };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];
    const DESTRUCTIVE: bool = true;

    fn object(_: &ForgetPinsRequest) -> ObjectRef<'_> {
        // Also of a server that is gone.
        ObjectRef::Administration
    }
}

/// Generates a lock file.
pub struct PinsLock;

/// The text of a lock file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockText {
    /// The text, as TOML
    pub text: String,
}

impl Operation for PinsLock {
    type Request = NoArguments;
    type Response = LockText;

    const NAME: &'static str = "pins_lock";
    const TITLE: &'static str = "Generate a lock file";
    const DESCRIPTION: &'static str = "The text of a lock file with all accepted definitions.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Shows how a definition changed over time.
pub struct PinsHistory;

/// A definition, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinHistoryRequest {
    /// Its server
    pub server: String,
    /// Its kind [default: tool]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Wire<PinKind>>,
    /// The server's name for it; omitted for a server's own instructions
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// How a definition changed over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PinHistory {
    /// The versions, newest first: the quarantined one, the accepted one, and those that were accepted before
    pub versions: Vec<PinVersion>,
}

/// A definition at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PinVersion {
    /// The hash of the definition
    pub hash: String,
    /// `quarantined`, `rejected`, `accepted` or `replaced`
    pub state: String,
    /// When it was accepted; null for one that was not
    pub accepted_at: Option<String>,
    /// Who accepted it, or rejected it
    pub by: Option<String>,
    /// When another one took its place
    pub ended_at: Option<String>,
    /// The differences from the version before it
    pub changes: Vec<DefinitionChange>,
    /// The same as a unified diff of their texts; empty for the first version
    pub diff: String,
    /// The definition itself; a string if it is not JSON
    pub definition: Value,
}

impl Operation for PinsHistory {
    type Request = PinHistoryRequest;
    type Response = PinHistory;

    const NAME: &'static str = "pins_history";
    const TITLE: &'static str = "Show a definition's history";
    const DESCRIPTION: &'static str =
        "The versions of a definition, newest first: who accepted each, when, and what changed.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];

    fn object(_: &PinHistoryRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
