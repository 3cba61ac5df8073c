//! Merges notices: a client reads a resource once, however often it changes within a moment.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use octroi_core::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Listener, Notice};

/// How long a notice waits for others like it.
const WINDOW: Duration = Duration::from_millis(50);

/// Notices on their way to clients. A client has at most one of each kind of list and of each resource here, so its
/// subscriptions limit what waits for it.
pub(super) struct Merging {
    clock: Clock,
    waiting: Mutex<Waiting>,
    added: Notify,
}

#[derive(Default)]
struct Waiting {
    /// Since when each waits, the oldest first.
    in_order: VecDeque<WaitingNotice>,
    known: HashSet<(u64, Arc<Notice>)>,
}

struct WaitingNotice {
    since: Instant,
    listener: Weak<Listener>,
    key: (u64, Arc<Notice>),
}

impl Merging {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, waiting: Mutex::default(), added: Notify::new() }
    }

    /// Adds a notice for a client, unless the same one waits already.
    pub(super) fn add(&self, listener: &Arc<Listener>, notice: Notice) {
        let key = (listener.number, Arc::new(notice));
        let mut waiting = self.waiting.lock();
        if waiting.known.insert(key.clone()) {
            let (since, listener) = (self.clock.instant(), Arc::downgrade(listener));
            waiting.in_order.push_back(WaitingNotice { since, listener, key });
            drop(waiting);
            self.added.notify_one();
        }
    }

    /// Delivers what waited long enough, until `closing`.
    pub(super) async fn deliver(&self, closing: &CancellationToken) {
        loop {
            let next = async {
                match self.deliver_due() {
                    Some(pause) => tokio::time::sleep(pause).await,
                    None => self.added.notified().await,
                }
            };
            tokio::select! {
                biased;
                () = closing.cancelled() => return,
                () = next => {}
            }
        }
    }

    /// Delivers what is due; how long until the next notice is, if one waits.
    fn deliver_due(&self) -> Option<Duration> {
        let now = self.clock.instant();
        loop {
            let (listener, notice) = {
                let mut waiting = self.waiting.lock();
                let waited = now.saturating_duration_since(waiting.in_order.front()?.since);
                if waited < WINDOW {
                    return Some(WINDOW.saturating_sub(waited));
                }
                let WaitingNotice { listener, key, .. } = waiting.in_order.pop_front()?;
                waiting.known.remove(&key);
                (listener.upgrade(), key.1)
            };
            // Without the lock: dropping the last reference to a listener takes others.
            if let Some(listener) = listener {
                (listener.deliver)(Notice::clone(&notice));
            }
        }
    }
}
