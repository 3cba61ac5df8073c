//! What needs a person, and what is left to do after the first start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[OperationEntry::of::<AttentionList>()];

/// What something that needs a person is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AttentionKind {
    /// A call waits for a decision; the id is the approval's.
    Approval,
    /// A definition is quarantined; the id is the server, the kind and the name, separated by spaces.
    Pin,
    /// A proposed policy waits for a decision; the id is the proposal's.
    Proposal,
    /// A changed configuration waits to be accepted; there is no id.
    Configuration,
    /// A server that should run fails; the id is the server.
    Server,
    /// A token expires within a week; the id is the token's.
    Token,
    /// Something else is wrong with the gateway; there is no id.
    Problem,
}

/// Something that needs a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttentionItem {
    /// What it is about
    pub kind: AttentionKind,
    /// The id of what it is about; null if there is none
    pub id: Option<String>,
    /// What it is, in a few words
    pub title: String,
    /// Why it needs a person
    pub reason: Option<String>,
    /// The agent it concerns
    pub agent: Option<String>,
    /// Since when, in milliseconds since 1970, where that is known
    pub since_ms: Option<u64>,
    /// Until when something can be done, in milliseconds since 1970
    pub until_ms: Option<u64>,
}

/// The number of items of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttentionCount {
    /// The kind
    pub kind: AttentionKind,
    /// How many there are, listed or not
    pub n: u64,
}

/// A step after the first start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FirstStep {
    /// `server_added`, `client_connected`, `call_seen` or `decision_made`
    pub step: String,
    /// Whether it was done
    pub done: bool,
    /// How to do it
    pub hint: String,
}

/// What needs a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attention {
    /// The items, what is most urgent first: at most a hundred of each kind
    pub items: Vec<AttentionItem>,
    /// The number of items of each kind that has any
    pub counts: Vec<AttentionCount>,
    /// The steps after the first start, in their order
    pub first_steps: Vec<FirstStep>,
}

/// Lists what needs a person.
pub struct AttentionList;

impl Operation for AttentionList {
    type Request = NoArguments;
    type Response = Attention;

    const NAME: &'static str = "attention_list";
    const TITLE: &'static str = "List what needs a person";
    const DESCRIPTION: &'static str = "Calls and proposals that wait for a decision, quarantined definitions, failing \
        servers, expiring tokens and other problems. Members see what is theirs.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::StorageUnavailable];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
