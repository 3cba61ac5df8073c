//! Options of commands about servers.

use clap::Args;
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
