//! Operations on the gateway itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] =
    &[OperationEntry::of::<GatewayStatusGet>(), OperationEntry::of::<QuotasList>()];

/// How the gateway itself is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayStatus {
    /// The version of Octroi
    pub version: String,
    /// When it was started, in milliseconds since 1970
    pub started_at_ms: u64,
    /// How long it has been running, in seconds
    pub uptime_seconds: u64,
    /// Where people reach it, once it listens
    pub address: Option<String>,
    /// What is on its disk; null if nothing is kept
    pub data: Option<GatewayData>,
    /// The clients that are connected
    pub clients: u64,
    /// The servers that are configured
    pub servers: u64,
    /// Those of them that are running
    pub servers_running: u64,
    /// Everything that is known to be wrong
    pub problems: Vec<String>,
}

/// What a gateway keeps on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayData {
    /// The data directory
    pub directory: String,
    /// The size of the database, in bytes
    pub database_bytes: u64,
    /// The name of this gateway in the audit log
    pub node: String,
    /// The size of the audit log, in bytes
    pub audit_bytes: u64,
    /// The number of its segments
    pub audit_segments: u64,
    /// The number of the last record
    pub audit_position: u64,
    /// Why the audit log cannot be written, if so
    pub audit_error: Option<String>,
}

/// Shows the status of the gateway.
pub struct GatewayStatusGet;

impl Operation for GatewayStatusGet {
    type Request = NoArguments;
    type Response = GatewayStatus;

    const NAME: &'static str = "gateway_status";
    const TITLE: &'static str = "Show the gateway's status";
    const DESCRIPTION: &'static str =
        "The gateway itself: version, uptime, data directory, audit log, and everything that is wrong.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// A quota and its use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quota {
    /// Its name
    pub name: String,
    /// The calls it is about: patterns of `token`, `agent`, `server` and `tool`, as `agent = "coder"`
    pub of: Vec<String>,
    /// The limit of calls within a minute
    pub calls_per_minute: Option<u64>,
    /// The limit of calls at the same time
    pub max_in_flight: Option<u64>,
    /// The limit of one call's duration, in milliseconds
    pub max_runtime_ms: Option<u64>,
    /// Whether each token, agent, server or tool is counted separately
    pub each: bool,
    /// Its counters that are in use, the fullest first: at most a hundred
    pub counters: Vec<QuotaCounter>,
}

/// How much of a quota is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaCounter {
    /// What is counted, as agent and tool; empty if everything is counted together
    pub of: Vec<String>,
    /// The calls within the last minute
    pub calls_last_minute: u64,
    /// The calls under way
    pub in_flight: u64,
}

/// All quotas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotaList {
    /// The quotas, in the order of the configuration
    pub quotas: Vec<Quota>,
}

/// Lists the quotas.
pub struct QuotasList;

impl Operation for QuotasList {
    type Request = NoArguments;
    type Response = QuotaList;

    const NAME: &'static str = "quotas_list";
    const TITLE: &'static str = "List quotas";
    const DESCRIPTION: &'static str = "The configured quotas, and how much of each is used.";
    const ACCESS: Access = Access::Admins;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
