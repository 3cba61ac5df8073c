//! What is said about an agent on this side of its calls, and what it has used.

/// The context in which an agent's calls are decided. An agent cannot change it by what it sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentRecord {
    /// Which agent.
    pub id: String,
    /// The named set of gates that it is under.
    pub profile: Option<String>,
    /// Planning or execution.
    pub mode: Option<String>,
    /// What it works on.
    pub project: Option<String>,
    /// Where that is.
    pub project_root: Option<String>,
    /// The hash of its specification.
    pub spec_hash: Option<String>,
    /// When that was frozen.
    pub spec_frozen_at_ms: Option<i64>,
    /// Side effects that it must not have; `None` leaves it to the configuration.
    pub blacklist: Option<Vec<String>>,
    /// When this was last changed.
    pub updated_at_ms: i64,
    /// By whom.
    pub updated_by: String,
}

/// One use of a tool by an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// Which agent.
    pub agent: String,
    /// The canonical id of the tool.
    pub tool: String,
    /// When.
    pub at_ms: i64,
}

/// How an agent has used a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUses {
    /// Which agent.
    pub agent: String,
    /// The canonical id of the tool.
    pub tool: String,
    /// When first.
    pub first_at_ms: i64,
    /// When last.
    pub last_at_ms: i64,
    /// How often.
    pub n_uses: u64,
}
