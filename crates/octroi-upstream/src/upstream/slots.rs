//! Which client uses which connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::server::{Sharing, Transport};
use octroi_mcp::Era;
use octroi_mcp::capability::ClientCapabilities;
use parking_lot::Mutex;
use tracing::info;

use super::eras::is_refusal;
use super::{Slot, Upstream};
use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::event::ServerEvent;

/// Clients beyond so many sets of capabilities share one legacy session.
const PROFILES_MAX: usize = 32;
/// A separate connection that is idle this long is closed.
const IDLE_FOR: Duration = Duration::from_mins(10);

/// On whose behalf a connection is requested.
#[derive(Clone, Copy, Debug)]
pub struct Sharer<'a> {
    /// The principal.
    pub user: &'a str,
    /// The client's session; the principal where there are no sessions.
    pub session: &'a str,
    /// The era that the client speaks.
    pub era: Era,
}

/// The connections other than the shared one.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Mutex<HashMap<SlotKey, Arc<Slot>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SlotKey {
    owner: Option<Arc<str>>,
    capabilities: Option<Bytes>,
    /// The client's era, where the server speaks another one with clients in general.
    era: Option<Era>,
}

impl Slots {
    /// The slots that belong to this session or principal.
    pub(super) fn of_owner(&self, owner: &str) -> Vec<Arc<Slot>> {
        let slots = self.slots.lock();
        let own = slots.iter().filter(|(key, _)| key.owner.as_deref() == Some(owner));
        own.map(|(_, slot)| Arc::clone(slot)).collect()
    }

    pub(super) fn all(&self) -> Vec<Arc<Slot>> {
        self.slots.lock().values().cloned().collect()
    }

    pub(super) fn clear(&self) -> Vec<Arc<Slot>> {
        self.slots.lock().drain().map(|(_, slot)| slot).collect()
    }

    /// Removes and returns the slots that have been idle too long.
    pub(super) fn idle(&self, now: u64) -> Vec<Arc<Slot>> {
        let limit = now.saturating_sub(u64::try_from(IDLE_FOR.as_millis()).unwrap_or(u64::MAX));
        self.take(|_, slot| slot.last_used.load(Ordering::Relaxed) < limit && slot.watched.is_empty())
    }

    /// Whether a slot is one of these and belongs to no certain client.
    pub(super) fn is_common(&self, slot: &Arc<Slot>) -> bool {
        self.slots.lock().iter().any(|(key, other)| key.owner.is_none() && Arc::ptr_eq(other, slot))
    }

    /// Removes a slot without closing its connection.
    pub(super) fn remove(&self, slot: &Arc<Slot>) {
        self.slots.lock().retain(|_, other| !Arc::ptr_eq(other, slot));
    }

    fn take(&self, is_meant: impl Fn(&SlotKey, &Slot) -> bool) -> Vec<Arc<Slot>> {
        let mut slots = self.slots.lock();
        slots.extract_if(|key, slot| is_meant(key, slot)).map(|(_, slot)| slot).collect()
    }
}

impl Upstream {
    /// The connection for a client with these capabilities.
    pub async fn connection_for(
        self: &Arc<Self>,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let (slot, connection) = self.connected_slot(sharer, capabilities).await?;
        self.touch(&slot);
        Ok(connection)
    }

