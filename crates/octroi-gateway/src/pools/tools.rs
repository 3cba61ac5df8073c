//! All tools as the gates see them, whatever their source, as far as a reader may know of them.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use octroi_core::pin::PinKind;
use octroi_core::policy::ToolPattern;
use octroi_core::tool::{Risk, Source, ToolDescriptor};
use octroi_core::{Principal, Scope, ServerKey, wire_name};

use super::{Pools, may_know};
use crate::catalogue::{Offer, Tool};
use crate::pool::{FoundTool, Pool};

/// Selects tools. Empty fields match everything.
#[derive(Clone, Debug, Default)]
pub struct ToolFilter {
    /// Of one of these servers.
    pub servers: Vec<String>,
    /// From one of these sources.
    pub sources: Vec<Source>,
    /// With one of these risks.
    pub risks: Vec<Risk>,
    /// With at least one of these side effects.
    pub side_effects: Vec<String>,
}

/// A tool and its visibility.
#[derive(Clone, Debug)]
pub struct RegisteredTool {
    /// The attributes that the gates use.
    pub descriptor: ToolDescriptor,
    /// The name that clients use.
    pub wire_name: String,
    /// The definition of its source.
    pub definition: Bytes,
    /// Why it is hidden from clients; `None` if it is visible.
    pub hidden: Option<String>,
}

impl ToolFilter {
    /// Whether a tool matches the filter.
    pub fn matches(&self, tool: &ToolDescriptor) -> bool {
        let is_one_of = |allowed: &[String], value: &str| allowed.iter().any(|one| one == value);
        (self.servers.is_empty() || is_one_of(&self.servers, &tool.source_id))
            && (self.sources.is_empty() || self.sources.contains(&tool.source))
            && (self.risks.is_empty() || self.risks.contains(&tool.risk))
            && (self.side_effects.is_empty()
                || tool.side_effects.iter().any(|tag| is_one_of(&self.side_effects, tag)))
    }
}

/// The pools in which the tools of several owners have their names.
struct PoolsOfOwners<'a> {
    pools: &'a Pools,
    reader: &'a Principal,
    known: HashMap<Scope, Arc<Pool>>,
}

impl PoolsOfOwners<'_> {
    /// The pool of a server's owner. What everybody shares has the name that the reader's agents use.
    fn of(&mut self, scope: &Scope) -> &Pool {
        let user = match scope {
            Scope::System => self.reader.user(),
            Scope::User(owner) => owner,
        };
        self.known.entry(scope.clone()).or_insert_with(|| self.pools.whole_of(user))
    }
}

impl Pools {
    /// The matching tools that a reader may know of, ordered by id.
    pub fn tools(&self, reader: &Principal, filter: &ToolFilter) -> Vec<RegisteredTool> {
        let catalogue = self.registry.catalogue();
        let mut pools = PoolsOfOwners { pools: self, reader, known: HashMap::new() };
        let mut tools: Vec<_> = self.own_tools().filter(|own| filter.matches(&own.descriptor)).collect();
        for offer in catalogue.offers().filter(|offer| may_know(reader, offer.key())) {
            let in_pool = pools.of(&offer.key().scope).tools_of(offer.key());
            let names: HashMap<&str, &str> =
                in_pool.map(|(wire_name, found)| (&*found.tool.descriptor.name, wire_name)).collect();
            let matching = offer.tools.iter().filter(|(_, tool)| filter.matches(&tool.descriptor));
            tools.extend(
                matching.map(|(own, tool)| self.registered(offer, tool, names.get(own.as_str()).copied())),
            );
        }
        tools.sort_by(|one, other| one.descriptor.id.as_str().cmp(other.descriptor.id.as_str()));
        tools
    }

    /// One tool, written in any form that rules and clients use. The error names similar ones.
    pub fn tool(&self, reader: &Principal, name: &str) -> Result<RegisteredTool, String> {
        let own = self.own_tools().find(|own| own.descriptor.id.as_str() == name || own.wire_name == name);
        if let Some(own) = own {
            return Ok(own);
        }
        let (offer, tool) = self.named_tool(reader, reader.user(), name)?;
        let mut pools = PoolsOfOwners { pools: self, reader, known: HashMap::new() };
        let pool = pools.of(&offer.key().scope);
        let name = pool.wire_name(&FoundTool { offer: &offer, tool: &tool });
        Ok(self.registered(&offer, &tool, name))
    }

    /// A tool by its server and name, as rules write it, or by the name that the agents of a user use. Nobody learns of
    /// another user's but an administrator who names it with its owner.
    pub(crate) fn named_tool(
        &self,
        reader: &Principal,
        user: &str,
        name: &str,
    ) -> Result<(Arc<Offer>, Arc<Tool>), String> {
        let literal = ToolPattern::parse(name).and_then(|pattern| pattern.literal());
        let literal = literal.and_then(|(server, own)| Some((ServerKey::parse(&server)?, own)));
        let pool = self.whole_of(user);
        if let Some((server, own)) = literal {
            let catalogue = self.registry.load();
            let offer = catalogue.offer(&server).filter(|_| may_know(reader, &server));
            if let Some(offer) = offer
                && let Some(tool) = offer.tools.get(&own)
            {
                return Ok((Arc::clone(offer), Arc::clone(tool)));
            }
        }
        match pool.tool(name) {
            Ok(found) => Ok((Arc::clone(found.offer), Arc::clone(found.tool))),
            Err(error) => Err(error.message),
        }
    }

    /// Octroi's own tools.
    fn own_tools(&self) -> impl Iterator<Item = RegisteredTool> {
        let tools: Vec<_> = self.registry.load().builtins().tools().cloned().collect();
        tools.into_iter().map(|tool| RegisteredTool {
            descriptor: tool.descriptor.clone(),
            wire_name: tool.descriptor.name.to_string(),
            definition: tool.definition().clone(),
            hidden: None,
        })
    }

    /// A tool under its wire name; `None` if its server is in no pool.
    fn registered(&self, offer: &Offer, tool: &Tool, wire_name: Option<&str>) -> RegisteredTool {
        let (key, descriptor) = (offer.key(), &tool.descriptor);
        let hidden = (!offer.shows_tool(&descriptor.name)).then(|| {
            let held = offer.held(PinKind::Tool, &descriptor.name);
            let reason = held.or(descriptor.off_because.as_deref()).or(tool.unusable.as_deref());
            reason.unwrap_or("its server's entry does not allow it").to_owned()
        });
        let shadowed = || {
            let is_shadowed = self.membership.load().is_shadowed(key);
            is_shadowed.then(|| format!("everybody shares a server `{}`, so this one is left out", key.name))
        };
        let plain = || wire_name::plain(key, &descriptor.name);
        RegisteredTool {
            descriptor: descriptor.clone(),
            wire_name: wire_name.map_or_else(plain, str::to_owned),
            definition: tool.definition().clone(),
            hidden: hidden.or_else(shadowed),
        }
    }
}
