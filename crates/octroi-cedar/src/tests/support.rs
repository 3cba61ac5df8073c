//! Sample tools as real servers define them, and calls written as sentences.

use octroi_core::PrincipalKind;
use octroi_core::facts::Facts;
use octroi_core::tool::Risk;
use octroi_core::trust::Trust;
use serde_json::{Value, json};

use crate::{Agent, CallToJudge, Judgement, Policies, Schema, SessionState, Tool, ToolShape};

/// A tool with its risk and side effects.
pub(crate) struct Sample {
    pub(crate) server: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) risk: Risk,
    pub(crate) side_effects: Vec<String>,
    pub(crate) input_schema: Value,
}

/// Files, issues, a database and a shell.
pub(crate) fn samples() -> Vec<Sample> {
    let sample = |server, tool, risk, side_effects: &[&str], input_schema| Sample {
        server,
        tool,
        risk,
        side_effects: side_effects.iter().map(|&tag| tag.to_owned()).collect(),
        input_schema,
    };
    vec![
        sample(
            "files",
            "read_file",
            Risk::Low,
            &[],
            json!({
                "type": "object",
                "properties": {"path": {"type": "string"}, "head": {"type": "integer"}},
                "required": ["path"],
            }),
        ),
        sample(
            "files",
            "write_file",
            Risk::High,
            &["fs.write"],
            json!({
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path", "content"],
            }),
        ),
        sample(
            "github",
            "create_issue",
            Risk::Medium,
            &["data.write"],
            json!({
                "$defs": {"Label": {"enum": ["bug", "feature"]}},
                "type": "object",
                "properties": {
                    "repo": {"$ref": "#/$defs/Repository"},
                    "title": {"type": "string"},
                    "body": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
                    "labels": {"type": "array", "items": {"$ref": "#/$defs/Label"}},
                    "milestone": {"type": ["integer", "null"]},
                    "draft": {"type": "boolean"},
                },
                "definitions": {},
                "required": ["repo", "title", "milestone"],
            }),
        )
        .with_definition(
            "Repository",
            json!({
                "type": "object",
                "properties": {"owner": {"type": "string"}, "name": {"type": "string"}},
                "required": ["owner", "name"],
            }),
        ),
        sample(
            "db",
            "query",
            Risk::High,
            &["unknown"],
            json!({
                "type": "object",
                "properties": {
                    "sql": {"type": "string"},
                    "params": {"type": "array", "items": {"type": ["string", "number", "null"]}},
                    "limit": {"type": "integer"},
                    "timeout_seconds": {"type": "number"},
                    "max-rows": {"type": "integer"},
                },
                "required": ["sql"],
            }),
        ),
        sample(
            "shell",
            "run",
            Risk::Critical,
            &["system.exec", "unknown"],
            json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "env": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "required": ["command"],
            }),
        ),
        sample("shell", "list", Risk::Low, &[], json!({"type": "object"})),
    ]
}

impl Sample {
    fn with_definition(mut self, name: &str, definition: Value) -> Self {
        self.input_schema["$defs"][name] = definition;
        self
    }
}

/// The schema of some tools.
pub(crate) fn schema_of(samples: &[Sample]) -> Schema {
    let shapes: Vec<ToolShape<'_>> = samples
        .iter()
        .map(|sample| ToolShape {
            server: sample.server,
            tool: sample.tool,
            risk: sample.risk,
            side_effects: &sample.side_effects,
            input_schema: &sample.input_schema,
        })
        .collect();
    Schema::new(&shapes).unwrap()
}

/// The schema of all sample tools.
pub(crate) fn schema() -> Schema {
    schema_of(&samples())
}

/// Loads against the sample tools.
pub(crate) fn load(text: &str) -> Policies {
    Policies::load(text, &schema()).unwrap_or_else(|problems| panic!("{}", lines(&problems)))
}

/// Why a text is not loaded, one line for each problem.
pub(crate) fn refused(text: &str) -> String {
    lines(&Policies::load(text, &schema()).expect_err("the text should be refused"))
}

