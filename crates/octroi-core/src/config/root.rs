//! The shapes a file can have.
//!
//! Octroi's own is `[server]`, `[mcp]` with `[[mcp.servers]]`, `[[tokens]]`, and what is decided and kept. Other programs write a list
//! `mcp_servers`, a map `mcpServers` or `servers` (with `inputs`), a map of servers right under `mcp`, or
//! `mcp.clients`; and themselves as `mcpServer` or `mcp.server`. What is found is the same in all of them.

use std::collections::BTreeMap;

use super::keys::{MCP, ROOT, SHAPES};
use super::node::{Map, Member, Node, Origin, Value};
use super::problem::Notes;

/// What a file holds, whatever its shape.
#[derive(Debug, Default)]
pub(super) struct Root {
    pub(super) server: Map,
    /// Octroi itself in the shapes of others.
    pub(super) own: Vec<Map>,
    pub(super) mcp: Map,
    pub(super) entries: Vec<Entry>,
    pub(super) tokens: Vec<Node>,
    pub(super) policy: Map,
    pub(super) agents: Vec<Node>,
    pub(super) approvals: Map,
    pub(super) pins: Map,
    pub(super) audit: Map,
    pub(super) quotas: Vec<Node>,
    pub(super) gates: Vec<Node>,
    pub(super) inference: Vec<Node>,
    pub(super) inputs: BTreeMap<String, String>,
}

/// One server as it was written.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Option<String>,
    pub(super) origin: Origin,
    pub(super) map: Map,
}

/// Whether unknown keys are errors, as far as the file says so.
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

/// Finds everything in a file.
pub(super) fn read(root: &Node, notes: &mut Notes) -> Root {
    let mut found = Root::default();
    let Some(map) = root.as_map() else {
        if root.value != Value::Null {
            notes.error(&root.origin, format!("the file must be a table, not {}", root.value.kind()));
        }
        return found;
    };
    for member in map {
        match member.key.as_str() {
            "server" => found.server = table(member, notes),
            "mcp" => read_mcp(&table(member, notes), &mut found, notes),
            "mcp_servers" | "mcpServers" | "servers" => found.entries.extend(entries(member, notes)),
            "mcpServer" => found.own.push(table(member, notes)),
            "tokens" => found.tokens = list(member, notes),
            "policy" => found.policy = table(member, notes),
            "agents" => found.agents = list(member, notes),
            "approvals" => found.approvals = table(member, notes),
            "pins" => found.pins = table(member, notes),
            "audit" => found.audit = table(member, notes),
            "quotas" => found.quotas = list(member, notes),
            "gates" => found.gates = list(member, notes),
            "inference" => found.inference = list(member, notes),
            "inputs" => found.inputs = inputs(&member.node),
            "$schema" => {}
            unknown => {
                let known = ROOT.iter().map(|key| key.name).chain(SHAPES);
                notes.unknown_key(&member.origin, unknown, known);
            }
        }
    }
    found
}

/// `mcp` holds settings, lists of servers, and in one shape the servers themselves under their names.
fn read_mcp(map: &Map, found: &mut Root, notes: &mut Notes) {
    for member in map {
        let table_of_a_server = member.node.as_map();
        match member.key.as_str() {
            "servers" | "clients" => found.entries.extend(entries(member, notes)),
            "server" if !table_of_a_server.is_some_and(is_server) => found.own.push(table(member, notes)),
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
                    notes.unknown_key(&member.origin, name, known);
                }
            },
        }
    }
}

/// Whether `mcp.server` is a server that happens to have this name, and not Octroi itself.
fn is_server(map: &Map) -> bool {
    ["type", "command", "url"].iter().any(|key| map.get(key).is_some())
}

fn entries(member: &Member, notes: &mut Notes) -> Vec<Entry> {
    match &member.node.value {
        Value::Map(map) => map.iter().filter_map(|member| named(member, notes)).collect(),
        Value::List(items) => items.iter().filter_map(|item| listed(&member.key, item, notes)).collect(),
        Value::Null => Vec::new(),
        other => {
            notes.error(&member.origin, must_be(&member.key, "a list or a table of servers", other));
            Vec::new()
        }
    }
}

fn named(member: &Member, notes: &mut Notes) -> Option<Entry> {
    let Some(map) = member.node.as_map() else {
        notes.error(&member.origin, must_be(&member.key, "a table", &member.node.value));
        return None;
    };
    Some(Entry { name: Some(member.key.clone()), origin: member.origin.clone(), map: map.clone() })
}

fn listed(key: &str, item: &Node, notes: &mut Notes) -> Option<Entry> {
    let Some(map) = item.as_map() else {
        notes.error(&item.origin, must_be(key, "a list of tables", &item.value));
        return None;
    };
    let name = map.get("name").or_else(|| map.get("id")).and_then(Node::as_text).map(str::to_owned);
    Some(Entry { name, origin: item.origin.clone(), map: map.clone() })
}

/// The defaults of declared inputs: nobody is asked for the others.
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

fn table(member: &Member, notes: &mut Notes) -> Map {
    match &member.node.value {
        Value::Map(map) => map.clone(),
        Value::Null => Map::default(),
        other => {
            notes.error(&member.origin, must_be(&member.key, "a table", other));
            Map::default()
        }
    }
}

pub(super) fn list(member: &Member, notes: &mut Notes) -> Vec<Node> {
    match &member.node.value {
        Value::List(items) => items.clone(),
        Value::Null => Vec::new(),
        other => {
            notes.error(&member.origin, must_be(&member.key, "a list of tables", other));
            Vec::new()
        }
    }
}

fn must_be(key: &str, expected: &str, written: &Value) -> String {
    format!("`{key}` must be {expected}, not {}", written.kind())
}
