//! Operator-set context of agents, and their use of tools.

use super::{Engine, Store};
use crate::agent::{AgentRecord, ToolUse, ToolUses};
use crate::error::StoreError;

impl Store {
    /// The context of one agent.
    pub async fn agent(&self, id: &str) -> Result<Option<AgentRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.agent(id).await,
        }
    }

    /// The contexts of all agents, by id.
    pub async fn agents(&self) -> Result<Vec<AgentRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.agents().await,
        }
    }

    /// Replaces the context of an agent. It is on the disk when this returns.
    pub async fn save_agent(&self, agent: &AgentRecord) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_agent(agent).await,
        }
    }

    /// Deletes the context and the tool usage of an agent; returns whether there was a context.
    pub async fn remove_agent(&self, id: &str) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.remove_agent(id).await,
        }
    }

    /// Adds uses of tools.
    pub async fn record_uses(&self, uses: &[ToolUse]) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.record_uses(uses).await,
        }
    }

    /// The tool usage of all agents, by agent and tool.
    pub async fn tool_uses(&self) -> Result<Vec<ToolUses>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.tool_uses().await,
        }
    }
}
