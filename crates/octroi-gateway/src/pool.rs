//! What a principal sees of all servers: a table of names over their offers, immutable and shared by everybody who has the
//! same servers. It holds no definition and no rendered list of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use octroi_api::ErrorCode;
use octroi_core::uri::template::{Steps, TooManySteps};
use octroi_core::{CanonicalId, Scope, ServerKey, ServerName, suggest, uri};
use octroi_mcp::{Era, Method, RpcError};
use parking_lot::Mutex;

use crate::api_error::error_for_agent;
use crate::catalogue::{Builtins, Catalogue, Offer, Tool, list_result, unknown_resource};
use names::{Named, Names};

mod names;
#[cfg(test)]
mod tests;

/// How many similar names an error suggests.
const SIMILAR_MAX: usize = 3;
/// The longest text of a server's key that another spelling of a tool is searched for.
const KEY_BYTES_MAX: usize = 256;

/// The names of everything in one set of servers.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// By key.
    offers: Box<[Arc<Offer>]>,
    tools: Names,
    prompts: Names,
    builtins: Arc<Builtins>,
    /// Lists of servers some of whose names another server claims too, by server and list.
    renamed: Mutex<HashMap<(usize, Method), Bytes>>,
    known: KnownRevisions,
    wire_name_max: usize,
}

/// The revisions of catalogues of which it is known that the pool is made of the same offers.
#[derive(Debug, Default)]
struct KnownRevisions {
    catalogue: AtomicU64,
    shared: AtomicU64,
    own: AtomicU64,
}

/// Octroi's own entries in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnEntries {
    None,
    /// Without tools.
    Resources,
    All,
}

/// A tool of a server.
#[derive(Clone, Debug)]
pub(crate) struct FoundTool<'a> {
    pub(crate) offer: &'a Arc<Offer>,
    pub(crate) tool: &'a Arc<Tool>,
}

/// A prompt of a server.
#[derive(Clone, Debug)]
pub(crate) struct FoundPrompt<'a> {
    pub(crate) offer: &'a Arc<Offer>,
    /// Its name at the server.
    pub(crate) name: &'a str,
}

impl Pool {
    /// Names everything that these servers offer. The keys must be in order.
    pub(crate) fn new(keys: &[ServerKey], catalogue: &Catalogue, wire_name_max: usize) -> Self {
        let offers: Box<[_]> = keys.iter().filter_map(|key| catalogue.offer(key).cloned()).collect();
        let builtins = Arc::clone(catalogue.builtins());
        // Quarantined tools have names too: they keep them once accepted, and callers get the reason.
        // Another spelling of a tool is not the name of another tool: `mcp__fs__read` of the server `mcp`.
        let is_spelling = |name: &str| is_double_spelling(&offers, name);
        let tools = Names::new(&offers, Named::Tools, &builtins, &is_spelling, wire_name_max);
        let prompts = Names::new(&offers, Named::Prompts, &Builtins::default(), &|_| false, wire_name_max);
        let pool = Self { offers, tools, prompts, builtins, wire_name_max, ..Self::default() };
        pool.note(keys, catalogue);
        pool
    }

    /// Whether it would be the same if it were made anew. Cheap if nothing changed, and if only servers of others did.
    pub(crate) fn is_current(&self, keys: &[ServerKey], catalogue: &Catalogue, wire_name_max: usize) -> bool {
        if self.known.catalogue.load(Ordering::Relaxed) == catalogue.revision() {
            return true;
        }
        if self.wire_name_max != wire_name_max {
            return false;
        }
        let [shared, own] = scopes(keys).map(|scope| revision(catalogue, scope));
        let is_same = self.known.shared.load(Ordering::Relaxed) == shared
            && self.known.own.load(Ordering::Relaxed) == own
            || self.is_made_of(keys, catalogue);
        if is_same {
            self.note(keys, catalogue);
        }
        is_same
    }

    fn is_made_of(&self, keys: &[ServerKey], catalogue: &Catalogue) -> bool {
        let mut offers = self.offers.iter();
        let now = keys.iter().filter_map(|key| catalogue.offer(key));
        now.into_iter().all(|now| offers.next().is_some_and(|known| Arc::ptr_eq(known, now)))
            && offers.next().is_none()
    }

    /// Each number stands for a state that the pool was compared with, so that their order does not matter.
    fn note(&self, keys: &[ServerKey], catalogue: &Catalogue) {
        let [shared, own] = scopes(keys).map(|scope| revision(catalogue, scope));
        self.known.shared.store(shared, Ordering::Relaxed);
        self.known.own.store(own, Ordering::Relaxed);
        self.known.catalogue.store(catalogue.revision(), Ordering::Relaxed);
    }

    /// What its servers offer, by key.
    pub(crate) fn offers(&self) -> &[Arc<Offer>] {
        &self.offers
    }

