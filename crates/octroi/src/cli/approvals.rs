//! Options of commands about approvals.

use clap::{Args, Subcommand, ValueEnum};
use octroi_api::operations::approvals::{ApprovalsPart, RememberFor};

use super::Target;

/// Options of `octroi approvals`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,

    #[command(flatten)]
    pub(crate) options: ListApprovals,
}

/// Which approvals to list.
#[derive(Debug, Args)]
pub(crate) struct ListApprovals {
    /// Include decided ones.
    #[arg(long, conflicts_with = "history")]
    all: bool,

    /// Only decided ones.
    #[arg(long)]
    history: bool,

    /// Only those of this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Follow calls that begin to wait and what becomes of them, until Ctrl-C.
    #[arg(long, conflicts_with_all = ["all", "history"])]
    pub(crate) watch: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

impl ListApprovals {
    pub(crate) fn part(&self) -> ApprovalsPart {
        match (self.all, self.history) {
            (true, _) => ApprovalsPart::All,
            (false, true) => ApprovalsPart::History,
            (false, false) => ApprovalsPart::Pending,
        }
    }
}

/// What to do with approvals.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Show one approval with its whole arguments; secrets are masked.
    Show(OneApproval),
}

/// One approval.
#[derive(Debug, Args)]
pub(crate) struct OneApproval {
    /// The approval, ap_….
    pub(crate) id: String,

    /// Show long arguments to their end.
    #[arg(long)]
    pub(crate) all: bool,

    /// Show the masked value at this path, as `masked` lists it; it is recorded that you looked.
    #[arg(long, value_name = "PATH")]
    pub(crate) reveal: Vec<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// For which calls a decision is remembered.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum RememberOption {
    /// The tool with exactly these arguments.
    Exact,
    /// The tool with any arguments.
    Tool,
}

impl From<RememberOption> for RememberFor {
    fn from(scope: RememberOption) -> Self {
        match scope {
            RememberOption::Exact => Self::Exact,
            RememberOption::Tool => Self::Tool,
        }
    }
}

/// Options of every decision: the reason, and whether it becomes a rule.
#[derive(Debug, Args)]
pub(crate) struct DecisionOptions {
    /// The approval, ap_….
    pub(crate) id: String,

    /// The reason, for the agent and for the record.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    /// Also make the decision a policy rule for later calls.
    #[arg(long, value_enum)]
    pub(crate) remember: Option<RememberOption>,

    /// How long the rule is in effect: a time like 30m or 8h, or `forever` [default: 8h].
    #[arg(long, value_name = "TIME", requires = "remember")]
    pub(crate) until: Option<String>,

    /// Add the rule without asking for confirmation.
    #[arg(short, long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi approve`.
#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(crate) decision: DecisionOptions,

    /// Make the call with these arguments instead, a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
}

/// Options of `octroi deny`.
#[derive(Debug, Args)]
pub(crate) struct Deny {
    #[command(flatten)]
    pub(crate) decision: DecisionOptions,

    /// Also tell the agent to stop.
    #[arg(long)]
    pub(crate) abort: bool,
}
