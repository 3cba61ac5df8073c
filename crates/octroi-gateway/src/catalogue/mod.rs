//! Everything that all servers offer, as one immutable value.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use octroi_api::{ApiError, ErrorCode};
use octroi_core::pin::PinKind;
use octroi_core::policy::ToolPattern;
use octroi_core::uri::URI_BYTES_MAX;
use octroi_core::uri::template::{Steps, TooManySteps};
use octroi_core::{CanonicalId, ServerKey, ServerName, suggest, uri, wire_name};
use octroi_mcp::param_header::ParamHeaders;
use octroi_mcp::{Method, RpcError};
use octroi_upstream::ServerIdentity;

use crate::api_error::{error_for_agent, rpc_error};
use crate::view::View;

mod builtins;
mod fetch;
mod offer;
mod readable;
mod render;

pub(crate) use builtins::Builtins;
pub use builtins::OfferedByOctroi;
pub(crate) use fetch::{Item, ListSource, ServerLists, fetch, read_item};
pub(crate) use offer::{Guard, Offer, Tool, hash_of, unusable_because};
pub use render::Rendered;

/// How many similar names an error suggests.
const SIMILAR_MAX: usize = 3;

/// A snapshot of all lists. Requests hold it while they run; changes create a new one.
#[derive(Debug, Default)]
pub struct Catalogue {
    offers: BTreeMap<ServerKey, Arc<Offer>>,
    tools: HashMap<String, FoundTool>,
    prompts: HashMap<String, FoundPrompt>,
    /// Alternative spellings; two entries if a spelling could refer to two tools.
    aliases: HashMap<String, Vec<String>>,
    merged: Rendered,
    of_agents: Rendered,
    proposing: Rendered,
    /// The lists of each server alone, rendered when somebody asks for them: few clients do.
    single: HashMap<ServerKey, OnceLock<Rendered>>,
    /// Tools under their own names that have arguments in headers; few have.
    headers: HashMap<ServerKey, HashMap<String, Arc<ParamHeaders>>>,
    builtins: Arc<Builtins>,
}

/// The prompt that a wire name refers to.
#[derive(Clone, Debug)]
pub(crate) struct FoundPrompt {
    /// The server that offers it.
    pub(crate) server: ServerKey,
    /// Its name at the server.
    pub(crate) name: String,
}

/// The tool that a wire name refers to.
#[derive(Clone, Debug)]
pub(crate) struct FoundTool {
    /// The server that offers it.
    pub(crate) server: ServerKey,
    /// Arguments that are also sent as headers.
    pub(crate) headers: Arc<ParamHeaders>,
    /// The tool as the gates see it.
    pub(crate) tool: Arc<Tool>,
}

