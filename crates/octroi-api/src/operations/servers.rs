//! Operations on servers.

use std::collections::BTreeMap;

use octroi_core::audit::Kind;
use octroi_core::{Health, Lifecycle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod stored;

use super::NoArguments;
use super::config::ConfigDifference;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::route::Route;
use crate::wire::Wire;

pub use stored::{
    AddServerRequest, DeleteServerRequest, DeletedServer, RollbackServerRequest, ServerHistory,
    ServerRevision, ServerScope, ServersAdd, ServersDelete, ServersHistory, ServersRollback,
    ServersSwitchMany, ServersUpdate, SwitchManyRequest, SwitchedServers, UpdateServerRequest,
};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ServersList>(),
    OperationEntry::of::<ServersGet>(),
    OperationEntry::of::<ServersAdd>(),
    OperationEntry::of::<ServersUpdate>(),
    OperationEntry::of::<ServersDelete>(),
    OperationEntry::of::<ServersHistory>(),
    OperationEntry::of::<ServersRollback>(),
    OperationEntry::of::<ServersToggle>(),
    OperationEntry::of::<ServersSwitchMany>(),
    OperationEntry::of::<ServersRestart>(),
    OperationEntry::of::<ServersTest>(),
    OperationEntry::of::<ServersRefresh>(),
    OperationEntry::of::<ServersLogs>(),
];

/// The default number of log lines.
pub const LOG_LINES: u64 = 100;

/// One server, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerRequest {
    /// The server
    pub name: String,
}

/// Whose a server is, and who switched it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerOwnership {
    /// Its id, which stays when it is renamed
    #[serde(default)]
    pub id: String,
    /// Whether everybody shares it: system or user
    #[serde(default)]
    pub scope: String,
    /// The user it belongs to; none if everybody shares it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Where it is configured: in a file, or at run time: file or db
    #[serde(default)]
    pub managed_by: String,
    /// The number of its newest revision, if it was added at run time
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// Whether it is switched on for everybody who has it
    #[serde(default)]
    pub enabled: bool,
    /// Whether it is switched on for the reader
    #[serde(default)]
    pub enabled_for_me: bool,
    /// Whether it is left out because everybody shares a server of the same name
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shadowed: bool,
    /// All in one word: disabled, connected, failed or unknown
    #[serde(default)]
    pub status: String,
}

/// The status of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerStatus {
    /// Its name
    pub name: String,
    /// Whose it is, and who switched it.
    #[serde(flatten)]
    pub ownership: ServerOwnership,
    /// Its display name
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its transport: stdio, http or sse
    pub transport: String,
    /// Its lifecycle state
    pub state: Wire<Lifecycle>,
    /// Its health
    pub health: Wire<Health>,
    /// The protocol era, once known: legacy or modern
    pub era: Option<String>,
    /// The negotiated protocol version, once known
    pub version: Option<String>,
    /// The number of its tools
    pub tools: u64,
    /// The number of its definitions that are quarantined; `pins_list` has them
    #[serde(default)]
    pub quarantined: u64,
    /// The latency of its last check, in milliseconds
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// How many checks failed in a row
    pub consecutive_failures: u32,
    /// How often it was reconnected
    pub restarts: u64,
    /// Calls in flight
    pub in_flight: u64,
    /// Calls that are queued because of the concurrency limit
    pub waiting: u64,
    /// Why it cannot be reached, or why lists of it are missing
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Settings of its entry for tools that it does not have
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The status of a custom gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateStatus {
    /// Its name
    pub name: String,
    /// `failing` if its last evaluation gave no verdict, so that calls are denied
    pub state: GateState,
    /// Whether its program is running
    pub is_running: bool,
    /// How often it was evaluated
    pub asked: u64,
    /// How often it gave no verdict
    pub failed: u64,
    /// The last error
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it last failed, in milliseconds since 1970
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failed_at_ms: Option<i64>,
}

/// The state of a custom gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum GateState {
    /// It has not been evaluated yet.
    Idle,
    /// Its last evaluation gave a verdict.
    Working,
    /// Its last evaluation gave no verdict.
    Failing,
}

/// Lists all servers and custom gates.
pub struct ServersList;

/// All servers and custom gates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerList {
    /// All servers, by name
    pub servers: Vec<ServerStatus>,
    /// Problems of the configuration
    pub problems: Vec<String>,
    /// Changes of the configuration that wait for a person; `config_reload` accepts them
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<ConfigDifference>,
    /// The digest of the files whose changes wait; `config_reload` takes it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_digest: Option<String>,
    /// All custom gates, in their order of evaluation
    pub gates: Vec<GateStatus>,
}

impl Operation for ServersList {
    type Request = NoArguments;
    type Response = ServerList;

    const NAME: &'static str = "servers_list";
    const TITLE: &'static str = "List servers";
    const DESCRIPTION: &'static str = "All servers and custom gates with their status.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];
    const REST: &'static [Route] = &[Route::get("/api/mcp/servers")];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Shows one server.
pub struct ServersGet;

/// A server and its recent checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerDetail {
    /// Its current status.
    #[serde(flatten)]
    pub status: ServerStatus,
    /// Its recent checks, newest first
    pub checks: Vec<ServerCheck>,
    /// What is configured of it, with its secrets masked, if it was added at run time
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<serde_json::Map<String, serde_json::Value>>,
}

