//! Options of commands about stored secrets.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Target;

/// What to do with secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretCommand {
    /// List secrets and who refers to them, without their values.
    #[command(visible_alias = "ls")]
    List(ListSecrets),
    /// Store a secret, or replace its value. The value is read from standard input.
    Set(SetSecret),
    /// Remove a secret.
    #[command(visible_alias = "rm")]
    Remove(RemoveSecret),
    /// Encrypt everything with a new master key, while no gateway runs.
    Rekey(Rekey),
}

/// Options of `octroi secret list`.
#[derive(Debug, Args)]
pub(crate) struct ListSecrets {
    /// Only those of this user.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi secret set`.
#[derive(Debug, Args)]
pub(crate) struct SetSecret {
    /// Its name: up to 64 letters, digits, `.`, `_` and `-`.
    pub(crate) name: String,

    /// Takes what must not be there, to refuse it with the reason.
    #[arg(hide = true)]
    pub(crate) value: Vec<String>,

    /// Read the value from this file.
    #[arg(long, value_name = "PATH", conflicts_with = "env")]
    pub(crate) file: Option<PathBuf>,

    /// Read the value from this environment variable.
    #[arg(long, value_name = "VAR")]
    pub(crate) env: Option<String>,

    /// Whose secret it is [default: the gateway's].
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi secret remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveSecret {
    /// Its name.
    pub(crate) name: String,

    /// Whose secret it is [default: the gateway's].
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// Remove it although servers refer to it; they are stopped.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi secret rekey`.
#[derive(Debug, Args)]
pub(crate) struct Rekey {
    /// The configuration file, which may name the key file [default: as for `octroi up`].
    #[arg(long, value_name = "FILE", env = "OCTROI_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// The gateway's data directory [default: the user's data directory].
    #[arg(long, value_name = "DIR", env = "OCTROI_DATA")]
    pub(crate) data: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
