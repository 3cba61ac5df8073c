//! Resolves the subject of a request: by lookup in the caller's pool, once for each call.

use std::borrow::Cow;
use std::sync::Arc;

use octroi_api::{ApiError, ErrorCode};
use octroi_core::pin::PinKind;
use octroi_core::{Principal, ServerKey, SwitchedOff};
use octroi_mcp::json::{self, Edit, Span};
use octroi_mcp::param_header::ParamHeaders;
use octroi_mcp::params::Params;
use octroi_mcp::translate::Subject;
use octroi_mcp::{Method, RpcError, check_names, code, task};
use octroi_upstream::leave_worker;

use super::Servers;
use super::silent::SilentServer;
use crate::api_error::{error_for_agent, rpc_error};
use crate::caller::Caller;
use crate::catalogue::{Builtins, Offer, Tool, check_length, is_long};
use crate::membership::Sight;
use crate::pool::Pool;
use crate::provider::Provider;
use crate::subscriptions::Listener;
use crate::view::View;

/// The resolved subject of a request.
pub(crate) struct Target {
    pub(crate) provider: Provider,
    /// The subject, in the provider's own names.
    pub(crate) subject: Subject,
    pub(crate) headers: Arc<ParamHeaders>,
    /// The tool as the gates see it, for a tool call.
    pub(crate) tool: Option<Arc<Tool>>,
    /// Why its definition is quarantined, if it is.
    pub(crate) held: Option<String>,
    /// What keeps its server off for this caller, if anything does.
    pub(crate) switched_off: Option<SwitchedOff>,
    /// What its server offered then.
    pub(crate) offer: Option<Arc<Offer>>,
}

/// The same before its provider is looked up.
struct Resolved {
    server: ServerKey,
    offer: Option<Arc<Offer>>,
    subject: Subject,
    headers: Arc<ParamHeaders>,
    tool: Option<Arc<Tool>>,
    held: Option<String>,
}

impl Resolved {
    fn new(server: ServerKey, subject: Subject) -> Self {
        Self { server, offer: None, subject, headers: Arc::default(), tool: None, held: None }
    }

    fn of(offer: &Arc<Offer>, subject: Subject) -> Self {
        Self { offer: Some(Arc::clone(offer)), ..Self::new(offer.key().clone(), subject) }
    }
}

impl Servers {
    /// Finds the provider of a request, and the subject's name there. Known subjects never wait; unknown
    /// ones may belong to a server that is still starting.
    pub(crate) async fn resolve(
        &self,
        view: &View,
        caller: &Caller,
        method: &Method,
        params: &Params,
    ) -> Result<Target, RpcError> {
        // Comparing a long URI with many templates takes some milliseconds.
        if names_long_uri(method, params)? {
            leave_worker().await;
        }
        let deadline_of = self.patience(view);
        let principal = &caller.principal;
        if let View::Server(_) = view {
            self.all_settled(view, principal, &deadline_of).await;
        }
        loop {
            let found = self.find(view, caller, method, params);
            if found.is_ok() {
                return found;
            }
            // The last server may have settled after the lookup above, so if none is left to wait for, look
            // up once more.
            if !self.one_settled(view, principal, &deadline_of).await {
                return self.find(view, caller, method, params);
            }
        }
    }

    fn find(
        &self,
        view: &View,
        caller: &Caller,
        method: &Method,
        params: &Params,
    ) -> Result<Target, RpcError> {
        let found = match view {
            View::Merged => self.find_merged(&self.pools.of(&caller.principal), caller, method, params)?,
            View::Server(server) => self.find_alone(server, &caller.principal, method, params)?,
        };
        let Resolved { server, offer, subject, headers, tool, held } = found;
        let provider = match &self.builtin {
            Some(builtin) if server == *Builtins::key() => Provider::Builtin(Arc::clone(builtin)),
            _ => Provider::Upstream(self.upstream(&server).ok_or_else(|| unknown_server(&server))?),
        };
        // What a pool names is not switched off by a choice.
        let by_choice = || match view {
            View::Merged if offer.is_some() => None,
            View::Merged | View::Server(_) => self.switched_off_for(&caller.principal, &server),
        };
        let switched_off = provider.switched_off().cloned().or_else(by_choice);
        Ok(Target { provider, subject, headers, tool, held, switched_off, offer })
    }