impl Catalogue {
    /// Merges the lists of all servers.
    pub(crate) fn new(
        offers: BTreeMap<ServerKey, Arc<Offer>>,
        builtins: &Arc<Builtins>,
        wire_name_max: usize,
    ) -> Self {
        let mut catalogue = Self::default();
        // Quarantined tools have names too: they keep them once accepted, and callers get the reason.
        // Another spelling of a tool is not the name of another tool: `mcp__fs__read` of the server `mcp`.
        let spellings: HashSet<String> = offers
            .iter()
            .flat_map(|(server, offer)| offer.raw.tools.iter().map(move |item| (server, item)))
            .flat_map(|(server, item)| wire_name::aliases(server, &item.name))
            .collect();
        let is_taken = |name: &str| builtins.takes(name) || spellings.contains(name);
        let mut tools = named(&offers, |lists| &lists.tools, &is_taken, wire_name_max);
        let mut prompts = named(&offers, |lists| &lists.prompts, &|_| false, wire_name_max);
        for (wire, server, item) in &tools {
            for alias in wire_name::aliases(server, &item.name) {
                catalogue.aliases.entry(alias).or_default().push(wire.clone());
            }
            if let Some(tool) = offers.get(*server).and_then(|offer| offer.tools.get(&item.name)) {
                let found = FoundTool {
                    server: (*server).clone(),
                    headers: Arc::clone(&item.headers),
                    tool: Arc::clone(tool),
                };
                catalogue.tools.insert(wire.clone(), found);
            }
        }
        for (wire, server, item) in &prompts {
            let found = FoundPrompt { server: (*server).clone(), name: item.name.clone() };
            catalogue.prompts.insert(wire.clone(), found);
        }
        tools.retain(|(_, server, item)| offers[*server].shows_tool(&item.name));
        prompts.retain(|(_, server, item)| offers[*server].held(PinKind::Prompt, &item.name).is_none());
        let servers: BTreeMap<ServerKey, Arc<ServerLists>> =
            offers.iter().map(|(name, offer)| (name.clone(), Arc::clone(&offer.visible))).collect();
        catalogue.merged = render::merged(&servers, &tools, &prompts);
        catalogue.proposing = catalogue.merged.with_own(builtins);
        catalogue.of_agents = catalogue.proposing.without_own_tools();
        catalogue.single = servers.keys().map(|name| (name.clone(), OnceLock::new())).collect();
        for (name, lists) in &servers {
            let with_headers = lists.tools.iter().filter(|item| !item.headers.is_empty());
            let table = with_headers.map(|item| (item.name.clone(), Arc::clone(&item.headers))).collect();
            catalogue.headers.insert(name.clone(), table);
        }
        catalogue.offers = offers;
        catalogue.builtins = Arc::clone(builtins);
        catalogue
    }

    /// The visible lists of one server, if they were ever fetched.
    pub(crate) fn server(&self, name: &ServerKey) -> Option<&Arc<ServerLists>> {
        self.offers.get(name).map(|offer| &offer.visible)
    }

    /// Everything that one server offers, if it was ever fetched.
    pub(crate) fn offer(&self, name: &ServerKey) -> Option<&Arc<Offer>> {
        self.offers.get(name)
    }

    pub(crate) fn offers(&self) -> &BTreeMap<ServerKey, Arc<Offer>> {
        &self.offers
    }

    /// The rendered lists of all servers.
    pub fn merged(&self) -> &Rendered {
        &self.merged
    }

    /// The rendered lists of all servers, plus what agents can read of their own.
    pub(crate) fn of_agents(&self) -> &Rendered {
        &self.of_agents
    }

    /// The same, plus the tools of agents that may propose policies.
    pub(crate) fn proposing(&self) -> &Rendered {
        &self.proposing
    }

    /// The rendered lists of one server.
    pub fn single(&self, name: &ServerKey) -> Option<&Rendered> {
        let lists = self.server(name)?;
        self.single.get(name).map(|rendered| rendered.get_or_init(|| render::single(lists)))
    }

    /// How long a list is, without Octroi's own entries.
    pub(crate) fn n_bytes(&self, view: &View, method: &Method) -> usize {
        match view {
            View::Merged => self.merged.n_bytes(method),
            // Not rendered for that: where it is done depends on the answer.
            View::Server(name) => self
                .server(name)
                .map_or(0, |lists| lists.list(method).iter().map(|item| item.definition.len() + 1).sum()),
        }
    }

    /// Octroi's own tools and resources for agents.
    pub(crate) fn builtins(&self) -> &Builtins {
        &self.builtins
    }

    /// All tools by their wire names, including hidden ones.
    pub(crate) fn tools(&self) -> impl Iterator<Item = (&str, &FoundTool)> {
        self.tools.iter().map(|(wire_name, found)| (wire_name.as_str(), found))
    }

