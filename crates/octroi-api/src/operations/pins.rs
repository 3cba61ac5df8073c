//! Operations about definitions that are quarantined until a person has reviewed them.

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

/// In the order in which lists have them.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<PinsList>(),
    OperationEntry::of::<PinsAccept>(),
    OperationEntry::of::<PinsReject>(),
    OperationEntry::of::<PinsForget>(),
    OperationEntry::of::<PinsLock>(),
];

/// A definition that is quarantined.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldPin {
    /// Whose it is
    pub server: String,
    /// What it is
    pub kind: Wire<PinKind>,
    /// Its name at its server; empty for the server's own instructions
    pub name: String,
    /// The hash that tells it from every other definition
    pub hash: String,
    /// Why it is quarantined
    pub reason: String,
    /// Who has reviewed and rejected it; it waits for nobody then
    pub kept_out_by: Option<String>,
    /// When the one before it was accepted
    pub accepted_at: Option<String>,
    /// By whom
    pub accepted_by: Option<String>,
    /// What differs from the one before it
    pub changes: Vec<DefinitionChange>,
    /// What is suspicious about it
    pub findings: Vec<DefinitionFinding>,
    /// Tools of other servers that it may be taken for, as `server.tool`
    pub look_alikes: Vec<String>,
    /// The definition itself; a text if it is not JSON
    pub definition: Value,
}

/// What differs between two definitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionChange {
    /// Where, as `inputSchema.properties.path.type`; empty for the whole
    pub path: String,
    /// What stood there
    pub old: Option<String>,
    /// What stands there now
    pub new: Option<String>,
    /// What the change means to those who call
    pub class: Wire<ChangeClass>,
}

/// What is suspicious about a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionFinding {
    /// What it is, as `hidden_text` or `instruction`
    pub kind: String,
    /// How bad it is
    pub severity: Wire<Severity>,
    /// Where it stands; empty for the whole
    pub path: String,
    /// The text around it, with hidden characters made visible
    pub excerpt: String,
}

/// Lists what is quarantined.
pub struct PinsList;

/// Which of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListPinsRequest {
    /// Also those that somebody has reviewed and rejected
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

/// What is quarantined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeldPins {
    /// The definitions, by server, kind and name
    pub held: Vec<HeldPin>,
    /// How many there are
    pub count: u64,
}

impl Operation for PinsList {
    type Request = ListPinsRequest;
    type Response = HeldPins;

    const NAME: &'static str = "pins_list";
    const TITLE: &'static str = "List quarantined definitions";
    const DESCRIPTION: &'static str = "Definitions that are quarantined until a person has reviewed them: what changed, and what is suspicious.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(_: &ListPinsRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// What became of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PinDecision {
    /// Whose it is
    pub server: String,
    /// What it is
    pub kind: Wire<PinKind>,
    /// Its name at its server
    pub name: String,
    /// The definition that was decided about
    pub hash: String,
    /// Whether it was accepted
    pub accepted: bool,
    /// Whether it can be used now; a lock file can still forbid it
    pub in_use: bool,
}

/// Accepts a definition.
pub struct PinsAccept;

/// Which definition to accept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptPinRequest {
    /// Whose it is
    pub server: String,
    /// What it is [default: tool]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Wire<PinKind>>,
    /// Its name at its server; left out for a server's own instructions
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The definition that was reviewed, from `pins_list`
    pub hash: String,
}

impl Operation for PinsAccept {
    type Request = AcceptPinRequest;
    type Response = PinDecision;

    const NAME: &'static str = "pins_accept";
    const TITLE: &'static str = "Accept a quarantined definition";
    const DESCRIPTION: &'static str = "Accept a definition that is quarantined, so that it can be used.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AdministrativeChange };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::Conflict,
        ErrorCode::StorageUnavailable,
    ];
    const IDEMPOTENT: bool = true;

    fn object(request: &AcceptPinRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.server)
    }
}

/// Rejects a definition.
pub struct PinsReject;

/// Which definition to reject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectPinRequest {
    /// Whose it is
    pub server: String,
    /// What it is [default: tool]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Wire<PinKind>>,
    /// Its name at its server; left out for a server's own instructions
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The definition that was reviewed [default: the present one]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl Operation for PinsReject {
    type Request = RejectPinRequest;
    type Response = PinDecision;

    const NAME: &'static str = "pins_reject";
    const TITLE: &'static str = "Reject a quarantined definition";
    const DESCRIPTION: &'static str = "Keep a definition out, also when it comes back. Another one under its name is asked about again; \
         `pins_accept` undoes it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AdministrativeChange };
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::Conflict,
        ErrorCode::StorageUnavailable,
    ];
    const IDEMPOTENT: bool = true;

    fn object(request: &RejectPinRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.server)
    }
}

/// Forgets what was accepted.
pub struct PinsForget;

/// What to forget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetPinsRequest {
    /// Whose it is
    pub server: String,
    /// What it is, if several things have the name
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Wire<PinKind>>,
    /// Its name at its server; left out for all of the server's
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What was forgotten, and what follows from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenPins {
    /// Whose it was
    pub server: String,
    /// Its name; null for all of the server's
    pub name: Option<String>,
    /// How many accepted definitions were forgotten
    pub forgotten: u64,
    /// What becomes of definitions that were never seen
    pub mode: Wire<PinPolicy>,
    /// How many of them stand in the lock file, which still counts
    pub locked: u64,
    /// How many wait for a person now
    pub waiting: u64,
    /// What follows, in a sentence
    pub next: String,
}

impl Operation for PinsForget {
    type Request = ForgetPinsRequest;
    type Response = ForgottenPins;

    const NAME: &'static str = "pins_forget";
    const TITLE: &'static str = "Forget accepted definitions";
    const DESCRIPTION: &'static str = "Forget what was accepted of a server, or of one thing that it lists, so that it is treated as seen for the \
         first time. What was rejected stays rejected.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::AdministrativeChange };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::NotFound, ErrorCode::InvalidArguments, ErrorCode::StorageUnavailable];
    const DESTRUCTIVE: bool = true;

    fn object(request: &ForgetPinsRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.server)
    }
}

/// Writes a lock file.
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
    const TITLE: &'static str = "Make a lock file";
    const DESCRIPTION: &'static str = "The text of a lock file with all that is accepted now.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
