//! Options of the commands that run a gateway.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::Target;
use super::words::listen;

/// Where settings come from.
#[derive(Debug, Args)]
pub(crate) struct Source {
    /// The configuration file [default: ./octroi.toml, then the user's configuration directory].
    #[arg(long, value_name = "FILE", env = "OCTROI_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Where Octroi keeps its data [default: the user's data directory].
    #[arg(long, value_name = "DIR", env = "OCTROI_DATA")]
    pub(crate) data: Option<PathBuf>,

    /// Warn of unknown keys in the configuration instead of refusing them.
    #[arg(long)]
    pub(crate) lenient: bool,

    /// Add a built-in demo server, which runs as a child process.
    #[arg(long)]
    pub(crate) demo: bool,
}

/// Options of `octroi up`.
#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Address to listen at; port 0 takes any free one [default: 127.0.0.1:7878].
    #[arg(long, value_name = "ADDRESS", env = "OCTROI_LISTEN", value_parser = listen)]
    pub(crate) listen: Option<SocketAddr>,

    /// Accept the configuration as it is, also what would wait for a person; for machines that a program
    /// configures.
    #[arg(long)]
    pub(crate) accept_config: bool,

    /// Open the web interface in the browser, signed in.
    #[arg(long)]
    pub(crate) open: bool,

    /// Go on although a part of the data directory is lost. This is recorded.
    #[arg(long)]
    pub(crate) accept_loss: bool,
}

/// Options of `octroi open`.
#[derive(Debug, Args)]
pub(crate) struct Open {
    #[command(flatten)]
    pub(crate) target: Target,

    /// Print the address instead of opening it. It signs one browser in, once, within two minutes.
    #[arg(long)]
    pub(crate) print: bool,
}

/// Options of `octroi stdio`.
#[derive(Debug, Args)]
pub(crate) struct Stdio {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Act as the holder of this token [default: as the agent `local`].
    #[arg(long, env = "OCTROI_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}
