//! What is said about agents, and which tools they have used.

use super::{Engine, Store};
use crate::agent::{AgentRecord, ToolUse, ToolUses};
use crate::error::StoreError;

impl Store {
    /// What is said about one agent.
    pub async fn agent(&self, id: &str) -> Result<Option<AgentRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.agent(id).await,
        }
    }

    /// What is said about all agents, by id.
    pub async fn agents(&self) -> Result<Vec<AgentRecord>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.agents().await,
        }
    }

    /// Says something about an agent, in place of all that was said. It is on the disk when this returns.
    pub async fn save_agent(&self, agent: &AgentRecord) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.save_agent(agent).await,
        }
    }

    /// Forgets what was said about an agent and which tools it has used. Says whether anything was said.
    pub async fn remove_agent(&self, id: &str) -> Result<bool, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.remove_agent(id).await,
        }
    }

    /// Counts uses of tools.
    pub async fn record_uses(&self, uses: &[ToolUse]) -> Result<(), StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.record_uses(uses).await,
        }
    }

    /// How all agents have used tools, by agent and tool.
    pub async fn tool_uses(&self) -> Result<Vec<ToolUses>, StoreError> {
        match &self.engine {
            Engine::Sqlite(sqlite) => sqlite.tool_uses().await,
        }
    }
}
