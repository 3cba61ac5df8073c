//! What people type to decide: about calls, definitions and agents.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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
    /// Also those that are decided.
    #[arg(long, conflicts_with = "history")]
    pub(crate) all: bool,

    /// Only those that are decided.
    #[arg(long)]
    pub(crate) history: bool,

    /// Only those of this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to do with approvals.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Show all that is known about one.
    Show(OneApproval),
}

/// One approval.
#[derive(Debug, Args)]
pub(crate) struct OneApproval {
    /// The approval, ap_….
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// For which calls a decision is remembered.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Scope {
    /// The tool with these very arguments.
    Exact,
    /// The tool with any arguments.
    Tool,
}

impl Scope {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Tool => "tool",
        }
    }
}

/// What is said and remembered with a decision.
#[derive(Debug, Args)]
pub(crate) struct Remarks {
    /// The approval, ap_….
    pub(crate) id: String,

    /// What to tell the agent and the history.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    /// Make a rule of it, so that nobody is asked again.
    #[arg(long, value_enum)]
    pub(crate) remember: Option<Scope>,

    /// How long the rule holds: a time like 30m or 8h, or `forever` [default: 8h].
    #[arg(long, value_name = "TIME", requires = "remember")]
    pub(crate) until: Option<String>,

    /// Remember without being asked whether the rule is right.
    #[arg(short, long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi approve`.
#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    pub(crate) remarks: Remarks,

    /// Make the call with these arguments instead, a JSON object.
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
}

/// Options of `octroi deny`.
#[derive(Debug, Args)]
pub(crate) struct Deny {
    #[command(flatten)]
    pub(crate) remarks: Remarks,

    /// Tell the agent to stop, too.
    #[arg(long)]
    pub(crate) abort: bool,
}

/// Options of `octroi pins`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Pins {
    #[command(subcommand)]
    pub(crate) command: Option<PinsCommand>,

    /// Also those that somebody keeps out.
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to do with definitions that are kept back.
#[derive(Debug, Subcommand)]
pub(crate) enum PinsCommand {
    /// Show one: what changed, what is suspicious, and the whole of it.
    Show(OnePin),
    /// Accept one, so that it can be used.
    Accept(OnePin),
    /// Keep one out, also when it comes back; `accept` undoes it.
    KeepOut(OnePin),
    /// Forget what was accepted of a server, or of one thing that it lists.
    Forget(ForgetPins),
    /// Write all that is accepted into a lock file.
    Lock(LockPins),
}

/// One definition.
#[derive(Debug, Args)]
pub(crate) struct OnePin {
    /// The server and the name it gives, as in `github.create_issue`; only the server for its instructions.
    #[arg(value_name = "SERVER.NAME")]
    pub(crate) name: String,

    /// What it is, if several are called so: tool, prompt, template or server.
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to forget.
#[derive(Debug, Args)]
pub(crate) struct ForgetPins {
    /// The server, for all that was accepted of it, or one thing of it, as in `github.create_issue`.
    #[arg(value_name = "SERVER[.NAME]")]
    pub(crate) name: String,

    /// What it is, if several are called so: tool, prompt, template or server.
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi pins lock`.
#[derive(Debug, Args)]
pub(crate) struct LockPins {
    /// Where to write; `-` prints it [default: the lock file that the configuration names].
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// The configuration that names the lock file, as for `octroi up`.
    #[arg(long, value_name = "FILE", env = "OCTROI_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi agents`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Agents {
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Set something about an agent; it holds from its next call on.
    Set(SetAgent),
}

/// Options of `octroi agents set`.
#[derive(Debug, Args)]
pub(crate) struct SetAgent {
    /// The agent.
    pub(crate) id: String,

    /// What it is about: planning or execution.
    #[arg(long)]
    pub(crate) mode: Option<String>,

    /// How strict the gates are: strict, guarded or open.
    #[arg(long)]
    pub(crate) profile: Option<String>,

    /// What it works on; empty leaves it to the configuration.
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,

    /// The directory of what it works on; empty leaves it to the configuration.
    #[arg(long, value_name = "DIR")]
    pub(crate) project_root: Option<PathBuf>,

    /// Freeze its specification, which has this hash.
    #[arg(long, value_name = "HASH", conflicts_with = "unfreeze")]
    pub(crate) freeze: Option<String>,

    /// Open its specification again.
    #[arg(long)]
    pub(crate) unfreeze: bool,

    /// Side effects that it must not have, with commas between them.
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) blacklist: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) target: Target,
}
