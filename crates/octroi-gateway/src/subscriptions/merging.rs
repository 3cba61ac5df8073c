//! Merges notices: a client reads a resource once, however often it changes within a moment.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use octroi_core::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Listener, Notice};

/// How often a client hears of changes that happen all the time: at most so many times a second.
const FREQUENT: Duration = Duration::from_millis(250);

/// How long a notice waits for others like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// A moment: what changes together is read once.
    Usual,
    /// Long enough that a client that reads after each notice is not always reading.
    Frequent,
}

impl Window {
    const ALL: [Self; 2] = [Self::Usual, Self::Frequent];

    const fn length(self) -> Duration {
        match self {
            Self::Usual => Duration::from_millis(50),
            Self::Frequent => FREQUENT,
        }
    }
}

/// Notices on their way to clients. A client has at most one of each kind of list and of each resource here, so its
/// subscriptions limit what waits for it.
pub(super) struct Merging {
    clock: Clock,
    waiting: Mutex<Waiting>,
    added: Notify,
}

#[derive(Default)]
struct Waiting {
    /// Since when each waits, the oldest first, for each window.
    in_order: [VecDeque<WaitingNotice>; Window::ALL.len()],
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
    pub(super) fn add(&self, listener: &Arc<Listener>, notice: Notice, window: Window) {
        let key = (listener.number, Arc::new(notice));
        let mut waiting = self.waiting.lock();
        if waiting.known.insert(key.clone()) {
            let (since, listener) = (self.clock.instant(), Arc::downgrade(listener));
            waiting.in_order[window as usize].push_back(WaitingNotice { since, listener, key });
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
        let pauses = Window::ALL.into_iter().filter_map(|window| self.deliver_due_of(window));
        pauses.min()
    }

    fn deliver_due_of(&self, window: Window) -> Option<Duration> {
        let now = self.clock.instant();
        loop {
            let (listener, notice) = {
                let mut waiting = self.waiting.lock();
                let queue = &mut waiting.in_order[window as usize];
                let waited = now.saturating_duration_since(queue.front()?.since);
                if waited < window.length() {
                    return Some(window.length().saturating_sub(waited));
                }
                let WaitingNotice { listener, key, .. } = queue.pop_front()?;
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

#[cfg(test)]
mod tests {
    use octroi_core::clock::TimeSource;
    use octroi_core::principal::TokenName;
    use octroi_core::{Principal, ServerKey};
    use octroi_mcp::Era;
    use octroi_mcp::capability::ClientCapabilities;

    use super::*;
    use crate::subscriptions::{Filter, ReleaseWatch, Subscriber, Subscriptions};
    use crate::view::View;

    #[derive(Clone)]
    struct Movable(Arc<Mutex<Instant>>);

    impl TimeSource for Movable {
        fn wall_ms(&self) -> i64 {
            0
        }

        fn monotonic(&self) -> Instant {
            *self.0.lock()
        }
    }

    struct NoServers;

    impl ReleaseWatch for NoServers {
        fn release(&self, _: &Listener, _: &ServerKey, _: &str) {}
    }

    #[test]
    fn changes_of_one_resource_within_a_moment_are_one() {
        #[expect(clippy::disallowed_methods, reason = "only its differences matter")]
        let time = Movable(Arc::new(Mutex::new(Instant::now())));
        let subscriptions = Arc::new(Subscriptions::new(Clock::new(time.clone()), &Arc::default()));
        let server = ServerKey::parse("files").unwrap();
        let listen = |era: Era| {
            let subscriber = Subscriber {
                view: View::Server(server.clone()),
                capabilities: ClientCapabilities::default(),
                era,
                principal: Principal::agent("anns", "ann", TokenName::labelled("t")),
                session: "s".into(),
            };
            let told = Arc::new(Mutex::new(Vec::new()));
            let deliver = Arc::clone(&told);
            let listener =
                subscriptions.listen(subscriber, Filter::ALL, Arc::new(NoServers), move |notice| {
                    deliver.lock().push(notice)
                });
            for uri in ["a", "b"] {
                listener.watch(&server, uri);
            }
            (listener, told)
        };
        let (_modern, told_modern) = listen(Era::Modern);
        let (legacy, told_legacy) = listen(Era::Legacy);
        let take = || std::mem::take(&mut *told_modern.lock());
        let updated = |uri: &str| Notice::ResourceUpdated(uri.to_owned());
        let change = |uri: &str| subscriptions.resource_updated(&server, uri);
        let wait = |ms: u64| {
            *time.0.lock() += Duration::from_millis(ms);
            subscriptions.merging.deliver_due()
        };
        for uri in ["a", "b", "a", "a"] {
            change(uri);
        }
        assert_eq!((wait(49), take()), (Some(Duration::from_millis(1)), Vec::new()));
        change("a");
        assert_eq!((wait(1), take()), (None, vec![updated("a"), updated("b")]));
        assert_eq!(*told_legacy.lock(), [updated("a"), updated("b")], "clients of both eras");
        change("b");
        wait(30);
        change("a");
        assert_eq!((wait(20), take()), (Some(Duration::from_millis(30)), vec![updated("b")]));
        drop(legacy);
        assert_eq!((wait(30), take()), (None, vec![updated("a")]));
        {
            let waiting = subscriptions.merging.waiting.lock();
            let is_empty = waiting.known.is_empty() && waiting.in_order.iter().all(VecDeque::is_empty);
            assert!(is_empty, "nothing is left of who is gone");
        }

        // What changes all the time is reported four times a second, and delays nothing else.
        let frequently = || {
            let is_meant = |_: &Subscriber| true;
            subscriptions.resource_updated_for(&server, "a", Window::Frequent, is_meant);
        };
        let mut n_told = 0;
        for n in 0..100 {
            frequently();
            wait(10);
            n_told += take().len();
            assert!(n_told <= (n + 1) / 25, "{n_told} after {n}");
        }
        assert_eq!(n_told, 4, "in a second");
        frequently();
        change("b");
        assert_eq!((wait(50), take()), (Some(Duration::from_millis(200)), vec![updated("b")]));
        assert_eq!((wait(200), take()), (None, vec![updated("a")]));
    }
}
