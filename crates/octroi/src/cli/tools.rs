//! Options of the commands about tools.

use clap::{Args, Subcommand};

use super::Target;

/// Options of `octroi tools`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Tools {
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,

    /// Only of this server; may be given more than once.
    #[arg(long = "server", value_name = "NAME")]
    pub(crate) servers: Vec<String>,

    /// Only of this risk: low, medium, high or critical; may be given more than once.
    #[arg(long = "risk", value_name = "LEVEL")]
    pub(crate) risks: Vec<String>,

    /// Only with this side effect, as `fs.write`; with several, one is enough.
    #[arg(long = "effect", value_name = "TAG")]
    pub(crate) effects: Vec<String>,

    /// Only from this source: mcp, extension or builtin [default: all but Octroi's own].
    #[arg(long = "source", value_name = "TYPE")]
    pub(crate) sources: Vec<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to do with tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Show one: what the gates know of it, and its schemas.
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

/// Options of `octroi refresh`.
#[derive(Debug, Args)]
pub(crate) struct Refresh {
    /// The server [default: all that are switched on].
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}