    /// Finds a tool by its wire name or another spelling of it.
    pub(crate) fn tool(&self, name: &str) -> Result<&FoundTool, RpcError> {
        if let Some(found) = self.tools.get(name) {
            return Ok(found);
        }
        match self.aliases.get(name).map(Vec::as_slice) {
            Some([wire]) => self.tools.get(wire).ok_or_else(|| unknown(ErrorCode::ToolNotFound, name, &[])),
            Some(candidates) => {
                let message =
                    format!("`{name}` could mean {}; use one of these names", candidates.join(" or "));
                Err(error_for_agent(ErrorCode::ToolAmbiguous, message))
            }
            None => {
                let known = self.tools.keys().map(String::as_str);
                Err(unknown(ErrorCode::ToolNotFound, name, &suggest::nearest(name, known, SIMILAR_MAX)))
            }
        }
    }

    /// Finds a tool by server and name, as rules write it, or by the name that clients use.
    pub(crate) fn named_tool(&self, name: &str) -> Result<(ServerKey, Arc<Tool>), String> {
        let literal = ToolPattern::parse(name).and_then(|pattern| pattern.literal());
        let found = literal.and_then(|(server, own)| {
            let server = ServerKey::parse(&server)?;
            let tool = Arc::clone(self.offer(&server)?.tools.get(&own)?);
            Some((server, tool))
        });
        match found {
            Some(found) => Ok(found),
            None => match self.tool(name) {
                Ok(found) => Ok((found.server.clone(), Arc::clone(&found.tool))),
                Err(error) => Err(error.message),
            },
        }
    }

    /// The tool with a canonical id, if a server has it.
    pub(crate) fn tool_by_id(&self, id: &str) -> Option<&Arc<Tool>> {
        let (server, name) = CanonicalId::parse_mcp(id)?;
        self.offer(&server)?.tools.get(name)
    }

    /// Why a decided tool must not be called any more: the server's current definition is not the one that
    /// was decided about.
    pub(crate) fn withdrawn(&self, server: &ServerKey, tool: &Tool) -> Option<String> {
        let offer = self.offers.get(server)?;
        let name = &*tool.descriptor.name;
        if let Some(reason) = offer.held(PinKind::Tool, name) {
            return Some(reason.to_owned());
        }
        match offer.tools.get(name) {
            Some(now) if now.descriptor.definition_hash == tool.descriptor.definition_hash => None,
            Some(_) => Some("its definition changed while the call waited".to_owned()),
            None => Some("its server does not list it any more".to_owned()),
        }
    }

    /// The arguments of a server's tool that are also sent as headers, by its own name.
    pub(crate) fn own_headers(&self, server: &ServerKey, tool: &str) -> Option<&Arc<ParamHeaders>> {
        self.headers.get(server)?.get(tool)
    }

    /// Finds a prompt by its wire name.
    pub(crate) fn prompt(&self, name: &str) -> Result<&FoundPrompt, RpcError> {
        self.prompts.get(name).ok_or_else(|| unknown(ErrorCode::PromptNotFound, name, &[]))
    }

    /// All tools, each with the text of its server's key: servers of two owners may have one name.
    pub(crate) fn tool_names(&self) -> Vec<(String, &str)> {
        let mut names = Vec::new();
        for (server, offer) in &self.offers {
            names.extend(offer.raw.tools.iter().map(|tool| (server.to_string(), tool.name.as_str())));
        }
        names
    }

    /// The server that a bare name stands for: the one that everybody shares, else the only one of this name.
    pub(crate) fn server_named(&self, name: &ServerName) -> Option<&ServerKey> {
        if let Some((shared, _)) = self.offers.get_key_value(&ServerKey::system(name.clone())) {
            return Some(shared);
        }
        let mut of_users = self.offers.keys().filter(|key| key.name == *name);
        let first = of_users.next()?;
        // Of several, none is meant more than the others.
        of_users.next().is_none().then_some(first)
    }

