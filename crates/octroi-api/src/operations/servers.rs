//! Operations about servers.

use std::collections::BTreeMap;

use octroi_core::audit::Kind;
use octroi_core::{Health, Lifecycle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In the order in which lists have them.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ServersList>(),
    OperationEntry::of::<ServersGet>(),
    OperationEntry::of::<ServersToggle>(),
    OperationEntry::of::<ServersRestart>(),
    OperationEntry::of::<ServersTest>(),
    OperationEntry::of::<ServersRefresh>(),
    OperationEntry::of::<ServersLogs>(),
];

/// How many lines of a log are answered if the request does not say.
pub const LOG_LINES: u64 = 100;

/// One server, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerRequest {
    /// The server
    pub name: String,
}

/// How a server is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerStatus {
    /// Its name
    pub name: String,
    /// A name for people
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How it is reached: stdio, http or sse
    pub transport: String,
    /// Where it is in its life
    pub state: Wire<Lifecycle>,
    /// How well it answers
    pub health: Wire<Health>,
    /// The era of the protocol that it speaks, once known: legacy or modern
    pub era: Option<String>,
    /// The protocol version agreed on, once known
    pub version: Option<String>,
    /// How many tools it offers
    pub tools: u64,
    /// How long its last check took, in milliseconds
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// How many checks in a row failed
    pub consecutive_failures: u32,
    /// How often it was connected to again
    pub restarts: u64,
    /// Calls that are under way
    pub in_flight: u64,
    /// Calls that wait because of the concurrency limit
    pub waiting: u64,
    /// Why it cannot be reached, if it cannot
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What its entry says of tools that it does not have
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// How a custom gate is doing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateStatus {
    /// Its name
    pub name: String,
    /// `failing` if it gave no verdict when it was last asked, so that calls are denied
    pub state: GateState,
    /// Whether its program runs at present
    pub is_running: bool,
    /// How often it was asked
    pub asked: u64,
    /// How often it gave no verdict
    pub failed: u64,
    /// Why it last gave none
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When that was, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failed_at_ms: Option<i64>,
}

/// Whether a custom gate works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum GateState {
    /// It was not asked yet.
    Idle,
    /// It gave a verdict when it was last asked.
    Working,
    /// It gave none.
    Failing,
}

/// Lists every server and every custom gate.
pub struct ServersList;

/// Every server and custom gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerList {
    /// Every server, by name
    pub servers: Vec<ServerStatus>,
    /// What is wrong with the configuration
    pub problems: Vec<String>,
    /// Every custom gate, in the order in which they are asked
    pub gates: Vec<GateStatus>,
}

impl Operation for ServersList {
    type Request = NoArguments;
    type Response = ServerList;

    const NAME: &'static str = "servers_list";
    const TITLE: &'static str = "List servers";
    const DESCRIPTION: &'static str = "Every server and every custom gate, and how they are doing.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Looks at one server.
pub struct ServersGet;

/// A server and its last checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerDetail {
    /// How it is doing now.
    #[serde(flatten)]
    pub status: ServerStatus,
    /// Its last checks, the newest first
    pub checks: Vec<ServerCheck>,
}

/// One check of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCheck {
    /// When, in milliseconds since 1970
    pub at: i64,
    /// How well it answered
    pub health: Wire<Health>,
    /// How long it took, in milliseconds
    pub latency_ms: Option<i64>,
    /// Why it failed, if it did
    pub error: Option<String>,
}

impl Operation for ServersGet {
    type Request = ServerRequest;
    type Response = ServerDetail;

    const NAME: &'static str = "servers_get";
    const TITLE: &'static str = "Show a server";
    const DESCRIPTION: &'static str = "One server, how it is doing, and its last checks.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];

    fn object(request: &ServerRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.name)
    }
}

/// Switches a server on or off.
pub struct ServersToggle;

/// Which server, and whether it may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToggleRequest {
    /// The server
    pub name: String,
    /// Whether it may be used
    pub enabled: bool,
}

impl Operation for ServersToggle {
    type Request = ToggleRequest;
    type Response = ServerStatus;

    const NAME: &'static str = "servers_toggle";
    const TITLE: &'static str = "Switch a server on or off";
    const DESCRIPTION: &'static str = "Switch a server on or off. It stays so until it is switched again.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ServerChanged };
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];
    const IDEMPOTENT: bool = true;

    fn object(request: &ToggleRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.name)
    }
}

/// Ends a server and starts it again.
pub struct ServersRestart;

impl Operation for ServersRestart {
    type Request = ServerRequest;
    type Response = ServerStatus;

    const NAME: &'static str = "servers_restart";
    const TITLE: &'static str = "Restart a server";
    const DESCRIPTION: &'static str =
        "End a server and start it again, or start a stopped one. Calls in flight are cut off.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ServerChanged };
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::ServerUnavailable];
    const DESTRUCTIVE: bool = true;

    fn object(request: &ServerRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.name)
    }
}

/// Checks a server now.
pub struct ServersTest;

impl Operation for ServersTest {
    type Request = ServerRequest;
    type Response = ServerStatus;

    const NAME: &'static str = "servers_test";
    const TITLE: &'static str = "Test a server";
    const DESCRIPTION: &'static str = "Connect to a server and check whether it answers.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::ServerUnavailable];

    fn object(request: &ServerRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.name)
    }
}

/// Asks servers for their lists again.
pub struct ServersRefresh;

/// Which server to refresh.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshRequest {
    /// The server [default: all that are switched on]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What came of it: of one server how it is doing, of all how many answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Refreshed {
    /// One server was named.
    One(Box<ServerStatus>),
    /// All were asked.
    All(RefreshedServers),
}

/// What came of asking all servers for their lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefreshedServers {
    /// How many answered
    pub refreshed: u64,
    /// The others by name, and why they did not
    pub failed: BTreeMap<String, String>,
}

impl Operation for ServersRefresh {
    type Request = RefreshRequest;
    type Response = Refreshed;

    const NAME: &'static str = "servers_refresh";
    const TITLE: &'static str = "Refresh servers";
    const DESCRIPTION: &'static str =
        "Ask a server, or every one, for its lists again. Servers that do not run are started for it.";
    const ACCESS: Access = Access::People;
    // What a list says anew is recorded as a changed definition.
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::ServerUnavailable];

    fn object(request: &RefreshRequest) -> ObjectRef<'_> {
        request.name.as_deref().map_or(ObjectRef::Gateway, ObjectRef::Server)
    }
}

/// Reads what a server wrote to its standard error.
pub struct ServersLogs;

/// Which lines of which server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogsRequest {
    /// The server
    pub name: String,
    /// How many lines at most [default: 100]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// The number of the first line to answer [default: 0]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// Lines of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLines {
    /// The lines, the oldest first
    pub lines: Vec<LogLine>,
}

/// One line of a server's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// Grows, and never repeats while the gateway runs
    pub number: u64,
    /// When it was read, in milliseconds since 1970
    pub at: u64,
    /// The line, with secrets redacted
    pub text: String,
}

impl Operation for ServersLogs {
    type Request = LogsRequest;
    type Response = LogLines;

    const NAME: &'static str = "servers_logs";
    const TITLE: &'static str = "Show a server's log";
    const DESCRIPTION: &'static str = "What a server last wrote to its standard error.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound];

    fn object(request: &LogsRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.name)
    }
}
