//! `[[quotas]]`: limits on calls, by caller and by tool.

use std::time::Duration;

use serde_json::json;

use super::keys::governance::QUOTA;
use super::listed::{Entries, Listed};
use super::reader::TableReader;
use super::settings::Context;
use crate::glob::Glob;
use crate::policy::ToolPattern;
use crate::syntax::Node;

/// One of `[[quotas]]`. A call counts if it matches every given pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaSpec {
    /// Its name in denials.
    pub name: String,
    /// Pattern over token labels.
    pub token: Option<Glob>,
    /// Pattern over agent ids.
    pub agent: Option<Glob>,
    /// Pattern over server names.
    pub server: Option<Glob>,
    /// Pattern over tools.
    pub tool: Option<ToolPattern>,
    /// Limit of calls started within a minute.
    pub calls_per_minute: Option<usize>,
    /// Limit of concurrent calls.
    pub max_in_flight: Option<usize>,
    /// How long one call may take.
    pub max_runtime: Option<Duration>,
    /// Whether each matching token, agent, server or tool is counted separately.
    pub each: bool,
}

impl Context<'_> {
    pub(super) fn quotas(&self, nodes: &[Node]) -> Entries<QuotaSpec> {
        let listed = Listed { what: "quota", name: Some("name"), keys: QUOTA };
        self.each(nodes, &listed, |reader, _, number| quota(reader, number))
    }
}

fn quota(reader: &mut TableReader<'_>, number: usize) -> Option<QuotaSpec> {
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

fn limit(reader: &mut TableReader<'_>, key: &'static str) -> Option<usize> {
    let limit = reader.optional_count(key, 1)?;
    reader.show(key, json!(limit));
    Some(limit)
}
