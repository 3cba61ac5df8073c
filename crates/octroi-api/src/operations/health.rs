//! Operations about how well servers answer.

use std::collections::BTreeMap;

use octroi_core::{Health, Lifecycle};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NoArguments;
use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::wire::Wire;

/// In the order in which lists have them.
pub static OPERATIONS: &[OperationEntry] = &[OperationEntry::of::<HealthCheckAll>()];

/// How well one server answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerHealth {
    /// How well it answers
    pub health: Wire<Health>,
    /// Where it is in its life
    pub state: Wire<Lifecycle>,
    /// How long its last check took, in milliseconds
    pub response_time_ms: Option<u64>,
    /// How many checks in a row failed
    pub consecutive_failures: u32,
    /// Why it cannot be reached, if it cannot
    pub error: Option<String>,
}

/// How well every server answers, by name.
pub type HealthByServer = BTreeMap<String, ServerHealth>;

/// Checks every server that runs.
pub struct HealthCheckAll;

/// How well every server answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthReport {
    /// Every server, by name
    pub servers: HealthByServer,
}

impl Operation for HealthCheckAll {
    type Request = NoArguments;
    type Response = HealthReport;

    const NAME: &'static str = "health_check_all";
    const TITLE: &'static str = "Check every server";
    const DESCRIPTION: &'static str = "Check every server that runs, and say how well it answers.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];

    fn object(_: &NoArguments) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
