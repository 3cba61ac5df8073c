//! The source form of a policy: TOML with lists of rules, a program, and tests.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value as Json;

use super::check::Complaint;
use super::exact::{ExactArguments, ExactValue};
use super::example::{Example, Expected, TestCase};
use super::index::Index;
use super::pattern::TextPattern;
use super::predicate::{ArgumentTest, FACT_NAMES, FactTest, Test};
use super::rule::{Examples, Rule, ToolPattern, Word};
use crate::agent::Mode;
use crate::arguments::Names;
use crate::call::Call;
use crate::glob::Glob;
use crate::suggest::did_you_mean;
use crate::syntax::{Format, Map, Member, Node, Origin, Value, parse};
use crate::time::parse_time;
use crate::tool::Risk;

mod approvers;

/// A parsed policy.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// All rules in the order of writing.
    pub rules: Vec<Rule>,
    /// The program, in Cedar.
    pub cedar: Option<String>,
    /// The first line of the program.
    pub cedar_line: usize,
    /// Tests that must pass before the policy becomes active.
    pub tests: Vec<TestCase>,
    /// Finds the rules for a call.
    index: Index,
    /// The arguments that its rules test.
    pub(super) names: Names,
    /// The positions of the rules that test each of them.
    pub(super) rules_by_argument: HashMap<Box<str>, Vec<usize>>,
}

/// A longer policy is refused.
const SOURCE_BYTES_MAX: usize = 1024 * 1024;
/// More rules or tests than this are refused: rules are compared with each other.
const ENTRIES_MAX: usize = 3_000;
/// After this many complaints nothing is suggested any more.
const HINTS_MAX: usize = 50;

const ROOT_KEYS: [&str; 5] = ["deny", "ask", "allow", "cedar", "tests"];
const RULE_KEYS: [&str; 14] = [
    "id",
    "tool",
    "agent",
    "min_risk",
    "max_risk",
    "side_effects",
    "args",
    "exact_args",
    "exact_params",
    "facts",
    "until",
    "reason",
    "match",
    "not_match",
];
const EXAMPLE_KEYS: [&str; 4] = ["tool", "agent", "arguments", "mode"];
const TEST_KEYS: [&str; 6] = ["name", "tool", "agent", "arguments", "mode", "expect"];

impl Document {
    /// Parses a policy; all problems are reported together.
    pub fn parse(text: &str) -> Result<Self, Vec<Complaint>> {
        if text.len() > SOURCE_BYTES_MAX {
            let message = format!("the policy is longer than {SOURCE_BYTES_MAX} bytes");
            return Err(vec![Complaint::at(0, message)]);
        }
        let path: Arc<Path> = Path::new("policy").into();
        let node = parse(Format::Toml, text, &path).map_err(|error| {
            vec![Complaint::at(error.line, format!("{}\n{}", error.message, error.excerpt))]
        })?;
        let mut reading = Reading::default();
        let mut document = Self { names: Names::of_rules(), ..Self::default() };
        let empty = Map::default();
        let root = node.as_map().unwrap_or(&empty);
        reading.known_keys(root, &ROOT_KEYS);
        for key in ["deny", "ask", "allow", "tests"] {
            let n_entries = match root.get(key).map(|node| &node.value) {
                Some(Value::List(items)) => items.len(),
                _ => 0,
            };
            if n_entries > ENTRIES_MAX {
                let message = format!("there are more than {ENTRIES_MAX} entries in `{key}`");
                return Err(vec![Complaint::at(0, message)]);
            }
        }
        for (key, word) in [("deny", Word::Deny), ("ask", Word::Ask), ("allow", Word::Allow)] {
            for (index, node) in reading.list(root, key).iter().enumerate() {
                let name = format!("{key}[{}]", index + 1);
                document.rules.extend(reading.rule(node, word, name));
            }
        }
        if let Some(node) = root.get("cedar") {
            document.cedar = reading.text(node, "cedar");
            document.cedar_line = line_of(&node.origin);
        }
        for (index, node) in reading.list(root, "tests").iter().enumerate() {
            document.tests.extend(reading.test(node, index + 1));
        }
        let mut names: Vec<&str> = document.rules.iter().map(|rule| rule.name.as_str()).collect();
        names.sort_unstable();
        if let Some([name, _]) = names.array_windows().find(|[one, other]| one == other) {
            reading.complaints.push(Complaint::at(0, format!("two rules are called `{name}`")));
        }
        document.index = Index::of(&document.rules);
        for (position, rule) in document.rules.iter().enumerate() {
            for name in rule.argument_names() {
                document.names.insert(name);
                document.rules_by_argument.entry(name.into()).or_default().push(position);
            }
        }
        if reading.complaints.is_empty() { Ok(document) } else { Err(reading.complaints) }
    }

