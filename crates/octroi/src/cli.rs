//! What can be typed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The gate between AI agents and their tools: one endpoint in front of every MCP server.
#[derive(Debug, Parser)]
#[command(name = "octroi", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Say more; twice for everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the gateway in the foreground.
    #[command(visible_alias = "serve")]
    Up(Up),
    /// Offer the gateway over standard input and output, for clients that start a command.
    Stdio(Stdio),
    /// Show, check and describe the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// The demo server, over standard input and output.
    #[command(hide = true)]
    DemoServer,
}

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
    #[arg(long, value_name = "ADDRESS", env = "OCTROI_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,
}

/// Options of `octroi stdio`.
#[derive(Debug, Args)]
pub(crate) struct Stdio {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Act as the holder of this token instead of the local user.
    #[arg(long, env = "OCTROI_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say what is wrong, and where.
    Check(CheckConfig),
    /// Show what counts, in canonical form and without secrets.
    Show(ShowConfig),
    /// Print the JSON Schema of the file.
    Schema,
}

/// Options of `octroi config check`.
#[derive(Debug, Args)]
pub(crate) struct CheckConfig {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Address to listen at, as for `octroi up`.
    #[arg(long, value_name = "ADDRESS", env = "OCTROI_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `octroi config show`.
#[derive(Debug, Args)]
pub(crate) struct ShowConfig {
    #[command(flatten)]
    pub(crate) source: Source,

    /// Address to listen at, as for `octroi up`.
    #[arg(long, value_name = "ADDRESS", env = "OCTROI_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,

    /// Tell where each value comes from.
    #[arg(long)]
    pub(crate) origin: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
