//! The supported shapes of a configuration file.
//!
//! Octroi's own has `[server]`, `[mcp]` with `[[mcp.servers]]`, `[[tokens]]`, and the governance sections.
//! Other programs write a list `mcp_servers`, a map `mcpServers` or `servers` (with `inputs`), a map of
//! servers directly under `mcp`, or `mcp.clients`; and themselves as `mcpServer` or `mcp.server`. All of them
//! yield the same settings.

use std::collections::BTreeMap;

use super::keys::{MCP, ROOT, SHAPES};
use super::problem::ProblemLog;
use crate::syntax::{Map, Member, Node, Origin, Value};

/// The content of a file, independent of its shape.
#[derive(Debug, Default)]
pub(super) struct Root {
    pub(super) server: Map,
    /// Octroi's own server in the shapes of other programs.
    pub(super) own: Vec<Map>,
    pub(super) mcp: Map,
    pub(super) entries: Vec<Entry>,
    pub(super) tokens: Vec<Node>,
    pub(super) policy: Map,
    pub(super) agents: Vec<Node>,
    pub(super) approvals: Map,
    pub(super) pins: Map,
    pub(super) notify: Map,
    pub(super) secrets: Map,
    pub(super) rest: Map,
    pub(super) members: Map,
    pub(super) templates: Map,
    pub(super) presets: Map,
    pub(super) audit: Map,
    pub(super) quotas: Vec<Node>,
    pub(super) gates: Vec<Node>,
    pub(super) inference: Vec<Node>,
    pub(super) inputs: BTreeMap<String, String>,
}

const SERVERS_HINT: &str = "did you mean `[[mcp.servers]]`?";

/// One unread server entry.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Option<String>,
    pub(super) origin: Origin,
    pub(super) map: Map,
}

