//! Operations on the clients that are connected.

use octroi_core::principal::TokenKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[OperationEntry::of::<ClientsList>()];

/// A client that is connected. One that speaks the modern era counts as connected until five minutes after its last
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Client {
    /// Its id while the gateway runs
    pub id: u64,
    /// The program, as it says itself
    pub program: ClientProgram,
    /// The kind of its token
    pub kind: Wire<TokenKind>,
    /// The user: of an agent, its owner
    pub user: String,
    /// The agent; null for a person
    pub agent: Option<String>,
    /// The protocol era: legacy or modern
    pub era: String,
    /// How it reaches the gateway: http or stdio
    pub transport: String,
    /// Its session, as records name it; null in the modern era
    pub session: Option<String>,
    /// When it was first seen, in milliseconds since 1970
    pub since_ms: u64,
    /// When its last request came, in milliseconds since 1970
    pub last_request_ms: u64,
    /// The number of its requests
    pub requests: u64,
    /// The number of its requests under way
    pub in_flight: u32,
    /// The number of its streams for notifications
    pub streams: u32,
    /// The number of resources that it watches
    pub subscriptions: u64,
}

/// A program, as it says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientProgram {
    /// Its name
    pub name: Option<String>,
    /// Its title for people
    pub title: Option<String>,
    /// Its version
    pub version: Option<String>,
}

/// Clients, those that came first before others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientList {
    /// The clients
    pub clients: Vec<Client>,
    /// The number of these clients
    pub count: u64,
}

/// Lists the clients.
pub struct ClientsList;

impl Operation for ClientsList {
    type Request = NoArguments;
    type Response = ClientList;

    const NAME: &'static str = "clients_list";
    const TITLE: &'static str = "List clients";
    const DESCRIPTION: &'static str =
        "The clients that are connected. Members see their own and those of their agents.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
