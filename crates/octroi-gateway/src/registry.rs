//! Every tool there is, as the gates see it, whatever its source.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use octroi_core::pin::PinKind;
use octroi_core::tool::{Risk, Source, ToolDescriptor};

use crate::catalogue::FoundTool;
use crate::desk::own_tool;
use crate::gateway::Gateway;

/// What people watch to hear that tools came, went or changed.
pub(crate) const TOOLS: &str = "resource://tools/list";

/// Which tools are wanted. What is empty does not matter.
#[derive(Clone, Debug, Default)]
pub struct ToolFilter {
    /// Of one of these servers.
    pub servers: Vec<String>,
    /// From one of these sources.
    pub sources: Vec<Source>,
    /// Of one of these risks.
    pub risks: Vec<Risk>,
    /// With at least one of these side effects.
    pub side_effects: Vec<String>,
}

/// A tool and what becomes of it.
#[derive(Clone, Debug)]
pub struct RegisteredTool {
    /// What the gates know of it.
    pub descriptor: ToolDescriptor,
    /// The name that clients call it by.
    pub wire_name: String,
    /// As its source defines it.
    pub definition: Bytes,
    /// Why clients do not see it; `None` if they do.
    pub hidden: Option<String>,
}

/// What came of asking all servers for their lists.
#[derive(Clone, Debug, Default)]
pub struct Refreshed {
    /// So many answered.
    pub n_servers: usize,
    /// The others, and why they did not.
    pub failed: BTreeMap<String, String>,
}

impl ToolFilter {
    fn wants(&self, tool: &ToolDescriptor) -> bool {
        let is_one_of = |wanted: &[String], value: &str| wanted.iter().any(|one| one == value);
        (self.servers.is_empty() || is_one_of(&self.servers, &tool.source_id))
            && (self.sources.is_empty() || self.sources.contains(&tool.source))
            && (self.risks.is_empty() || self.risks.contains(&tool.risk))
            && (self.side_effects.is_empty()
                || tool.side_effects.iter().any(|tag| is_one_of(&self.side_effects, tag)))
    }
}

impl Gateway {
    /// The tools that are wanted, in the order of their ids.
    pub fn tools(&self, filter: &ToolFilter) -> Vec<RegisteredTool> {
        let catalogue = self.catalogue();
        let found = catalogue.tools().filter(|(_, found)| filter.wants(&found.tool.descriptor));
        let mut tools: Vec<_> = found.map(|(wire_name, found)| self.registered(wire_name, found)).collect();
        tools.extend(self.own_tools().filter(|own| filter.wants(&own.descriptor)));
        tools.sort_by(|one, other| one.descriptor.id.as_str().cmp(other.descriptor.id.as_str()));
        tools
    }

    /// One tool: by its id, as `server.tool`, or by a name that clients call it by.
    pub fn tool(&self, name: &str) -> Option<RegisteredTool> {
        let catalogue = self.catalogue();
        let is_meant = |tool: &ToolDescriptor| {
            let own = name.strip_prefix(&*tool.source_id).and_then(|rest| rest.strip_prefix('.'));
            tool.id.as_str() == name || own == Some(&*tool.name)
        };
        let found = catalogue.tools().find(|(_, found)| is_meant(&found.tool.descriptor));
        let found = found.or_else(|| {
            let found = catalogue.tool(name).ok()?;
            catalogue.tools().find(|(_, other)| Arc::ptr_eq(&other.tool, &found.tool))
        });
        match found {
            Some((wire_name, found)) => Some(self.registered(wire_name, found)),
            None => self.own_tools().find(|own| is_meant(&own.descriptor) || own.wire_name == name),
        }
    }

    /// Asks every server that is switched on for its lists again, and starts those that do not run for it.
    pub async fn refresh_servers(&self) -> Refreshed {
        let members = self.fleet.members();
        let asked = members.values().filter(|member| member.upstream.spec().enabled).map(async |member| {
            let asked = self.refresh_all(&member.upstream).await;
            (member.upstream.spec().name.to_string(), asked)
        });
        let mut refreshed = Refreshed::default();
        for (name, asked) in join_all(asked).await {
            match asked {
                Ok(()) => refreshed.n_servers += 1,
                Err(error) => drop(refreshed.failed.insert(name, error.to_string())),
            }
        }
        refreshed
    }

    fn registered(&self, wire_name: &str, found: &FoundTool) -> RegisteredTool {
        let catalogue = self.catalogue();
        let descriptor = &found.tool.descriptor;
        let offer = catalogue.offer(&found.server);
        let hidden = offer.filter(|offer| !offer.shows_tool(&descriptor.name)).map(|offer| {
            let held = offer.held(PinKind::Tool, &descriptor.name);
            let reason = held.or(descriptor.off_because.as_deref());
            reason.unwrap_or("its server's entry does not allow it").to_owned()
        });
        RegisteredTool {
            descriptor: descriptor.clone(),
            wire_name: wire_name.to_owned(),
            definition: found.tool.definition().clone(),
            hidden,
        }
    }

    /// Octroi's own: those of people, and those of agents.
    fn own_tools(&self) -> impl Iterator<Item = RegisteredTool> {
        let builtins = [&self.builtins.people, &self.builtins.agents];
        builtins.into_iter().flat_map(|written| &written.tools).filter_map(|definition| {
            let name = serde_json::from_slice::<serde_json::Value>(definition).ok()?;
            let name = name["name"].as_str()?;
            Some(RegisteredTool {
                descriptor: own_tool(name),
                wire_name: name.to_owned(),
                definition: definition.clone(),
                hidden: None,
            })
        })
    }
}