    /// In the list of all servers.
    fn find_merged(
        &self,
        pool: &Pool,
        caller: &Caller,
        method: &Method,
        params: &Params,
    ) -> Result<Resolved, RpcError> {
        match method {
            Method::ToolsCall => {
                let name = params.name().ok_or_else(|| missing(method, "name"))?;
                if let Some(own) = pool.builtins().tool(&name).filter(|_| self.may_propose(caller)) {
                    let subject = Subject { name: Some(name.into_owned()), ..Subject::default() };
                    let found = Resolved::new(Builtins::key().clone(), subject);
                    return Ok(Resolved { tool: Some(Arc::clone(own)), ..found });
                }
                let found = pool.tool(&name).map_err(|error| self.blame(error, &caller.principal, &name))?;
                Ok(found_tool(found.offer, found.tool))
            }
            Method::PromptsGet => {
                let found = pool.prompt(&params.name().ok_or_else(|| missing(method, "name"))?)?;
                Ok(found_prompt(found.offer, found.name.to_owned()))
            }
            Method::ResourcesRead => {
                let uri = params.uri().ok_or_else(|| missing(method, "uri"))?;
                let is_own = |uri: &str| {
                    self.builtin.as_ref().is_some_and(|builtin| builtin.has_resource(uri))
                        && self.has_own_resources(caller)
                };
                if is_own(&uri) {
                    let subject = Subject { uri: Some(uri.into_owned()), ..Subject::default() };
                    return Ok(Resolved::new(Builtins::key().clone(), subject));
                }
                let (offer, own) = pool.resource(&uri)?;
                Ok(found_resource(offer, own))
            }
            Method::Complete => {
                let reference = params.reference().ok_or_else(|| missing(method, "ref"))?;
                let (offer, own, edited) = match Reference::read(&reference)? {
                    Reference::Prompt(name) => {
                        let found = pool.prompt(&name)?;
                        let quoted = json::quote(found.name);
                        let edited = json::rewrite(&reference, &[Edit::Set("name", quoted.as_bytes())]);
                        (found.offer, Reference::Prompt(found.name.to_owned()), edited)
                    }
                    Reference::Resource(uri) => {
                        let (offer, own) = pool.resource(&uri)?;
                        let quoted = json::quote(&own);
                        let edited = json::rewrite(&reference, &[Edit::Set("uri", quoted.as_bytes())]);
                        (offer, Reference::Resource(own), edited)
                    }
                };
                let subject = Subject { reference: Some(edited.into()), ..Subject::default() };
                let held = own.listed(Some(offer))?.held(Some(offer));
                Ok(Resolved { held, ..Resolved::of(offer, subject) })
            }
            Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult => {
                let task_id = params.task_id().ok_or_else(|| missing(method, "taskId"))?;
                let is_there = |server: &ServerKey| self.is_there_for(&caller.principal, server);
                let known = task_of(&task_id).filter(|(server, _)| is_there(server));
                let (server, own) = known.ok_or_else(|| task::unknown(&task_id))?;
                Ok(Resolved::new(server, Subject { task_id: Some(own.to_owned()), ..Subject::default() }))
            }
            _ => Err(RpcError::method_not_found(method.as_str())),
        }
    }

    /// At one server alone, under its own names.
    fn find_alone(
        &self,
        server: &ServerKey,
        principal: &Principal,
        method: &Method,
        params: &Params,
    ) -> Result<Resolved, RpcError> {
        if !self.is_there_for(principal, server) {
            return Err(unknown_server(server));
        }
        let catalogue = self.registry.catalogue();
        let offer = catalogue.offer(server);
        let resolved = |subject| match offer {
            Some(offer) => Resolved::of(offer, subject),
            None => Resolved::new(server.clone(), subject),
        };
        match method {
            Method::ToolsCall => {
                let name = params.name().ok_or_else(|| missing(method, "name"))?;
                // Tools that are not listed cannot be decided.
                let known = offer.and_then(|offer| Some((offer, offer.tools.get(&*name)?)));
                let (offer, tool) = known.ok_or_else(|| unknown_tool(&name))?;
                Ok(found_tool(offer, tool))
            }
            Method::PromptsGet => {
                let name = params.name().ok_or_else(|| missing(method, "name"))?.into_owned();
                // As for tools: what is not listed cannot be reviewed.
                let known = offer.filter(|offer| offer.lists_prompt(&name));
                Ok(found_prompt(known.ok_or_else(|| unknown_prompt(&name))?, name))
            }
            Method::ResourcesRead => {
                let uri = params.uri().ok_or_else(|| missing(method, "uri"))?.into_owned();
                let held = offer.and_then(|offer| offer.held_resource(&uri).map(Cow::into_owned));
                Ok(Resolved { held, ..resolved(Subject { uri: Some(uri), ..Subject::default() }) })
            }
            Method::Complete => {
                let reference = params.reference().ok_or_else(|| missing(method, "ref"))?;
                let held = Reference::read(&reference)?.listed(offer)?.held(offer);
                Ok(Resolved { held, ..resolved(Subject::default()) })
            }
            Method::TasksGet | Method::TasksUpdate | Method::TasksCancel | Method::TasksResult => {
                let task_id = params.task_id().ok_or_else(|| missing(method, "taskId"))?.into_owned();
                Ok(resolved(Subject { task_id: Some(task_id), ..Subject::default() }))
            }
            _ => Err(RpcError::method_not_found(method.as_str())),
        }
    }

