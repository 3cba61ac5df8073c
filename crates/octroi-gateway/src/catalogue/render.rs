//! Rendering lists: the entries of one server are serialized once per change, and not for every pool or request.

use bytes::Bytes;
use octroi_core::{ServerKey, ServerName, uri};
use octroi_mcp::json::{self, Edit, Span};
use octroi_mcp::{Era, Method};
use serde_json::Value;

use super::fetch::Item;

/// How long a client may cache a list. Changes are announced by notifications; this is for clients that
/// do not subscribe.
const TTL_MS: u64 = 60_000;

/// The entries, separated by commas. Each is written before the next one is made: thousands of small pieces between
/// what lasts would keep memory from being given back.
pub(super) fn join(items: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Bytes {
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

pub(super) fn position(method: &Method) -> usize {
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

/// The result of a list request, as JSON text, with the entries of several sources.
pub(crate) fn result(method: &Method, era: Era, parts: &[Bytes]) -> Bytes {
    if parts.iter().all(Bytes::is_empty) {
        return empty(method, era);
    }
    let size: usize = parts.iter().map(|part| part.len() + 1).sum();
    let mut out = Vec::with_capacity(size + 128);
    out.push(b'{');
    if era == Era::Modern {
        out.extend_from_slice(br#""resultType":"complete","#);
    }
    out.extend_from_slice(format!(r#""{}":["#, member(method)).as_bytes());
    for (index, part) in parts.iter().filter(|part| !part.is_empty()).enumerate() {
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

/// A prompt under its wire name.
pub(super) fn prompt(wire: &str, item: &Item) -> Vec<u8> {
    json::rewrite(&item.definition, &[Edit::Set("name", json::quote(wire).as_bytes())])
}

/// A resource or a template under its published URI.
pub(super) fn published(list: &Method, server: &ServerName, item: &Item) -> Vec<u8> {
    let key = if *list == Method::TemplatesList { "uriTemplate" } else { "uri" };
    let uri = json::quote(&uri::publish(server, &item.name));
    json::rewrite(&item.definition, &[Edit::Set(key, uri.as_bytes())])
}

/// A tool under its wire name. A missing description gets one that names the tool, and the URI of its UI
/// resource is published like in the resource list.
pub(super) fn tool(wire: &str, server: &ServerKey, item: &Item) -> Vec<u8> {
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
