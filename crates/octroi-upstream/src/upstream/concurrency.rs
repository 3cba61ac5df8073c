//! The concurrency limit and the circuit breakers of a server.
//!
//! A server that cannot be reached rests for everybody. A call that fails once the server is reached may be
//! of its caller's own making: it takes too long because of its arguments, or it makes the server crash.
//! Such failures make the server rest for their principal alone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use octroi_core::breaker::{Breaker, Passage};
use tokio::sync::oneshot;

use super::Upstream;
use super::fair_queue::{Admission, FairQueue, QueueSlot};
use crate::error::UpstreamError;

/// Principals with failures of their own that are remembered; the count of others begins again.
const OWN_BREAKERS_MAX: usize = 256;

/// Permission to make one call. Dropped without [`CallSlot::settle`], it does not affect the circuit breakers.
#[derive(Debug)]
pub struct CallSlot {
    upstream: Arc<Upstream>,
    principal: Arc<str>,
    _slot: QueueSlot,
    /// Whether this call finds out whether the server is back, for everybody or for its principal.
    is_probe: bool,
    is_own_probe: bool,
    is_settled: bool,
}

/// How a call went, for the circuit breakers.
#[derive(Clone, Copy, Debug)]
pub enum CallOutcome<'a> {
    /// The server answered.
    Answered,
    /// The server could not be reached.
    Unreachable(&'a UpstreamError),
    /// The call failed after the server was reached.
    Failed(&'a UpstreamError),
}

impl Upstream {
    /// Takes a slot for one call; waits while the concurrency limit is reached, unless the queue is full.
    pub async fn call_slot(self: &Arc<Self>, principal: &Arc<str>) -> Result<CallSlot, UpstreamError> {
        if let Some(reason) = self.refusal() {
            return Err(reason);
        }
        let slot = match self.load.queue.enter(principal, self.age()) {
            Admission::Free(slot) => slot,
            Admission::Waiting(turn) => self.wait_for(turn).await?,
            Admission::Full => return Err(self.busy()),
        };
        // Checked last: the state of the breakers may have changed while waiting.
        let is_probe = self.pass(&mut self.load.breaker.lock())?;
        let own = self.own_breaker_passage(principal);
        if own.is_err() && is_probe {
            self.load.breaker.lock().abandoned();
        }
        let is_own_probe = own?;
        self.load.n_in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(CallSlot {
            upstream: Arc::clone(self),
            principal: Arc::clone(principal),
            _slot: slot,
            is_probe,
            is_own_probe,
            is_settled: false,
        })
    }

    async fn wait_for(&self, turn: oneshot::Receiver<QueueSlot>) -> Result<QueueSlot, UpstreamError> {
        let mut place = QueuePlace { queue: &self.load.queue, is_over: false };
        let slot = tokio::time::timeout(self.spec.timeouts.call, turn).await;
        match slot {
            // An error means that the place was lost to another principal.
            Ok(slot) => {
                place.is_over = true;
                slot.map_err(|_| self.busy())
            }
            Err(_) => Err(self.busy()),
        }
    }

    fn busy(&self) -> UpstreamError {
        UpstreamError::Busy { limit: self.spec.limits.queue }
    }

    fn own_breaker_passage(&self, principal: &Arc<str>) -> Result<bool, UpstreamError> {
        let mut breakers = self.load.own_breakers.lock();
        // Empty unless calls fail.
        if breakers.is_empty() {
            return Ok(false);
        }
        match breakers.get_mut(principal) {
            Some(breaker) => self.pass(breaker),
            None => Ok(false),
        }
    }

    /// Whether the call is a probe; fails while the circuit is open.
    fn pass(&self, breaker: &mut Breaker) -> Result<bool, UpstreamError> {
        match breaker.pass(self.age()) {
            Passage::Free => Ok(false),
            Passage::Probe => Ok(true),
            Passage::Closed(retry_in) => {
                Err(UpstreamError::Resting { retry_in, reason: self.last_failure() })
            }
        }
    }

    fn last_failure(&self) -> String {
        self.last_error().map_or_else(|| "it did not answer".to_owned(), |error| error.for_caller())
    }

    /// The number of calls in flight.
    pub fn n_in_flight(&self) -> usize {
        self.load.n_in_flight.load(Ordering::Relaxed)
    }

    /// The number of calls that wait for a slot.
    pub fn n_waiting(&self) -> usize {
        self.load.queue.n_waiting()
    }
}

/// Keeps a server from being stopped as idle while a client answers its question.
#[derive(Debug)]
pub struct Hold(Arc<Upstream>);

impl Upstream {
    /// Counts as a call in flight until it is dropped, without taking a slot.
    pub fn hold(self: &Arc<Self>) -> Hold {
        self.load.n_in_flight.fetch_add(1, Ordering::Relaxed);
        Hold(Arc::clone(self))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.load.n_in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.load.last_used.store(self.0.now(), Ordering::Relaxed);
    }
}

/// A place in the queue, which is released when its caller gives up.
struct QueuePlace<'a> {
    queue: &'a FairQueue,
    is_over: bool,
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.queue.forget_gone();
        }
    }
}

impl CallSlot {
    /// Reports how the call went to the circuit breakers.
    pub fn settle(mut self, outcome: CallOutcome<'_>) {
        self.is_settled = true;
        match outcome {
            CallOutcome::Answered => {
                self.upstream.load.breaker.lock().succeeded();
                let mut own = self.upstream.load.own_breakers.lock();
                if !own.is_empty() {
                    own.remove(&self.principal);
                }
            }
            CallOutcome::Unreachable(error) if error.is_absence() => {
                let mut breaker = self.upstream.load.breaker.lock();
                let was_open = breaker.is_open();
                breaker.failed(self.upstream.age());
                if breaker.is_open() && !was_open {
                    tracing::warn!(server.name = %self.upstream.spec.key, %error, "fails repeatedly, circuit breaker open");
                }
                drop(breaker);
                self.abandon_own();
            }
            CallOutcome::Failed(error) if error.is_absence() => {
                self.fail_own(error);
                self.abandon_shared();
            }
            CallOutcome::Unreachable(_) | CallOutcome::Failed(_) => {
                self.abandon_shared();
                self.abandon_own();
            }
        }
    }

    /// Counts a failure that may be of the principal's own making.
    fn fail_own(&self, error: &UpstreamError) {
        let upstream = &self.upstream;
        let mut breakers = upstream.load.own_breakers.lock();
        if breakers.len() >= OWN_BREAKERS_MAX && !breakers.contains_key(&self.principal) {
            breakers.clear();
        }
        let breaker = breakers.entry(Arc::clone(&self.principal)).or_default();
        let was_open = breaker.is_open();
        breaker.failed(upstream.age());
        if breaker.is_open() && !was_open {
            tracing::warn!(
                server.name = %upstream.spec.key, principal = %self.principal, %error,
                "calls of this principal fail repeatedly, circuit breaker open for it"
            );
        }
    }

    fn abandon_shared(&self) {
        if self.is_probe {
            self.upstream.load.breaker.lock().abandoned();
        }
    }

    fn abandon_own(&self) {
        if self.is_own_probe
            && let Some(breaker) = self.upstream.load.own_breakers.lock().get_mut(&self.principal)
        {
            breaker.abandoned();
        }
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        if !self.is_settled {
            self.abandon_shared();
            self.abandon_own();
        }
        self.upstream.load.n_in_flight.fetch_sub(1, Ordering::Relaxed);
        self.upstream.load.last_used.store(self.upstream.now(), Ordering::Relaxed);
    }
}
