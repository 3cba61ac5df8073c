//! Operations on the health of servers.

use std::collections::BTreeMap;

use octroi_core::{Health, Lifecycle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::route::Route;
use crate::wire::Wire;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[OperationEntry::of::<HealthCheckAll>()];

/// The health of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerHealth {
    /// Its health
    pub health: Wire<Health>,
    /// Its lifecycle state
    pub state: Wire<Lifecycle>,
    /// The latency of its last check, in milliseconds
    pub response_time_ms: Option<u64>,
    /// How many checks failed in a row
    pub consecutive_failures: u32,
    /// Why it cannot be reached, or why lists of it are missing
    pub error: Option<String>,
}

/// The health of all servers, by name.
pub type HealthByServer = BTreeMap<String, ServerHealth>;

/// Checks all running servers.
pub struct HealthCheckAll;

/// The health of all servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthReport {
    /// All servers, by name
    pub servers: HealthByServer,
}

impl Operation for HealthCheckAll {
    type Request = NoArguments;
    type Response = HealthReport;

    const NAME: &'static str = "health_check_all";
    const TITLE: &'static str = "Check every server";
    const DESCRIPTION: &'static str = "Check all running servers and return their health.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];
    const REST: &'static [Route] = &[Route::get("/api/mcp/health")];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
