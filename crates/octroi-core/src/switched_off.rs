//! Which switch keeps a server off, so that status, answers and records can name it.

use std::sync::Arc;

/// The switch that keeps a server off. The first that says no, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchedOff {
    /// The switch of all servers.
    Global,
    /// A person, with `octroi disable`.
    Operator {
        /// Who; `None` if an older version did not store it.
        by: Option<Arc<str>>,
    },
    /// Its entry in the configuration.
    Entry,
    /// Its low trust: nobody has said yes to it yet.
    Trust,
    /// A user, for all that acts for this user.
    Preference {
        /// Who.
        user: Arc<str>,
    },
    /// The list of an agent's servers, on which it is not.
    NotAttached {
        /// The agent.
        agent: Arc<str>,
    },
    /// The list of a session's servers, on which it is not.
    Session {
        /// The session.
        id: Arc<str>,
    },
}

impl SwitchedOff {
    /// Its name in answers and records.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Operator { .. } => "operator",
            Self::Entry => "entry",
            Self::Trust => "trust",
            Self::Preference { .. } => "preference",
            Self::NotAttached { .. } => "attachment",
            Self::Session { .. } => "session",
        }
    }

    /// Why the server is off.
    pub fn reason(&self) -> String {
        match self {
            Self::Global => "`enabled = false` under [mcp] keeps every server off".to_owned(),
            Self::Operator { by: Some(by) } => format!("{by} switched it off with `octroi disable`"),
            Self::Operator { by: None } => "an operator switched it off with `octroi disable`".to_owned(),
            Self::Entry => "`enabled = false` in its entry of the configuration".to_owned(),
            Self::Trust => "it has low trust and waits for a first yes".to_owned(),
            Self::Preference { user } => format!("{user} does not want to use it"),
            Self::NotAttached { agent } => {
                format!("agent `{agent}` has a list of servers, and it is not on it")
            }
            Self::Session { id } => format!("session `{id}` has a list of servers, and it is not on it"),
        }
    }

    /// What a person can do about it.
    pub fn hint(&self, server: &str) -> String {
        match self {
            Self::Global => {
                "set `enabled = true` under [mcp] in the configuration, then run `octroi reload`".to_owned()
            }
            Self::Operator { .. } | Self::Entry | Self::Trust => {
                format!("switch it on with `octroi enable {server}`")
            }
            Self::Preference { user } => format!("{user} can switch it on with `octroi enable {server}`"),
            Self::NotAttached { agent } => {
                format!("attach `{server}` to agent `{agent}` with `agents_attach_server`")
            }
            Self::Session { id } => {
                format!("add `{server}` to session `{id}` with `sessions_set_mcp_config`")
            }
        }
    }
}
