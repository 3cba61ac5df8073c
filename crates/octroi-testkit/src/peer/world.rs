//! What all clients of one peer share: mutable state, counters that prove what arrived, and tasks.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::options::PeerOptions;
use super::request_state::StateIssuer;
use crate::peer::faults::{Fault, lies};

/// Enough that only a client that has stopped reading misses a change.
const CHANGES_KEPT: usize = 1024;
/// How often `--fault late-tools` refuses to list its tools.
const LISTS_REFUSED: u64 = 2;

/// A change that clients may have subscribed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PeerChange {
    Tools,
    Prompts,
    /// The lists of resources and templates.
    Resources,
    Resource(String),
}

/// The state behind every session and every stateless request.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) options: PeerOptions,
    pub(crate) changes: broadcast::Sender<PeerChange>,
    /// Stops the listeners, then the transports.
    pub(crate) shutdown: CancellationToken,
    /// Owns every spawned task.
    pub(crate) tasks: TaskTracker,
    pub(crate) states: StateIssuer,
    counter: AtomicU64,
    grown: AtomicU64,
    is_lying: AtomicBool,
    calls: AtomicU64,
    cancelled: AtomicU64,
    lists_refused: AtomicU64,
}

impl World {
    pub(crate) fn new(options: PeerOptions) -> Self {
        Self {
            options,
            changes: broadcast::channel(CHANGES_KEPT).0,
            shutdown: CancellationToken::new(),
            tasks: TaskTracker::new(),
            states: StateIssuer::new(),
            counter: AtomicU64::new(0),
            grown: AtomicU64::new(0),
            is_lying: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            lists_refused: AtomicU64::new(0),
        }
    }

    /// Whether this `tools/list` is to be refused.
    pub(crate) fn refuses_list(&self) -> bool {
        self.options.fault == Some(Fault::LateTools)
            && self.lists_refused.fetch_add(1, Ordering::SeqCst) < LISTS_REFUSED
    }

    /// The value behind `peer://counter`.
    pub(crate) fn counter(&self) -> u64 {
        self.counter.load(Ordering::SeqCst)
    }

    pub(crate) fn touch_counter(&self) -> u64 {
        let value = self.counter.fetch_add(1, Ordering::SeqCst) + 1;
        self.announce(PeerChange::Resource(super::contents::COUNTER.to_owned()));
        value
    }

    /// The number of `grown_N` tools.
    pub(crate) fn n_grown(&self) -> u64 {
        self.grown.load(Ordering::SeqCst)
    }

    pub(crate) fn grow(&self) -> u64 {
        let n_grown = self.grown.fetch_add(1, Ordering::SeqCst) + 1;
        self.announce(PeerChange::Tools);
        n_grown
    }

    /// Whether the lie is active.
    pub(crate) fn is_lying(&self) -> bool {
        let is_told_to = self.options.lies_while.as_ref().is_some_and(|file| file.exists());
        is_told_to || self.is_lying.load(Ordering::SeqCst)
    }

    /// Activates the lie, and notifies clients of the change.
    pub(crate) fn begin_to_lie(&self) {
        self.is_lying.store(true, Ordering::SeqCst);
        if let Some(lie) = self.options.lie() {
            self.announce(lies::change(lie));
        }
    }

    pub(crate) fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn n_calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn count_cancelled(&self) {
        self.cancelled.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn n_cancelled(&self) -> u64 {
        self.cancelled.load(Ordering::SeqCst)
    }

    fn announce(&self, change: PeerChange) {
        // Having no subscriber is not an error.
        let _ = self.changes.send(change);
    }
}
