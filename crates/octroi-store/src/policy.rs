//! Stored policies: active ones, their history, and proposals of agents. The content of a policy is not
//! interpreted here.

/// The scope of a policy. At most one policy is active per level.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PolicyLevel {
    /// Applies to everything; no other level can loosen it.
    Floor,
    /// For all agents.
    Global,
    /// For the agent of this id.
    Agent(String),
}

impl PolicyLevel {
    /// The stored and displayed name.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Global => "global",
            Self::Agent(_) => "agent",
        }
    }

    /// The agent, for a policy of an agent.
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

/// The state of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyStatus {
    /// In force.
    Active,
    /// Waits for an operator's decision.
    Proposed,
    /// An operator rejected it.
    Rejected,
    /// Another policy replaced it.
    Superseded,
    /// Its author withdrew it.
    Withdrawn,
}

impl PolicyStatus {
    const ALL: [Self; 5] = [Self::Active, Self::Proposed, Self::Rejected, Self::Superseded, Self::Withdrawn];

    /// The stored and displayed name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Proposed => "proposed",
            Self::Rejected => "rejected",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// Parses a stored name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// A policy to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDraft {
    /// The level it applies to.
    pub level: PolicyLevel,
    /// The policy language.
    pub language: String,
    /// Its text.
    pub source: String,
    /// The author: an operator, or the agent that proposes it.
    pub author: String,
    /// The author's rationale.
    pub rationale: Option<String>,
    /// The result of the policy check, as the checker reports it.
    pub check_result: Option<String>,
}

/// A stored policy and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRecord {
    /// The unique id.
    pub id: i64,
    /// The policy itself.
    pub draft: PolicyDraft,
    /// The version at its level, counted from 1 in order of activation; `None` if it was never active.
    pub version: Option<i64>,
    /// Its current state.
    pub status: PolicyStatus,
    /// Whether it was proposed, as opposed to set by an operator.
    pub was_proposed: bool,
    /// When it was created.
    pub created_at_ms: i64,
    /// When a proposal was decided or withdrawn.
    pub decided_at_ms: Option<i64>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// The reason given for the decision.
    pub decision_reason: Option<String>,
}

/// All active policies at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActivePolicies {
    /// Increases with every change of the active policies.
    pub revision: u64,
    /// The floor, then the global policy, then the agents' policies by id.
    pub policies: Vec<PolicyRecord>,
}

/// An operator's decision about a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalVerdict {
    /// Activate it in place of the current policy.
    Approve,
    /// Reject it.
    Reject,
}

/// Why a change of policies was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyRefusal {
    /// The policy was changed since the caller read it.
    #[error("the policy has changed meanwhile: version {now} is active, not {expected}")]
    Changed {
        /// The version that was to be replaced; 0 for none.
        expected: i64,
        /// The version that is active now; 0 for none.
        now: i64,
    },
    /// There is no proposal with this id, or it belongs to another author.
    #[error("there is no such proposal")]
    Unknown,
    /// The proposal was already decided.
    #[error("the proposal is {} already", .status.as_str())]
    Decided {
        /// Its state.
        status: PolicyStatus,
        /// Who decided.
        by: Option<String>,
        /// When it was decided.
        at_ms: Option<i64>,
    },
}
