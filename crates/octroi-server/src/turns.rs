//! Turns between principals on one worker thread.
//!
//! A worker polls the connections that are ready in the order in which they became ready. Without turns, whoever has a
//! hundred of them ready lets everybody else wait for a hundred polls. So a connection first asks the [`Turns`] of its
//! thread: once its principal has used its time of the round, it leaves its waker in the queue of its principal and is
//! not polled. A round ends when everything that is ready has had its turn and the sockets were looked at again; then
//! each queue goes on. Whoever does little never waits, and a long queue is in the way only of who made it.
//!
//! What polls take beyond the time of a round is subtracted from the next ones.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::future::poll_fn;
use std::hash::{BuildHasherDefault, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use octroi_core::Clock;
use parking_lot::Mutex;

/// The time that a principal has in a round, on one thread. A usual request takes some tens of microseconds, and a
/// round of a few principals should be shorter than what the kernel lets threads wait for each other.
const QUANTUM_NS: u64 = 100_000;
/// As many rounds as six seconds of debt take: no poll is so long.
const MANY_ROUNDS: u64 = 1 << 16;

/// Who takes turns: a hash that stands for a principal, or for an address as long as no token was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TurnKey(pub(crate) u64);

/// Does not hash again what is a hash.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// The turns on one worker thread.
#[derive(Debug)]
pub(crate) struct Turns {
    clock: Clock,
    state: Mutex<TurnsState>,
    /// Wakes the task that begins rounds.
    rounds: AtomicWaker,
}

#[derive(Debug, Default)]
struct TurnsState {
    round: u64,
    accounts: HashMap<TurnKey, Account, BuildHasherDefault<AsItIs>>,
    /// Those with a queue, each once.
    contended: Vec<TurnKey>,
}

/// What one principal has used, and what of it waits.
#[derive(Debug, Default)]
struct Account {
    /// How many futures it has here.
    n_members: usize,
    /// The time it used, without the time it had in past rounds.
    spent_ns: u64,
    /// The round in which that was so.
    round: u64,
    waiting: VecDeque<Arc<Seat>>,
    /// Whether one of its futures was woken for its turn and was not polled yet.
    is_granted: bool,
    /// Whether it is in the list of those with a queue.
    is_contended: bool,
}

/// The place of a future in a queue.
#[derive(Debug, Default)]
struct Seat {
    waker: AtomicWaker,
    is_granted: AtomicBool,
    /// Whether its future does not wait any more.
    is_left: AtomicBool,
}

impl Turns {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        Arc::new(Self { clock, state: Mutex::default(), rounds: AtomicWaker::new() })
    }

    /// Runs a future in turn with others, which know of it at once. `key` says who it works for now.
    pub(crate) fn take<F: Future>(
        self: Arc<Self>,
        key: impl Fn() -> TurnKey,
        future: F,
    ) -> impl Future<Output = F::Output> {
        let mut member = Member::new(self, key());
        async move {
            let mut future = pin!(future);
            poll_fn(|context| {
                let Some(is_alone) = member.begin(key(), context) else { return Poll::Pending };
                if is_alone {
                    return future.as_mut().poll(context);
                }
                let begun = member.turns.clock.instant();
                let polled = future.as_mut().poll(context);
                member.end(key(), member.turns.clock.instant().saturating_duration_since(begun));
                polled
            })
            .await
        }
    }

    /// To be called when nothing is ready any more: what was used until now kept nobody waiting.
    pub(crate) fn forgive(&self) {
        let mut state = self.state.lock();
        if state.contended.is_empty() {
            state.round += MANY_ROUNDS;
        }
    }

    /// Begins rounds while something waits. To be run as a task of the thread.
    pub(crate) async fn keep_rounds(self: Arc<Self>) -> Infallible {
        loop {
            poll_fn(|context| {
                self.rounds.register(context.waker());
                if self.state.lock().contended.is_empty() { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
            // Goes on after everything that is ready now, and after the sockets were looked at.
            tokio::task::yield_now().await;
            self.begin_round();
        }
    }

    fn begin_round(&self) {
        let granted = self.state.lock().begin_round();
        // Without the lock, because a waker may be all that keeps its future.
        for seat in granted {
            seat.waker.wake();
        }
    }
}

impl TurnsState {
    /// Lets one future of each principal with a queue go on, if that has time. They are to be woken.
    fn begin_round(&mut self) -> Vec<Arc<Seat>> {
        self.round += 1;
        let Self { accounts, contended, round } = self;
        let mut granted = Vec::new();
        let (mut is_any_granted, mut least_debt) = (false, u64::MAX);
        contended.retain(|key| {
            let Some(account) = accounts.get_mut(key) else { return false };
            account.settle(*round);
            granted.extend(account.grant());
            is_any_granted |= account.is_granted;
            account.is_contended = !account.waiting.is_empty();
            let (is_contended, n_members) = (account.is_contended, account.n_members);
            if is_contended {
                least_debt = least_debt.min(account.spent_ns / QUANTUM_NS);
            } else if n_members == 0 {
                accounts.remove(key);
            }
            is_contended
        });
        // Nobody has time: the rounds in which nothing would happen are left out.
        if !is_any_granted && !contended.is_empty() {
            *round += least_debt;
            for key in contended.iter() {
                if let Some(account) = accounts.get_mut(key) {
                    account.settle(*round);
                    granted.extend(account.grant());
                }
            }
        }
        granted
    }

    fn enter(&mut self, key: TurnKey) {
        self.accounts.entry(key).or_default().n_members += 1;
    }

    fn leave(&mut self, key: TurnKey, seat: Option<Arc<Seat>>) {
        let Some(account) = self.accounts.get_mut(&key) else { return };
        if let Some(seat) = seat {
            seat.is_left.store(true, Ordering::Relaxed);
            // If others wait, the next round lets one of them go on.
            if seat.is_granted.load(Ordering::Relaxed) {
                account.is_granted = false;
            }
        }
        account.n_members -= 1;
        // One with a queue is removed by the next round.
        if account.n_members == 0 && !account.is_contended {
            self.accounts.remove(&key);
        }
    }
}

impl Account {
    /// Forgets what there was time for in past rounds.
    fn settle(&mut self, round: u64) {
        if self.round != round {
            let n_rounds = round.saturating_sub(self.round);
            self.spent_ns = self.spent_ns.saturating_sub(n_rounds.saturating_mul(QUANTUM_NS));
            self.round = round;
        }
    }

    fn has_time(&self) -> bool {
        self.spent_ns < QUANTUM_NS
    }

    /// The next that may go on, if nothing else of it is about to.
    fn grant(&mut self) -> Option<Arc<Seat>> {
        if self.is_granted || !self.has_time() {
            return None;
        }
        while let Some(seat) = self.waiting.pop_front() {
            if !seat.is_left.load(Ordering::Relaxed) {
                seat.is_granted.store(true, Ordering::Relaxed);
                self.is_granted = true;
                return Some(seat);
            }
        }
        None
    }
}

/// One future among those of its principal.
struct Member {
    turns: Arc<Turns>,
    key: TurnKey,
    /// While it waits, and until it is polled after that.
    seat: Option<Arc<Seat>>,
}

impl Member {
    fn new(turns: Arc<Turns>, key: TurnKey) -> Self {
        turns.state.lock().enter(key);
        Self { turns, key, seat: None }
    }

    /// Whether it may be polled now, and if so whether nobody competes. If not, it will be woken.
    fn begin(&mut self, key: TurnKey, context: &Context<'_>) -> Option<bool> {
        let mut state = self.turns.state.lock();
        if self.key != key {
            state.leave(self.key, self.seat.take());
            state.enter(key);
            self.key = key;
        }
        let TurnsState { round, accounts, contended } = &mut *state;
        if accounts.len() == 1 && contended.is_empty() && self.seat.is_none() {
            return Some(true);
        }
        let Some(account) = accounts.get_mut(&key) else { return Some(false) };
        if let Some(seat) = &self.seat {
            if !seat.is_granted.load(Ordering::Relaxed) {
                seat.waker.register(context.waker());
                return None;
            }
            account.is_granted = false;
            self.seat = None;
            return Some(false);
        }
        account.settle(*round);
        if account.has_time() && account.waiting.is_empty() && !account.is_granted {
            return Some(false);
        }
        let seat = Arc::<Seat>::default();
        seat.waker.register(context.waker());
        account.waiting.push_back(Arc::clone(&seat));
        self.seat = Some(seat);
        let is_first = contended.is_empty();
        if !account.is_contended {
            account.is_contended = true;
            contended.push(key);
        }
        drop(state);
        if is_first {
            self.turns.rounds.wake();
        }
        None
    }

    /// Counts a poll. If its principal has time left, the next in its queue goes on.
    fn end(&self, key: TurnKey, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mut state = self.turns.state.lock();
        let TurnsState { round, accounts, .. } = &mut *state;
        // The first request of a connection says who it belongs to; whoever always connects anew pays for it too.
        let other = (key != self.key).then_some(key);
        let mut next = None;
        for key in [Some(self.key), other].into_iter().flatten() {
            if let Some(account) = accounts.get_mut(&key) {
                account.settle(*round);
                account.spent_ns = account.spent_ns.saturating_add(took);
                next = next.or_else(|| account.grant());
            }
        }
        drop(state);
        if let Some(seat) = next {
            seat.waker.wake();
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let seat = self.seat.take();
        self.turns.state.lock().leave(self.key, seat);
    }
}

#[cfg(test)]
mod tests;
