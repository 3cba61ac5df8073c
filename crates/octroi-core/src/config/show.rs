//! A configuration as it counts: canonical names, defaults filled in, secrets hidden.

use serde_json::{Map as JsonMap, Value as Json, json};

use super::node::Origin;
use super::problem::Problem;

/// What stands in place of a secret.
pub(super) const HIDDEN: &str = "***";

/// A setting as it can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its canonical name.
    pub name: &'static str,
    /// Its value, without secrets.
    pub value: Json,
    /// Where it comes from.
    pub origin: Origin,
}

/// Everything that can be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownConfig {
    /// `[server]`.
    pub server: Vec<Shown>,
    /// `[mcp]`.
    pub mcp: Vec<Shown>,
    /// `[[mcp.servers]]`.
    pub servers: Vec<Vec<Shown>>,
    /// `[[tokens]]`.
    pub tokens: Vec<Vec<Shown>>,
}

/// Whether to tell where values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origins {
    /// Only values.
    Left,
    /// Each value with its origin.
    Told,
}

impl ShownConfig {
    /// As TOML, with origins as comments.
    pub fn to_toml(&self, origins: Origins) -> String {
        let mut text = String::new();
        table(&mut text, "[server]", &self.server, origins);
        table(&mut text, "[mcp]", &self.mcp, origins);
        for server in &self.servers {
            table(&mut text, "[[mcp.servers]]", server, origins);
        }
        for token in &self.tokens {
            table(&mut text, "[[tokens]]", token, origins);
        }
        text.trim_end().to_owned()
    }

    /// As JSON; with origins each value is `{"value": …, "origin": …}`.
    pub fn to_json(&self, origins: Origins, problems: &[Problem]) -> Json {
        let tables = |all: &[Vec<Shown>]| all.iter().map(|one| object(one, origins)).collect::<Vec<_>>();
        let mut mcp = object(&self.mcp, origins);
        mcp.insert("servers".to_owned(), json!(tables(&self.servers)));
        json!({
            "server": object(&self.server, origins),
            "mcp": mcp,
            "tokens": tables(&self.tokens),
            "problems": problems.iter().map(problem).collect::<Vec<_>>(),
        })
    }
}

/// A problem as JSON.
pub fn problem(problem: &Problem) -> Json {
    json!({
        "severity": problem.severity.as_str(),
        "origin": problem.origin.to_string(),
        "subject": problem.subject,
        "message": problem.message,
        "hint": problem.hint,
    })
}

fn object(settings: &[Shown], origins: Origins) -> JsonMap<String, Json> {
    settings
        .iter()
        .map(|setting| {
            let value = match origins {
                Origins::Left => setting.value.clone(),
                Origins::Told => json!({ "value": setting.value, "origin": setting.origin.to_string() }),
            };
            (setting.name.to_owned(), value)
        })
        .collect()
}

/// Comments stand in one column, unless a value is longer than that.
const COLUMN: usize = 40;

fn table(text: &mut String, head: &str, settings: &[Shown], origins: Origins) {
    text.push_str(head);
    text.push('\n');
    for setting in settings {
        let line = format!("{} = {}", setting.name, inline(&setting.value));
        match origins {
            Origins::Left => text.push_str(&line),
            Origins::Told => text.extend([format!("{line:<COLUMN$}  # "), setting.origin.to_string()]),
        }
        text.push('\n');
    }
    text.push('\n');
}

/// A value in one line of TOML.
fn inline(value: &Json) -> String {
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
