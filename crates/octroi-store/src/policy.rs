//! Policies as they are kept: what is active, what was, and what agents propose. What a policy says is
//! not looked at here.

/// Where a policy holds. At each of these at most one is active.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PolicyLevel {
    /// Below everything; nothing can loosen it.
    Floor,
    /// For all agents.
    Global,
    /// For the agent of this id.
    Agent(String),
}

impl PolicyLevel {
    /// The word that is stored and shown.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Global => "global",
            Self::Agent(_) => "agent",
        }
    }

    /// The agent, where it is one's.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Floor | Self::Global => None,
            Self::Agent(agent) => Some(agent),
        }
    }

    pub(crate) fn parse(word: &str, agent: String) -> Option<Self> {
        match word {
            "floor" => Some(Self::Floor),
            "global" => Some(Self::Global),
            "agent" => Some(Self::Agent(agent)),
            _ => None,
        }
    }
}

/// What has become of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyStatus {
    /// It holds now.
    Active,
    /// It waits for a person.
    Proposed,
    /// A person said no.
    Rejected,
    /// It held until another took its place.
    Superseded,
    /// Its author took it back.
    Withdrawn,
}

impl PolicyStatus {
    const ALL: [Self; 5] = [Self::Active, Self::Proposed, Self::Rejected, Self::Superseded, Self::Withdrawn];

    /// The word that is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Proposed => "proposed",
            Self::Rejected => "rejected",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// What a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A policy that is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDraft {
    /// Where it shall hold.
    pub level: PolicyLevel,
    /// What it is written in: `rules` so far.
    pub language: String,
    /// Its text.
    pub source: String,
    /// Who wrote it: a person, or the agent that proposes it.
    pub author: String,
    /// Why.
    pub rationale: Option<String>,
    /// What checking it has found, as the checker tells it.
    pub check_result: Option<String>,
}

/// A policy and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRecord {
    /// What tells it from all others.
    pub id: i64,
    /// What it says, and where.
    pub draft: PolicyDraft,
    /// One for the first that became active at its level, one more for each after it; none for what
    /// never did.
    pub version: Option<i64>,
    /// What has become of it.
    pub status: PolicyStatus,
    /// Whether it was proposed, and not set by a person.
    pub was_proposed: bool,
    /// When it came here.
    pub created_at_ms: i64,
    /// When a proposal was decided or taken back.
    pub decided_at_ms: Option<i64>,
    /// By whom.
    pub decided_by: Option<String>,
    /// What they said about it.
    pub decision_reason: Option<String>,
}

/// All that holds at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivePolicies {
    /// Grows with every change of what is active.
    pub revision: u64,
    /// The floor, then the global one, then those of agents by id.
    pub policies: Vec<PolicyRecord>,
}

/// What a person says to a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalVerdict {
    /// It becomes active in place of what is.
    Approve,
    /// It does not.
    Reject,
}

/// Why policies stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyRefusal {
    /// Somebody else has changed it since it was read.
    #[error("the policy has changed meanwhile: version {now} is active, not {expected}")]
    Changed {
        /// The version that was to be replaced; none is 0.
        expected: i64,
        /// The version that is active now; none is 0.
        now: i64,
    },
    /// There is none of this id, or it is somebody else's.
    #[error("there is no such proposal")]
    Unknown,
    /// It waits no longer.
    #[error("the proposal is {} already", .status.as_str())]
    Decided {
        /// What has become of it.
        status: PolicyStatus,
        /// Who decided.
        by: Option<String>,
        /// When.
        at_ms: Option<i64>,
    },
}
