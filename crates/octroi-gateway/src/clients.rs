//! The clients that are connected: who, with which program, since when, and what they have under way.
//!
//! A legacy client is connected while its session lasts. A modern one has no session: it counts as connected while it
//! has a request or a stream, and for a while after the last.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use octroi_api::ResourceChange;
use octroi_core::{Clock, Principal};
use octroi_mcp::Era;
use parking_lot::{Mutex, RwLock};

use crate::caller::Caller;
use crate::subscriptions::{Listener, Subscriptions};

/// So long a modern client is listed after its last request.
const IDLE_MS: i64 = 5 * 60_000;
/// So many clients of one principal are listed; beyond, the one that was idle longest is left out.
const OF_PRINCIPAL_MAX: usize = 100;
/// What a client says about itself is kept up to this length; with more it is listed without a name. Each request is
/// compared with it.
const INFO_BYTES_MAX: usize = 4 << 10;

/// All clients that are connected.
pub struct Clients {
    clock: Clock,
    subscriptions: Arc<Subscriptions>,
    by_principal: RwLock<HashMap<Arc<str>, Vec<Arc<Entry>>>>,
    next: AtomicU64,
}

/// What tells one client from another.
#[derive(Clone, Copy, Debug)]
pub struct ClientName<'a> {
    /// The principal.
    pub principal: &'a Principal,
    /// The era that it speaks.
    pub era: Era,
    /// The owner of its session; the principal in the era without sessions.
    pub owner: &'a str,
    /// How records name its session.
    pub session: Option<&'a Arc<str>>,
    /// Its name and version, as JSON text.
    pub info: Option<&'a Bytes>,
    /// How it reaches Octroi.
    pub transport: &'static str,
}

impl<'a> ClientName<'a> {
    fn kept_info(&self) -> Option<&'a Bytes> {
        self.info.filter(|info| info.len() <= INFO_BYTES_MAX)
    }
}

/// A client that is connected.
#[derive(Clone, Debug)]
pub struct ConnectedClient {
    /// Its id in this run.
    pub id: u64,
    /// The principal.
    pub principal: Principal,
    /// The era that it speaks.
    pub era: Era,
    /// How it reaches Octroi.
    pub transport: &'static str,
    /// How records name its session.
    pub session: Option<Arc<str>>,
    /// Its name and version as it declared them, as JSON text.
    pub info: Option<Bytes>,
    /// When it was first seen.
    pub since_ms: i64,
    /// When its last request came.
    pub last_ms: i64,
    /// How many requests it sent.
    pub n_requests: u64,
    /// How many of them are under way.
    pub n_in_flight: u32,
    /// How many streams for notifications it has.
    pub n_streams: u32,
    /// How many resources it watches.
    pub n_watched: usize,
}

struct Entry {
    id: u64,
    principal: Principal,
    era: Era,
    owner: Box<str>,
    transport: &'static str,
    session: Option<Arc<str>>,
    info: Option<Bytes>,
    since_ms: i64,
    last_ms: AtomicI64,
    n_requests: AtomicU64,
    n_in_flight: AtomicU32,
    n_streams: AtomicU32,
    listeners: Mutex<Vec<Weak<Listener>>>,
}

/// A request of a client that is under way until this is dropped.
pub struct RequestUnderWay(Arc<Entry>);

/// A stream of a client that is open until this is dropped.
pub struct OpenStream {
    entry: Arc<Entry>,
    clients: Arc<Clients>,
}

impl Clients {
    pub(crate) fn new(clock: Clock, subscriptions: &Arc<Subscriptions>) -> Self {
        let subscriptions = Arc::clone(subscriptions);
        Self { clock, subscriptions, by_principal: RwLock::default(), next: AtomicU64::new(1) }
    }

    /// Notes a request of a client.
    pub fn request(&self, caller: &Caller, transport: &'static str) -> RequestUnderWay {
        let entry = self.entry(&ClientName {
            principal: &caller.principal,
            era: caller.era,
            owner: &caller.owner,
            session: caller.session.as_ref(),
            info: caller.info.as_ref(),
            transport,
        });
        entry.n_requests.fetch_add(1, Ordering::Relaxed);
        entry.n_in_flight.fetch_add(1, Ordering::AcqRel);
        entry.last_ms.store(self.clock.now_ms(), Ordering::Relaxed);
        RequestUnderWay(entry)
    }

    /// Notes a stream of a client.
    pub fn stream(self: &Arc<Self>, name: &ClientName<'_>) -> OpenStream {
        let entry = self.entry(name);
        entry.n_streams.fetch_add(1, Ordering::AcqRel);
        entry.last_ms.store(self.clock.now_ms(), Ordering::Relaxed);
        OpenStream { entry, clients: Arc::clone(self) }
    }

