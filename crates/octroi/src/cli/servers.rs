//! Options of commands about servers.

use clap::{Args, Subcommand};
use octroi_api::operations::servers::LOG_LINES;

use super::Target;
use super::words::number;

/// One server of a gateway.
#[derive(Debug, Args)]
pub(crate) struct OneServer {
    /// The server.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi logs`.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) server: OneServer,

    /// Keep printing new lines.
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// How many past lines to show first.
    #[arg(short = 'n', long, value_name = "N", value_parser = number::<u64>, default_value_t = LOG_LINES)]
    pub(crate) lines: u64,
}

/// Options of `octroi refresh`.
#[derive(Debug, Args)]
pub(crate) struct Refresh {
    /// The server [default: all that run].
    #[arg(value_name = "SERVER")]
    pub(crate) server: Option<String>,

    /// Also start servers that are enabled and do not run.
    #[arg(long)]
    pub(crate) start: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi reload`.
#[derive(Debug, Args)]
pub(crate) struct Reload {
    /// Accept what waits without asking.
    #[arg(long)]
    pub(crate) yes: bool,

    /// Accept what waits, if the files have this digest; `octroi status --json` has it as `waiting_digest`.
    #[arg(long, value_name = "DIGEST", conflicts_with = "yes")]
    pub(crate) digest: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi add`.
#[derive(Debug, Args)]
pub(crate) struct AddServer {
    /// Its name: up to 32 of a-z, 0-9, `_` and `-`.
    pub(crate) name: String,

    /// The address of a remote server.
    #[arg(value_name = "URL")]
    pub(crate) address: Option<String>,

    /// The program to start and its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,

    /// A variable of the program. Write a secret as `NAME=${secret:NAME}`, after `octroi secret set NAME`.
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,

    /// A header of every request. Write a secret as `NAME: ${secret:NAME}`.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,

    /// Its title for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// What it is for.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// Everybody shares it; only administrators add such a server [default: only you have it].
    #[arg(long)]
    pub(crate) system: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveServer {
    /// The server.
    pub(crate) name: String,

    /// Take it from the sessions and agents that use it.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to do with servers that were added at run time.
#[derive(Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// Show every state of a server, also of one that was removed.
    History(OneServer),
    /// Put an earlier state of a server back, also of one that was removed.
    Rollback(RollbackServer),
}

/// Options of `octroi servers rollback`.
#[derive(Debug, Args)]
pub(crate) struct RollbackServer {
    /// The server.
    pub(crate) name: String,

    /// The number of the state; `octroi servers history NAME` lists them.
    #[arg(value_name = "REVISION", value_parser = number::<u64>)]
    pub(crate) revision: u64,

    #[command(flatten)]
    pub(crate) target: Target,
}
