//! Checks the input schemas of listed tools, so that a tool that nobody can call is not offered.

use std::collections::HashMap;
use std::sync::Arc;

use octroi_core::ServerKey;

use super::Servers;
use crate::catalogue::{Item, unusable_because};

impl Servers {
    /// Notes which tools have an input schema that cannot be used. Compiling thousands takes seconds, so it is done on a
    /// thread for such work, and only for definitions that were not checked before. What is compiled is dropped again:
    /// most tools are never called.
    pub(super) async fn check_schemas(&self, server: &ServerKey, tools: &mut [Item]) {
        let catalogue = self.registry.catalogue();
        let raw = catalogue.offer(server).map(|offer| Arc::clone(&offer.raw));
        let known: HashMap<&str, &Item> = raw
            .iter()
            .flat_map(|raw| &raw.tools)
            .filter(|item| item.is_checked)
            .map(|item| (&*item.name, item))
            .collect();
        let mut unchecked = Vec::new();
        for (position, tool) in tools.iter_mut().enumerate() {
            match known.get(&*tool.name).filter(|known| known.definition == tool.definition) {
                Some(known) => tool.unusable.clone_from(&known.unusable),
                None => unchecked.push((position, tool.definition.clone())),
            }
            tool.is_checked = true;
        }
        if unchecked.is_empty() {
            return;
        }
        let check = move || {
            let reason = |(position, definition)| Some((position, unusable_because(&definition)?));
            unchecked.into_iter().filter_map(reason).collect::<Vec<_>>()
        };
        // The task fails only if the program is ending.
        let unusable = self.context.tasks.spawn_blocking("check-schemas", check).await.unwrap_or_default();
        for (position, reason) in unusable {
            if let Some(tool) = tools.get_mut(position) {
                tool.unusable = Some(reason.into());
            }
        }
    }
}
