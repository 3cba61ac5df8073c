//! Options of commands about sessions.

use clap::{Args, Subcommand};

use super::Target;

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List sessions and the servers that are used in them.
    #[command(visible_alias = "ls")]
    List(ListSessions),
    /// Create a session, in which an agent uses chosen servers.
    Create(CreateSession),
    /// Choose the servers of a session.
    Set(SetSession),
    /// Close a session. Its tokens end immediately.
    Close(OneSession),
}

/// Options of `octroi sessions list`.
#[derive(Debug, Args)]
pub(crate) struct ListSessions {
    /// Only those of this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Also closed ones.
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi sessions create`.
#[derive(Debug, Args)]
pub(crate) struct CreateSession {
    /// The agent that works in it [default: any of yours].
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Its title for people.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// The servers that are used in it, separated by commas [default: all that the agent has].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) servers: Option<Vec<String>>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// Options of `octroi sessions set`.
#[derive(Debug, Args)]
#[group(id = "choice", required = true, multiple = false, args = ["servers", "every"])]
pub(crate) struct SetSession {
    /// The session.
    pub(crate) id: String,

    /// The servers that are used in it, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) servers: Option<Vec<String>>,

    /// All servers that its agent has.
    #[arg(long)]
    pub(crate) every: bool,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// A session.
#[derive(Debug, Args)]
pub(crate) struct OneSession {
    /// The session.
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) target: Target,
}
