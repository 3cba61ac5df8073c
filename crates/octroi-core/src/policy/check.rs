//! Checks before a policy becomes active: rules that can never match, failing examples and tests.

use std::fmt;

use super::document::Document;
use super::example::{Example, Expected, TestCase};
use super::rule::{Rule, ToolPattern, Word};
use super::{Level, Policy};
use crate::agent::AgentContext;
use crate::call::Call;
use crate::facts::Facts;
use crate::suggest::did_you_mean;
use crate::tool::ToolDescriptor;

/// One problem of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The line, from 1; 0 if it has none.
    pub line: usize,
    /// The message.
    pub message: String,
}

impl Complaint {
    pub(super) fn at(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => formatter.write_str(&self.message),
            line => write!(formatter, "line {line}: {}", self.message),
        }
    }
}

/// What a policy is checked against.
pub struct CheckContext<'a> {
    /// All known tools.
    pub tools: &'a [ToolDescriptor],
    /// All configured servers, including those whose tools are not known yet.
    pub servers: &'a [String],
    /// Computes the facts of a hypothetical call.
    pub facts: &'a dyn Fn(&serde_json::Value) -> Facts,
    /// Describes a tool that does not exist, from its server and name.
    pub imagine: &'a dyn Fn(&str, &str) -> ToolDescriptor,
    /// The current time.
    pub now_ms: i64,
}

impl Policy {
    /// Everything that prevents this policy from becoming active.
    pub fn check(&self, level: Level, known: &CheckContext<'_>) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for rule in &self.document.rules {
            if level == Level::Floor && rule.word == Word::Allow {
                let message =
                    format!("{}: the floor can only deny and ask; allow at another level", rule.name);
                complaints.push(Complaint::at(rule.line, message));
            }
            complaints.extend(never_matches(rule, known));
            complaints.extend(shadow_of(rule, &self.document));
            complaints.extend(failed_examples(rule, known));
        }
        for tested in self.run_tests(known).iter().filter(|tested| !tested.passed()) {
            let Tested { name, expected, .. } = tested;
            let message = format!("test `{name}` expects {}, got {}", expected.as_str(), tested.got());
            complaints.push(Complaint::at(tested.line, message));
        }
        complaints
    }

    /// Runs the tests in the policy, in their order.
    pub fn run_tests(&self, known: &CheckContext<'_>) -> Vec<Tested> {
        let run = |test: &TestCase| Tested {
            name: test.name.clone(),
            line: test.call.line,
            expected: test.expected,
            actual: judge(self, &test.call, known),
        };
        self.document.tests.iter().map(run).collect()
    }
}

/// The result of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    /// The name of the test.
    pub name: String,
    /// The line of the test.
    pub line: usize,
    /// The expected verdict.
    pub expected: Expected,
    /// The actual verdict, or why there is none.
    pub actual: Result<Expected, String>,
}

impl Tested {
    /// Whether both are equal.
    pub fn passed(&self) -> bool {
        self.actual.as_ref() == Ok(&self.expected)
    }

    /// The actual verdict, for messages.
    pub fn got(&self) -> String {
        match &self.actual {
            Err(error) => format!("an error: {error}"),
            Ok(word) => word.as_str().to_owned(),
        }
    }
}

fn judge(policy: &Policy, example: &Example, known: &CheckContext<'_>) -> Result<Expected, String> {
    let verdict = with_call(example, known, |call| policy.judge(call))??;
    Ok(verdict.map_or(Expected::Silence, |verdict| Expected::Word(verdict.word)))
}

/// Builds the call that an example describes.
fn with_call<T>(
    example: &Example,
    known: &CheckContext<'_>,
    judge: impl FnOnce(&Call<'_>) -> T,
) -> Result<T, String> {
    let literal = ToolPattern::parse(&example.tool).and_then(|pattern| pattern.literal());
    let Some((server, name)) = literal else {
        return Err(format!("`{}` names no tool: write server.tool", example.tool));
    };
    let found = known.tools.iter().find(|tool| *tool.source_id == *server && *tool.name == *name);
    let imagined;
    let tool = match found {
        Some(tool) => tool,
        None => {
            imagined = (known.imagine)(&server, &name);
            &imagined
        }
    };
    let context = AgentContext { mode: example.mode.unwrap_or_default(), ..AgentContext::default() };
    let facts = || (known.facts)(&example.arguments);
    let call =
        Call::imagined(example.agent.as_deref(), &context, tool, &example.arguments, &facts, known.now_ms);
    Ok(judge(&call))
}

fn failed_examples(rule: &Rule, known: &CheckContext<'_>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let examples = rule.examples.matching.iter().map(|example| (example, true));
    let counterexamples = rule.examples.not_matching.iter().map(|example| (example, false));
    for (example, must_match) in examples.chain(counterexamples) {
        let message = match with_call(example, known, |call| rule.matches(call)) {
            Err(error) => error,
            Ok(matches) if matches == must_match => continue,
            Ok(true) => format!("{} matches `{}`, and `not_match` says it must not", rule.name, example.tool),
            Ok(false) => format!("{} does not match `{}`, and `match` says it must", rule.name, example.tool),
        };
        complaints.push(Complaint::at(example.line, message));
    }
    complaints
}

/// A rule must match some tool if all tools of its servers are known.
fn never_matches(rule: &Rule, known: &CheckContext<'_>) -> Option<Complaint> {
    if known.tools.iter().any(|tool| rule.concerns(tool)) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for pattern in &rule.tools {
        let servers: Vec<&String> =
            known.servers.iter().filter(|server| pattern.server.matches(server)).collect();
        if servers.is_empty() {
            let Some(server) = pattern.server.literal() else {
                // It may be meant for future servers.
                return None;
            };
            let hint = did_you_mean(server, known.servers.iter().map(String::as_str));
            let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            let message = format!("{} can never match: no server is called `{server}`{hint}", rule.name);
            return Some(Complaint::at(rule.line, message));
        }
        for server in servers {
            let tools: Vec<&str> = known
                .tools
                .iter()
                .filter(|tool| *tool.source_id == **server)
                .map(|tool| &*tool.name)
                .collect();
            if tools.is_empty() {
                return None;
            }
            names.extend(tools.iter().map(|tool| format!("{server}.{tool}")));
        }
    }
    let written: Vec<String> = rule.tools.iter().map(ToString::to_string).collect();
    let hint = written.first().and_then(|text| did_you_mean(text, names.iter().map(String::as_str)));
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    let message = format!(
        "{} can never match: no tool fits `{}` and its risk and side effects{hint}",
        rule.name,
        written.join("`, `")
    );
    Some(Complaint::at(rule.line, message))
}

/// A rule that a stronger rule without conditions always overrides has no effect.
fn shadow_of(rule: &Rule, document: &Document) -> Option<Complaint> {
    let stronger = document.rules.iter().find(|other| {
        other.word > rule.word
            && other.is_unconditional()
            && rule.tools.iter().all(|mine| other.tools.iter().any(|theirs| theirs.covers(mine)))
    })?;
    let message = format!(
        "{} can never take effect: {} ({}) matches all the same calls",
        rule.name,
        stronger.name,
        stronger.word.as_str(),
    );
    Some(Complaint::at(rule.line, message))
}
