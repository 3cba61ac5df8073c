//! The effective configuration: canonical names, defaults filled in, secrets hidden.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::problem::Problem;
use crate::secret::Secret;
use crate::syntax::Origin;

/// The placeholder for a secret.
pub(super) const HIDDEN: &str = "***";

/// A displayable setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its canonical name.
    pub name: &'static str,
    /// Its value, without secrets.
    pub value: Json,
    /// Its origin.
    pub origin: Origin,
}

/// All displayable settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectiveConfig {
    /// `[server]`.
    pub server: Vec<Setting>,
    /// `[mcp]`.
    pub mcp: Vec<Setting>,
    /// `[[mcp.servers]]`.
    pub servers: Vec<Vec<Setting>>,
    /// `[[tokens]]`.
    pub tokens: Vec<Vec<Setting>>,
    /// `[policy]`.
    pub policy: Vec<Setting>,
    /// `[[agents]]`.
    pub agents: Vec<Vec<Setting>>,
    /// `[approvals]`.
    pub approvals: Vec<Setting>,
    /// `[pins]`.
    pub pins: Vec<Setting>,
    /// `[notify]`.
    pub notify: Vec<Setting>,
    /// `[rest]`.
    pub rest: Vec<Setting>,
    /// `[secrets]`.
    pub secrets: Vec<Setting>,
    /// `[members]`.
    pub members: Vec<Setting>,
    /// `[templates]`.
    pub templates: Vec<Setting>,
    /// `[presets]`.
    pub presets: Vec<Setting>,
    /// `[audit]`.
    pub audit: Vec<Setting>,
    /// `[[audit.handlers]]`.
    pub handlers: Vec<Vec<Setting>>,
    /// `[[quotas]]`.
    pub quotas: Vec<Vec<Setting>>,
    /// `[[gates]]`.
    pub gates: Vec<Vec<Setting>>,
    /// `[[inference]]`.
    pub inference: Vec<Vec<Setting>>,
    /// What is never displayed: resolved references and written tokens, sorted and each once.
    pub hidden: Vec<Secret>,
}

/// Whether to include the origins of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origins {
    /// Values only.
    Omitted,
    /// Each value with its origin.
    Included,
}

impl EffectiveConfig {
    /// As TOML, with origins as comments.
    pub fn to_toml(&self, origins: Origins) -> String {
        let mut text = String::new();
        let mut one = |head: &str, settings: &[Setting]| table(&mut text, head, settings, origins);
        one("[server]", &self.server);
        one("[rest]", &self.rest);
        one("[mcp]", &self.mcp);
        self.servers.iter().for_each(|server| one("[[mcp.servers]]", server));
        self.tokens.iter().for_each(|token| one("[[tokens]]", token));
        one("[policy]", &self.policy);
        self.agents.iter().for_each(|agent| one("[[agents]]", agent));
        one("[approvals]", &self.approvals);
        one("[pins]", &self.pins);
        one("[notify]", &self.notify);
        one("[secrets]", &self.secrets);
        one("[members]", &self.members);
        one("[templates]", &self.templates);
        one("[presets]", &self.presets);
        one("[audit]", &self.audit);
        self.handlers.iter().for_each(|handler| one("[[audit.handlers]]", handler));
        self.quotas.iter().for_each(|quota| one("[[quotas]]", quota));
        self.gates.iter().for_each(|gate| one("[[gates]]", gate));
        self.inference.iter().for_each(|rule| one("[[inference]]", rule));
        text.trim_end().to_owned()
    }

    /// As JSON; with origins each value is `{"value": …, "origin": …}`.
    pub fn to_json(&self, origins: Origins, problems: &[Problem]) -> Json {
        let tables = |all: &[Vec<Setting>]| all.iter().map(|one| object(one, origins)).collect::<Vec<_>>();
        let mut mcp = object(&self.mcp, origins);
        mcp.insert("servers".to_owned(), json!(tables(&self.servers)));
        let mut audit = object(&self.audit, origins);
        audit.insert("handlers".to_owned(), json!(tables(&self.handlers)));
        json!({
            "server": object(&self.server, origins),
            "rest": object(&self.rest, origins),
            "mcp": mcp,
            "tokens": tables(&self.tokens),
            "policy": object(&self.policy, origins),
            "agents": tables(&self.agents),
            "approvals": object(&self.approvals, origins),
            "pins": object(&self.pins, origins),
            "notify": object(&self.notify, origins),
            "secrets": object(&self.secrets, origins),
            "members": object(&self.members, origins),
            "templates": object(&self.templates, origins),
            "presets": object(&self.presets, origins),
            "audit": audit,
            "quotas": tables(&self.quotas),
            "gates": tables(&self.gates),
            "inference": tables(&self.inference),
            "problems": problems.iter().map(problem).collect::<Vec<_>>(),
        })
    }
}

/// Encodes a problem as JSON.
pub fn problem(problem: &Problem) -> Json {
    json!({
        "severity": problem.severity.as_str(),
        "origin": problem.origin.to_string(),
        "subject": problem.subject,
        "message": problem.message,
        "hint": problem.hint,
    })
}

fn object(settings: &[Setting], origins: Origins) -> JsonMap<String, Json> {
    settings
        .iter()
        .map(|setting| {
            let value = match origins {
                Origins::Omitted => setting.value.clone(),
                Origins::Included => json!({ "value": setting.value, "origin": setting.origin.to_string() }),
            };
            (setting.name.to_owned(), value)
        })
        .collect()
}

/// Comments are aligned to this column, unless a value is longer.
const COLUMN: usize = 40;

fn table(text: &mut String, head: &str, settings: &[Setting], origins: Origins) {
    text.push_str(head);
    text.push('\n');
    for setting in settings {
        let line = format!("{} = {}", setting.name, inline(&setting.value));
        match origins {
            Origins::Omitted => text.push_str(&line),
            Origins::Included => text.extend([format!("{line:<COLUMN$}  # "), setting.origin.to_string()]),
        }
        text.push('\n');
    }
    text.push('\n');
}

/// A value as inline TOML.
pub(super) fn inline(value: &Json) -> String {
    match value {
        Json::Null => "\"\"".to_owned(),
        Json::Bool(flag) => flag.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => quoted(text),
        Json::Array(items) => {
            format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Json::Object(members) if members.is_empty() => "{}".to_owned(),
        Json::Object(members) => {
            let members: Vec<String> =
                members.iter().map(|(key, value)| format!("{} = {}", bare(key), inline(value))).collect();
            format!("{{ {} }}", members.join(", "))
        }
    }
}

fn bare(key: &str) -> String {
    let is_bare = !key.is_empty()
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_bare { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
