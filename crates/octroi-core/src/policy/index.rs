//! Which rules to look at for a call: those whose tools include the one that is called, found by its names.

use std::collections::HashMap;

use super::rule::Rule;
use crate::tool::ToolDescriptor;

/// Rules by the names in their patterns. A company has hundreds of rules, and a few of them are about the same
/// server.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Those that name a server.
    by_server: HashMap<Box<str>, Vec<u32>>,
    /// Those that name a tool of whatever server.
    by_tool: HashMap<Box<str>, Vec<u32>>,
    /// Those that name neither.
    others: Vec<u32>,
}

impl Index {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (place, rule) in (0..).zip(rules) {
            for pattern in &rule.tools {
                let places = match (pattern.server.literal(), pattern.tool.literal()) {
                    (Some(server), _) => index.by_server.entry(server.into()).or_default(),
                    (None, Some(tool)) => index.by_tool.entry(tool.into()).or_default(),
                    (None, None) => &mut index.others,
                };
                // A rule with two patterns of a kind stands there once.
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        index
    }

    /// Places of all rules that may concern the tool, some of them twice and in no order.
    pub(super) fn places(&self, tool: &ToolDescriptor) -> impl Iterator<Item = usize> {
        let named = [self.by_server.get(&*tool.source_id), self.by_tool.get(&*tool.name)];
        named.into_iter().flatten().chain([&self.others]).flatten().map(|place| *place as usize)
    }
}
