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
}

impl SwitchedOff {
    /// Its name in answers and records.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Operator { .. } => "operator",
            Self::Entry => "entry",
            Self::Trust => "trust",
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
        }
    }
}
