//! What policies do.

use std::fmt;

/// The effect of a policy on a call that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CedarEffect {
    /// It allows the call.
    Permit,
    /// It requires approval.
    Ask,
    /// It denies the call.
    Deny,
    /// It denies the call and stops the agent.
    Abort,
}

impl CedarEffect {
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

impl fmt::Display for CedarEffect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
