//! Options of commands about the configuration.

use std::net::SocketAddr;

use clap::{Args, Subcommand};

use super::Source;
use super::words::listen;

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// List the problems of the configuration, and where they are.
    Check(CheckConfig),
    /// Show the settings in effect, in canonical form and with secrets redacted.
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
    #[arg(long, value_name = "ADDRESS", env = "OCTROI_LISTEN", value_parser = listen)]
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
    #[arg(long, value_name = "ADDRESS", env = "OCTROI_LISTEN", value_parser = listen)]
    pub(crate) listen: Option<SocketAddr>,

    /// Show where each value comes from.
    #[arg(long)]
    pub(crate) origin: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
