//! Options of commands about tools.

use clap::{Args, Subcommand};
use octroi_core::tool::{Risk, Source};

use super::Target;
use super::words::word;

/// Options of `octroi tools`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Tools {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,

    /// Only of this server; may be given more than once.
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,

    /// Only of this risk; may be given more than once.
    #[arg(long = "risk", value_name = "LEVEL", value_parser = word::<Risk>())]
    pub(crate) risks: Vec<Risk>,

    /// Only with this side effect, as `fs.write`; with several, one is enough.
    #[arg(long = "effect", value_name = "TAG")]
    pub(crate) effects: Vec<String>,

    /// Only from this source; may be given more than once [default: all but Octroi's own].
    #[arg(long = "source", value_name = "TYPE", value_parser = word::<Source>())]
    pub(crate) sources: Vec<Source>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to do with tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Show one tool: what the gates know about it, and its schemas.
    Show(OneTool),
}

/// One tool.
#[derive(Debug, Args)]
pub(crate) struct OneTool {
    /// Its id, `server.tool`, or the name that clients call it by.
    #[arg(value_name = "TOOL")]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,
}
