//! Operator-set context of agents, and their use of tools.

/// An agent, and the context in which its calls are decided. The agent's own requests cannot change it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentRecord {
    /// The agent's id.
    pub id: String,
    /// The profile (named set of gates) that applies to it.
    pub profile: Option<String>,
    /// `planning` or `execution`.
    pub mode: Option<String>,
    /// The project it works on.
    pub project: Option<String>,
    /// The root directory of the project.
    pub project_root: Option<String>,
    /// The hash of its specification.
    pub spec_hash: Option<String>,
    /// When the specification was frozen.
    pub spec_frozen_at_ms: Option<i64>,
    /// Forbidden side effects; `None` uses the configured default.
    pub blacklist: Option<Vec<String>>,
    /// Its title for people.
    pub title: Option<String>,
    /// The user it belongs to; the built-in administrator if there is none.
    pub owner: Option<String>,
    /// When and by whom it was created; an agent that was only given settings was never created.
    pub created: Option<(i64, String)>,
    /// Who paused it, if it is paused.
    pub paused: Option<Pause>,
    /// The preset that it was created from.
    pub preset: Option<AgentPreset>,
    /// When this record was last changed.
    pub updated_at_ms: i64,
    /// Who last changed it.
    pub updated_by: String,
}

/// What an agent keeps of the preset that it was created from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPreset {
    /// The name of the preset.
    pub name: String,
    /// What the agent's model is told first.
    pub system_prompt: Option<String>,
}

/// A pause of an agent. Its calls are refused meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Since when.
    pub at_ms: i64,
    /// Who paused it.
    pub by: String,
    /// The reason, if one was given.
    pub reason: Option<String>,
}

/// An agent that was removed. Its id stays reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerAgent {
    /// The agent's id.
    pub id: String,
    /// The user it belonged to; the built-in administrator if there is none.
    pub owner: Option<String>,
    /// When it was removed.
    pub removed_at_ms: i64,
    /// Who removed it.
    pub removed_by: String,
}

/// One use of a tool by an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    /// The agent's id.
    pub agent: String,
    /// The canonical id of the tool.
    pub tool: String,
    /// When the tool was used.
    pub at_ms: i64,
}

/// Usage statistics of one tool for one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUses {
    /// The agent's id.
    pub agent: String,
    /// The canonical id of the tool.
    pub tool: String,
    /// When it was first used.
    pub first_at_ms: i64,
    /// When it was last used.
    pub last_at_ms: i64,
    /// The number of uses.
    pub n_uses: u64,
}
