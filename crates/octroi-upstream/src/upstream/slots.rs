//! Which client uses which connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::server::{ServerSpec, Sharing, Transport};
use octroi_mcp::Era;
use octroi_mcp::capability::ClientCapabilities;
use parking_lot::Mutex;

use super::{Slot, Upstream};
use crate::connection::Connection;
use crate::error::UpstreamError;

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
}

impl Slots {
    fn key(
        sharing: Sharing,
        spec: &ServerSpec,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> SlotKey {
        let owner = match sharing {
            Sharing::Auto | Sharing::Shared => None,
            Sharing::PerUser => Some(Arc::from(sharer.user)),
            Sharing::PerSession => Some(Arc::from(sharer.session)),
        };
        let is_remote = match spec.transport {
            Transport::Http(_) | Transport::Sse(_) => true,
            Transport::Stdio(_) => false,
        };
        SlotKey { owner, capabilities: is_remote.then(|| capabilities.json().clone()) }
    }

    pub(super) fn find(
        &self,
        sharing: Sharing,
        spec: &ServerSpec,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> Option<Arc<Slot>> {
        self.slots.lock().get(&Self::key(sharing, spec, sharer, capabilities)).cloned()
    }

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
        let slot = self.slot_for(sharer, capabilities).await?;
        let connection = self.connect_slot(&slot, capabilities).await?;
        self.touch(&slot);
        Ok(connection)
    }

    /// Closes the connections that belong to a client's session.
    pub async fn end_session(&self, session: &str) {
        if matches!(self.spec.sharing, Sharing::Shared | Sharing::PerUser) {
            return;
        }
        self.forget_roots(session).await;
        for slot in self.slots.take(|key, _| key.owner.as_deref() == Some(session)) {
            self.close_slot(&slot).await;
        }
    }

    /// A remote legacy server learns a client's capabilities at the handshake and keeps state per
    /// session, so it gets one session per set of capabilities. Any other server serves all clients
    /// over one connection, unless its entry configures separate ones.
    pub(super) async fn slot_for(
        self: &Arc<Self>,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
    ) -> Result<Arc<Slot>, UpstreamError> {
        let mut sharing = self.sharing();
        if sharing == Sharing::Shared {
            let is_remote = !matches!(self.spec.transport, Transport::Stdio(_));
            let connection = self.connection().await?;
            // The server may have asked meanwhile.
            sharing = self.sharing();
            if sharing == Sharing::Shared && (connection.era() == Era::Modern || !is_remote) {
                if !connection.has_roots_of_other(sharer.session) {
                    return Ok(Arc::clone(&self.shared));
                }
                sharing = Sharing::PerSession;
            }
        }
        let mut key = Slots::key(sharing, &self.spec, sharer, capabilities);
        let mut slots = self.slots.slots.lock();
        let is_taken = |slot: &Arc<Slot>| {
            slot.ready().is_some_and(|connection| connection.has_roots_of_other(sharer.session))
        };
        if sharing == Sharing::Shared && slots.get(&key).is_some_and(is_taken) {
            sharing = Sharing::PerSession;
            key = Slots::key(sharing, &self.spec, sharer, capabilities);
        }
        if let Some(slot) = slots.get(&key) {
            return Ok(Arc::clone(slot));
        }
        let is_shared = sharing == Sharing::Shared;
        let limit = self.spec.limits.connections;
        let is_full = slots.len() >= if is_shared { PROFILES_MAX } else { limit };
        match self.spec.sharing {
            Sharing::Auto | Sharing::Shared if is_full => Ok(Arc::clone(&self.shared)),
            // At the limit, a client must not share another client's process.
            Sharing::PerUser | Sharing::PerSession if is_full => Err(UpstreamError::Busy { limit }),
            Sharing::Auto | Sharing::Shared | Sharing::PerUser | Sharing::PerSession => {
                let gives_roots = self.spec.sharing == Sharing::PerSession;
                let slot = Arc::new(Slot { gives_roots, ..Slot::default() });
                self.touch(&slot);
                // Copied, so that the key does not keep a whole request in memory.
                let capabilities = key.capabilities.as_deref().map(Bytes::copy_from_slice);
                slots.insert(SlotKey { capabilities, ..key }, Arc::clone(&slot));
                Ok(slot)
            }
        }
    }

    pub(super) async fn connect_slot(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        capabilities: &ClientCapabilities,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let is_shared = Arc::ptr_eq(slot, &self.shared);
        let connection = self.connect(slot, (!is_shared).then_some(capabilities)).await?;
        if slot.gives_roots {
            connection.tell_roots_changed().await;
        }
        Ok(connection)
    }
}
