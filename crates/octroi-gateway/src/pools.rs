//! The pools of all principals: made when first needed, shared by everybody who has the same servers, dropped when nobody
//! used one for a while.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};
use octroi_core::{Principal, Scope, ServerKey};
use parking_lot::{Mutex, RwLock};

use crate::membership::{Members, Membership, Sight};
use crate::pool::Pool;
use crate::pool_limits::PoolLimits;
use crate::registry::Registry;
use crate::subscriptions::Subscriptions;

mod changes;
mod limits;
#[cfg(test)]
mod tests;
mod tools;

pub use tools::{RegisteredTool, ToolFilter};

/// All pools.
pub struct Pools {
    membership: Arc<Membership>,
    registry: Arc<Registry>,
    subscriptions: Arc<Subscriptions>,
    /// Which servers each principal has, by the principal's id.
    seats: RwLock<HashMap<Arc<str>, Arc<Seat>>>,
    /// By the servers they are made of.
    shared: Mutex<HashMap<Arc<[ServerKey]>, Arc<SharedPool>>>,
    limits: ArcSwap<PoolLimits>,
}

/// What one principal has.
struct Seat {
    /// Whose servers; an agent may be given to another user.
    user: Arc<str>,
    /// The members for which it holds.
    revision: AtomicU64,
    pool: Arc<SharedPool>,
}

/// A set of servers, and their pool if somebody uses it.
pub(crate) struct SharedPool {
    /// In order.
    keys: Arc<[ServerKey]>,
    table: ArcSwapOption<Pool>,
    /// Whether it was used since the last sweep.
    is_used: AtomicBool,
    /// How long it was not used, in milliseconds, when it was swept last.
    idle_ms: AtomicU32,
    /// The set of running servers of which each has answered or failed once; zero for none.
    settled: AtomicU64,
}

impl SharedPool {
    fn new(keys: Arc<[ServerKey]>) -> Self {
        Self {
            keys,
            table: ArcSwapOption::empty(),
            is_used: AtomicBool::new(true),
            idle_ms: AtomicU32::new(0),
            settled: AtomicU64::new(0),
        }
    }

    /// The servers that it is made of, in order, also those that offer nothing yet.
    pub(crate) fn keys(&self) -> &[ServerKey] {
        &self.keys
    }

    /// Whether all its servers have answered or failed once, of this set of running servers.
    pub(crate) fn is_settled(&self, generation: u64) -> bool {
        self.settled.load(Ordering::Relaxed) == generation
    }

    /// Notes that all of them have.
    pub(crate) fn settle(&self, generation: u64) {
        self.settled.store(generation, Ordering::Relaxed);
    }

    fn touch(&self) {
        // Read first: a write would take the line from the other threads that serve clients.
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }
}

impl Pools {
    pub(crate) fn new(
        membership: &Arc<Membership>,
        registry: &Arc<Registry>,
        subscriptions: &Arc<Subscriptions>,
    ) -> Arc<Self> {
        let pools = Arc::new(Self {
            membership: Arc::clone(membership),
            registry: Arc::clone(registry),
            subscriptions: Arc::clone(subscriptions),
            seats: RwLock::default(),
            shared: Mutex::default(),
            limits: ArcSwap::default(),
        });
        let weak = Arc::downgrade(&pools);
        membership.on_change(move |old, new| {
            if let Some(pools) = weak.upgrade() {
                pools.announce(old, new);
            }
        });
        pools
    }

    /// What a principal sees now.
    pub(crate) fn of(&self, principal: &Principal) -> Arc<Pool> {
        self.current(&self.shared_by(principal))
    }

    /// The servers of a principal, for as long as the members stay the same.
    pub(crate) fn shared_by(&self, principal: &Principal) -> Arc<SharedPool> {
        let members = self.membership.load();
        let known = self.seats.read().get(principal.id()).cloned();
        let known = known.filter(|seat| seat.user == *principal.user());
        if let Some(seat) = &known
            && seat.revision.load(Ordering::Relaxed) == members.revision()
        {
            seat.pool.touch();
            return Arc::clone(&seat.pool);
        }
        let pool = self.shared_of(members.pool_of(principal));
        match known.filter(|seat| Arc::ptr_eq(&seat.pool, &pool)) {
            Some(seat) => seat.revision.store(members.revision(), Ordering::Relaxed),
            None => {
                let user = Arc::clone(principal.user());
                let revision = AtomicU64::new(members.revision());
                let seat = Arc::new(Seat { user, revision, pool: Arc::clone(&pool) });
                self.seats.write().insert(Arc::clone(principal.id()), seat);
            }
        }
        pool
    }

    /// Everything that a user has, before any choice.
    pub(crate) fn whole_of(&self, user: &str) -> Arc<Pool> {
        self.current(&self.shared_of(self.membership.load().within_reach(user)))
    }

    /// Replaces the servers that there are.
    pub(crate) fn set_servers<'a>(&self, keys: impl Iterator<Item = &'a ServerKey>) {
        self.membership.set_servers(keys);
    }

    /// What a principal has of a server.
    pub fn sight(&self, principal: &Principal, server: &ServerKey) -> Sight {
        self.membership.load().sight(principal, server)
    }

    /// The members now.
    pub(crate) fn members(&self) -> Arc<Members> {
        self.membership.members()
    }

    /// The key of the server that a name stands for to somebody who manages servers: what everybody shares, else the
    /// reader's own. An administrator may name any, with its owner. `None` if to this reader there is no such server.
    pub fn key_for(&self, reader: &Principal, name: &str) -> Option<ServerKey> {
        let key = ServerKey::parse(name)?;
        let members = self.membership.load();
        let own = || ServerKey { scope: Scope::User(Arc::clone(reader.user())), name: key.name.clone() };
        let found = if key.scope == Scope::System && !members.has(&key) { own() } else { key };
        let may_know = members.has(&found) && may_know(reader, &found);
        may_know.then_some(found)
    }

    /// The pool of a set of servers, which is brought up to date.
    fn current(&self, shared: &SharedPool) -> Arc<Pool> {
        let max = self.registry.wire_name_max();
        let catalogue = self.registry.load();
        if let Some(pool) = shared.table.load_full()
            && pool.is_current(&shared.keys, &catalogue, max)
        {
            return pool;
        }
        let pool = Arc::new(Pool::new(&shared.keys, &catalogue, max));
        shared.table.store(Some(Arc::clone(&pool)));
        pool
    }

    fn shared_of(&self, keys: Vec<ServerKey>) -> Arc<SharedPool> {
        let mut shared = self.shared.lock();
        if let Some(pool) = shared.get(&keys[..]) {
            pool.touch();
            return Arc::clone(pool);
        }
        let keys: Arc<[ServerKey]> = keys.into();
        let pool = Arc::new(SharedPool::new(Arc::clone(&keys)));
        shared.insert(keys, Arc::clone(&pool));
        pool
    }
}

/// Whether a principal may learn that a server exists.
pub(crate) fn may_know(reader: &Principal, server: &ServerKey) -> bool {
    reader.is_admin() || octroi_core::pool::is_within_reach(reader.user(), server)
}
