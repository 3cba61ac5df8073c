//! Options of commands about policies.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use octroi_api::operations::policies::LevelRequest;
use octroi_core::agent::Mode;
use octroi_core::policy::Level;

use super::Target;
use super::words::{number, word};

/// What to do with policies.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Print the active policy of a level.
    Show(ShowPolicy),
    /// List the problems of a policy file, and where they are.
    Check(CandidatePolicy),
    /// Run the tests in a policy file.
    Test(CandidatePolicy),
    /// Show how a call would be decided, gate by gate. Nothing is called.
    Why(ExplainCall),
    /// Explain in plain sentences what is in effect for an agent, level by level.
    Explain(ExplainPolicies),
    /// Show how a file differs from the active policy.
    Diff(CandidatePolicy),
    /// Make a policy file the active policy of its level, or go back to an old version.
    #[command(disable_version_flag = true)]
    Apply(ApplyPolicy),
    /// Decide recorded calls again with another policy, and list those with a different decision.
    Replay(ReplayCalls),
    /// List what agents propose, or show one proposal.
    Proposals(ListProposals),
    /// Make a proposed policy active.
    ApproveProposal(OneProposal),
    /// Reject a proposed policy.
    RejectProposal(RejectProposal),
    /// Print the Cedar schema of all tools.
    Schema(Target),
}

/// At which level a policy is in effect, and for whom.
#[derive(Clone, Debug, Default, Args)]
#[group(multiple = false)]
pub(crate) struct PolicyScope {
    /// The policy of this agent.
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// The policy that nothing below it can loosen.
    #[arg(long)]
    pub(crate) floor: bool,

    /// The policy for everybody; the default.
    #[arg(long)]
    pub(crate) global: bool,
}

impl PolicyScope {
    pub(crate) fn level(&self) -> Level {
        match (&self.agent, self.floor) {
            (Some(_), _) => Level::Agent,
            (None, true) => Level::Floor,
            (None, false) => Level::Global,
        }
    }

    /// The request of operations about one level.
    pub(crate) fn request(&self) -> LevelRequest {
        LevelRequest { level: self.level().into(), agent_id: self.agent.clone() }
    }

    /// The option that selects this scope.
    pub(crate) fn flag(&self) -> String {
        match (&self.agent, self.floor) {
            (Some(agent), _) => format!("--agent {agent}"),
            (None, true) => "--floor".to_owned(),
            (None, false) => "--global".to_owned(),
        }
    }

    /// The scope in messages to people.
    pub(crate) fn name(&self) -> String {
        match &self.agent {
            Some(agent) => format!("policy of agent {agent}"),
            None => format!("{} policy", self.level().as_str()),
        }
    }
}

/// Options of `octroi policy show`.
#[derive(Debug, Args)]
pub(crate) struct ShowPolicy {
    #[command(flatten)]
    pub(crate) scope: PolicyScope,

    /// List all versions instead.
    #[arg(long)]
    pub(crate) history: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// A policy file, and the level it is for.
#[derive(Debug, Args)]
pub(crate) struct CandidatePolicy {
    /// The policy file.
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) scope: PolicyScope,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy why`.
#[derive(Debug, Args)]
pub(crate) struct ExplainCall {
    /// The tool, as server.tool.
    pub(crate) tool: String,

    /// Its arguments, as a JSON object.
    #[arg(default_value = "{}")]
    pub(crate) arguments: String,

    /// The agent that would call [default: a person].
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    /// Decide as if the agent were in this mode.
    #[arg(long, value_parser = word::<Mode>())]
    pub(crate) mode: Option<Mode>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainPolicies {
    /// The agent [default: a person].
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyPolicy {
    /// The policy file.
    #[arg(required_unless_present = "version")]
    pub(crate) file: Option<PathBuf>,

    /// Go back to this old version.
    #[arg(long = "version", value_name = "N", value_parser = number::<i64>, conflicts_with = "file")]
    pub(crate) version: Option<i64>,

    #[command(flatten)]
    pub(crate) scope: PolicyScope,

    /// Do not ask for confirmation.
    #[arg(long)]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayCalls {
    /// The policy file to try.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: PathBuf,

    /// How far back: 30d, 12h, or a time such as 2027-01-31.
    #[arg(long, default_value = "30d")]
    pub(crate) since: String,

    #[command(flatten)]
    pub(crate) scope: PolicyScope,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy proposals`.
#[derive(Debug, Args)]
pub(crate) struct ListProposals {
    /// Show this one.
    #[arg(value_name = "NUMBER", value_parser = number::<i64>)]
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
    #[arg(value_name = "NUMBER", value_parser = number::<i64>)]
    pub(crate) id: i64,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi policy reject-proposal`.
#[derive(Debug, Args)]
pub(crate) struct RejectProposal {
    #[command(flatten)]
    pub(crate) proposal: OneProposal,

    /// The reason, for the agent.
    #[arg(long)]
    pub(crate) reason: String,
}