    /// The slot for a client, with its connection.
    pub(super) async fn connected_slot(
        self: &Arc<Self>,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> Result<(Arc<Slot>, Arc<Connection>), UpstreamError> {
        let slot = self.slot_for(sharer, capabilities).await?;
        let is_first = !slot.is_used.load(Ordering::Relaxed) && !slot.is_used.swap(true, Ordering::Relaxed);
        let connected = self.connect_slot(&slot, capabilities).await;
        let Some(era) = slot.era else {
            return connected.map(|connection| (slot, connection));
        };
        match connected {
            Ok(connection) => {
                let may_replace = is_first && !self.is_remote();
                let is_adopted = may_replace && Box::pin(self.adopt(&slot, &connection)).await;
                Ok((if is_adopted { Arc::clone(&self.shared) } else { slot }, connection))
            }
            // A client with a process of its own must not get another one after a failure that passes.
            Err(error) if !is_refusal(&error) && slot.is_own => Err(error),
            Err(error) if self.eras.gives_up(era, &error, self.now()) => {
                info!(server.name = %self.spec.key, %era, %error, "does not serve clients in their era");
                Box::pin(self.without(&slot, sharer, capabilities)).await
            }
            Err(error) => Err(error),
        }
    }

    /// The slot for a client whose era the server does not speak after all, as if both spoke the same one.
    async fn without(
        self: &Arc<Self>,
        unusable: &Arc<Slot>,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> Result<(Arc<Slot>, Arc<Connection>), UpstreamError> {
        self.slots.remove(unusable);
        if !self.is_remote() {
            // What was learned is kept with the lists, so they are read once more.
            self.events.send(ServerEvent::Connected).await;
        }
        let slot = self.slot_for(sharer, capabilities).await?;
        slot.is_used.store(true, Ordering::Relaxed);
        let connection = self.connect_slot(&slot, capabilities).await?;
        Ok((slot, connection))
    }

    /// Closes the connections that belong to a client's session.
    pub async fn end_session(&self, session: &str) {
        if matches!(self.spec.sharing, Sharing::Shared | Sharing::PerUser) {
            return;
        }
        self.close_kept(session).await;
        for slot in self.slots.take(|key, _| key.owner.as_deref() == Some(session)) {
            self.close_slot(&slot).await;
        }
    }

    pub(super) async fn slot_for(
        self: &Arc<Self>,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> Result<Arc<Slot>, UpstreamError> {
        if self.sharing() == Sharing::Shared {
            // Its era is needed below. The server may ask meanwhile, and then it is shared no longer.
            self.connection().await?;
        }
        let sharing = self.sharing();
        if sharing == Sharing::PerSession
            && let Some(slot) = self.kept_slot(sharer, capabilities)
        {
            return Ok(slot);
        }
        let mut key = self.slot_key(sharing, sharer, capabilities);
        let mut slots = self.slots.slots.lock();
        if sharing == Sharing::Shared {
            let common = key.as_ref().map_or(Some(&self.shared), |key| slots.get(key));
            let connection = common.and_then(|slot| slot.ready());
            // Over such a connection another client gave its roots, so nobody else can use it.
            if connection.is_some_and(|connection| connection.has_roots_of_other(sharer.session)) {
                key = self.slot_key(Sharing::PerSession, sharer, capabilities);
            }
        }
        let Some(key) = key else {
            return Ok(Arc::clone(&self.shared));
        };
        if let Some(slot) = slots.get(&key) {
            return Ok(Arc::clone(slot));
        }
        let is_own = key.owner.is_some();
        let limit = self.spec.limits.connections;
        let is_full = slots.len() >= if is_own { limit } else { PROFILES_MAX };
        match self.spec.sharing {
            Sharing::Auto | Sharing::Shared if is_full => Ok(Arc::clone(&self.shared)),
            // At the limit, a client must not share another client's process.
            Sharing::PerUser | Sharing::PerSession if is_full => Err(UpstreamError::Busy { limit }),
            Sharing::Auto | Sharing::Shared | Sharing::PerUser | Sharing::PerSession => {
                let gives_roots = self.spec.sharing == Sharing::PerSession;
                let slot = Arc::new(Slot { era: key.era, is_own, gives_roots, ..Slot::default() });
                self.touch(&slot);
                // Copied, so that the key does not keep a whole request in memory.
                let capabilities = key.capabilities.as_deref().map(Bytes::copy_from_slice);
                slots.insert(SlotKey { capabilities, ..key }, Arc::clone(&slot));
                Ok(slot)
            }
        }
    }

    /// The slot of a client; `None` for the shared one.
    ///
    /// A remote legacy server learns a client's capabilities at the handshake and keeps state per
    /// session, so it gets one session per set of capabilities. Any other server serves all clients of an era
    /// over one connection, unless its entry configures separate ones.
    fn slot_key(
        &self,
        sharing: Sharing,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> Option<SlotKey> {
        let (owner, lists) = match sharing {
            Sharing::Auto | Sharing::Shared => {
                (None, self.shared.ready().map_or(Era::Modern, |connection| connection.era()))
            }
            Sharing::PerUser => (Some(Arc::from(sharer.user)), self.eras.without_lists(sharer.era)),
            Sharing::PerSession => (Some(Arc::from(sharer.session)), self.eras.without_lists(sharer.era)),
        };
        let followed = self.eras.followed(&self.spec, sharer.era, lists, || self.now());
        let is_legacy = followed.unwrap_or(lists) == Era::Legacy;
        let has_session = self.is_remote() && (is_legacy || owner.is_some());
        if owner.is_none() && followed.is_none() && !has_session {
            return None;
        }
        Some(SlotKey { owner, capabilities: has_session.then(|| capabilities.json().clone()), era: followed })
    }

    /// The slot that a client has, if there is one.
    pub(super) fn find_slot(
        &self,
        sharing: Sharing,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> Option<Arc<Slot>> {
        match self.slot_key(sharing, sharer, capabilities) {
            Some(key) => self.slots.slots.lock().get(&key).cloned(),
            None => Some(Arc::clone(&self.shared)),
        }
    }

    fn is_remote(&self) -> bool {
        match self.spec.transport {
            Transport::Http(_) | Transport::Sse(_) => true,
            Transport::Stdio(_) => false,
        }
    }

    async fn connect_slot(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        capabilities: &ClientCapabilities,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let is_process = !slot.is_own && !self.is_remote();
        if is_process {
            self.join_process(slot, capabilities).await;
        }
        let is_common = is_process || Arc::ptr_eq(slot, &self.shared);
        let mut connection = self.connect(slot, (!is_common).then_some(capabilities)).await?;
        if is_process {
            connection = self.settled(slot, connection).await?;
        }
        if slot.gives_roots {
            connection.tell_roots_changed().await;
        }
        Ok(connection)
    }
}
