//! Options of commands about the database.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What to do with the database.
#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Make a lost database again: definitions, policies, agents, users and tokens, from the audit log.
    Rebuild(RebuildDatabase),
}

/// Options of `octroi db rebuild`.
#[derive(Debug, Args)]
pub(crate) struct RebuildDatabase {
    /// The gateway's data directory [default: the user's data directory].
    #[arg(long, value_name = "DIR", env = "OCTROI_DATA")]
    pub(crate) data: Option<PathBuf>,

    /// Rebuild although the audit log was changed, cut or is not signed. This is recorded.
    #[arg(long)]
    pub(crate) accept_loss: bool,
}
