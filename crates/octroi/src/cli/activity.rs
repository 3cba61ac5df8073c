//! Options of commands about calls and the clients that make them.

use clap::Args;
use octroi_core::audit::Ruling;

use super::Target;
use super::words::{number, word};

/// Options of `octroi calls`.
#[derive(Debug, Args)]
pub(crate) struct Calls {
    /// A call, or its approval, to show everything about it.
    #[arg(value_name = "ID", conflicts_with_all = ["since", "until", "agent", "server", "tool", "decision", "outcome"])]
    pub(crate) id: Option<String>,

    /// Not older than this: `30m`, `7d`, or a time as in `2027-01-31T12:00:00Z`.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Older than this.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,

    /// The agent.
    #[arg(long)]
    pub(crate) agent: Option<String>,

    /// The server.
    #[arg(long)]
    pub(crate) server: Option<String>,

    /// The tool; `*` matches any characters.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tool: Option<String>,

    /// The decision.
    #[arg(long, value_parser = word::<Ruling>())]
    pub(crate) decision: Option<Ruling>,

    /// The outcome, as `completed`; `failure` for every other end.
    #[arg(long, value_name = "WORD")]
    pub(crate) outcome: Option<String>,

    /// How many calls to list at most.
    #[arg(short = 'n', long = "lines", value_name = "N", value_parser = number::<u64>, default_value_t = 50)]
    pub(crate) n_max: u64,

    #[command(flatten)]
    pub(crate) target: Target,
}
