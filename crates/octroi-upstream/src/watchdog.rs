//! The thread that watches the others.
//!
//! It has nothing in common with the runtimes that serve clients, so it still works when one of them is
//! stuck: it reports which one, and it ends the process when a stop takes longer than it may.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use octroi_core::Clock;
use parking_lot::Mutex;
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

/// A thread that does not answer for this time is reported.
const STUCK_AFTER: Duration = Duration::from_secs(2);
/// How often the threads are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The signs of life of all threads that serve clients.
#[derive(Clone, Debug, Default)]
pub struct Heartbeats(Arc<Mutex<Vec<Weak<Heartbeat>>>>);

/// The signs of life of one thread.
#[derive(Debug)]
pub struct Heartbeat {
    name: String,
    n_beats: AtomicU64,
}

impl Heartbeats {
    /// A thread to watch.
    pub fn add(&self, name: &str) -> Arc<Heartbeat> {
        let heartbeat = Arc::new(Heartbeat { name: name.to_owned(), n_beats: AtomicU64::new(0) });
        self.0.lock().push(Arc::downgrade(&heartbeat));
        heartbeat
    }
}

impl Heartbeat {
    /// Shows that the thread is not stuck; to be called at least every half second.
    pub fn beat(&self) {
        self.n_beats.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the watchdog noticed about a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Noticed {
    /// It does not answer for this time.
    Stuck(String, Duration),
    /// It answers again, after this time.
    Back(String, Duration),
}

/// Compares heartbeats with the last ones seen.
#[derive(Debug, Default)]
struct Observer {
    seen: Vec<Observed>,
}

#[derive(Debug)]
struct Observed {
    heartbeat: Weak<Heartbeat>,
    n_beats: u64,
    at: Instant,
    is_reported: bool,
}

impl Observer {
    fn look(&mut self, heartbeats: &Heartbeats, now: Instant) -> Vec<Noticed> {
        let mut known = heartbeats.0.lock();
        // A thread that has ended holds its heartbeat no longer.
        known.retain(|heartbeat| heartbeat.strong_count() > 0);
        self.seen.retain(|seen| seen.heartbeat.strong_count() > 0);
        for heartbeat in &*known {
            if !self.seen.iter().any(|seen| Weak::ptr_eq(&seen.heartbeat, heartbeat)) {
                let heartbeat = Weak::clone(heartbeat);
                self.seen.push(Observed { heartbeat, n_beats: 0, at: now, is_reported: false });
            }
        }
        drop(known);
        self.seen.iter_mut().filter_map(|seen| seen.look(now)).collect()
    }
}

impl Observed {
    fn look(&mut self, now: Instant) -> Option<Noticed> {
        let heartbeat = self.heartbeat.upgrade()?;
        let (n_beats, silent) =
            (heartbeat.n_beats.load(Ordering::Relaxed), now.saturating_duration_since(self.at));
        let name = || heartbeat.name.clone();
        if n_beats != self.n_beats {
            let noticed = self.is_reported.then(|| Noticed::Back(name(), silent));
            (self.n_beats, self.at, self.is_reported) = (n_beats, now, false);
            return noticed;
        }
        if self.is_reported || silent < STUCK_AFTER {
            return None;
        }
        self.is_reported = true;
        Some(Noticed::Stuck(name(), silent))
    }
}

/// Starts the thread. `grace` is the longest time that a stop may take after SIGTERM or SIGINT; then the
/// process is killed, and its reapers end the servers.
#[expect(clippy::disallowed_methods, reason = "a thread that no stuck runtime can stop")]
pub fn start_watchdog(heartbeats: Heartbeats, grace: Duration, clock: Clock) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut terminate, mut interrupt) = {
        let _context = runtime.enter();
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
    };
    let watch = async move {
        let mut observer = Observer::default();
        let mut deadline: Option<Instant> = None;
        loop {
            tokio::select! {
                biased;
                _ = terminate.recv() => { deadline.get_or_insert(clock.instant() + grace); }
                _ = interrupt.recv() => { deadline.get_or_insert(clock.instant() + grace); }
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            for noticed in observer.look(&heartbeats, clock.instant()) {
                report(&noticed);
            }
            if deadline.is_some_and(|deadline| clock.instant() >= deadline) {
                let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                tracing::error!(grace_ms, "did not stop in time, ending the process");
                // Not `exit`, which waits for locks that a stuck thread may hold.
                let _ = kill_process(getpid(), Signal::KILL);
            }
        }
    };
    let thread = std::thread::Builder::new().name("watchdog".to_owned());
    thread.spawn(move || runtime.block_on(watch)).map(drop)
}

fn report(noticed: &Noticed) {
    let ms = |time: &Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    match noticed {
        Noticed::Stuck(thread, silent) => {
            tracing::error!(thread, silent_ms = ms(silent), "a thread that serves clients does not answer");
        }
        Noticed::Back(thread, silent) => {
            tracing::warn!(thread, silent_ms = ms(silent), "a thread that serves clients answers again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_does_not_answer_is_reported_once_until_it_is_back() {
        let (heartbeats, mut observer) = (Heartbeats::default(), Observer::default());
        let (lively, stuck) = (heartbeats.add("worker-0"), heartbeats.add("worker-1"));
        #[expect(clippy::disallowed_methods, reason = "only its differences matter")]
        let begun = Instant::now();
        let mut look = |seconds: u64| {
            lively.beat();
            observer.look(&heartbeats, begun + Duration::from_secs(seconds))
        };
        assert_eq!([look(0), look(1)], [vec![], vec![]]);
        assert_eq!(look(2), [Noticed::Stuck("worker-1".to_owned(), Duration::from_secs(2))]);
        assert_eq!(look(9), []);
        stuck.beat();
        assert_eq!(look(10), [Noticed::Back("worker-1".to_owned(), Duration::from_secs(10))]);
        drop(stuck);
        assert_eq!([look(20), look(30)], [vec![], vec![]], "one that has ended is not missed");
    }
}
