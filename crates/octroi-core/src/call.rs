//! The call to decide about.

use std::cell::OnceCell;

use serde_json::Value;

use crate::agent::AgentContext;
use crate::arguments::{Exactness, read_exactly};
use crate::facts::Facts;
use crate::principal::{Principal, PrincipalKind};
use crate::tool::ToolDescriptor;

mod evaluation;

pub(crate) use evaluation::Evaluation;

/// The members of `params` that MCP defines for a tool call, beside its tool and its arguments.
const DEFINED_PARAMS: [&str; 1] = ["task"];

/// What a call sends in `params` beside its tool and its arguments, parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOtherParams {
    /// An object; null if they cannot be read, which no rule expects.
    pub value: Value,
    /// Whether the value shows how its numbers are written.
    pub exactness: Exactness,
}

impl ReadOtherParams {
    /// Parses the object that holds them.
    pub fn read(json: &[u8]) -> Self {
        match read_exactly(json) {
            Ok((value, exactness)) => Self { value, exactness },
            Err(_) => Self { value: Value::Null, exactness: Exactness::Rounded },
        }
    }

    /// Whether MCP defines all of them.
    pub fn are_defined(&self) -> bool {
        let members = self.value.as_object();
        members.is_some_and(|members| members.keys().all(|name| DEFINED_PARAMS.contains(&name.as_str())))
    }
}

/// One tool call: its caller, tool and arguments.
pub struct Call<'a> {
    /// The kind of the caller.
    pub kind: PrincipalKind,
    /// The state of the calling agent.
    pub context: &'a AgentContext,
    /// The tool.
    pub tool: &'a ToolDescriptor,
    /// Its arguments.
    pub arguments: &'a Value,
    /// Whether the arguments show how their numbers are written.
    pub exactness: Exactness,
    /// What else it sends in `params`, if anything.
    pub other_params: Option<&'a ReadOtherParams>,
    /// Whether the caller presented the admin token.
    pub has_admin_token: bool,
    /// The current time.
    pub now_ms: i64,
    agent: &'a str,
    find_facts: &'a dyn Fn() -> Facts,
    facts: OnceCell<Facts>,
    evaluation: OnceCell<Evaluation>,
}

impl<'a> Call<'a> {
    /// A call. Facts are computed once, on first use.
    pub fn new(
        principal: &'a Principal,
        context: &'a AgentContext,
        tool: &'a ToolDescriptor,
        arguments: &'a Value,
        find_facts: &'a dyn Fn() -> Facts,
        now_ms: i64,
    ) -> Self {
        let agent = principal.agent_id().map(|agent| &**agent).unwrap_or_default();
        let kind = principal.kind();
        Self { kind, ..Self::imagined(Some(agent), context, tool, arguments, find_facts, now_ms) }
    }

    /// A hypothetical call, for tests and dry runs of policies.
    pub fn imagined(
        agent: Option<&'a str>,
        context: &'a AgentContext,
        tool: &'a ToolDescriptor,
        arguments: &'a Value,
        find_facts: &'a dyn Fn() -> Facts,
        now_ms: i64,
    ) -> Self {
        Self {
            kind: PrincipalKind::Agent,
            context,
            tool,
            arguments,
            exactness: Exactness::Exact,
            other_params: None,
            has_admin_token: false,
            now_ms,
            agent: agent.unwrap_or_default(),
            find_facts,
            facts: OnceCell::new(),
            evaluation: OnceCell::new(),
        }
    }

    /// The id of the calling agent; empty for a person.
    pub fn agent(&self) -> &str {
        self.agent
    }

    /// Whether it sends params that MCP does not define.
    pub fn has_undefined_params(&self) -> bool {
        self.other_params.is_some_and(|params| !params.are_defined())
    }

    /// What all rules share that look at this call.
    pub(crate) fn evaluation(&self) -> &Evaluation {
        self.evaluation.get_or_init(|| Evaluation::of(self.arguments))
    }

    /// Whether testing the arguments took too many steps, so that nothing is known about them.
    pub(crate) fn has_too_many_tests(&self) -> bool {
        self.evaluation.get().is_some_and(Evaluation::is_over)
    }

    /// Facts derived from the arguments.
    pub fn facts(&self) -> &Facts {
        self.facts.get_or_init(self.find_facts)
    }
}