    /// All of them, those that came first before others.
    pub fn list(&self) -> Vec<ConnectedClient> {
        let now_ms = self.clock.now_ms();
        let mut all: Vec<Arc<Entry>> = self.by_principal.read().values().flatten().cloned().collect();
        all.retain(|entry| !entry.is_gone(now_ms));
        all.sort_by_key(|entry| entry.id);
        all.iter().map(|entry| entry.describe()).collect()
    }

    /// Forgets those that did not come back.
    pub(crate) fn sweep(&self) {
        let now_ms = self.clock.now_ms();
        let mut n_gone = 0;
        self.by_principal.write().retain(|_, entries| {
            let n_before = entries.len();
            entries.retain(|entry| !entry.is_gone(now_ms));
            n_gone += n_before - entries.len();
            !entries.is_empty()
        });
        if n_gone > 0 {
            self.announce();
        }
    }

    fn entry(&self, name: &ClientName<'_>) -> Arc<Entry> {
        let find = |entries: &Vec<Arc<Entry>>| entries.iter().find(|entry| entry.is(name)).cloned();
        if let Some(known) = self.by_principal.read().get(name.principal.id()).and_then(find) {
            return known;
        }
        let entry = {
            let mut by_principal = self.by_principal.write();
            let entries = by_principal.entry(Arc::clone(name.principal.id())).or_default();
            // Another request of it may have come meanwhile.
            if let Some(known) = find(entries) {
                return known;
            }
            if entries.len() >= OF_PRINCIPAL_MAX {
                let oldest = entries
                    .iter()
                    .enumerate()
                    .min_by_key(|(_, entry)| (entry.is_in_use(), entry.last_ms.load(Ordering::Relaxed)));
                if let Some(oldest) = oldest.map(|(place, _)| place) {
                    entries.remove(oldest);
                }
            }
            let entry = Arc::new(self.new_entry(name));
            entries.push(Arc::clone(&entry));
            entry
        };
        self.announce();
        entry
    }

    fn new_entry(&self, name: &ClientName<'_>) -> Entry {
        let now_ms = self.clock.now_ms();
        Entry {
            id: self.next.fetch_add(1, Ordering::Relaxed),
            principal: name.principal.clone(),
            era: name.era,
            owner: name.owner.into(),
            transport: name.transport,
            session: name.session.cloned(),
            // Copied, so that it does not keep the whole request in memory.
            info: name.kept_info().map(|info| Bytes::copy_from_slice(info)),
            since_ms: now_ms,
            last_ms: AtomicI64::new(now_ms),
            n_requests: AtomicU64::new(0),
            n_in_flight: AtomicU32::new(0),
            n_streams: AtomicU32::new(0),
            listeners: Mutex::default(),
        }
    }

    fn announce(&self) {
        self.subscriptions.announce(&ResourceChange::Clients);
    }
}

impl Entry {
    fn is(&self, name: &ClientName<'_>) -> bool {
        self.era == name.era
            && *self.owner == *name.owner
            && self.info.as_ref() == name.kept_info()
            && self.transport == name.transport
            && self.principal.token() == name.principal.token()
    }

    fn is_in_use(&self) -> bool {
        self.n_in_flight.load(Ordering::Acquire) > 0 || self.n_streams.load(Ordering::Acquire) > 0
    }

    fn is_gone(&self, now_ms: i64) -> bool {
        let is_idle = now_ms.saturating_sub(self.last_ms.load(Ordering::Relaxed)) > IDLE_MS;
        // The session of a legacy client has a stream as long as it lasts.
        !self.is_in_use() && (self.era == Era::Legacy || is_idle)
    }

    fn describe(&self) -> ConnectedClient {
        let mut listeners = self.listeners.lock();
        listeners.retain(|listener| listener.strong_count() > 0);
        let listening: Vec<Arc<Listener>> = listeners.iter().filter_map(Weak::upgrade).collect();
        // Dropping the last reference to a listener closes the stream, which must not find this locked.
        drop(listeners);
        ConnectedClient {
            id: self.id,
            principal: self.principal.clone(),
            era: self.era,
            transport: self.transport,
            session: self.session.clone(),
            info: self.info.clone(),
            since_ms: self.since_ms,
            last_ms: self.last_ms.load(Ordering::Relaxed),
            n_requests: self.n_requests.load(Ordering::Relaxed),
            n_in_flight: self.n_in_flight.load(Ordering::Relaxed),
            n_streams: self.n_streams.load(Ordering::Relaxed),
            n_watched: listening.iter().map(|listener| listener.n_watched()).sum(),
        }
    }
}

