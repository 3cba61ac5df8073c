//! What is known about an agent when it calls. Kept by Octroi and set by the agent's owner; nothing of it
//! is ever taken from a call.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::profile::Profile;

/// What an agent is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It thinks: it may look, not touch.
    Planning,
    /// It acts.
    #[default]
    Execution,
}

impl Mode {
    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Execution => "execution",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Planning, Self::Execution].into_iter().find(|mode| mode.as_str() == word)
    }
}

/// What no agent may do unless its owner lifts it.
pub const DEFAULT_BLACKLIST: [&str; 2] = ["payments", "cloud.key_delete"];

/// The state of an agent that the gates ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentContext {
    /// How strict the gates are.
    pub profile: Profile,
    /// Thinking or acting.
    pub mode: Mode,
    /// Whether what it is to build is settled.
    pub is_spec_frozen: bool,
    /// The hash of what it is to build.
    pub spec_hash: Option<Arc<str>>,
    /// What it works on.
    pub project: Option<Arc<str>>,
    /// The directory of what it works on.
    pub project_root: Option<Arc<str>>,
    /// Side effects it must not have.
    pub blacklist: BTreeSet<Arc<str>>,
}

impl Default for AgentContext {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            mode: Mode::default(),
            is_spec_frozen: false,
            spec_hash: None,
            project: None,
            project_root: None,
            blacklist: DEFAULT_BLACKLIST.into_iter().map(Into::into).collect(),
        }
    }
}