    /// Finds the server of a resource and the server's own URI: by the published form, or by the
    /// server's own form where exactly one server has it. Links inside results use the latter.
    pub fn resource(&self, published: &str) -> Result<(ServerKey, String), RpcError> {
        if let Some((server, own)) = uri::resolve(published)
            && let Ok(name) = ServerName::parse(server)
            && let Some(server) = self.server_named(&name)
        {
            return Ok((server.clone(), own));
        }
        let mut steps = Steps::for_one_uri();
        let mut owners: Vec<&ServerKey> = Vec::new();
        for (name, offer) in &self.offers {
            let has = offer.has_resource(published, &mut steps).map_err(|TooManySteps| {
                RpcError::invalid_params(
                    "the URI takes too long to compare with the templates of all servers; use the form that the list shows",
                )
            })?;
            if has {
                owners.push(name);
            }
        }
        match owners[..] {
            [server] => Ok((server.clone(), published.to_owned())),
            [] => Err(unknown_resource(published)),
            _ => {
                let forms: Vec<String> =
                    owners.iter().map(|server| uri::publish(&server.name, published)).collect();
                Err(RpcError::invalid_params(format!(
                    "`{published}` is offered by several servers: {}",
                    forms.join(", ")
                )))
            }
        }
    }
}

/// Longer URIs are not compared with templates on a thread that serves clients: it takes some milliseconds.
const LONG_URI_BYTES: usize = 512;

/// Whether comparing a URI with templates may take long.
pub(crate) const fn is_long(uri: &str) -> bool {
    uri.len() > LONG_URI_BYTES
}

/// Refuses a URI that is too long to be compared with names and templates.
pub(crate) fn check_length(uri: &str) -> Result<(), RpcError> {
    if uri.len() <= URI_BYTES_MAX {
        return Ok(());
    }
    let message = format!("the URI has {} bytes, the limit is {URI_BYTES_MAX}", uri.len());
    Err(RpcError::invalid_params(message))
}

fn unknown(code: ErrorCode, name: &str, similar: &[&str]) -> RpcError {
    let what = if code == ErrorCode::ToolNotFound { "tool" } else { "prompt" };
    let mut message = format!("unknown {what} `{name}`");
    if !similar.is_empty() {
        message = format!("{message}; did you mean {}?", similar.join(" or "));
    }
    error_for_agent(code, message)
}

/// Items of all servers with their wire names, in a stable order.
fn named<'a>(
    offers: &'a BTreeMap<ServerKey, Arc<Offer>>,
    list: impl Fn(&'a ServerLists) -> &'a Vec<Item>,
    is_taken: &dyn Fn(&str) -> bool,
    max: usize,
) -> Vec<(String, &'a ServerKey, &'a Item)> {
    let items: Vec<(&ServerKey, &Item)> = offers
        .iter()
        .flat_map(|(name, offer)| list(&offer.raw).iter().map(move |item| (name, item)))
        .collect();
    let keys: Vec<(&ServerKey, &str)> =
        items.iter().map(|(server, item)| (*server, item.name.as_str())).collect();
    let names = wire_name::assign(&keys, is_taken, max);
    names.into_iter().zip(items).map(|(wire, (server, item))| (wire, server, item)).collect()
}

/// The capabilities and description of the gateway, for one view.
#[derive(Clone, Debug)]
pub(crate) struct ViewProfile {
    pub(crate) capabilities: serde_json::Value,
    pub(crate) instructions: Option<String>,
    pub(crate) info: Option<Bytes>,
}

impl ViewProfile {
    /// The profile of one server.
    pub(crate) fn of(identity: &ServerIdentity) -> Self {
        Self {
            capabilities: identity.capabilities.clone(),
            instructions: identity.instructions.clone(),
            info: identity.info.clone(),
        }
    }
}

/// The list methods, in the order they are fetched.
pub(crate) const LISTS: [Method; 4] =
    [Method::ToolsList, Method::PromptsList, Method::ResourcesList, Method::TemplatesList];

/// The error for a resource that nobody offers.
pub(crate) fn unknown_resource(uri: &str) -> RpcError {
    let error = ApiError::new(ErrorCode::ResourceNotFound, format!("unknown resource `{uri}`")).for_agent();
    rpc_error(&error.with_detail("uri", uri))
}

#[cfg(test)]
mod tests;