    /// The server that a bare name stands for: no two in a pool have the same.
    pub(crate) fn server_named(&self, name: &str) -> Option<&Arc<Offer>> {
        position_of(&self.offers, name).map(|index| &self.offers[index])
    }

    /// Octroi's own tools and resources for agents.
    pub(crate) fn builtins(&self) -> &Arc<Builtins> {
        &self.builtins
    }

    /// A list, as JSON text.
    pub(crate) fn list(&self, list: &Method, own: OwnEntries, era: Era) -> Bytes {
        let mut parts = Vec::with_capacity(self.offers.len() + 1);
        match (own, list) {
            (OwnEntries::None, _) | (OwnEntries::Resources, Method::ToolsList) => {}
            (OwnEntries::Resources | OwnEntries::All, _) => parts.push(self.builtins.entries(list).clone()),
        }
        let names = match list {
            Method::ToolsList => Some(&self.tools),
            Method::PromptsList => Some(&self.prompts),
            _ => None,
        };
        parts.extend(self.offers.iter().enumerate().map(|(index, offer)| match names {
            Some(names) if names.has_renamed(index) => {
                let mut renamed = self.renamed.lock();
                let render = || offer.publish(list, |position| names.other_name(index, position));
                renamed.entry((index, list.clone())).or_insert_with(render).clone()
            }
            _ => offer.published(list),
        }));
        list_result(list, era, &parts)
    }

    /// About how long a list is, without Octroi's own entries.
    pub(crate) fn n_bytes(&self, list: &Method) -> usize {
        self.offers.iter().map(|offer| offer.n_bytes(list)).sum()
    }

    /// Finds a tool by its wire name or another spelling of it.
    pub(crate) fn tool(&self, name: &str) -> Result<FoundTool<'_>, RpcError> {
        if let Some((index, position)) = self.tools.find(&self.offers, name) {
            let offer = &self.offers[index];
            let tool = offer.tool_at(position).ok_or_else(|| self.unknown_tool(name))?;
            return Ok(FoundTool { offer, tool });
        }
        match &self.spelled(name)[..] {
            [found] => Ok(found.clone()),
            [] => Err(self.unknown_tool(name)),
            candidates => {
                let names = candidates.iter().filter_map(|found| self.wire_name(found));
                let names = names.collect::<Vec<_>>().join(" or ");
                let message = format!("`{name}` could mean {names}; use one of these names");
                Err(error_for_agent(ErrorCode::ToolAmbiguous, message))
            }
        }
    }

    /// The wire name of a tool.
    pub(crate) fn wire_name(&self, found: &FoundTool<'_>) -> Option<&str> {
        let key = found.offer.key();
        let index = self.offers.binary_search_by(|offer| offer.key().cmp(key)).ok()?;
        let offer = &self.offers[index];
        let name = &*found.tool.descriptor.name;
        let position = offer.raw.tools.iter().position(|item| item.name == name)?;
        self.tools.name_at(&self.offers, index, position)
    }

    /// All tools, including hidden ones, with their wire names.
    pub(crate) fn tools(&self) -> impl Iterator<Item = (&str, FoundTool<'_>)> {
        (0..self.offers.len()).flat_map(|index| self.tools_at(index))
    }

    /// All tools of one server, with their wire names.
    pub(crate) fn tools_of(&self, server: &ServerKey) -> impl Iterator<Item = (&str, FoundTool<'_>)> {
        let index = self.offers.binary_search_by(|offer| offer.key().cmp(server));
        index.into_iter().flat_map(|index| self.tools_at(index))
    }

    fn tools_at(&self, index: usize) -> impl Iterator<Item = (&str, FoundTool<'_>)> {
        let offer = &self.offers[index];
        (0..offer.names.tools.len()).filter_map(move |position| {
            let name = self.tools.name_at(&self.offers, index, position)?;
            Some((name, FoundTool { offer, tool: offer.tool_at(position)? }))
        })
    }

    /// Finds a prompt by its wire name.
    pub(crate) fn prompt(&self, name: &str) -> Result<FoundPrompt<'_>, RpcError> {
        let found = self.prompts.find(&self.offers, name).and_then(|(index, position)| {
            let offer = &self.offers[index];
            Some(FoundPrompt { offer, name: &offer.raw.prompts.get(position)?.name })
        });
        found.ok_or_else(|| error_for_agent(ErrorCode::PromptNotFound, format!("unknown prompt `{name}`")))
    }

    /// Finds the server of a resource and the server's own URI: by the published form, or by the
    /// server's own form where exactly one server has it. Links inside results use the latter.
    pub(crate) fn resource(&self, published: &str) -> Result<(&Arc<Offer>, String), RpcError> {
        if let Some((server, own)) = uri::resolve(published)
            && ServerName::parse(server).is_ok()
            && let Some(offer) = self.server_named(server)
        {
            return Ok((offer, own));
        }
        let mut steps = Steps::for_one_uri();
        let mut owners: Vec<&Arc<Offer>> = Vec::new();
        for offer in &self.offers {
            let has = offer.has_resource(published, &mut steps).map_err(|TooManySteps| {
                RpcError::invalid_params(
                    "the URI takes too long to compare with the templates of all servers; use the form that the list shows",
                )
            })?;
            if has {
                owners.push(offer);
            }
        }
        match owners[..] {
            [offer] => Ok((offer, published.to_owned())),
            [] => Err(unknown_resource(published)),
            _ => {
                let forms: Vec<String> =
                    owners.iter().map(|offer| uri::publish(&offer.key().name, published)).collect();
                Err(RpcError::invalid_params(format!(
                    "`{published}` is offered by several servers: {}",
                    forms.join(", ")
                )))
            }
        }
    }

    fn unknown_tool(&self, name: &str) -> RpcError {
        let known = self.tools().map(|(wire_name, _)| wire_name);
        let mut message = format!("unknown tool `{name}`");
        let similar = suggest::nearest(name, known, SIMILAR_MAX);
        if !similar.is_empty() {
            message = format!("{message}; did you mean {}?", similar.join(" or "));
        }
        error_for_agent(ErrorCode::ToolNotFound, message)
    }

    /// The tools that another spelling could refer to: `mcp:s:t`, `s.t`, `s__t` or `mcp__s__t`. Every place where a
    /// server's name could end is looked up, as names are never split.
    fn spelled(&self, name: &str) -> Vec<FoundTool<'_>> {
        let mut found: Vec<FoundTool<'_>> = Vec::new();
        let mut add = |index: Option<usize>, own: &str| {
            let offer = index.map(|index| &self.offers[index]);
            if let Some(offer) = offer
                && let Some(tool) = offer.tools.get(own)
                && !found.iter().any(|known| Arc::ptr_eq(known.tool, tool))
            {
                found.push(FoundTool { offer, tool });
            }
        };
        if let Some((server, own)) = CanonicalId::parse_mcp(name) {
            add(
                position_of(&self.offers, &server.to_string())
                    .filter(|index| *self.offers[*index].key() == server),
                own,
            );
        }
        for (end, _) in name.match_indices('.').take_while(|(end, _)| *end <= KEY_BYTES_MAX) {
            let index = position_of(&self.offers, &name[..end]);
            let is_whole_key = |index: &usize| self.offers[*index].key().to_string() == name[..end];
            add(index.filter(is_whole_key), &name[end + 1..]);
        }
        for (server, own) in double_spellings(name) {
            add(position_of(&self.offers, server), own);
        }
        found
    }
}

