//! How many pools there may be, and how long an unused one is kept.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Pools, SharedPool};
use crate::pool_limits::PoolLimits;

impl Pools {
    /// Sets the limits.
    pub(crate) fn set_limits(&self, limits: PoolLimits) {
        self.limits.store(Arc::new(limits));
    }

    /// Drops pools and rendered lists that nobody used for a while; `since_last` is the time since the last sweep. What
    /// is dropped is made again when somebody needs it.
    pub(crate) fn sweep(&self, since_last: Duration) {
        let limits = **self.limits.load();
        let pause = u32::try_from(since_last.as_millis()).unwrap_or(u32::MAX);
        let mut shared = self.shared.lock();
        shared.retain(|_, pool| pool.idle_after(pause) < limits.idle.as_millis());
        if shared.len() > limits.max {
            let mut by_use: Vec<Arc<SharedPool>> = shared.values().cloned().collect();
            by_use.sort_by_key(|pool| pool.idle_ms.load(Ordering::Relaxed));
            for pool in by_use.drain(limits.max..) {
                shared.remove(&*pool.keys);
            }
        }
        let is_kept =
            |pool: &Arc<SharedPool>| shared.get(&*pool.keys).is_some_and(|kept| Arc::ptr_eq(kept, pool));
        self.seats.write().retain(|_, seat| is_kept(&seat.pool));
        let catalogue = self.registry.load();
        let max = self.registry.wire_name_max();
        for pool in shared.values() {
            // One that is out of date keeps lists in memory that nobody is offered any more.
            let is_current = |table: &Arc<crate::pool::Pool>| table.is_current(&pool.keys, &catalogue, max);
            if !pool.table.load_full().as_ref().is_some_and(is_current) {
                pool.table.store(None);
            }
        }
        drop(shared);
        for offer in catalogue.offers() {
            offer.forget_unused(since_last, limits.idle);
        }
    }

    /// How many pools there are, and how many principals have one.
    #[cfg(test)]
    pub(super) fn count(&self) -> (usize, usize) {
        (self.shared.lock().len(), self.seats.read().len())
    }
}

impl SharedPool {
    /// How long it was not used, in milliseconds, if `pause` has passed since the last sweep.
    fn idle_after(&self, pause: u32) -> u128 {
        let idle = if self.is_used.swap(false, Ordering::Relaxed) {
            0
        } else {
            self.idle_ms.load(Ordering::Relaxed).saturating_add(pause)
        };
        self.idle_ms.store(idle, Ordering::Relaxed);
        u128::from(idle)
    }
}
