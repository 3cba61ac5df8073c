//! Which agents have called which tools, and how often in the last minute.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use octroi_core::quota::Window;
use octroi_core::tool::ToolDescriptor;
use octroi_store::ToolUse;
use parking_lot::{Mutex, RwLock};

/// The call history of agents.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    known: RwLock<HashMap<String, HashSet<Arc<str>>>>,
    lately: RwLock<HashMap<String, Arc<Mutex<Window>>>>,
    /// First uses that are not persisted yet.
    fresh: Mutex<Vec<ToolUse>>,
}

impl Uses {
    /// Restores the history of earlier runs.
    pub(crate) fn recall(&self, uses: impl IntoIterator<Item = (String, String)>) {
        let mut known = self.known.write();
        for (agent, tool) in uses {
            known.entry(agent).or_default().insert(tool.into());
        }
    }

    /// Forgets an agent that was removed.
    pub(crate) fn forget(&self, agent: &str) {
        self.known.write().remove(agent);
        self.lately.write().remove(agent);
        self.fresh.lock().retain(|used| used.agent != agent);
    }

    /// All agents that have called a tool.
    pub(crate) fn agents(&self) -> Vec<String> {
        self.known.read().keys().filter(|agent| !agent.is_empty()).cloned().collect()
    }

    /// Whether this agent has never called this tool.
    pub(crate) fn is_first(&self, agent: &str, tool: &ToolDescriptor) -> bool {
        !self.known.read().get(agent).is_some_and(|tools| tools.contains(tool.id.as_str()))
    }

    /// How many calls an agent made within the last minute.
    pub(crate) fn lately(&self, agent: &str, now_ms: i64) -> u32 {
        self.lately.read().get(agent).map_or(0, |window| window.lock().count(now_ms))
    }

    /// Counts an allowed call.
    pub(crate) fn count(&self, agent: &str, tool: &ToolDescriptor, now_ms: i64) {
        let window = self.lately.read().get(agent).cloned();
        let window =
            window.unwrap_or_else(|| Arc::clone(self.lately.write().entry(agent.to_owned()).or_default()));
        window.lock().add(now_ms);
        if self.is_first(agent, tool) {
            self.known.write().entry(agent.to_owned()).or_default().insert(tool.id.as_str().into());
            let tool = tool.id.to_string();
            self.fresh.lock().push(ToolUse { agent: agent.to_owned(), tool, at_ms: now_ms });
        }
    }

    /// Takes the first uses to persist.
    pub(crate) fn take_fresh(&self) -> Vec<ToolUse> {
        std::mem::take(&mut self.fresh.lock())
    }
}