/// The two owners whose servers can be in a pool of these.
fn scopes(keys: &[ServerKey]) -> [Option<&Scope>; 2] {
    let last = keys.last().map(|key| &key.scope);
    [Some(&Scope::System), last.filter(|scope| **scope != Scope::System)]
}

fn revision(catalogue: &Catalogue, scope: Option<&Scope>) -> u64 {
    // No snapshot with offers has the number zero.
    scope.and_then(|scope| catalogue.revision_of(scope)).unwrap_or_default()
}

/// The place of a server, by its key or its bare name: what everybody shares first.
fn position_of(offers: &[Arc<Offer>], text: &str) -> Option<usize> {
    let of = |owner: Option<&str>, name: &str| {
        let place = |offer: &Arc<Offer>| {
            let key = offer.key();
            let scope = match &key.scope {
                Scope::System => None,
                Scope::User(owner) => Some(&**owner),
            };
            (scope, key.name.as_str()).cmp(&(owner, name))
        };
        offers.binary_search_by(place).ok()
    };
    if let Some((owner, name)) = text.split_once('/') {
        return of(Some(owner), name);
    }
    let own = || match &offers.last()?.key().scope {
        Scope::System => None,
        Scope::User(owner) => of(Some(owner), text),
    };
    of(None, text).or_else(own)
}

/// The ways to read `s__t` and `mcp__s__t`.
fn double_spellings(name: &str) -> impl Iterator<Item = (&str, &str)> {
    [Some(name), name.strip_prefix("mcp__")].into_iter().flatten().flat_map(|rest| {
        let ends = 1..rest.len().saturating_sub(1).min(octroi_core::name::SERVER_NAME_MAX + 1);
        let ends = ends.filter(|end| rest.as_bytes()[*end..].starts_with(b"__"));
        ends.map(|end| (&rest[..end], &rest[end + 2..]))
    })
}

fn is_double_spelling(offers: &[Arc<Offer>], name: &str) -> bool {
    double_spellings(name).any(|(server, own)| {
        position_of(offers, server).is_some_and(|index| offers[index].tools.contains_key(own))
    })
}