pub(crate) fn lines<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Judges a sentence: `bot calls db.query {"sql": "DROP TABLE t"} with sql_verbs=DROP role=human`.
pub(crate) fn judge(policies: &Policies, sentence: &str) -> Judgement {
    let call = SampleCall::parse(sentence);
    let (server, name) = call.tool.split_once('.').unwrap();
    let samples = samples();
    let sample = samples.iter().find(|sample| (sample.server, sample.tool) == (server, name));
    policies.judge(&CallToJudge {
        agent: Agent { id: &call.agent, kind: call.kind, profile: &call.profile },
        tool: Tool {
            server,
            name,
            risk: sample.map_or(Risk::Critical, |sample| sample.risk),
            side_effects: sample.map_or(&[], |sample| &sample.side_effects),
            trust: call.trust,
            is_read_only: sample.is_some_and(|sample| sample.risk == Risk::Low),
        },
        arguments: &call.arguments,
        exactness: octroi_core::arguments::Exactness::Exact,
        facts: &|| call.facts.clone(),
        session: SessionState {
            mode: &call.mode,
            project: call.project.as_deref(),
            is_spec_frozen: call.is_spec_frozen,
            spec_hash: None,
        },
    })
}

/// A judgement in one line: `deny by no-drop (tables stay)`.
pub(crate) fn summary(judgement: &Judgement) -> String {
    let mut text = format!("{:?}", judgement.verdict).to_lowercase();
    for (index, clause) in judgement.determining.iter().enumerate() {
        text.push_str(if index == 0 { " by " } else { ", " });
        text.push_str(&clause.id);
        if let Some(reason) = &clause.reason {
            text.extend([" (", reason, ")"]);
        }
    }
    for error in &judgement.errors {
        text.extend(["; error: ", error]);
    }
    text
}

struct SampleCall {
    agent: String,
    kind: PrincipalKind,
    profile: String,
    tool: String,
    trust: Trust,
    arguments: Value,
    facts: Facts,
    mode: String,
    project: Option<String>,
    is_spec_frozen: bool,
}

impl SampleCall {
    fn parse(sentence: &str) -> Self {
        let (agent, rest) = sentence.trim().split_once(" calls ").expect("`<agent> calls <tool>`");
        let (tool, rest) = rest.split_once(' ').expect("arguments after the tool");
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let arguments = values.next().unwrap().unwrap();
        let rest = rest[values.byte_offset()..].trim();
        let mut call = Self {
            agent: agent.to_owned(),
            kind: PrincipalKind::Agent,
            profile: String::new(),
            tool: tool.to_owned(),
            trust: Trust::Medium,
            arguments,
            facts: Facts::default(),
            mode: "normal".to_owned(),
            project: None,
            is_spec_frozen: false,
        };
        for setting in rest.strip_prefix("with ").into_iter().flat_map(str::split_whitespace) {
            let (key, value) = setting.split_once('=').expect("`key=value`");
            call.set(key, value);
        }
        call
    }

    fn set(&mut self, key: &str, value: &str) {
        let set = || value.split(',').map(str::to_owned).collect();
        match key {
            "role" if value == "human" => self.kind = PrincipalKind::Person,
            "profile" => value.clone_into(&mut self.profile),
            "trust" if value == "low" => self.trust = Trust::Low,
            "mode" => value.clone_into(&mut self.mode),
            "project" => self.project = Some(value.to_owned()),
            "spec_frozen" => self.is_spec_frozen = value.parse().unwrap(),
            "paths" => self.facts.paths = set(),
            "paths_outside_project" => self.facts.paths_outside_project = set(),
            "hosts" => self.facts.hosts = set(),
            "sql_verbs" => self.facts.sql_verbs = set(),
            "shell_heads" => self.facts.shell_heads = set(),
            "secrets" => self.facts.secrets = set(),
            "payload_bytes" => self.facts.payload_bytes = value.parse().unwrap(),
            "is_first_use" => self.facts.is_first_use = value.parse().unwrap(),
            "calls_last_minute" => self.facts.calls_last_minute = value.parse().unwrap(),
            _ => panic!("nothing is known of `{key}={value}`"),
        }
    }
}
