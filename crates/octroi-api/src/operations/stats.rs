//! Statistics of calls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};

/// In listing order.
pub static OPERATIONS: &[OperationEntry] = &[OperationEntry::of::<CallsStats>()];

/// Shows how calls went.
pub struct CallsStats;

/// The calls to count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallsStatsRequest {
    /// At or after this moment, in milliseconds since 1970 [default: a day ago, with `step` minute an hour ago]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Before this moment, in milliseconds since 1970 [default: now]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// What the rows are [default: tool]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<StatsBy>,
    /// Only calls of this agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Only calls of tools of this server
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Only calls of the tool with this canonical id
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The length of a step of the series; minutes are known of the last hour only, since the gateway started
    /// [default: as the period needs]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StatsStep>,
    /// The maximum number of rows [default: 50]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// What statistics are grouped by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum StatsBy {
    /// Tools.
    #[default]
    Tool,
    /// Servers.
    Server,
    /// Agents.
    Agent,
}

/// The length of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum StatsStep {
    /// A minute.
    Minute,
    /// Ten minutes.
    TenMinutes,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

impl StatsStep {
    /// Its length in milliseconds.
    pub const fn ms(self) -> u64 {
        const MINUTE: u64 = 60_000;
        match self {
            Self::Minute => MINUTE,
            Self::TenMinutes => 10 * MINUTE,
            Self::Hour => 60 * MINUTE,
            Self::Day => 24 * 60 * MINUTE,
        }
    }
}

/// How some calls went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallNumbers {
    /// Calls that were made
    pub calls: u64,
    /// Those of them in which the tool or the server failed
    pub errors: u64,
    /// Calls that were denied
    pub denials: u64,
    /// Half of the calls took at most so long, in milliseconds; null without calls
    pub p50_ms: Option<u64>,
    /// 95 percent of the calls took at most so long, in milliseconds; null without calls
    pub p95_ms: Option<u64>,
    /// 99 percent of the calls took at most so long, in milliseconds; null without calls
    pub p99_ms: Option<u64>,
}

/// The calls of one tool, server or agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallsOf {
    /// The canonical id of the tool, or the name of the server or agent; empty for what has none
    pub name: String,
    /// How they went.
    #[serde(flatten)]
    pub numbers: CallNumbers,
}

/// The calls of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallsAt {
    /// The beginning of the step, in milliseconds since 1970
    pub at_ms: u64,
    /// How they went.
    #[serde(flatten)]
    pub numbers: CallNumbers,
}

/// How the calls of a period went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallStatistics {
    /// The beginning of the period, in milliseconds since 1970: that of a step
    pub since_ms: u64,
    /// The end of the period, in milliseconds since 1970
    pub until_ms: u64,
    /// The length of a step of the series, in milliseconds
    pub step_ms: u64,
    /// All calls of the period
    pub total: CallNumbers,
    /// The calls by what was asked for, the most frequent first
    pub rows: Vec<CallsOf>,
    /// How many more rows there are
    pub more: u64,
    /// The calls by time, every step of the period
    pub series: Vec<CallsAt>,
}

impl Operation for CallsStats {
    type Request = CallsStatsRequest;
    type Response = CallStatistics;

    const NAME: &'static str = "calls_stats";
    const TITLE: &'static str = "Show how calls went";
    const DESCRIPTION: &'static str = "How many calls were made, failed and were denied, and how long they took: by tool, server or agent, and over time. \
         Members see the calls of their own agents.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[
        ErrorCode::NotFound,
        ErrorCode::InvalidArguments,
        ErrorCode::AuditUnavailable,
        ErrorCode::StorageUnavailable,
    ];

    fn object(request: &CallsStatsRequest) -> ObjectRef<'_> {
        request.agent.as_deref().map_or(ObjectRef::Gateway, ObjectRef::PastAgent)
    }
}
