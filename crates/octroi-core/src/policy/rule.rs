//! One rule: its effect, and the calls it matches.

use std::fmt;

use super::exact::ExactArguments;
use super::example::Example;
use super::predicate::{ArgumentTest, FactTest, Lean, Tester};
use crate::approval::Approvers;
use crate::call::Call;
use crate::glob::Glob;
use crate::tool::{Risk, ToolDescriptor};

/// The effect of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    /// The call is allowed.
    Allow,
    /// The call needs approval.
    Ask,
    /// The call is denied; the agent may go on.
    Deny,
    /// The call is denied, and the agent should stop.
    Abort,
}

impl Word {
    /// Its name in policies and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Abort => "abort",
        }
    }
}

/// Patterns over server and tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern {
    pub(super) server: Glob,
    pub(super) tool: Glob,
}

impl ToolPattern {
    /// Parses `server.tool`, `mcp:server:tool`, `mcp__server__tool`, `server__tool` or `*`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("mcp:").or_else(|| text.strip_prefix("mcp__")).unwrap_or(text);
        let text =
            text.strip_prefix("builtin:").map_or_else(|| text.to_owned(), |tool| format!("octroi.{tool}"));
        if text == "*" {
            return Some(Self { server: Glob::new("*"), tool: Glob::new("*") });
        }
        // Server names contain none of these, so the first separator divides.
        let (server, tool) =
            text.split_once('.').or_else(|| text.split_once(':')).or_else(|| text.split_once("__"))?;
        let fine = !server.is_empty() && !tool.is_empty();
        fine.then(|| Self { server: Glob::new(server), tool: Glob::new(tool) })
    }

    /// The server and the tool, if it matches exactly one tool.
    pub fn literal(&self) -> Option<(String, String)> {
        Some((self.server.literal()?.to_owned(), self.tool.literal()?.to_owned()))
    }

    /// Whether this tool matches.
    pub fn matches(&self, server: &str, tool: &str) -> bool {
        self.server.matches(server) && self.tool.matches(tool)
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        self.server.covers(&other.server) && self.tool.covers(&other.tool)
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.server, self.tool)
    }
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name in decisions: its `id`, or its position, as in `deny[2]`.
    pub name: String,
    /// Its effect.
    pub word: Word,
    /// The reason, for whoever is denied or asked.
    pub reason: Option<String>,
    /// Who may decide, if the rule asks and says it.
    pub approvers: Approvers,
    /// The line in the document.
    pub line: usize,
    /// When it expires.
    pub until_ms: Option<i64>,
    pub(super) agents: Vec<Glob>,
    pub(super) tools: Vec<ToolPattern>,
    pub(super) min_risk: Risk,
    pub(super) max_risk: Risk,
    pub(super) side_effects: Vec<Glob>,
    pub(super) arguments: Vec<ArgumentTest>,
    /// The complete arguments and other params, which must be equal.
    pub(super) exact_arguments: Option<ExactArguments>,
    pub(super) facts: Vec<FactTest>,
    pub(super) examples: Examples,
}

/// Calls that show what a rule is about; they are checked when it is loaded.
#[derive(Clone, Debug, Default)]
pub(super) struct Examples {
    pub(super) matching: Vec<Example>,
    pub(super) not_matching: Vec<Example>,
}

impl Rule {
    /// Whether the rule matches this call. The cheapest and most selective checks come first.
    pub fn matches(&self, call: &Call<'_>) -> bool {
        self.until_ms.is_none_or(|until| call.now_ms < until)
            && (self.agents.is_empty() || self.agents.iter().any(|agent| agent.matches(call.agent())))
            && self.concerns(call.tool)
            && self.sees_all_of(call)
            && (self.arguments.is_empty()
                || self.arguments.iter().all(|test| test.holds(call.arguments, self.tester(call))))
            && self.exact_arguments.as_ref().is_none_or(|exact| exact.are_those_of(call, self.lean()))
            && (self.facts.is_empty()
                || self.facts.iter().all(|test| test.holds(call.facts(), self.tester(call))))
    }

    fn tester<'c>(&self, call: &'c Call<'_>) -> Tester<'c> {
        let root = call.context.project_root.as_deref();
        Tester { evaluation: call.evaluation(), root, lean: self.lean() }
    }

    /// Whether nothing escapes its tests. What is tested are arguments, and a server may read other params instead, so
    /// a rule that allows by arguments does not match a call with params that MCP does not define.
    fn sees_all_of(&self, call: &Call<'_>) -> bool {
        let tests_arguments = !self.arguments.is_empty() || !self.facts.is_empty();
        !(tests_arguments && self.lean() == Lean::Miss && call.has_undefined_params())
    }

    /// The names of the arguments that it tests.
    pub(super) fn argument_names(&self) -> impl Iterator<Item = &str> {
        self.arguments.iter().flat_map(|test| &test.path).map(String::as_str)
    }

    /// An argument without which the rule matches no call, if there is one.
    pub(super) fn needed_argument(&self) -> Option<&str> {
        self.arguments.iter().find_map(|test| test.needed_argument(self.lean()))
    }

    /// Whether the rule can match calls of this tool, for any caller.
    pub fn concerns(&self, tool: &ToolDescriptor) -> bool {
        (self.min_risk..=self.max_risk).contains(&tool.risk)
            && self.tools.iter().any(|pattern| pattern.matches(&tool.source_id, &tool.name))
            && self.has_effects(tool)
    }

    fn has_effects(&self, tool: &ToolDescriptor) -> bool {
        if self.side_effects.is_empty() {
            return true;
        }
        let mut each =
            tool.side_effects.iter().map(|tag| self.side_effects.iter().any(|glob| glob.matches(tag)));
        match self.lean() {
            Lean::Match => each.any(|fits| fits),
            Lean::Miss => each.all(|fits| fits),
        }
    }

    /// Whether it matches every call of its tools.
    pub(super) fn is_unconditional(&self) -> bool {
        self.agents.is_empty()
            && self.min_risk == Risk::Low
            && self.max_risk == Risk::Critical
            && self.side_effects.is_empty()
            && self.arguments.is_empty()
            && self.exact_arguments.is_none()
            && self.facts.is_empty()
            && self.until_ms.is_none()
    }

    fn lean(&self) -> Lean {
        match self.word {
            Word::Allow => Lean::Miss,
            Word::Ask | Word::Deny | Word::Abort => Lean::Match,
        }
    }
}
