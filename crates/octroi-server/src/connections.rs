//! All connections of clients: how many there are, and which make room for others.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use octroi_core::config::ClientLimits;
use octroi_core::network::counted_as;
use octroi_core::{Clock, Principal};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::coarse_clock::CoarseClock;
use crate::connection::{Connection, Ending};
use crate::turns::TurnKey;

/// How often connections are looked at.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_millis(500);
/// The time between new connections while others make room for them: a flood costs a fixed share of a core.
const CROWDED_PACE: Duration = Duration::from_micros(500);

/// Accounts of all connections.
#[derive(Debug)]
pub(crate) struct Connections {
    limits: ClientLimits,
    clock: Arc<CoarseClock>,
    /// Makes the numbers under which principals and addresses take turns; nobody can choose names with the same one.
    hasher: RandomState,
    state: Mutex<ConnectionCounts>,
}

#[derive(Debug, Default)]
struct ConnectionCounts {
    next: u64,
    /// By number, so that the oldest comes first.
    open: BTreeMap<u64, Arc<Connection>>,
    /// Of these, those without a valid token yet.
    new: BTreeMap<u64, Arc<Connection>>,
    by_address: HashMap<IpAddr, usize>,
    by_token: HashMap<Arc<str>, usize>,
    tokens: HashMap<u64, Arc<str>>,
}

/// Who opens a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Whether many clients share the address, so that it is no sign of too many connections: those of this machine,
    /// and those behind a proxy.
    pub(crate) is_shared: bool,
}

/// A connection that counts until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    pub(crate) connection: Arc<Connection>,
    connections: Arc<Connections>,
}

/// Why a request is not answered on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crowded {
    /// The remaining connections are kept for people.
    Reserved,
    /// Too many connections have the same token.
    Token {
        /// The maximum.
        limit: usize,
    },
}

impl Connections {
    pub(crate) fn new(limits: ClientLimits, clock: Clock) -> Arc<Self> {
        let clock = CoarseClock::new(clock);
        Arc::new(Self { limits, clock, hasher: RandomState::new(), state: Mutex::default() })
    }

    /// Counts a new connection. Returns how long to wait for the next one, while they come too quickly.
    pub(crate) fn open(self: &Arc<Self>, peer: Peer) -> (OpenConnection, Option<Duration>) {
        let Peer { address, is_shared } = peer;
        let mut state = self.state.lock();
        let ConnectionCounts { next, open, new, by_address, .. } = &mut *state;
        let n_from_address = by_address.entry(address).or_default();
        let is_beyond = !is_shared && *n_from_address >= self.limits.per_address;
        *n_from_address += 1;
        let is_reserved = is_beyond || open.len() >= self.limits.connections - self.limits.reserved;
        *next += 1;
        let connection = Arc::new(Connection::new(*next, address, is_reserved, &self.clock));
        connection.work_for(TurnKey(self.hasher.hash_one(counted_as(address))));
        open.insert(*next, Arc::clone(&connection));
        // One that has proved nothing yet makes room for the next.
        let is_crowded = new.len() >= self.limits.unauthenticated || open.len() > self.limits.connections;
        if is_crowded && let Some((_, oldest)) = new.pop_first() {
            oldest.end(Ending::Crowded);
        }
        new.insert(*next, Arc::clone(&connection));
        let opened = OpenConnection { connection, connections: Arc::clone(self) };
        (opened, is_crowded.then_some(CROWDED_PACE))
    }

    /// Accepts a valid token on a connection. The first one of a connection counts.
    pub(crate) fn authenticate(&self, connection: &Connection, principal: &Principal) -> Result<(), Crowded> {
        connection.work_for(TurnKey(self.hasher.hash_one((principal.is_person(), principal.id()))));
        if connection.is_reserved && !principal.is_person() {
            return Err(Crowded::Reserved);
        }
        if connection.is_authenticated.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut state = self.state.lock();
        let n_open = state.by_token.get(&principal.token().label).copied().unwrap_or_default();
        let limit = self.limits.per_token;
        if n_open >= limit {
            return Err(Crowded::Token { limit });
        }
        // Not if it was closed meanwhile.
        if state.open.contains_key(&connection.number)
            && state.tokens.insert(connection.number, Arc::clone(&principal.token().label)).is_none()
        {
            *state.by_token.entry(Arc::clone(&principal.token().label)).or_default() += 1;
            state.new.remove(&connection.number);
        }
        connection.is_authenticated.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Ends connections that take too long, until `closing`.
    pub(crate) async fn watch(self: Arc<Self>, closing: CancellationToken) {
        loop {
            tokio::select! {
                biased;
                () = closing.cancelled() => return,
                () = tokio::time::sleep(SWEEP_EVERY) => self.sweep(),
            }
        }
    }

    fn sweep(&self) {
        self.clock.update();
        let open: Vec<Arc<Connection>> = self.state.lock().open.values().cloned().collect();
        for connection in open {
            connection.check(&self.limits);
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut state = self.connections.state.lock();
        let state = &mut *state;
        let number = self.connection.number;
        state.open.remove(&number);
        state.new.remove(&number);
        subtract_one(&mut state.by_address, &self.connection.address);
        if let Some(token) = state.tokens.remove(&number) {
            subtract_one(&mut state.by_token, &token);
        }
    }
}

fn subtract_one<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    match counts.get_mut(key) {
        Some(count) if *count > 1 => *count -= 1,
        Some(_) | None => {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests;
