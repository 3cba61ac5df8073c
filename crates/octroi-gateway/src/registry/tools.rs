//! All tools as the gates see them, whatever their source.

use bytes::Bytes;
use octroi_core::pin::PinKind;
use octroi_core::tool::{Risk, Source, ToolDescriptor};

use super::Registry;
use crate::catalogue::{Catalogue, FoundTool};

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

impl Registry {
    /// The matching tools, ordered by id.
    pub fn tools(&self, filter: &ToolFilter) -> Vec<RegisteredTool> {
        let catalogue = self.catalogue();
        let found = catalogue.tools().filter(|(_, found)| filter.matches(&found.tool.descriptor));
        let mut tools: Vec<_> =
            found.map(|(wire_name, found)| registered(&catalogue, wire_name, found)).collect();
        tools.extend(self.own_tools().filter(|own| filter.matches(&own.descriptor)));
        tools.sort_by(|one, other| one.descriptor.id.as_str().cmp(other.descriptor.id.as_str()));
        tools
    }

    /// One tool, written in any form that rules and clients use. The error names similar ones.
    pub fn tool(&self, name: &str) -> Result<RegisteredTool, String> {
        let own = self.own_tools().find(|own| own.descriptor.id.as_str() == name || own.wire_name == name);
        if let Some(own) = own {
            return Ok(own);
        }
        let catalogue = self.catalogue();
        let (server, tool) = catalogue.named_tool(name)?;
        let found = catalogue.tools().find(|(_, found)| found.tool.descriptor.id == tool.descriptor.id);
        let (wire_name, found) = found.ok_or_else(|| format!("server `{server}` has just lost the tool"))?;
        Ok(registered(&catalogue, wire_name, found))
    }

    /// Octroi's own tools.
    fn own_tools(&self) -> impl Iterator<Item = RegisteredTool> {
        self.builtins.tools().map(|tool| RegisteredTool {
            descriptor: tool.descriptor.clone(),
            wire_name: tool.descriptor.name.to_string(),
            definition: tool.definition().clone(),
            hidden: None,
        })
    }
}

fn registered(catalogue: &Catalogue, wire_name: &str, found: &FoundTool) -> RegisteredTool {
    let descriptor = &found.tool.descriptor;
    let offer = catalogue.offer(&found.server).filter(|offer| !offer.shows_tool(&descriptor.name));
    let hidden = offer.map(|offer| {
        let held = offer.held(PinKind::Tool, &descriptor.name);
        let reason = held.or(descriptor.off_because.as_deref()).or(found.tool.unusable.as_deref());
        reason.unwrap_or("its server's entry does not allow it").to_owned()
    });
    RegisteredTool {
        descriptor: descriptor.clone(),
        wire_name: wire_name.to_owned(),
        definition: found.tool.definition().clone(),
        hidden,
    }
}