    /// Whether to this principal there is such a server, also if it is switched off.
    pub(crate) fn is_there_for(&self, principal: &Principal, server: &ServerKey) -> bool {
        let is_seen = matches!(self.pools.sight(principal, server), Sight::Visible | Sight::Off(_));
        is_seen && self.upstream(server).is_some()
    }

    /// The server that a client names in a path: what everybody shares, else its own.
    pub fn named_in_path(&self, principal: &Principal, name: &str) -> Option<ServerKey> {
        let key = self.pools.key_for(principal, name)?;
        let own = matches!(self.pools.sight(principal, &key), Sight::Visible | Sight::Off(_));
        (own && self.upstream(&key).is_some()).then_some(key)
    }

    /// Whether a caller is an agent that can read what is its own.
    pub(crate) fn has_own_resources(&self, caller: &Caller) -> bool {
        self.builtin.is_some() && !caller.principal.is_person()
    }

    /// Whether a caller may use Octroi's own tools.
    pub(crate) fn may_propose(&self, caller: &Caller) -> bool {
        self.has_own_resources(caller) && self.governance.settings().proposals
    }

    /// The server of a resource, and its URI there.
    pub(super) fn resource(&self, listener: &Listener, uri: &str) -> Result<(ServerKey, String), RpcError> {
        check_length(uri)?;
        match listener.view() {
            View::Server(server) if self.is_there_for(listener.principal(), server) => {
                Ok((server.clone(), uri.to_owned()))
            }
            View::Server(server) => Err(unknown_server(server)),
            View::Merged => {
                let pool = self.pools.of(listener.principal());
                pool.resource(uri).map(|(offer, own)| (offer.key().clone(), own))
            }
        }
    }

    /// Adds the reason if an unknown tool may belong to a server without tools.
    fn blame(&self, error: RpcError, principal: &Principal, tool: &str) -> RpcError {
        let Some(SilentServer { server, reason, hint }) = self.silent_server_of(principal, tool) else {
            return error;
        };
        let message = format!("unknown tool `{tool}`: server `{server}` has no tools: {reason} ({hint})");
        let error = ApiError::new(ErrorCode::ServerUnavailable, message).with_hint_for_person(&hint);
        // The number says that the tool is unknown, as it does for every other one.
        RpcError { code: code::INVALID_PARAMS, ..rpc_error(&error.with_detail("server", server.to_string())) }
    }
}

/// Whether a request names a URI that may take long to find. One that is too long is refused.
fn names_long_uri(method: &Method, params: &Params) -> Result<bool, RpcError> {
    let uri = match method {
        Method::ResourcesRead => params.uri(),
        Method::Complete => {
            match params.reference().map(|reference| Reference::read(&reference)).transpose()? {
                Some(Reference::Resource(uri)) => Some(uri.into()),
                Some(Reference::Prompt(_)) | None => None,
            }
        }
        _ => None,
    };
    let Some(uri) = uri else { return Ok(false) };
    check_length(&uri)?;
    Ok(is_long(&uri))
}

