//! Fetching the lists of one server.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::ServerKey;
use octroi_core::server::Limits;
use octroi_mcp::json::{self, Span};
use octroi_mcp::param_header::ParamHeaders;
use octroi_mcp::result::ResultView;
use octroi_mcp::{Method, code};
use octroi_upstream::{Connection, ControlRequest, ServerIdentity, UpstreamError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tracing::warn;

/// More pages are not fetched: a list of empty pages has no end.
const PAGES_MAX: usize = 1_000;

/// More templates of a server are left out: each is compared with URIs that clients name.
const TEMPLATES_MAX: usize = 1_000;

/// The lists of one server.
#[derive(Clone, Debug)]
pub(crate) struct ServerLists {
    pub(crate) identity: ServerIdentity,
    pub(crate) tools: Vec<Item>,
    pub(crate) prompts: Vec<Item>,
    pub(crate) resources: Vec<Item>,
    pub(crate) templates: Vec<Item>,
}

/// One entry of a list.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Name, URI or URI template.
    pub(crate) name: String,
    /// The definition as the server wrote it.
    pub(crate) definition: Bytes,
    pub(crate) headers: Arc<ParamHeaders>,
    /// Why nobody can call it, for a tool whose input schema was checked.
    pub(crate) unusable: Option<Arc<str>>,
    /// Whether the input schema was checked.
    pub(crate) is_checked: bool,
}

/// Whether it was checked makes no difference to anybody.
impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        let Self { name, definition, headers, unusable, is_checked: _ } = self;
        *name == other.name
            && *definition == other.definition
            && *headers == other.headers
            && *unusable == other.unusable
    }
}

impl Item {
    /// An entry that was not checked yet.
    pub(crate) fn new(name: String, definition: Bytes, headers: Arc<ParamHeaders>) -> Self {
        Self { name, definition, headers, unusable: None, is_checked: false }
    }
}

impl ServerLists {
    pub(crate) fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    pub(crate) fn list(&self, method: &Method) -> &Vec<Item> {
        match method {
            Method::PromptsList => &self.prompts,
            Method::ResourcesList => &self.resources,
            Method::TemplatesList => &self.templates,
            _ => &self.tools,
        }
    }

    pub(crate) fn set(&mut self, method: &Method, items: Vec<Item>) {
        let list = match method {
            Method::PromptsList => &mut self.prompts,
            Method::ResourcesList => &mut self.resources,
            Method::TemplatesList => &mut self.templates,
            _ => &mut self.tools,
        };
        *list = items;
    }

    pub(crate) fn empty(identity: ServerIdentity) -> Self {
        Self { identity, tools: vec![], prompts: vec![], resources: vec![], templates: vec![] }
    }
}

/// Where a list is fetched from, and how much of it.
#[derive(Clone, Copy)]
pub(crate) struct ListSource<'a> {
    pub(crate) server: &'a ServerKey,
    pub(crate) is_http: bool,
    /// The time for one page.
    pub(crate) timeout: Duration,
    pub(crate) limits: &'a Limits,
}

/// Fetches all pages of one list. What exceeds the limits is left out: an endless list must not fill the
/// memory.
pub(crate) async fn fetch(
    source: ListSource<'_>,
    connection: &Connection,
    method: &Method,
) -> Result<Vec<Item>, UpstreamError> {
    let ListSource { server, is_http, timeout, limits } = source;
    if !is_declared(connection, method) {
        return Ok(Vec::new());
    }
    let (mut items, mut n_bytes) = (Vec::new(), 0_usize);
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES_MAX {
        let page = match connection
            .control(ControlRequest::List(method.clone(), cursor.as_deref()), timeout)
            .await
        {
            Err(UpstreamError::Refused(error)) if error.code == code::METHOD_NOT_FOUND => {
                return Ok(Vec::new());
            }
            page => page?,
        };
        n_bytes = n_bytes.saturating_add(page.len());
        // Over all pages: of two entries with one name, one would be shown and the other checked.
        let read = read_page(server, method, &page, is_http)?;
        let n_max = if *method == Method::TemplatesList { TEMPLATES_MAX } else { usize::MAX };
        let n_left = limits.list_items.min(n_max).saturating_sub(items.len());
        let is_too_large = n_bytes > limits.list_bytes;
        let is_too_long = read.len() > n_left || is_too_large;
        items.extend(read.into_iter().take(if is_too_large { 0 } else { n_left }).filter(|item| {
            let is_first = seen.insert(item.name.clone());
            if !is_first {
                warn!(server.name = %server, list = %method, name = item.name, "listed twice, the first is used");
            }
            is_first
        }));
        if is_too_long {
            let (n_items, n_bytes_max) = (limits.list_items.min(n_max), limits.list_bytes);
            warn!(server.name = %server, list = %method, n_items, n_bytes_max, "list is too long, the rest is left out");
            return Ok(items);
        }
        let next = ResultView::read(&page).next_cursor().map(std::borrow::Cow::into_owned);
        if next.is_none() || next == cursor {
            return Ok(items);
        }
        cursor = next;
    }
    warn!(server.name = %server, list = %method, limit = PAGES_MAX, "list has too many pages, truncated");
    Ok(items)
}

/// Tools are always fetched, since old servers offer them without declaring it.
fn is_declared(connection: &Connection, method: &Method) -> bool {
    let capability = match method {
        Method::PromptsList => "prompts",
        Method::ResourcesList | Method::TemplatesList => "resources",
        _ => return true,
    };
    connection.identity().capabilities.get(capability).is_some()
}

#[derive(Deserialize)]
struct ListPage<'a> {
    #[serde(borrow, alias = "tools", alias = "prompts", alias = "resources", alias = "resourceTemplates")]
    items: Vec<&'a RawValue>,
}

fn read_page(
    server: &ServerKey,
    method: &Method,
    page: &Bytes,
    is_http: bool,
) -> Result<Vec<Item>, UpstreamError> {
    let read: ListPage<'_> = serde_json::from_slice(page)
        .map_err(|_| UpstreamError::Protocol(format!("the answer to {method} contains no list")))?;
    // Copied, so that one remaining entry does not keep its whole page in memory.
    let items = read
        .items
        .into_iter()
        .filter_map(|raw| read_item(server, method, Bytes::copy_from_slice(raw.get().as_bytes()), is_http));
    Ok(items.collect())
}

/// Parses one entry of a list.
pub(crate) fn read_item(
    server: &ServerKey,
    method: &Method,
    definition: Bytes,
    is_http: bool,
) -> Option<Item> {
    let key = match method {
        Method::ResourcesList => "uri",
        Method::TemplatesList => "uriTemplate",
        _ => "name",
    };
    let whole = Span { start: 0, end: definition.len() };
    let member = |name: &str| Some(json::member(&definition, whole, name)?.of(&definition));
    let Some(name) = member(key).and_then(json::text) else {
        warn!(server.name = %server, list = %method, "entry without `{key}`, left out");
        return None;
    };
    // A schema that cannot be decoded (`1e400`) is forwarded unchanged, for the client to judge.
    let schema: Value =
        member("inputSchema").and_then(|schema| serde_json::from_slice(schema).ok()).unwrap_or_default();
    let headers = match ParamHeaders::from_schema(&schema) {
        Ok(headers) => headers,
        // A wrong annotation makes the whole definition invalid, but only where headers exist.
        Err(reason) if is_http => {
            warn!(server.name = %server, tool = &*name, reason, "invalid tool left out");
            return None;
        }
        Err(_) => ParamHeaders::default(),
    };
    Some(Item::new(name.into_owned(), definition.clone(), Arc::new(headers)))
}
