//! Rendered lists, serialized once per change and not once per request.

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

/// The results of the four list requests, for both eras.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    lists: [ForEra; 4],
}

#[derive(Clone, Debug, Default)]
struct ForEra {
    legacy: Bytes,
    modern: Bytes,
}

impl Rendered {
    /// The result of a list request, as JSON text.
    pub fn result(&self, method: &Method, era: Era) -> Bytes {
        let list = &self.lists[position(method)];
        let json = match era {
            Era::Legacy => &list.legacy,
            Era::Modern => &list.modern,
        };
        if json.is_empty() { empty(method, era) } else { json.clone() }
    }

    fn of(lists: [(Method, Vec<Bytes>); 4]) -> Self {
        let lists = lists.map(|(method, items)| ForEra {
            legacy: write(&method, Era::Legacy, &items),
            modern: write(&method, Era::Modern, &items),
        });
        Self { lists }
    }
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

fn write(method: &Method, era: Era, items: &[Bytes]) -> Bytes {
    if items.is_empty() {
        return empty(method, era);
    }
    let size: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut out = Vec::with_capacity(size + 128);
    out.push(b'{');
    if era == Era::Modern {
        out.extend_from_slice(br#""resultType":"complete","#);
    }
    out.extend_from_slice(format!(r#""{}":["#, member(method)).as_bytes());
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item);
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
    let plain = |items: &[Item]| items.iter().map(|item| item.definition.clone()).collect();
    Rendered::of([
        (Method::ToolsList, plain(&lists.tools)),
        (Method::PromptsList, plain(&lists.prompts)),
        (Method::ResourcesList, plain(&lists.resources)),
        (Method::TemplatesList, plain(&lists.templates)),
    ])
}

/// The lists of all servers, under names with a server prefix.
pub(super) fn merged(
    servers: &BTreeMap<ServerKey, Arc<ServerLists>>,
    tools: &[(String, &ServerKey, &Item)],
    prompts: &[(String, &ServerKey, &Item)],
    builtins: Option<&Builtins>,
) -> Rendered {
    let own = |list: usize| builtins.map(|own| own.definitions[list].clone()).unwrap_or_default();
    let published = |own: Vec<Bytes>, list: fn(&ServerLists) -> &Vec<Item>, key: &'static str| {
        let published = servers
            .iter()
            .flat_map(|(server, lists)| list(lists).iter().map(move |item| (server, item)))
            .map(|(server, item)| {
                let uri = json::quote(&uri::publish(&server.name, &item.name));
                Bytes::from(json::rewrite(&item.definition, &[Edit::Set(key, uri.as_bytes())]))
            });
        own.into_iter().chain(published).collect()
    };
    let tools = tools.iter().map(|(wire, server, item)| tool(wire, server, item));
    let prompts = prompts
        .iter()
        .map(|(wire, _, item)| {
            Bytes::from(json::rewrite(&item.definition, &[Edit::Set("name", json::quote(wire).as_bytes())]))
        })
        .collect();
    Rendered::of([
        (Method::ToolsList, own(0).into_iter().chain(tools).collect()),
        (Method::PromptsList, prompts),
        (Method::ResourcesList, published(own(1), |lists| &lists.resources, "uri")),
        (Method::TemplatesList, published(own(2), |lists| &lists.templates, "uriTemplate")),
    ])
}

/// A tool under its wire name. A missing description gets one that names the tool, and the URI of its UI
/// resource is published like in the resource list.
fn tool(wire: &str, server: &ServerKey, item: &Item) -> Bytes {
    let name = json::quote(wire);
    let definition: Value = serde_json::from_slice(&item.definition).unwrap_or_default();
    let mut edits = vec![Edit::Set("name", name.as_bytes())];
    let description = json::quote(&format!("Tool `{}` of server `{server}`", item.name));
    let whole = Span { start: 0, end: item.definition.len() };
    if json::member(&item.definition, whole, "description").is_none() {
        edits.push(Edit::Set("description", description.as_bytes()));
    }
    let page = definition.pointer("/_meta/ui/resourceUri").and_then(Value::as_str);
    let page = page.map(|own| json::quote(&uri::publish(&server.name, own)));
    let set_page = page.as_ref().map(|page| [Edit::Set("resourceUri", page.as_bytes())]);
    let in_ui = set_page.as_ref().map(|set| [Edit::Within("ui", set)]);
    if let Some(in_ui) = &in_ui {
        edits.push(Edit::Within("_meta", in_ui));
    }
    Bytes::from(json::rewrite(&item.definition, &edits))
}
