//! What Octroi holds in memory for the clients of one token: large requests in progress, what sessions
//! declare, and events for clients that may come back.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Smaller requests and answers are not counted: connections limit their number.
pub(crate) const SMALL_BYTES: usize = 64 << 10;

/// A budget of bytes for each token.
#[derive(Debug)]
pub(crate) struct HeldByToken {
    limit: usize,
    by_token: Mutex<HashMap<Arc<str>, Arc<HeldBytes>>>,
}

impl HeldByToken {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, by_token: Mutex::default() })
    }

    /// The budget of one token.
    pub(crate) fn of(&self, token: &Arc<str>) -> Arc<HeldBytes> {
        let mut by_token = self.by_token.lock();
        let held = by_token.entry(Arc::clone(token)).or_insert_with(|| HeldBytes::new(self.limit));
        Arc::clone(held)
    }

    /// Forgets tokens for which nothing is held.
    pub(crate) fn sweep(&self) {
        self.by_token.lock().retain(|_, held| Arc::strong_count(held) > 1);
    }
}

/// The budget of one token.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    used: AtomicUsize,
    limit: usize,
}

impl HeldBytes {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), limit })
    }

    pub(crate) fn add(&self, n_bytes: usize) {
        self.used.fetch_add(n_bytes, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, n_bytes: usize) {
        self.used.fetch_sub(n_bytes, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.limit
    }

    /// Holds bytes until the result is dropped; `None` if that exceeds the budget. One alone always fits.
    pub(crate) fn hold(self: &Arc<Self>, n_bytes: usize) -> Option<HeldRequest> {
        let before = self.used.fetch_add(n_bytes, Ordering::Relaxed);
        let held = HeldRequest { held: Arc::clone(self), n_bytes };
        (before == 0 || before.saturating_add(n_bytes) <= self.limit).then_some(held)
    }

    /// Holds bytes that exist already; beyond the budget, new requests are refused.
    pub(crate) fn hold_always(self: &Arc<Self>, n_bytes: usize) -> HeldRequest {
        self.add(n_bytes);
        HeldRequest { held: Arc::clone(self), n_bytes }
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

/// A request or an answer whose bytes count until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldRequest {
    held: Arc<HeldBytes>,
    n_bytes: usize,
}

impl HeldRequest {
    /// Holds more bytes; `false` if that exceeds the budget.
    pub(crate) fn grow(&mut self, n_bytes: usize) -> bool {
        self.held.add(n_bytes);
        self.n_bytes += n_bytes;
        !self.held.is_over()
    }
}

impl Drop for HeldRequest {
    fn drop(&mut self) {
        self.held.subtract(self.n_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_requests_of_one_token_wait_for_none_of_another() {
        let all = HeldByToken::new(10);
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        let first = all.of(&one).hold(8);
        assert!(first.is_some() && all.of(&one).hold(3).is_none());
        assert!(all.of(&other).hold(100).is_some(), "one alone always fits");
        drop(first);
        assert_eq!((all.of(&one).used(), all.of(&other).used()), (0, 0));
        assert!(all.of(&one).hold(10).is_some());
        all.sweep();
        assert!(all.by_token.lock().is_empty());
    }
}