    /// The strongest rule that matches a call; of several, the first in the document, so that the result is
    /// deterministic.
    pub fn strongest(&self, call: &Call<'_>) -> Option<&Rule> {
        let places = self.index.positions(call.tool, call.arguments);
        let matching = places.filter_map(|place| Some((self.rules.get(place)?, Reverse(place))));
        let matching = matching.filter(|(rule, _)| rule.matches(call));
        matching.max_by_key(|(rule, place)| (rule.word, *place)).map(|(rule, _)| rule)
    }

    /// The servers that its rules name literally.
    pub fn servers(&self) -> BTreeSet<&str> {
        let patterns = self.rules.iter().flat_map(|rule| &rule.tools);
        patterns.filter_map(|pattern| pattern.server.literal()).collect()
    }

    /// Whether it has no content at all.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.cedar.is_none()
    }
}

/// Reads values and collects problems.
#[derive(Default)]
struct Reading {
    complaints: Vec<Complaint>,
}

impl Reading {
    fn wrong(&mut self, origin: &Origin, message: impl Into<String>) {
        self.complaints.push(Complaint::at(line_of(origin), message.into()));
    }

    fn known_keys(&mut self, map: &Map, known: &[&str]) {
        for member in map {
            if !known.contains(&member.key.as_str()) {
                // Nobody reads hundreds of suggestions, and each takes a while to find.
                let has_hint = self.complaints.len() < HINTS_MAX;
                let hint = has_hint.then(|| did_you_mean(&member.key, known.iter().copied())).flatten();
                let hint = hint.unwrap_or_else(|| format!("known are {}", known.join(", ")));
                self.wrong(&member.origin, format!("unknown key `{}`; {hint}", member.key));
            }
        }
    }

