//! Servers that ask their clients: which of them can share a connection, and what they learn of roots.

use std::sync::Arc;

use octroi_core::server::Sharing;
use octroi_mcp::capability::ClientCapabilities;

use super::{Sharer, Slot, Upstream};
use crate::error::UpstreamError;
use crate::held_questions::Audience;

impl Upstream {
    /// Who can be asked over a connection outside calls. Roots given there hold for the whole connection and
    /// may replace the directories that an operator configured, so only `per_session` in so many words does it.
    pub(super) fn audience(&self, slot: &Slot) -> Audience {
        match self.spec.sharing {
            Sharing::PerSession if slot.gives_roots => Audience::OneClient,
            Sharing::Auto => Audience::CallersOnly,
            Sharing::Shared | Sharing::PerUser | Sharing::PerSession => Audience::Nobody,
        }
    }

    /// Closes shared connections that were kept for a client, now that its session is over.
    pub(super) async fn close_kept(&self, session: &str) {
        for connection in self.connections() {
            if connection.is_of(session) {
                connection.close().await;
            }
        }
    }

    /// Who shares a connection at present; never `Auto`.
    pub(super) fn sharing(&self) -> Sharing {
        match self.spec.sharing {
            Sharing::Auto if self.events.asks_clients() => Sharing::PerSession,
            Sharing::Auto => Sharing::Shared,
            sharing @ (Sharing::Shared | Sharing::PerUser | Sharing::PerSession) => sharing,
        }
    }

    /// The connection that is kept for a client because the server asked it first: the server may keep state for it.
    pub(super) fn kept_slot(
        &self,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> Option<Arc<Slot>> {
        if self.spec.sharing != Sharing::Auto {
            return None;
        }
        let slot = self.find_slot(Sharing::Shared, sharer, capabilities)?;
        slot.ready().is_some_and(|connection| connection.is_of(sharer.session)).then_some(slot)
    }

    /// Remembers from an earlier run that the server asks its clients.
    pub fn recall_that_it_asks(&self) {
        self.events.remember_that_it_asks();
    }

    /// Watches a resource over a client's own connection that it watched over a shared one.
    pub async fn move_watch(
        self: &Arc<Self>,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
        uri: &str,
    ) -> Result<(), UpstreamError> {
        let slot = self.slot_for(sharer, capabilities).await?;
        let common = self.common_slot(sharer, capabilities);
        if Arc::ptr_eq(&slot, &common) || slot.watched.has(uri) {
            return Ok(());
        }
        self.watch(sharer, capabilities, uri).await?;
        common.watched.remove(uri);
        Ok(())
    }

    /// The slot that a client has in common with others.
    pub(super) fn common_slot(&self, sharer: &Sharer<'_>, capabilities: &ClientCapabilities) -> Arc<Slot> {
        let slot = self.find_slot(Sharing::Shared, sharer, capabilities);
        slot.unwrap_or_else(|| Arc::clone(&self.shared))
    }

    /// The roots of a client changed. Only connections of its own are told: others would give its roots to
    /// other clients.
    pub fn roots_changed(&self, session: &str) {
        for slot in self.slots.of_owner(session) {
            if let Some(connection) = slot.ready().filter(|_| slot.gives_roots) {
                connection.roots_changed();
            }
        }
    }
}
