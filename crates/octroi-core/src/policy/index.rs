//! Which rules to look at for a call: those whose tools include the one that is called, found by its names, and of
//! those that need an argument the ones whose argument is there.

use std::collections::HashMap;

use serde_json::Value;

use super::rule::Rule;
use crate::tool::ToolDescriptor;

/// Rules by the names in their patterns. A company has hundreds of rules, and a few of them are about the same
/// server.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Those that name a server.
    by_server: HashMap<Box<str>, Places>,
    /// Those that name a tool of whatever server.
    by_tool: HashMap<Box<str>, Places>,
    /// Those that name neither.
    others: Places,
}

/// Where rules stand in their document.
#[derive(Clone, Debug, Default)]
struct Places {
    /// Those that cannot speak of a call without this argument.
    by_argument: HashMap<Box<str>, Vec<u32>>,
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
                let places = match rule.needed_argument() {
                    Some(argument) => places.by_argument.entry(argument.into()).or_default(),
                    None => &mut places.others,
                };
                // A rule with two patterns of a kind stands there once.
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
        index
    }

    /// Places of all rules that may concern a call, some of them twice and in no order.
    pub(super) fn places<'a>(
        &'a self,
        tool: &ToolDescriptor,
        arguments: &'a Value,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let named = [self.by_server.get(&*tool.source_id), self.by_tool.get(&*tool.name)];
        let places = named.into_iter().flatten().chain([&self.others]);
        places.flat_map(|places| places.of(arguments)).map(|place| *place as usize)
    }
}

impl Places {
    fn of<'a>(&'a self, arguments: &'a Value) -> impl Iterator<Item = &'a u32> {
        let names = arguments.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let needing = names.filter_map(|name| self.by_argument.get(name));
        // What is no object has no names to go by.
        let all = (!arguments.is_object()).then(|| self.by_argument.values()).into_iter().flatten();
        needing.chain(all).chain([&self.others]).flatten()
    }
}
