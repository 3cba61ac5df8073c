//! What policies do.

use std::fmt;

/// The effect of a policy on a call that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It allows the call.
    Permit,
    /// It requires approval.
    Ask,
    /// It denies the call.
    Deny,
    /// It denies the call and stops the agent.
    Abort,
}

impl Effect {
    /// Its name in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Abort => "abort",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