fn found_tool(offer: &Arc<Offer>, tool: &Arc<Tool>) -> Resolved {
    let name = &tool.descriptor.name;
    let held = offer.held(PinKind::Tool, name).map(str::to_owned);
    let headers = offer.headers_of(name);
    let subject = Subject { name: Some(name.to_string()), ..Subject::default() };
    Resolved { headers, tool: Some(Arc::clone(tool)), held, ..Resolved::of(offer, subject) }
}

fn found_prompt(offer: &Arc<Offer>, name: String) -> Resolved {
    let held = offer.held(PinKind::Prompt, &name).map(str::to_owned);
    Resolved { held, ..Resolved::of(offer, Subject { name: Some(name), ..Subject::default() }) }
}

fn found_resource(offer: &Arc<Offer>, uri: String) -> Resolved {
    let held = offer.held_resource(&uri).map(Cow::into_owned);
    Resolved { held, ..Resolved::of(offer, Subject { uri: Some(uri), ..Subject::default() }) }
}

/// The subject of a completion.
enum Reference {
    /// A prompt.
    Prompt(String),
    /// A resource template.
    Resource(String),
}

impl Reference {
    fn read(json: &bytes::Bytes) -> Result<Self, RpcError> {
        let whole = Span { start: 0, end: json.len() };
        check_names(json, whole, &["type", "name", "uri"])?;
        let text = |name: &str| json::member(json, whole, name).and_then(|span| json::text(span.of(json)));
        match (text("name"), text("uri")) {
            (Some(name), None) => Ok(Self::Prompt(name.into_owned())),
            (None, Some(uri)) => Ok(Self::Resource(uri.into_owned())),
            (Some(_), Some(_)) => Err(RpcError::invalid_params("`ref` names both a prompt and a resource")),
            (None, None) => {
                Err(RpcError::invalid_params("`ref` names neither a prompt nor a resource template"))
            }
        }
    }

    /// Itself, if the server lists it: what is not listed cannot be reviewed.
    fn listed(self, offer: Option<&Arc<Offer>>) -> Result<Self, RpcError> {
        match &self {
            Self::Prompt(name) if !offer.is_some_and(|offer| offer.lists_prompt(name)) => {
                Err(unknown_prompt(name))
            }
            Self::Resource(uri) if !offer.is_some_and(|offer| offer.lists_template(uri)) => {
                let message = format!("unknown resource template `{uri}`");
                Err(error_for_agent(ErrorCode::ResourceNotFound, message))
            }
            Self::Prompt(_) | Self::Resource(_) => Ok(self),
        }
    }

    /// Why it is quarantined at this server, if it is.
    fn held(&self, offer: Option<&Arc<Offer>>) -> Option<String> {
        let offer = offer?;
        match self {
            Self::Prompt(name) => offer.held(PinKind::Prompt, name).map(str::to_owned),
            Self::Resource(uri) => match offer.held(PinKind::Template, uri) {
                Some(reason) => Some(reason.to_owned()),
                None => offer.held_resource(uri).map(Cow::into_owned),
            },
        }
    }
}

fn missing(method: &Method, member: &str) -> RpcError {
    RpcError::invalid_params(format!("{method} needs `{member}`"))
}

fn unknown_prompt(name: &str) -> RpcError {
    error_for_agent(ErrorCode::PromptNotFound, format!("unknown prompt `{name}`"))
}

fn unknown_server(server: &ServerKey) -> RpcError {
    error_for_agent(ErrorCode::NotFound, format!("unknown server `{server}`"))
}

fn unknown_tool(name: &str) -> RpcError {
    error_for_agent(ErrorCode::ToolNotFound, format!("unknown tool `{name}`"))
}

/// A task's server and its id there. Keys of servers contain no colon, so the first one separates them.
fn task_of(id: &str) -> Option<(ServerKey, &str)> {
    let (server, own) = id.split_once(':')?;
    Some((ServerKey::parse(server)?, own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_names_its_server_with_the_owner() {
        for (id, expected) in [
            ("notes:t1", Some(("notes", "t1"))),
            ("ana/notes:t1", Some(("ana/notes", "t1"))),
            ("bob/notes:a:b", Some(("bob/notes", "a:b"))),
            ("/notes:t1", None),
            ("notes", None),
            ("Not a name:t1", None),
        ] {
            let found = task_of(id).map(|(server, own)| (server.to_string(), own));
            assert_eq!(found.as_ref().map(|(server, own)| (server.as_str(), *own)), expected, "{id}");
        }
    }
}
