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
    /// Change settings of an agent; they take effect with its next call.
    Set(SetAgent),
}

/// Options of `octroi agents set`.
#[derive(Debug, Args)]
pub(crate) struct SetAgent {
    /// The agent.
    pub(crate) id: String,

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
