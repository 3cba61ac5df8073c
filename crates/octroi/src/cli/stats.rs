//! Options of `octroi stats`.

use clap::{Args, ValueEnum};
use octroi_api::operations::stats::{StatsBy, StatsStep};

use super::Target;

/// Options of `octroi stats`.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// What each row is.
    #[arg(long, value_enum, default_value = "tool")]
    pub(crate) by: By,

    /// Not older than this: `30m`, `7d`, or a time as in `2027-01-31T12:00:00Z`.
    #[arg(long, value_name = "TIME", default_value = "1d")]
    pub(crate) since: String,

    /// Older than this.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,

    /// Only calls of this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Only calls of tools of this server.
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,

    /// Only calls of the tool with this id, as `mcp:server:tool`.
    #[arg(long, value_name = "ID")]
    pub(crate) tool: Option<String>,

    /// Also show the calls over time, in steps of this length; minutes are known of the last hour.
    #[arg(long, value_enum)]
    pub(crate) over: Option<Step>,

    /// The maximum number of rows.
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub(crate) limit: u64,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What each row is.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum By {
    Tool,
    Server,
    Agent,
}

impl From<By> for StatsBy {
    fn from(by: By) -> Self {
        match by {
            By::Tool => Self::Tool,
            By::Server => Self::Server,
            By::Agent => Self::Agent,
        }
    }
}

/// The length of a step.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Step {
    Minute,
    TenMinutes,
    Hour,
    Day,
}

impl From<Step> for StatsStep {
    fn from(step: Step) -> Self {
        match step {
            Step::Minute => Self::Minute,
            Step::TenMinutes => Self::TenMinutes,
            Step::Hour => Self::Hour,
            Step::Day => Self::Day,
        }
    }
}