    fn list<'a>(&mut self, map: &'a Map, key: &str) -> &'a [Node] {
        match map.get(key) {
            None => &[],
            Some(Node { value: Value::List(items), .. }) => items,
            Some(node) => {
                self.wrong(&node.origin, format!("`{key}` is a list of tables: write [[{key}]]"));
                &[]
            }
        }
    }

    fn text(&mut self, node: &Node, key: &str) -> Option<String> {
        let text = node.as_text().map(str::to_owned);
        if text.is_none() {
            self.wrong(&node.origin, format!("`{key}` must be a text, not {}", node.value.kind()));
        }
        text
    }

    /// One string, or a list of strings.
    fn texts(&mut self, map: &Map, key: &str) -> Vec<String> {
        match map.get(key) {
            None => Vec::new(),
            Some(Node { value: Value::List(items), origin }) => {
                if items.is_empty() {
                    self.wrong(origin, format!("`{key}` is empty, so the rule can never match"));
                }
                items.iter().filter_map(|item| self.text(item, key)).collect()
            }
            Some(node) => self.text(node, key).into_iter().collect(),
        }
    }

    fn rule(&mut self, node: &Node, word: Word, place: String) -> Option<Rule> {
        let Some(map) = node.as_map() else {
            self.wrong(&node.origin, "a rule is a table");
            return None;
        };
        let n_before = self.complaints.len();
        let mut known = RULE_KEYS.to_vec();
        match word {
            Word::Deny => known.push("abort"),
            Word::Ask => known.push("approvers"),
            Word::Allow | Word::Abort => {}
        }
        self.known_keys(map, &known);
        let word = match map.get("abort").map(|node| &node.value) {
            Some(Value::Bool(true)) => Word::Abort,
            Some(Value::Bool(false)) | None => word,
            Some(_) => {
                self.wrong(&node.origin, "`abort` must be true or false");
                word
            }
        };
        let tools = self.tools(map, &node.origin);
        let risk = |reading: &mut Self, key: &str, default: Risk| match map.get(key) {
            None => default,
            Some(node) => node.as_text().and_then(Risk::parse).unwrap_or_else(|| {
                reading.wrong(&node.origin, format!("`{key}` must be low, medium, high or critical"));
                default
            }),
        };
        let globs = |texts: Vec<String>| texts.iter().map(|text| Glob::new(text)).collect();
        let rule = Rule {
            name: map.get("id").and_then(|node| self.text(node, "id")).unwrap_or(place),
            word,
            reason: map.get("reason").and_then(|node| self.text(node, "reason")),
            approvers: self.approvers(map),
            line: line_of(&node.origin),
            until_ms: map.get("until").and_then(|node| self.time(node)),
            agents: globs(self.texts(map, "agent")),
            tools,
            min_risk: risk(self, "min_risk", Risk::Low),
            max_risk: risk(self, "max_risk", Risk::Critical),
            side_effects: globs(self.texts(map, "side_effects")),
            arguments: self.arguments(map),
            exact_arguments: self.exact_arguments(map),
            facts: self.facts(map),
            examples: Examples {
                matching: self.examples(map, "match"),
                not_matching: self.examples(map, "not_match"),
            },
        };
        if rule.min_risk > rule.max_risk {
            let message = "`min_risk` is above `max_risk`, so the rule can never match";
            self.wrong(&node.origin, message);
        }
        (self.complaints.len() == n_before).then_some(rule)
    }

    fn tools(&mut self, map: &Map, origin: &Origin) -> Vec<ToolPattern> {
        let mut tools = Vec::new();
        if map.get("tool").is_none() {
            self.wrong(
                origin,
                "a rule needs `tool`, as in `tool = \"github.create_*\"`; `*` means every tool",
            );
        }
        for text in self.texts(map, "tool") {
            match ToolPattern::parse(&text) {
                Some(pattern) => tools.push(pattern),
                None => {
                    let message =
                        format!("`{text}` names no tool: write server.tool, as in `github.create_*`");
                    self.wrong(origin, message);
                }
            }
        }
        tools
    }

    fn time(&mut self, node: &Node) -> Option<i64> {
        let text = match &node.value {
            Value::Text(text) | Value::Other(text) => Some(text),
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::List(_) | Value::Map(_) => None,
        };
        let time = text.and_then(|text| parse_time(text));
        if time.is_none() {
            let message = "`until` must be a time, as in 2027-01-31 or 2027-01-31T12:00:00Z";
            self.wrong(&node.origin, message);
        }
        time
    }

    fn table<'a>(&mut self, map: &'a Map, key: &str) -> Vec<&'a Member> {
        match map.get(key) {
            None => Vec::new(),
            Some(node) => match node.as_map() {
                Some(map) => map.iter().collect(),
                None => {
                    self.wrong(&node.origin, format!("`{key}` must be a table"));
                    Vec::new()
                }
            },
        }
    }

    fn arguments(&mut self, map: &Map) -> Vec<ArgumentTest> {
        let mut tests = Vec::new();
        for member in self.table(map, "args") {
            let path = member.key.split('.').map(str::to_owned).collect();
            if let Some(test) = self.value_test(&member.node, &member.key) {
                tests.push(ArgumentTest { path, test });
            }
        }
        tests
    }

    fn exact_arguments(&mut self, map: &Map) -> Option<ExactArguments> {
        let (arguments, params) = (self.exact(map, "exact_args"), self.exact(map, "exact_params"));
        if let (None, Some(node)) = (map.get("exact_args"), map.get("exact_params")) {
            self.wrong(&node.origin, "`exact_params` needs `exact_args`");
        }
        Some(ExactArguments { value: arguments?, params })
    }

    /// JSON, because TOML has no null, and a pattern would match more than the exact arguments.
    fn exact(&mut self, map: &Map, key: &str) -> Option<ExactValue> {
        let node = map.get(key)?;
        match node.as_text().map(|text| ExactValue::read(text.as_bytes())) {
            Some(Ok(value)) => return Some(value),
            Some(Err(error)) => self.wrong(&node.origin, format!("`{key}`: {error}")),
            None => {
                let message =
                    format!("`{key}` must be a JSON object in quotes, as in '{{\"path\":\"/tmp\"}}'");
                self.wrong(&node.origin, message);
            }
        }
        None
    }

    fn facts(&mut self, map: &Map) -> Vec<FactTest> {
        let mut tests = Vec::new();
        for member in self.table(map, "facts") {
            let Some((_, fact)) = FACT_NAMES.iter().find(|(name, _)| *name == member.key) else {
                let known: Vec<&str> = FACT_NAMES.iter().map(|(name, _)| *name).collect();
                self.wrong(
                    &member.origin,
                    format!("no fact is called `{}`; known are {}", member.key, known.join(", ")),
                );
                continue;
            };
            let test = match &member.node.value {
                // For a set, whether it is non-empty.
                Value::Bool(flag) if fact.is_set() => Some(Test::Present(*flag)),
                _ => self.value_test(&member.node, &member.key),
            };
            tests.extend(test.map(|test| FactTest { fact: *fact, test }));
        }
        tests
    }

    fn value_test(&mut self, node: &Node, name: &str) -> Option<Test> {
        let test = match &node.value {
            Value::Text(text) => Test::Patterns(vec![TextPattern::new(text, name)]),
            Value::Bool(_) | Value::Integer(_) => Test::Values(vec![json_of(node)]),
            Value::List(items) => {
                Test::Any(items.iter().filter_map(|item| self.value_test(item, name)).collect())
            }
            Value::Map(map) => self.table_test(map, &node.origin, name)?,
            Value::Null | Value::Other(_) => {
                self.wrong(&node.origin, format!("`{name}` cannot be tested against {}", node.value.kind()));
                return None;
            }
        };
        if let Some(why) = test.impossible() {
            self.wrong(&node.origin, format!("`{name}`: {why}, so the rule can never match"));
            return None;
        }
        Some(test)
    }

    fn table_test(&mut self, map: &Map, origin: &Origin, name: &str) -> Option<Test> {
        self.known_keys(map, &["min", "max", "present", "not"]);
        let number = |key: &str| match map.get(key).map(|node| &node.value) {
            Some(Value::Integer(number)) => Some(*number),
            _ => None,
        };
        match (map.get("not"), map.get("present").map(|node| &node.value)) {
            (Some(inner), None) => Some(Test::Not(Box::new(self.value_test(inner, name)?))),
            (None, Some(Value::Bool(flag))) => Some(Test::Present(*flag)),
            (None, None) if number("min").is_some() || number("max").is_some() => {
                Some(Test::Range { min: number("min"), max: number("max") })
            }
            _ => {
                let message =
                    format!("`{name}` takes one of {{ min, max }}, {{ present = true }} or {{ not = … }}");
                self.wrong(origin, message);
                None
            }
        }
    }

    fn examples(&mut self, map: &Map, key: &str) -> Vec<Example> {
        let items = match map.get(key) {
            None => &[],
            Some(Node { value: Value::List(items), .. }) => items.as_slice(),
            Some(node) => std::slice::from_ref(node),
        };
        items.iter().filter_map(|item| self.example(item, key, &EXAMPLE_KEYS)).collect()
    }

    fn example(&mut self, node: &Node, key: &str, known: &[&str]) -> Option<Example> {
        let line = line_of(&node.origin);
        let empty = || Json::Object(serde_json::Map::new());
        if let Some(tool) = node.as_text() {
            return Some(Example {
                tool: tool.to_owned(),
                agent: None,
                arguments: empty(),
                mode: None,
                line,
            });
        }
        let Some(map) = node.as_map() else {
            self.wrong(
                &node.origin,
                format!("`{key}` holds calls, as in {{ tool = \"fs.read\", arguments = {{ }} }}"),
            );
            return None;
        };
        self.known_keys(map, known);
        let Some(tool) = map.get("tool").and_then(|node| self.text(node, "tool")) else {
            self.wrong(&node.origin, format!("a call in `{key}` needs `tool`"));
            return None;
        };
        let mode = match map.get("mode") {
            None => None,
            Some(node) => {
                let mode = node.as_text().and_then(Mode::parse);
                if mode.is_none() {
                    self.wrong(&node.origin, "`mode` must be planning or execution");
                }
                mode
            }
        };
        let agent = map.get("agent").and_then(|node| self.text(node, "agent"));
        let arguments = map.get("arguments").map_or_else(empty, json_of);
        Some(Example { tool, agent, arguments, mode, line })
    }

    fn test(&mut self, node: &Node, number: usize) -> Option<TestCase> {
        let call = self.example(node, "tests", &TEST_KEYS)?;
        let map = node.as_map()?;
        let name = map.get("name").and_then(|node| self.text(node, "name"));
        let expected = map.get("expect").and_then(Node::as_text);
        let found = Expected::ALL.into_iter().find(|word| Some(word.as_str()) == expected);
        if found.is_none() {
            self.wrong(&node.origin, "a test needs `expect`: allow, ask, deny, abort or silent");
        }
        Some(TestCase { name: name.unwrap_or_else(|| format!("tests[{number}]")), call, expected: found? })
    }
}

pub(super) fn line_of(origin: &Origin) -> usize {
    match origin {
        Origin::File { line, .. } => *line,
        Origin::Default | Origin::Directory(_) | Origin::Environment(_) | Origin::Flag(_) => 0,
    }
}

/// A configured value as it would be in a call.
fn json_of(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Integer(number) => Json::from(*number),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(json_of).collect(),
        Value::Map(map) => {
            Json::Object(map.iter().map(|member| (member.key.clone(), json_of(&member.node))).collect())
        }
        // A fraction is valid JSON as well; a date is not.
        Value::Other(text) => serde_json::from_str(text).unwrap_or_else(|_| Json::from(text.as_str())),
    }
}
