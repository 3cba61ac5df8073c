//! The call that is decided.

use std::cell::OnceCell;

use serde_json::Value;

use super::context::AgentContext;
use crate::facts::Facts;
use crate::name::{CanonicalId, ServerKey};
use crate::principal::{Principal, Role};
use crate::tool::ToolDescriptor;

/// What a request wants from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// Call a tool.
    Tool(&'a str),
    /// Get a prompt.
    Prompt(&'a str),
    /// Read or watch a resource.
    Resource(&'a str),
    /// Ask for completions.
    Completion,
    /// Follow, feed or end a task.
    Task(&'a str),
    /// A method that Octroi passes on without knowing it.
    Other(&'a str),
}

impl Subject<'_> {
    /// The canonical id, for what has one.
    pub fn canonical_id(&self, server: &ServerKey) -> Option<CanonicalId> {
        match self {
            Self::Tool(name) => Some(CanonicalId::mcp(server, name)),
            Self::Prompt(_) | Self::Resource(_) | Self::Completion | Self::Task(_) | Self::Other(_) => None,
        }
    }
}

/// One tool call: who, what, with which arguments.
pub struct Call<'a> {
    /// Person or program.
    pub role: Role,
    /// The state of whoever calls.
    pub context: &'a AgentContext,
    /// The tool.
    pub tool: &'a ToolDescriptor,
    /// Its arguments.
    pub arguments: &'a Value,
    /// Whether the caller showed the admin token.
    pub has_admin_token: bool,
    /// What time it is.
    pub now_ms: i64,
    agent: &'a str,
    find_facts: &'a dyn Fn() -> Facts,
    facts: OnceCell<Facts>,
}

impl<'a> Call<'a> {
    /// A call. Facts are looked for once, and only if somebody asks for them.
    pub fn new(
        principal: &'a Principal,
        context: &'a AgentContext,
        tool: &'a ToolDescriptor,
        arguments: &'a Value,
        find_facts: &'a dyn Fn() -> Facts,
        now_ms: i64,
    ) -> Self {
        let agent = principal.agent_id.as_deref().unwrap_or_default();
        let role = principal.role;
        Self { role, ..Self::imagined(Some(agent), context, tool, arguments, find_facts, now_ms) }
    }

    /// A call that nobody made.
    pub fn imagined(
        agent: Option<&'a str>,
        context: &'a AgentContext,
        tool: &'a ToolDescriptor,
        arguments: &'a Value,
        find_facts: &'a dyn Fn() -> Facts,
        now_ms: i64,
    ) -> Self {
        Self {
            role: Role::Agent,
            context,
            tool,
            arguments,
            has_admin_token: false,
            now_ms,
            agent: agent.unwrap_or_default(),
            find_facts,
            facts: OnceCell::new(),
        }
    }

    /// Which agent calls; empty for a person.
    pub fn agent(&self) -> &str {
        self.agent
    }

    /// What can be told from the arguments.
    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(self.find_facts)
    }
}