/// One check of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCheck {
    /// When it was made, in milliseconds since 1970
    pub at: i64,
    /// The resulting health
    pub health: Wire<Health>,
    /// Its latency, in milliseconds
    pub latency_ms: Option<i64>,
    /// Why it failed, if so
    pub error: Option<String>,
}

impl Operation for ServersGet {
    type Request = ServerRequest;
    type Response = ServerDetail;

    const NAME: &'static str = "servers_get";
    const TITLE: &'static str = "Show a server";
    const DESCRIPTION: &'static str = "One server with its status and its recent checks.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];

    fn object(request: &ServerRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.name)
    }
}

/// Enables or disables a server.
pub struct ServersToggle;

/// The server, and whether it may be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToggleRequest {
    /// The server
    pub name: String,
    /// Whether it may be used
    pub enabled: bool,
    /// Only for yourself, also as an administrator or the owner [default: false]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_me: bool,
}

impl Operation for ServersToggle {
    type Request = ToggleRequest;
    type Response = ServerStatus;

    const NAME: &'static str = "servers_toggle";
    const TITLE: &'static str = "Enable or disable a server";
    const DESCRIPTION: &'static str = "Enable or disable a server. The setting persists. A member who switches a server \
        that everybody shares does so for themselves only.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ServerChanged };
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound, ErrorCode::StorageUnavailable];
    const REST: &'static [Route] = &[Route::patch("/api/mcp/servers/{id}/toggle").id("name").about_server()];
    const IDEMPOTENT: bool = true;

    fn object(request: &ToggleRequest) -> ObjectRef<'_> {
        ObjectRef::Server(&request.name)
    }
}

/// Restarts a server.
pub struct ServersRestart;

impl Operation for ServersRestart {
    type Request = ServerRequest;
    type Response = ServerStatus;

    const NAME: &'static str = "servers_restart";
    const TITLE: &'static str = "Restart a server";
    const DESCRIPTION: &'static str =
        "Restart a server, or start a stopped one. Calls in flight are aborted.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ServerChanged };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::AdminsOnly, ErrorCode::NotFound, ErrorCode::ServerUnavailable];
    const DESTRUCTIVE: bool = true;

    fn object(request: &ServerRequest) -> ObjectRef<'_> {
        ObjectRef::ManagedServer(&request.name)
    }
}

/// Checks a server now.
pub struct ServersTest;

impl Operation for ServersTest {
    type Request = ServerRequest;
    type Response = ServerStatus;

    const NAME: &'static str = "servers_test";
    const TITLE: &'static str = "Test a server";
    const DESCRIPTION: &'static str =
        "Connect to a server and check whether it answers. A stopped server is started for it.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ServerChanged };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::AdminsOnly, ErrorCode::NotFound, ErrorCode::ServerUnavailable];
    const REST: &'static [Route] = &[Route::post("/api/mcp/servers/{id}/test").id("name").about_server()];
    const IDEMPOTENT: bool = true;

    fn object(request: &ServerRequest) -> ObjectRef<'_> {
        ObjectRef::ManagedServer(&request.name)
    }
}

/// Refreshes the lists of servers.
pub struct ServersRefresh;

/// The servers to refresh.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefreshRequest {
    /// The server [default: all]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Start servers that are enabled and do not run; only administrators may do so [default: false]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start: bool,
}

/// The result of a refresh: the status of one server, or a summary of all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Refreshed {
    /// One server was refreshed.
    One(Box<ServerStatus>),
    /// All servers were refreshed.
    All(RefreshedServers),
}

/// The result of refreshing all servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefreshedServers {
    /// How many answered
    pub refreshed: u64,
    /// The others by name, with the error
    pub failed: BTreeMap<String, String>,
}

impl Operation for ServersRefresh {
    type Request = RefreshRequest;
    type Response = Refreshed;

    const NAME: &'static str = "servers_refresh";
    const TITLE: &'static str = "Refresh servers";
    const DESCRIPTION: &'static str =
        "Refresh the lists of one or all running servers; with `start`, also of those that do not run.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Changes { audit: Kind::ServerChanged };
    const ERRORS: &'static [ErrorCode] =
        &[ErrorCode::AdminsOnly, ErrorCode::NotFound, ErrorCode::ServerUnavailable];
    const REST: &'static [Route] = &[Route::post("/api/mcp/servers/refresh").about_server()];
    const IDEMPOTENT: bool = true;

    fn object(request: &RefreshRequest) -> ObjectRef<'_> {
        match &request.name {
            // Starting a process is the administrators' business, whoever uses the server.
            _ if request.start => ObjectRef::Administration,
            Some(name) => ObjectRef::Server(name),
            None => ObjectRef::Gateway,
        }
    }

    // Asking a running server for its lists changes nothing. A changed list is recorded as a changed definition.
    fn effect(request: &RefreshRequest) -> Effect {
        if request.start { Self::EFFECT } else { Effect::Reads }
    }
}

/// Shows the standard error of a server.
pub struct ServersLogs;

/// The log lines to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogsRequest {
    /// The server
    pub name: String,
    /// The maximum number of lines [default: 100]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// The number of the first line to return [default: 0]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// Lines of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLines {
    /// The lines, oldest first
    pub lines: Vec<LogLine>,
}

/// One line of a server's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// Increasing and unique while the gateway runs
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
    const DESCRIPTION: &'static str = "The latest lines of a server's standard error.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::AdminsOnly, ErrorCode::NotFound];

    fn object(request: &LogsRequest) -> ObjectRef<'_> {
        ObjectRef::ManagedServer(&request.name)
    }
}
