//! Telling exactly the clients whose lists changed because somebody chose other servers.

use std::collections::HashSet;
use std::sync::Arc;

use octroi_core::ServerKey;
use octroi_core::pool::is_within_reach;
use octroi_mcp::Method;

use super::Pools;
use crate::catalogue::{Catalogue, LISTS, notification_of};
use crate::membership::Members;
use crate::subscriptions::Listener;

impl Pools {
    /// Notifies the clients whose lists differ because of a change of the members. Lists of servers that are new or gone
    /// are announced with their offers.
    pub(super) fn announce(&self, old: &Members, new: &Members) {
        let catalogue = self.registry.load();
        let shadowed: HashSet<ServerKey> = new.newly_shadowed(old).into_iter().collect();
        for listener in self.subscriptions.all() {
            let principal = listener.principal();
            let (before, after);
            let is_on = |key: &&ServerKey| {
                is_within_reach(principal.user(), key) && new.choices().switched_off(principal, key).is_none()
            };
            let mut moved: Vec<&ServerKey> = shadowed.iter().filter(is_on).collect();
            if old.choices().differs_for(new.choices(), principal) {
                before = old.pool_of(principal).into_iter().collect::<HashSet<_>>();
                after = new.pool_of(principal).into_iter().collect::<HashSet<_>>();
                moved.extend(before.symmetric_difference(&after));
            }
            self.notify(&listener, &moved, &catalogue);
        }
    }

    fn notify(&self, listener: &Arc<Listener>, moved: &[&ServerKey], catalogue: &Catalogue) {
        let shown = moved.iter().filter(|key| listener.view().shows(key));
        let changed: HashSet<Method> = shown
            .filter_map(|key| catalogue.server(key))
            .flat_map(|lists| LISTS.iter().filter(|list| !lists.list(list).is_empty()))
            .map(notification_of)
            .collect();
        for method in &changed {
            self.subscriptions.tell(listener, method);
        }
    }
}
