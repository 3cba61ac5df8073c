//! Operator-set context of agents, and their use of tools.

use super::{Engine, Store};
use crate::agent::{AgentRecord, FormerAgent, ToolUse, ToolUses};
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

    /// Replaces the context of an agent, and frees its id if it was reserved. It is on the disk when this returns.
    pub async fn save_agent(&self, agent: &AgentRecord) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_agent(agent).await,
        }
    }

    /// Removes an agent: deletes its context and its tool usage, revokes its tokens, retires its policies, and
    /// reserves its id.
    pub async fn remove_agent(&self, former: &FormerAgent) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.remove_agent(former).await,
        }
    }

    /// The agents that were removed and not created again, by id.
    pub async fn former_agents(&self) -> Result<Vec<FormerAgent>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.former_agents().await,
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
