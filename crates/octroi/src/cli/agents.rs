//! Options of commands about agents.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use octroi_core::agent::{Mode, Profile};

use super::Target;
use super::words::word;

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
    /// Create an agent. It belongs to whoever creates it.
    Create(CreateAgent),

    /// Change settings of an agent; they take effect with its next call.
    Set(SetAgent),

    /// Pause an agent: its calls are refused until `octroi agents boot`.
    Stop(AgentAndReason),

    /// Resume an agent that was paused.
    Boot(OneAgent),

    /// Cancel what an agent has under way: calls, calls that wait for approval, and tasks.
    Abort(AgentAndReason),

    /// Attach a server to an agent. With the first one, the agent has only what is attached to it.
    Attach(AttachServer),

    /// Detach a server from an agent.
    Detach(DetachServer),

    /// Show the servers that an agent has, or give it all of its owner's again.
    Servers(AgentServers),

    /// Remove an agent: its tokens are revoked, and its id stays reserved for its owner.
    Delete(OneAgent),
}

/// Options of `octroi agents create`.
#[derive(Debug, Args)]
pub(crate) struct CreateAgent {
    /// The id of the new agent.
    pub(crate) id: String,

    /// Its title for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// The user it belongs to; only administrators name another.
    #[arg(long, value_name = "USER")]
    pub(crate) owner: Option<String>,

    /// Whether it may act or only read.
    #[arg(long, value_parser = word::<Mode>())]
    pub(crate) mode: Option<Mode>,

    /// How strict the gates are.
    #[arg(long, value_parser = word::<Profile>())]
    pub(crate) profile: Option<Profile>,

    /// Its project.
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,

    /// Its project directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) project_root: Option<PathBuf>,

    /// Side effects that its calls must not have, separated by commas.
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) blacklist: Option<Vec<String>>,

    /// The preset to create it from; `octroi presets` lists them.
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// An agent.
#[derive(Debug, Args)]
pub(crate) struct OneAgent {
    /// The agent.
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi agents attach`.
#[derive(Debug, Args)]
pub(crate) struct AttachServer {
    /// The agent.
    pub(crate) id: String,

    /// The server.
    pub(crate) server: String,

    /// It cannot be detached.
    #[arg(long)]
    pub(crate) pinned: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi agents detach`.
#[derive(Debug, Args)]
pub(crate) struct DetachServer {
    /// The agent.
    pub(crate) id: String,

    /// The server.
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi agents servers`.
#[derive(Debug, Args)]
pub(crate) struct AgentServers {
    /// The agent.
    pub(crate) id: String,

    /// Set them, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "every")]
    pub(crate) set: Option<Vec<String>>,

    /// All that its owner has.
    #[arg(long)]
    pub(crate) every: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// An agent, and why something is done to it.
#[derive(Debug, Args)]
pub(crate) struct AgentAndReason {
    /// The agent.
    pub(crate) id: String,

    /// Why, for the agent and for the records.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi agents set`.
#[derive(Debug, Args)]
pub(crate) struct SetAgent {
    /// The agent.
    pub(crate) id: String,

    /// Its title for people; empty removes it.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// The user it belongs to from now on; only administrators hand agents over.
    #[arg(long, value_name = "USER")]
    pub(crate) owner: Option<String>,

    /// Whether it may act or only read.
    #[arg(long, value_parser = word::<Mode>())]
    pub(crate) mode: Option<Mode>,

    /// How strict the gates are.
    #[arg(long, value_parser = word::<Profile>())]
    pub(crate) profile: Option<Profile>,

    /// Its project; empty uses the one from the configuration.
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,

    /// Its project directory; empty uses the one from the configuration.
    #[arg(long, value_name = "DIR")]
    pub(crate) project_root: Option<PathBuf>,

    /// Freeze its specification, which has this hash.
    #[arg(long, value_name = "HASH", conflicts_with = "unfreeze")]
    pub(crate) freeze: Option<String>,

    /// Unfreeze its specification.
    #[arg(long)]
    pub(crate) unfreeze: bool,

    /// Side effects that its calls must not have, separated by commas.
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) blacklist: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) target: Target,
}
