//! The concurrency limit of a server, shared fairly between the principals that call it.
//!
//! Free slots go to whoever asks. While none is free, the waiting principals take turns, so that a flood of
//! one delays its own calls and not those of others. A full queue drops the newest call of whoever waits
//! most. Once a second principal has called, each may hold a part of the slots that the others leave, so that the
//! next one finds a slot even if two or three of them make calls that take long.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Of so many slots that the others leave, a principal leaves one.
const SLOTS_PER_RESERVED: usize = 5;
/// A principal that did not call for this time needs no slot kept.
const RECENT: Duration = Duration::from_hours(1);
/// Principals that are remembered while they have no call.
const REMEMBERED_MAX: usize = 64;

/// The slots and the queue of one server.
#[derive(Debug)]
pub(super) struct FairQueue {
    n_slots: usize,
    n_waiting_max: usize,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    n_running: usize,
    n_waiting: usize,
    /// In the order of their next turns.
    principals: VecDeque<Turn>,
}

/// What one principal has and wants.
#[derive(Debug)]
struct Turn {
    principal: Arc<str>,
    n_running: usize,
    waiting: VecDeque<oneshot::Sender<QueueSlot>>,
    last_call: Duration,
}

/// A slot; dropping it gives it to the next call.
#[derive(Debug)]
pub(super) struct QueueSlot {
    queue: Arc<FairQueue>,
    principal: Arc<str>,
    is_counted: bool,
}

/// The result of asking for a slot.
#[derive(Debug)]
pub(super) enum Admission {
    /// The call may be made.
    Free(QueueSlot),
    /// It waits; an error means that it lost its place to another principal.
    Waiting(oneshot::Receiver<QueueSlot>),
    /// The queue is full.
    Full,
}

impl FairQueue {
    pub(super) fn new(n_slots: usize, n_waiting_max: usize) -> Arc<Self> {
        Arc::new(Self { n_slots, n_waiting_max, state: Mutex::default() })
    }

    /// Asks for a slot. `now` is the time since some fixed moment.
    pub(super) fn enter(self: &Arc<Self>, principal: &Arc<str>, now: Duration) -> Admission {
        let mut state = self.state.lock();
        let index = state.turn_of(principal, now);
        if state.n_running < self.n_slots
            && state.principals[index].waiting.is_empty()
            && state.principals[index].n_running < self.most(&state, &state.principals[index])
        {
            state.n_running += 1;
            state.principals[index].n_running += 1;
            return Admission::Free(self.slot(principal));
        }
        if state.n_waiting >= self.n_waiting_max && !state.drop_newest_of_longest(index) {
            return Admission::Full;
        }
        let (sender, receiver) = oneshot::channel();
        state.n_waiting += 1;
        state.principals[index].waiting.push_back(sender);
        Admission::Waiting(receiver)
    }

    /// The number of calls that wait.
    pub(super) fn n_waiting(&self) -> usize {
        self.state.lock().n_waiting
    }

    /// Removes the places of callers that gave up.
    pub(super) fn forget_gone(&self) {
        let mut state = self.state.lock();
        let mut n_waiting = 0;
        for turn in &mut state.principals {
            turn.waiting.retain(|sender| !sender.is_closed());
            n_waiting += turn.waiting.len();
        }
        state.n_waiting = n_waiting;
    }

    /// How many slots a principal may hold.
    fn most(&self, state: &QueueState, turn: &Turn) -> usize {
        if state.principals.len() < 2 {
            return self.n_slots;
        }
        let n_of_others = state.n_running.saturating_sub(turn.n_running);
        let n_left = self.n_slots.saturating_sub(n_of_others);
        (n_left - n_left.div_ceil(SLOTS_PER_RESERVED)).max(1)
    }

    fn slot(self: &Arc<Self>, principal: &Arc<str>) -> QueueSlot {
        QueueSlot { queue: Arc::clone(self), principal: Arc::clone(principal), is_counted: true }
    }

    /// Gives back a slot of this principal, and free slots to those whose turn it is.
    fn leave(self: &Arc<Self>, principal: &Arc<str>) {
        let mut state = self.state.lock();
        state.n_running = state.n_running.saturating_sub(1);
        if let Some(turn) = state.principals.iter_mut().find(|turn| turn.is_of(principal)) {
            turn.n_running = turn.n_running.saturating_sub(1);
        }
        while state.n_waiting > 0 && state.n_running < self.n_slots {
            let is_next = |turn: &Turn| !turn.waiting.is_empty() && turn.n_running < self.most(&state, turn);
            let Some(index) = state.principals.iter().position(is_next) else {
                return;
            };
            let Some(mut turn) = state.principals.remove(index) else {
                return;
            };
            if let Some(sender) = turn.waiting.pop_front() {
                state.n_waiting -= 1;
                match sender.send(self.slot(&turn.principal)) {
                    Ok(()) => {
                        state.n_running += 1;
                        turn.n_running += 1;
                    }
                    // The caller gave up. Its slot was never counted, and giving it back would lock again.
                    Err(mut unused) => unused.is_counted = false,
                }
            }
            state.principals.push_back(turn);
        }
    }
}

impl QueueState {
    /// The index of a principal, which is added if it is new.
    fn turn_of(&mut self, principal: &Arc<str>, now: Duration) -> usize {
        let found = self.principals.iter().position(|turn| turn.is_of(principal));
        let index = found.unwrap_or_else(|| {
            self.forget_old(now);
            let principal = Arc::clone(principal);
            self.principals.push_back(Turn {
                principal,
                n_running: 0,
                waiting: VecDeque::new(),
                last_call: now,
            });
            self.principals.len() - 1
        });
        self.principals[index].last_call = now;
        index
    }

    fn forget_old(&mut self, now: Duration) {
        let is_crowded = self.principals.len() >= REMEMBERED_MAX;
        self.principals.retain(|turn| {
            let is_recent = now.saturating_sub(turn.last_call) < RECENT;
            turn.n_running > 0 || !turn.waiting.is_empty() || (is_recent && !is_crowded)
        });
    }

    /// Makes room for a principal: the newest call of the one that waits most loses its place, if that one
    /// has at least two more than this one.
    fn drop_newest_of_longest(&mut self, index: usize) -> bool {
        let n_own = self.principals[index].waiting.len();
        let longest = self.principals.iter_mut().max_by_key(|turn| turn.waiting.len());
        match longest.filter(|turn| turn.waiting.len() > n_own + 1) {
            Some(longest) => {
                longest.waiting.pop_back();
                self.n_waiting -= 1;
                true
            }
            None => false,
        }
    }
}

impl Turn {
    fn is_of(&self, principal: &Arc<str>) -> bool {
        Arc::ptr_eq(&self.principal, principal) || self.principal == *principal
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        if self.is_counted {
            self.queue.leave(&self.principal);
        }
    }
}

#[cfg(test)]
mod tests;
