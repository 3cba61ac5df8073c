//! Whether a policy may become active: rules that can never match, examples and tests that fail.

use std::fmt;

use super::document::{Document, Example, Expected, TestCase};
use super::rule::{Rule, ToolPattern, Word};
use super::{Level, Policy};
use crate::decision::{AgentContext, Call};
use crate::facts::Facts;
use crate::suggest::did_you_mean;
use crate::tool::ToolDescriptor;

/// One thing that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// In which line, from 1; 0 if nowhere in particular.
    pub line: usize,
    /// What.
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
pub struct Known<'a> {
    /// Every tool there is.
    pub tools: &'a [ToolDescriptor],
    /// Servers that are configured, also those whose tools are not known yet.
    pub servers: &'a [String],
    /// Facts of a call that somebody thought of.
    pub facts: &'a dyn Fn(&serde_json::Value) -> Facts,
    /// Makes up a tool that is not there, from its name.
    pub imagine: &'a dyn Fn(&str, &str) -> ToolDescriptor,
    /// What time it is.
    pub now_ms: i64,
}

impl Policy {
    /// Everything that speaks against making this policy active.
    pub fn check(&self, level: Level, known: &Known<'_>) -> Vec<Complaint> {
        let mut complaints = Vec::new();
        for rule in &self.document.rules {
            if level == Level::Floor && rule.word == Word::Allow {
                let message =
                    format!("{}: the floor only forbids and asks; allow at another level", rule.name);
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

    /// Runs the tests that stand in the policy, in their order.
    pub fn run_tests(&self, known: &Known<'_>) -> Vec<Tested> {
        let run = |test: &TestCase| Tested {
            name: test.name.clone(),
            line: test.call.line,
            expected: test.expected,
            said: judge(self, &test.call, known),
        };
        self.document.tests.iter().map(run).collect()
    }
}

/// One test of a policy that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    /// What is tested.
    pub name: String,
    /// In which line it stands.
    pub line: usize,
    /// What must be said.
    pub expected: Expected,
    /// What was said, or why nothing could be.
    pub said: Result<Expected, String>,
}

impl Tested {
    /// Whether the policy said what it must.
    pub fn passed(&self) -> bool {
        self.said.as_ref() == Ok(&self.expected)
    }

    /// What was said, in a word or a few.
    pub fn got(&self) -> String {
        match &self.said {
            Err(error) => format!("an error: {error}"),
            Ok(word) => word.as_str().to_owned(),
        }
    }
}

fn judge(policy: &Policy, example: &Example, known: &Known<'_>) -> Result<Expected, String> {
    let said = with_call(example, known, |call| policy.judge(call))??;
    Ok(said.map_or(Expected::Silence, |said| Expected::Word(said.word)))
}

/// Makes the call that an example describes.
fn with_call<T>(
    example: &Example,
    known: &Known<'_>,
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

fn failed_examples(rule: &Rule, known: &Known<'_>) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let examples = rule.matching.iter().map(|example| (example, true));
    let counterexamples = rule.not_matching.iter().map(|example| (example, false));
    for (example, wanted) in examples.chain(counterexamples) {
        let message = match with_call(example, known, |call| rule.matches(call)) {
            Err(error) => error,
            Ok(matches) if matches == wanted => continue,
            Ok(true) => format!("{} matches `{}`, and `not_match` says it must not", rule.name, example.tool),
            Ok(false) => format!("{} does not match `{}`, and `match` says it must", rule.name, example.tool),
        };
        complaints.push(Complaint::at(example.line, message));
    }
    complaints
}

/// Where all tools of the servers it speaks of are known, a rule must speak of one of them.
fn never_matches(rule: &Rule, known: &Known<'_>) -> Option<Complaint> {
    if known.tools.iter().any(|tool| rule.concerns(tool)) {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for pattern in &rule.tools {
        let servers: Vec<&String> =
            known.servers.iter().filter(|server| pattern.server.matches(server)).collect();
        if servers.is_empty() {
            let Some(server) = pattern.server.literal() else {
                // It may be meant for servers to come.
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

/// A rule that a stronger one without conditions always outvotes says nothing.
fn shadow_of(rule: &Rule, document: &Document) -> Option<Complaint> {
    let stronger = document.rules.iter().find(|other| {
        other.word > rule.word
            && other.is_unconditional()
            && rule.tools.iter().all(|mine| other.tools.iter().any(|theirs| theirs.covers(mine)))
    })?;
    let message = format!(
        "{} can never take effect: {} ({}) speaks of all the same calls",
        rule.name,
        stronger.name,
        stronger.word.as_str(),
    );
    Some(Complaint::at(rule.line, message))
}
