//! Options of commands about quarantined definitions.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use octroi_core::pin::PinKind;

use super::Target;
use super::words::word;

/// Options of `octroi pins`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Pins {
    #[command(subcommand)]
    pub(crate) command: Option<PinsCommand>,

    /// Include definitions that were reviewed and rejected.
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to do with definitions that are quarantined.
#[derive(Debug, Subcommand)]
pub(crate) enum PinsCommand {
    /// Show one definition in full, with what changed and what is suspicious.
    Show(OnePin),
    /// Accept one, so that it can be used.
    Accept(OnePin),
    /// Reject one, also when it comes back; `accept` undoes it.
    KeepOut(OnePin),
    /// Forget all accepted definitions of a server, or one of them.
    Forget(ForgetPins),
    /// Write all accepted definitions to a lock file.
    Lock(LockPins),
}

/// One definition.
#[derive(Debug, Args)]
pub(crate) struct OnePin {
    /// The server and the name it gives, as in `github.create_issue`; only the server for its instructions.
    #[arg(value_name = "SERVER.NAME")]
    pub(crate) name: String,

    /// The kind of definition, if several have the name.
    #[arg(long, value_name = "KIND", value_parser = word::<PinKind>())]
    pub(crate) kind: Option<PinKind>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Which accepted definitions to forget.
#[derive(Debug, Args)]
pub(crate) struct ForgetPins {
    /// The server, for all its definitions, or one definition, as in `github.create_issue`.
    #[arg(value_name = "SERVER[.NAME]")]
    pub(crate) name: String,

    /// The kind of definition, if several have the name.
    #[arg(long, value_name = "KIND", value_parser = word::<PinKind>())]
    pub(crate) kind: Option<PinKind>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi pins lock`.
#[derive(Debug, Args)]
pub(crate) struct LockPins {
    /// Where to write; `-` prints it [default: the lock file that the configuration names].
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// The configuration that names the lock file, as for `octroi up`.
    #[arg(long, value_name = "FILE", env = "OCTROI_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) target: Target,
}