/// Whether unknown keys are errors, if the file decides.
pub(super) fn strictness(root: &Node) -> Option<bool> {
    match &root.as_map()?.get("mcp")?.as_map()?.get("strict")?.value {
        Value::Bool(strict) => Some(*strict),
        Value::Null
        | Value::Integer(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Other(_) => None,
    }
}

/// Collects the content of a file.
pub(super) fn read(root: &Node, log: &mut ProblemLog) -> Root {
    let mut found = Root::default();
    let Some(map) = root.as_map() else {
        if root.value != Value::Null {
            log.error(&root.origin, format!("the file must be a table, not {}", root.value.kind()));
        }
        return found;
    };
    for member in map {
        match member.key.as_str() {
            "server" if is_list_of_servers(member) => {
                log.error_with_hint(&member.origin, "unknown key `[[server]]`", SERVERS_HINT.to_owned());
            }
            "server" => found.server = table(member, log),
            "rest" => found.rest = table(member, log),
            "mcp" => read_mcp(&table(member, log), &mut found, log),
            "mcp_servers" | "mcpServers" | "servers" => found.entries.extend(entries(member, log)),
            "mcpServer" => found.own.push(table(member, log)),
            "tokens" => found.tokens = list(member, log),
            "policy" => found.policy = table(member, log),
            "agents" => found.agents = list(member, log),
            "approvals" => found.approvals = table(member, log),
            "pins" => found.pins = table(member, log),
            "notify" => found.notify = table(member, log),
            "secrets" => found.secrets = table(member, log),
            "members" => found.members = table(member, log),
            "templates" => found.templates = table(member, log),
            "presets" => found.presets = table(member, log),
            "audit" => found.audit = table(member, log),
            "quotas" => found.quotas = list(member, log),
            "gates" => found.gates = list(member, log),
            "inference" => found.inference = list(member, log),
            "inputs" => found.inputs = inputs(&member.node),
            "$schema" => {}
            unknown => {
                let known = ROOT.iter().map(|key| key.name).chain(SHAPES);
                log.unknown_key(&member.origin, unknown, known);
            }
        }
    }
    found
}

/// `mcp` contains settings, lists of servers, and in one shape the servers themselves by name.
fn read_mcp(map: &Map, found: &mut Root, log: &mut ProblemLog) {
    for member in map {
        let table_of_a_server = member.node.as_map();
        match member.key.as_str() {
            "servers" | "clients" => found.entries.extend(entries(member, log)),
            "server" if is_list_of_servers(member) => {
                log.error_with_hint(&member.origin, "unknown key `[[mcp.server]]`", SERVERS_HINT.to_owned());
            }
            "server" if !table_of_a_server.is_some_and(is_server) => found.own.push(table(member, log)),
            name => match table_of_a_server {
                Some(map) => found.entries.push(Entry {
                    name: Some(name.to_owned()),
                    origin: member.origin.clone(),
                    map: map.clone(),
                }),
                None if MCP.iter().any(|key| key.is(name)) => {
                    found.mcp.insert(member.clone());
                }
                None => {
                    let known = MCP.iter().map(|key| key.name);
                    log.unknown_key(&member.origin, name, known);
                }
            },
        }
    }
}

/// Whether a list stands where Octroi's own server is set: its items are meant as servers.
fn is_list_of_servers(member: &Member) -> bool {
    matches!(member.node.value, Value::List(_))
}

/// Whether `mcp.server` is a server with that name rather than Octroi's own.
fn is_server(map: &Map) -> bool {
    ["type", "command", "url"].iter().any(|key| map.get(key).is_some())
}

fn entries(member: &Member, log: &mut ProblemLog) -> Vec<Entry> {
    match &member.node.value {
        Value::Map(map) => map.iter().filter_map(|member| named(member, log)).collect(),
        Value::List(items) => items.iter().filter_map(|item| listed(&member.key, item, log)).collect(),
        Value::Null => Vec::new(),
        other => {
            log.error(&member.origin, must_be(&member.key, "a list or a table of servers", other));
            Vec::new()
        }
    }
}

fn named(member: &Member, log: &mut ProblemLog) -> Option<Entry> {
    let Some(map) = member.node.as_map() else {
        log.error(&member.origin, must_be(&member.key, "a table", &member.node.value));
        return None;
    };
    Some(Entry { name: Some(member.key.clone()), origin: member.origin.clone(), map: map.clone() })
}

fn listed(key: &str, item: &Node, log: &mut ProblemLog) -> Option<Entry> {
    let Some(map) = item.as_map() else {
        log.error(&item.origin, must_be(key, "a list of tables", &item.value));
        return None;
    };
    let name = map.get("name").or_else(|| map.get("id")).and_then(Node::as_text).map(str::to_owned);
    Some(Entry { name, origin: item.origin.clone(), map: map.clone() })
}

/// The defaults of declared inputs: Octroi never prompts for the others.
fn inputs(node: &Node) -> BTreeMap<String, String> {
    let Value::List(items) = &node.value else {
        return BTreeMap::new();
    };
    let with_default = |item: &Node| {
        let map = item.as_map()?;
        Some((map.get("id")?.as_text()?.to_owned(), map.get("default")?.as_text()?.to_owned()))
    };
    items.iter().filter_map(with_default).collect()
}

fn table(member: &Member, log: &mut ProblemLog) -> Map {
    match &member.node.value {
        Value::Map(map) => map.clone(),
        Value::Null => Map::default(),
        other => {
            log.error(&member.origin, must_be(&member.key, "a table", other));
            Map::default()
        }
    }
}

pub(super) fn list(member: &Member, log: &mut ProblemLog) -> Vec<Node> {
    match &member.node.value {
        Value::List(items) => items.clone(),
        Value::Null => Vec::new(),
        other => {
            log.error(&member.origin, must_be(&member.key, "a list of tables", other));
            Vec::new()
        }
    }
}

fn must_be(key: &str, expected: &str, written: &Value) -> String {
    format!("`{key}` must be {expected}, not {}", written.kind())
}
