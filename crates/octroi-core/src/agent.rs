//! The state of an agent at the time of a call. Octroi keeps it and the agent's owner sets it; nothing of it
//! is ever taken from a call.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The working mode of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// The agent plans: it may only read.
    Planning,
    /// The agent acts.
    #[default]
    Execution,
}

impl Mode {
    /// Its name in configuration, output and records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Execution => "execution",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Planning, Self::Execution].into_iter().find(|mode| mode.as_str() == word)
    }
}

/// Side effects that no agent may have unless its owner allows them.
pub const DEFAULT_BLACKLIST: [&str; 2] = ["payments", "cloud.key_delete"];

/// A named set of gate effects and defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Every gate denies, and everything that no rule allows needs approval.
    Strict,
    /// Reads are allowed; writes, and tools of unknown effect, need approval.
    #[default]
    Guarded,
    /// Everything that is not denied is allowed, and recorded.
    Open,
}

impl Profile {
    /// All profiles, strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Guarded, Self::Open];

    /// Its name in configuration and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Guarded => "guarded",
            Self::Open => "open",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == word)
    }
}

/// What an agent is doing, as far as Octroi can see: its loop may run elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RunState {
    /// Nothing of it is under way.
    #[default]
    Idle,
    /// A call of it is being made.
    Running,
    /// It waits for a person, or a person has paused it.
    Suspended,
}

impl RunState {
    /// Its name in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Running => "running",
            Self::Suspended => "suspended",
        }
    }
}

/// What an agent waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RunPhase {
    /// Nothing.
    #[default]
    Idle,
    /// The answer of a tool.
    WaitingTool,
    /// The decision of a person about a call.
    WaitingApproval,
}

impl RunPhase {
    /// Its name in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::WaitingTool => "waiting_tool",
            Self::WaitingApproval => "waiting_approval",
        }
    }
}

/// The state and the phase of an agent with so many calls under way, and so many that wait for a person.
pub const fn run_state(n_running: u32, n_waiting: u64, is_paused: bool) -> (RunState, RunPhase) {
    let phase = match (n_running, n_waiting) {
        (0, 0) => RunPhase::Idle,
        (0, _) => RunPhase::WaitingApproval,
        (_, _) => RunPhase::WaitingTool,
    };
    let state = match phase {
        _ if is_paused => RunState::Suspended,
        RunPhase::Idle => RunState::Idle,
        RunPhase::WaitingTool => RunState::Running,
        RunPhase::WaitingApproval => RunState::Suspended,
    };
    (state, phase)
}

/// The state of an agent that the gates check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentContext {
    /// How strict the gates are.
    pub profile: Profile,
    /// Planning or execution.
    pub mode: Mode,
    /// Whether its specification is frozen.
    pub is_spec_frozen: bool,
    /// The hash of its specification.
    pub spec_hash: Option<Arc<str>>,
    /// The project it works on.
    pub project: Option<Arc<str>>,
    /// The directory of the project.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_runs_waits_or_is_idle() {
        for (n_running, n_waiting, is_paused, state, phase) in [
            (0, 0, false, "idle", "idle"),
            (2, 0, false, "running", "waiting_tool"),
            (0, 1, false, "suspended", "waiting_approval"),
            // It does something, so it does not wait for a person.
            (1, 1, false, "running", "waiting_tool"),
            (0, 0, true, "suspended", "idle"),
            (1, 0, true, "suspended", "waiting_tool"),
            (0, 3, true, "suspended", "waiting_approval"),
        ] {
            let (found, waits_for) = run_state(n_running, n_waiting, is_paused);
            assert_eq!((found.as_str(), waits_for.as_str()), (state, phase), "{n_running} {n_waiting}");
        }
    }
}
