//! Everything that all servers offer, as one immutable value. What each principal sees of it is a pool.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use octroi_api::{ApiError, ErrorCode};
use octroi_core::pool::Reach;
use octroi_core::uri::URI_BYTES_MAX;
use octroi_core::{CanonicalId, Scope, ServerKey, ServerName};
use octroi_mcp::{Method, RpcError};
use octroi_upstream::ServerIdentity;

use crate::api_error::rpc_error;

mod builtins;
mod fetch;
mod offer;
mod published;
mod readable;
mod render;

pub(crate) use builtins::Builtins;
pub use builtins::OfferedByOctroi;
pub(crate) use fetch::{Item, ListSource, ServerLists, fetch, read_item};
pub(crate) use offer::{Guard, Offer, Tool, hash_of, unusable_because};
pub(crate) use published::{PlainName, hash_of_name};
pub(crate) use render::{empty as empty_list, result as list_result};

/// A snapshot of all lists. Requests hold it while they run; changes create a new one.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// By owner, so that a change of one user's server copies nothing of another's.
    scopes: BTreeMap<Scope, Arc<OffersOfOwner>>,
    builtins: Arc<Builtins>,
    /// Another one for every snapshot.
    revision: u64,
}

#[derive(Clone, Debug, Default)]
struct OffersOfOwner {
    offers: BTreeMap<ServerName, Arc<Offer>>,
    /// The revision of the snapshot in which they last changed.
    revision: u64,
}

impl Catalogue {
    /// Without servers.
    pub(crate) fn new(builtins: &Arc<Builtins>) -> Self {
        Self { builtins: Arc::clone(builtins), ..Self::default() }
    }

    /// The next snapshot: with other offers of some servers, and without those that have none any more.
    pub(crate) fn with(&self, changes: impl IntoIterator<Item = (ServerKey, Option<Arc<Offer>>)>) -> Self {
        let mut next = Self { revision: self.revision + 1, ..self.clone() };
        for (key, offer) in changes {
            let of_owner = Arc::make_mut(next.scopes.entry(key.scope.clone()).or_default());
            of_owner.revision = next.revision;
            match offer {
                Some(offer) => of_owner.offers.insert(key.name, offer),
                None => of_owner.offers.remove(&key.name),
            };
            if of_owner.offers.is_empty() {
                next.scopes.remove(&key.scope);
            }
        }
        next
    }

    /// The part of it that somebody may learn of.
    pub(crate) fn within(&self, reach: &Reach) -> Self {
        let mut part = self.clone();
        if let Reach::User(user) = reach {
            part.scopes.retain(|scope, _| match scope {
                Scope::System => true,
                Scope::User(owner) => owner == user,
            });
        }
        part
    }

    /// Another number for every snapshot.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The snapshot in which the offers of an owner last changed; `None` if there are none.
    pub(crate) fn revision_of(&self, scope: &Scope) -> Option<u64> {
        self.scopes.get(scope).map(|of_owner| of_owner.revision)
    }

    /// The visible lists of one server, if they were ever fetched.
    pub(crate) fn server(&self, key: &ServerKey) -> Option<&Arc<ServerLists>> {
        self.offer(key).map(|offer| &offer.visible)
    }

    /// Everything that one server offers, if it was ever fetched.
    pub(crate) fn offer(&self, key: &ServerKey) -> Option<&Arc<Offer>> {
        self.scopes.get(&key.scope)?.offers.get(&key.name)
    }

    /// Everything that all servers offer, by key.
    pub(crate) fn offers(&self) -> impl Iterator<Item = &Arc<Offer>> {
        self.scopes.values().flat_map(|of_owner| of_owner.offers.values())
    }

    /// Octroi's own tools and resources for agents.
    pub(crate) fn builtins(&self) -> &Arc<Builtins> {
        &self.builtins
    }

    /// The tool with a canonical id, if a server has it.
    pub(crate) fn tool_by_id(&self, id: &str) -> Option<&Arc<Tool>> {
        let (server, name) = CanonicalId::parse_mcp(id)?;
        self.offer(&server)?.tools.get(name)
    }

    /// Why a decided tool must not be called any more: the server's current definition is not the one that
    /// was decided about.
    pub(crate) fn withdrawn(&self, server: &ServerKey, tool: &Tool) -> Option<String> {
        let offer = self.offer(server)?;
        let name = &*tool.descriptor.name;
        if let Some(reason) = offer.held(octroi_core::pin::PinKind::Tool, name) {
            return Some(reason.to_owned());
        }
        match offer.tools.get(name) {
            Some(now) if now.descriptor.definition_hash == tool.descriptor.definition_hash => None,
            Some(_) => Some("its definition changed while the call waited".to_owned()),
            None => Some("its server does not list it any more".to_owned()),
        }
    }

    /// The tools that may stand beside those of a server in a list, each with the text of its server's key: what
    /// everybody shares, and what the owner of the server has.
    pub(crate) fn tool_names_beside(&self, server: &ServerKey) -> Vec<(String, &str)> {
        let scopes: HashSet<&Scope> = [&Scope::System, &server.scope].into();
        let of_owners = scopes.into_iter().filter_map(|scope| self.scopes.get(scope));
        let mut names = Vec::new();
        for offer in of_owners.flat_map(|of_owner| of_owner.offers.values()) {
            let key = offer.key().to_string();
            names.extend(offer.raw.tools.iter().map(|tool| (key.clone(), tool.name.as_str())));
        }
        names
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

/// The notification that a list changed.
pub(crate) fn notification_of(list: &Method) -> Method {
    match list {
        Method::PromptsList => Method::PromptsChanged,
        Method::ResourcesList | Method::TemplatesList => Method::ResourcesChanged,
        _ => Method::ToolsChanged,
    }
}

/// The error for a resource that nobody offers.
pub(crate) fn unknown_resource(uri: &str) -> RpcError {
    let error = ApiError::new(ErrorCode::ResourceNotFound, format!("unknown resource `{uri}`")).for_agent();
    rpc_error(&error.with_detail("uri", uri))
}

#[cfg(test)]
pub(crate) mod tests;
