//! Narrows down which rules to evaluate for a call: by server and tool name, and by the arguments that they
//! need.

use std::collections::HashMap;

use serde_json::Value;

use super::rule::Rule;
use crate::tool::ToolDescriptor;

/// Rules by the names in their patterns. A company may have hundreds of rules, of which only a few concern
/// one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// Rules that name a server.
    by_server: HashMap<Box<str>, Positions>,
    /// Rules that name a tool of any server.
    by_tool: HashMap<Box<str>, Positions>,
    /// Rules that name neither.
    others: Positions,
}

/// Positions of rules in their document.
#[derive(Clone, Debug, Default)]
struct Positions {
    /// Rules that cannot match a call without this argument.
    by_argument: HashMap<Box<str>, Vec<u32>>,
    others: Vec<u32>,
}

impl Index {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let mut index = Self::default();
        for (place, rule) in (0..).zip(rules) {
            for pattern in &rule.tools {
                let positions = match (pattern.server.literal(), pattern.tool.literal()) {
                    (Some(server), _) => index.by_server.entry(server.into()).or_default(),
                    (None, Some(tool)) => index.by_tool.entry(tool.into()).or_default(),
                    (None, None) => &mut index.others,
                };
                let positions = match rule.needed_argument() {
                    Some(argument) => positions.by_argument.entry(argument.into()).or_default(),
                    None => &mut positions.others,
                };
                // A rule with two patterns of a kind is added only once.
                if positions.last() != Some(&place) {
                    positions.push(place);
                }
            }
        }
        index
    }

    /// Positions of all rules that may match a call, unordered and possibly with duplicates.
    pub(super) fn positions<'a>(
        &'a self,
        tool: &ToolDescriptor,
        arguments: &'a Value,
    ) -> impl Iterator<Item = usize> + use<'a> {
        let named = [self.by_server.get(&*tool.source_id), self.by_tool.get(&*tool.name)];
        let positions = named.into_iter().flatten().chain([&self.others]);
        positions.flat_map(|positions| positions.of(arguments)).map(|place| *place as usize)
    }
}

impl Positions {
    fn of<'a>(&'a self, arguments: &'a Value) -> impl Iterator<Item = &'a u32> {
        let names = arguments.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let needing = names.filter_map(|name| self.by_argument.get(name));
        // Arguments that are not an object have no names to look up.
        let all = (!arguments.is_object()).then(|| self.by_argument.values()).into_iter().flatten();
        needing.chain(all).chain([&self.others]).flatten()
    }
}
