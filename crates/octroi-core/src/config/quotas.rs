//! `[[quotas]]`: how much may be called, by whom and of what.

use std::time::Duration;

use serde_json::json;

use super::keys::governance::QUOTA;
use super::listed::{Entries, Listed};
use super::node::Node;
use super::reader::Reader;
use super::settings::Context;
use crate::glob::Glob;
use crate::policy::ToolPattern;

/// One of `[[quotas]]`. A call counts if it fits every pattern that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaSpec {
    /// What a refusal calls it.
    pub name: String,
    /// Labels of tokens.
    pub token: Option<Glob>,
    /// Ids of agents.
    pub agent: Option<Glob>,
    /// Names of servers.
    pub server: Option<Glob>,
    /// Tools of servers.
    pub tool: Option<ToolPattern>,
    /// Calls begun within a minute.
    pub calls_per_minute: Option<usize>,
    /// Calls at once.
    pub max_in_flight: Option<usize>,
    /// How long one call may take.
    pub max_runtime: Option<Duration>,
    /// Whether each token, agent, server or tool that fits counts for itself.
    pub each: bool,
}

impl Context<'_> {
    pub(super) fn quotas(&self, nodes: &[Node]) -> Entries<QuotaSpec> {
        let listed = Listed { what: "quota", name: Some("name"), keys: QUOTA };
        self.each(nodes, &listed, |reader, _, number| quota(reader, number))
    }
}

fn quota(reader: &mut Reader<'_>, number: usize) -> Option<QuotaSpec> {
    let name = if reader.has("name") { reader.identifier("name")? } else { format!("quota {number}") };
    Some(QuotaSpec {
        name,
        token: reader.glob("token"),
        agent: reader.glob("agent"),
        server: reader.glob("server"),
        tool: reader.tool_pattern("tool"),
        calls_per_minute: limit(reader, "calls_per_minute"),
        max_in_flight: limit(reader, "max_in_flight"),
        max_runtime: reader.optional_duration("max_runtime"),
        each: reader.flag("each", true),
    })
}

fn limit(reader: &mut Reader<'_>, key: &'static str) -> Option<usize> {
    let limit = reader.optional_count(key, 1)?;
    reader.show(key, json!(limit));
    Some(limit)
}
