//! Rendered lists: their entries are serialized once per change and not once per request.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use octroi_core::{ServerKey, uri};
use octroi_mcp::json::{self, Edit, Span};
use octroi_mcp::{Era, Method};
use serde_json::Value;

use super::builtins::Builtins;
use super::fetch::{Item, ServerLists};

/// How long a client may cache a list. Changes are announced by notifications; this is for clients that
/// do not subscribe.
const TTL_MS: u64 = 60_000;

/// The four lists, ready to be sent. Lists can be large, so what differs between clients is not kept: the era
/// decides about a few words around the entries.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// The entries of each list, separated by commas.
    lists: [Bytes; 4],
    /// Octroi's own entries, which come first.
    own: [Bytes; 4],
}

impl Rendered {
    /// The result of a list request, as JSON text.
    pub fn result(&self, method: &Method, era: Era) -> Bytes {
        let position = position(method);
        write(method, era, [&self.own[position], &self.lists[position]])
    }

    /// How long a list is, without Octroi's own entries.
    pub(super) fn n_bytes(&self, method: &Method) -> usize {
        self.lists[position(method)].len()
    }

    /// The same with Octroi's own tools and resources.
    pub(super) fn with_own(&self, builtins: &Builtins) -> Self {
        let [tools, resources, templates] = &builtins.definitions;
        let own = [join(tools), Bytes::new(), join(resources), join(templates)];
        Self { lists: self.lists.clone(), own }
    }

    /// The same without Octroi's own tools.
    pub(super) fn without_own_tools(&self) -> Self {
        let [_, prompts, resources, templates] = self.own.clone();
        Self { lists: self.lists.clone(), own: [Bytes::new(), prompts, resources, templates] }
    }

    fn of(lists: [Bytes; 4]) -> Self {
        Self { lists, own: Default::default() }
    }
}

/// The entries, separated by commas. Each is written before the next one is made: thousands of small pieces between
/// what lasts would keep memory from being given back.
fn join(items: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Bytes {
    let mut joined = Vec::new();
    for item in items {
        if !joined.is_empty() {
            joined.push(b',');
        }
        joined.extend_from_slice(item.as_ref());
    }
    joined.shrink_to_fit();
    Bytes::from(joined)
}

fn position(method: &Method) -> usize {
    match method {
        Method::PromptsList => 1,
        Method::ResourcesList => 2,
        Method::TemplatesList => 3,
        _ => 0,
    }
}

fn member(method: &Method) -> &'static str {
    match method {
        Method::PromptsList => "prompts",
        Method::ResourcesList => "resources",
        Method::TemplatesList => "resourceTemplates",
        _ => "tools",
    }
}

/// An empty list that must not be cached: more may follow.
pub(crate) fn empty(method: &Method, era: Era) -> Bytes {
    let member = member(method);
    Bytes::from(match era {
        Era::Legacy => format!(r#"{{"{member}":[]}}"#),
        Era::Modern => {
            format!(r#"{{"resultType":"complete","{member}":[],"ttlMs":0,"cacheScope":"private"}}"#)
        }
    })
}

fn write(method: &Method, era: Era, parts: [&Bytes; 2]) -> Bytes {
    if parts.iter().all(|part| part.is_empty()) {
        return empty(method, era);
    }
    let size: usize = parts.iter().map(|part| part.len() + 1).sum();
    let mut out = Vec::with_capacity(size + 128);
    out.push(b'{');
    if era == Era::Modern {
        out.extend_from_slice(br#""resultType":"complete","#);
    }
    out.extend_from_slice(format!(r#""{}":["#, member(method)).as_bytes());
    for (index, part) in parts.into_iter().filter(|part| !part.is_empty()).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(part);
    }
    out.push(b']');
    if era == Era::Modern {
        out.extend_from_slice(format!(r#","ttlMs":{TTL_MS},"cacheScope":"private""#).as_bytes());
    }
    out.push(b'}');
    Bytes::from(out)
}

/// The lists of one server under its own names: definitions are forwarded unchanged.
pub(super) fn single(lists: &ServerLists) -> Rendered {
    let plain = |items: &[Item]| join(items.iter().map(|item| &item.definition));
    Rendered::of([
        plain(&lists.tools),
        plain(&lists.prompts),
        plain(&lists.resources),
        plain(&lists.templates),
    ])
}

/// The lists of all servers, under names with a server prefix.
pub(super) fn merged(
    servers: &BTreeMap<ServerKey, Arc<ServerLists>>,
    tools: &[(String, &ServerKey, &Item)],
    prompts: &[(String, &ServerKey, &Item)],
) -> Rendered {
    let published = |list: fn(&ServerLists) -> &Vec<Item>, key: &'static str| {
        let items =
            servers.iter().flat_map(|(server, lists)| list(lists).iter().map(move |item| (server, item)));
        join(items.map(|(server, item)| {
            let uri = json::quote(&uri::publish(&server.name, &item.name));
            json::rewrite(&item.definition, &[Edit::Set(key, uri.as_bytes())])
        }))
    };
    let named = |(wire, _, item): &(String, &ServerKey, &Item)| {
        json::rewrite(&item.definition, &[Edit::Set("name", json::quote(wire).as_bytes())])
    };
    Rendered::of([
        join(tools.iter().map(|(wire, server, item)| tool(wire, server, item))),
        join(prompts.iter().map(named)),
        published(|lists| &lists.resources, "uri"),
        published(|lists| &lists.templates, "uriTemplate"),
    ])
}

/// A tool under its wire name. A missing description gets one that names the tool, and the URI of its UI
/// resource is published like in the resource list.
fn tool(wire: &str, server: &ServerKey, item: &Item) -> Vec<u8> {
    let name = json::quote(wire);
    let mut edits = vec![Edit::Set("name", name.as_bytes())];
    let description = json::quote(&format!("Tool `{}` of server `{server}`", item.name));
    let whole = Span { start: 0, end: item.definition.len() };
    if json::member(&item.definition, whole, "description").is_none() {
        edits.push(Edit::Set("description", description.as_bytes()));
    }
    let page = page_of(&item.definition, whole).map(|own| json::quote(&uri::publish(&server.name, &own)));
    let set_page = page.as_ref().map(|page| [Edit::Set("resourceUri", page.as_bytes())]);
    let in_ui = set_page.as_ref().map(|set| [Edit::Within("ui", set)]);
    if let Some(in_ui) = &in_ui {
        edits.push(Edit::Within("_meta", in_ui));
    }
    json::rewrite(&item.definition, &edits)
}

/// The URI of a tool's UI resource. Few have one, so the definition is not parsed for it.
fn page_of(definition: &[u8], whole: Span) -> Option<String> {
    let meta = json::member(definition, whole, "_meta")?;
    let meta: Value = serde_json::from_slice(meta.of(definition)).ok()?;
    meta.pointer("/ui/resourceUri").and_then(Value::as_str).map(str::to_owned)
}