impl OpenStream {
    /// Notes what listens on the stream.
    pub fn listener(&self) -> impl FnOnce(&Arc<Listener>) + use<> {
        let entry = Arc::clone(&self.entry);
        move |listener| entry.listeners.lock().push(Arc::downgrade(listener))
    }
}

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        self.0.n_in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let was_last = self.entry.n_streams.fetch_sub(1, Ordering::AcqRel) == 1;
        if was_last {
            self.clients.sweep_of(&self.entry);
        }
    }
}

impl Clients {
    /// Forgets a client whose last stream was closed, if that was its end.
    fn sweep_of(&self, entry: &Arc<Entry>) {
        if !entry.is_gone(self.clock.now_ms()) {
            return;
        }
        let id = entry.principal.id();
        {
            let mut by_principal = self.by_principal.write();
            let Some(entries) = by_principal.get_mut(id) else { return };
            entries.retain(|one| !Arc::ptr_eq(one, entry));
            if entries.is_empty() {
                by_principal.remove(id);
            }
        }
        self.announce();
    }
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Clients").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use octroi_core::clock::TimeSource;
    use octroi_core::principal::TokenName;

    use super::*;

    #[derive(Clone)]
    struct Movable(Arc<AtomicI64>, Instant);

    impl TimeSource for Movable {
        fn wall_ms(&self) -> i64 {
            self.0.load(Ordering::Relaxed)
        }

        fn monotonic(&self) -> Instant {
            self.1
        }
    }

    fn clients() -> (Arc<Clients>, Arc<AtomicI64>) {
        let now = Arc::new(AtomicI64::new(1_000));
        #[expect(clippy::disallowed_methods, reason = "it is not read")]
        let clock = Clock::new(Movable(Arc::clone(&now), Instant::now()));
        let subscriptions = Arc::new(Subscriptions::new(clock.clone(), &Arc::default()));
        (Arc::new(Clients::new(clock, &subscriptions)), now)
    }

    fn name<'a>(
        principal: &'a Principal,
        era: Era,
        owner: &'a str,
        info: Option<&'a Bytes>,
    ) -> ClientName<'a> {
        ClientName { principal, era, owner, session: None, info, transport: "http" }
    }

    #[test]
    fn a_legacy_client_ends_with_its_session_and_a_modern_one_a_while_later() {
        let (clients, now) = clients();
        let coder = Principal::agent("coder", "ana", TokenName::labelled("t"));
        let (legacy, other) =
            (clients.stream(&name(&coder, Era::Legacy, "s1", None)), Bytes::from_static(b"{}"));
        let modern = clients.stream(&name(&coder, Era::Modern, "coder", Some(&other)));
        let again = clients.stream(&name(&coder, Era::Modern, "coder", Some(&other)));
        let shown = clients.list();
        let shown: Vec<_> = shown.iter().map(|one| (one.id, one.era, one.n_streams)).collect();
        assert_eq!(shown, [(1, Era::Legacy, 1), (2, Era::Modern, 2)]);
        drop((legacy, modern, again));
        let left = |clients: &Clients| clients.list().iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(left(&clients), [2], "it may come back");
        now.fetch_add(IDLE_MS + 1, Ordering::Relaxed);
        assert_eq!(left(&clients), [0_u64; 0]);
        clients.sweep();
        assert!(clients.by_principal.read().is_empty());
    }

    #[test]
    fn what_a_client_says_at_length_is_not_kept() {
        let (clients, _) = clients();
        let coder = Principal::agent("coder", "ana", TokenName::labelled("t"));
        let [one, other] = ["a", "b"].map(|letter| Bytes::from(letter.repeat(INFO_BYTES_MAX + 1)));
        let _streams =
            [one, other].map(|info| clients.stream(&name(&coder, Era::Modern, "coder", Some(&info))));
        let listed = clients.list();
        assert_eq!(listed.iter().map(|one| (one.n_streams, &one.info)).collect::<Vec<_>>(), [(2, &None)]);
    }

    #[test]
    fn one_principal_cannot_fill_the_list() {
        let (clients, now) = clients();
        let coder = Principal::agent("coder", "ana", TokenName::labelled("t"));
        let first = clients.stream(&name(&coder, Era::Modern, "coder", None));
        for n in 0..1_000 {
            now.fetch_add(1, Ordering::Relaxed);
            let info = Bytes::from(format!("{{\"name\":\"{n}\"}}"));
            drop(clients.stream(&name(&coder, Era::Modern, "coder", Some(&info))));
        }
        let listed = clients.list();
        assert_eq!(listed.len(), OF_PRINCIPAL_MAX);
        assert_eq!(listed[0].id, 1, "one that has a stream stays");
        assert_eq!(listed[1].id, 1_001 - u64::try_from(OF_PRINCIPAL_MAX).unwrap() + 2);
        drop(first);
    }
}
