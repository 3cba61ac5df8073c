//! What can be typed about policies.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use octroi_core::policy::Level;

use super::Target;

/// What to do with policies.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print the active policy of a level.
    Show(Show),
    /// Say what is wrong with a policy file, and where.
    Check(OneFile),
    /// Run the tests that stand in a policy file.
    Test(OneFile),
    /// Say what would become of a call, and what every gate says of it. Nothing is called.
    Why(Why),
    /// Say in plain sentences what holds for an agent, level by level.
    Explain(Explain),
    /// Show how a file differs from the active policy.
    Diff(OneFile),
    /// Make a policy file the active policy of its level, or an old version active again.
    #[command(disable_version_flag = true)]
    Apply(Apply),
    /// Decide recorded calls again with another policy, and list those that come out otherwise.
    Replay(Replay),
    /// List what agents propose, or show one proposal.
    Proposals(Proposals),
    /// Make a proposed policy active.
    ApproveProposal(OneProposal),
    /// Say no to a proposed policy.
    RejectProposal(Reject),
    /// Print the Cedar schema of the tools that there are.
    Schema(Target),
}

/// Where a policy holds.
#[derive(Clone, Debug, Default, Args)]
#[group(multiple = false)]
pub(crate) struct At {
    /// The policy of this agent.
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// The policy that nothing below it can loosen.
    #[arg(long)]
    pub(crate) floor: bool,

    /// The policy for everybody; so it is without any of these.
    #[arg(long)]
    pub(crate) global: bool,
}

impl At {
    pub(crate) fn level(&self) -> Level {
        match (&self.agent, self.floor) {
            (Some(_), _) => Level::Agent,
            (None, true) => Level::Floor,
            (None, false) => Level::Global,
        }
    }

    /// As it is typed.
    pub(crate) fn flag(&self) -> String {
        match (&self.agent, self.floor) {
            (Some(agent), _) => format!("--agent {agent}"),
            (None, true) => "--floor".to_owned(),
            (None, false) => "--global".to_owned(),
        }
    }

    /// For people.
    pub(crate) fn name(&self) -> String {
        match &self.agent {
            Some(agent) => format!("policy of agent {agent}"),
            None => format!("{} policy", self.level().as_str()),
        }
    }
}

/// Options of `octroi policy show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) at: At,

    /// List all versions instead.
    #[arg(long)]
    pub(crate) history: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// A policy file and where it is to hold.
#[derive(Debug, Args)]
pub(crate) struct OneFile {
    /// The policy file.
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) at: At,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy why`.
#[derive(Debug, Args)]
pub(crate) struct Why {
    /// The tool, as server.tool.
    pub(crate) tool: String,

    /// Its arguments, as a JSON object.
    #[arg(default_value = "{}")]
    pub(crate) arguments: String,

    /// Who would call [default: a person].
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// As if the agent were in this mode: planning or execution.
    #[arg(long)]
    pub(crate) mode: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// For whom [default: a person].
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy apply`.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// The policy file.
    #[arg(required_unless_present = "version")]
    pub(crate) file: Option<PathBuf>,

    /// Make this old version active again.
    #[arg(long = "version", value_name = "N", conflicts_with = "file")]
    pub(crate) version: Option<i64>,

    #[command(flatten)]
    pub(crate) at: At,

    /// Do not ask.
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy replay`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The policy file to try.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,

    /// How far back: 30d, 12h, or a time such as 2027-01-31.
    #[arg(long, default_value = "30d")]
    pub(crate) since: String,

    #[command(flatten)]
    pub(crate) at: At,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy proposals`.
#[derive(Debug, Args)]
pub(crate) struct Proposals {
    /// Show this one.
    pub(crate) id: Option<i64>,

    /// Only those of this agent.
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// One proposal.
#[derive(Debug, Args)]
pub(crate) struct OneProposal {
    /// The proposal.
    pub(crate) id: i64,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy reject-proposal`.
#[derive(Debug, Args)]
pub(crate) struct Reject {
    #[command(flatten)]
    pub(crate) proposal: OneProposal,

    /// Why, for the agent.
    #[arg(long)]
    pub(crate) reason: String,
}
