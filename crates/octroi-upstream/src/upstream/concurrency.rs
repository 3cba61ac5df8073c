//! The concurrency limit and the circuit breaker of a server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use octroi_core::breaker::Passage;
use tokio::sync::OwnedSemaphorePermit;

use super::Upstream;
use crate::error::UpstreamError;

/// Permission to make one call. Dropped without [`CallSlot::settle`], it does not affect the circuit breaker.
#[derive(Debug)]
pub struct CallSlot {
    upstream: Arc<Upstream>,
    _permit: OwnedSemaphorePermit,
    is_probe: bool,
    is_settled: bool,
}

impl Upstream {
    /// Takes a slot for one call; waits while the concurrency limit is reached, unless the queue is full.
    pub async fn call_slot(self: &Arc<Self>) -> Result<CallSlot, UpstreamError> {
        if let Some(reason) = self.refusal() {
            return Err(reason);
        }
        let permit = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => self.queue().await?,
        };
        // Checked last: the state of the breaker may have changed while waiting.
        let is_probe = match self.breaker.lock().pass(self.age()) {
            Passage::Free => false,
            Passage::Probe => true,
            Passage::Closed(retry_in) => {
                let reason = self.last_failure();
                return Err(UpstreamError::Resting { retry_in, reason });
            }
        };
        self.n_in_flight.fetch_add(1, Ordering::Relaxed);
        Ok(CallSlot { upstream: Arc::clone(self), _permit: permit, is_probe, is_settled: false })
    }

    async fn queue(&self) -> Result<OwnedSemaphorePermit, UpstreamError> {
        let limit = self.spec.limits.queue;
        let busy = || UpstreamError::Busy { limit };
        let place = QueuePosition::take(&self.n_waiting, limit).ok_or_else(busy)?;
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = tokio::time::timeout(self.spec.timeouts.call, permit).await;
        drop(place);
        permit.map_err(|_| busy())?.map_err(|_| UpstreamError::Stopping)
    }

    fn last_failure(&self) -> String {
        self.last_error().map_or_else(|| "it did not answer".to_owned(), |error| error.for_caller())
    }

    /// The number of calls in flight.
    pub fn n_in_flight(&self) -> usize {
        self.n_in_flight.load(Ordering::Relaxed)
    }

    /// The number of calls that wait for a slot.
    pub fn n_waiting(&self) -> usize {
        self.n_waiting.load(Ordering::Relaxed)
    }
}

/// Keeps a server from being stopped as idle while a client answers its question.
#[derive(Debug)]
pub struct Hold(Arc<Upstream>);

impl Upstream {
    /// Counts as a call in flight until it is dropped, without taking a slot.
    pub fn hold(self: &Arc<Self>) -> Hold {
        self.n_in_flight.fetch_add(1, Ordering::Relaxed);
        Hold(Arc::clone(self))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.n_in_flight.fetch_sub(1, Ordering::Relaxed);
        self.0.last_used.store(self.0.now(), Ordering::Relaxed);
    }
}

/// A position in the queue, released also when the caller gives up.
struct QueuePosition<'a>(&'a std::sync::atomic::AtomicUsize);

impl<'a> QueuePosition<'a> {
    fn take(counter: &'a std::sync::atomic::AtomicUsize, limit: usize) -> Option<Self> {
        let before = counter.fetch_add(1, Ordering::Relaxed);
        let place = Self(counter);
        (before < limit).then_some(place)
    }
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CallSlot {
    /// Reports how the call went to the circuit breaker.
    pub fn settle(mut self, failure: Option<&UpstreamError>) {
        self.is_settled = true;
        let mut breaker = self.upstream.breaker.lock();
        match failure {
            Some(error) if error.is_absence() => {
                let was_open = breaker.is_open();
                breaker.failed(self.upstream.age());
                if breaker.is_open() && !was_open {
                    tracing::warn!(server.name = %self.upstream.spec.key, %error, "fails repeatedly, circuit breaker open");
                }
            }
            Some(_) if self.is_probe => breaker.abandoned(),
            Some(_) => {}
            None => breaker.succeeded(),
        }
    }
}

impl Drop for CallSlot {
    fn drop(&mut self) {
        if self.is_probe && !self.is_settled {
            self.upstream.breaker.lock().abandoned();
        }
        self.upstream.n_in_flight.fetch_sub(1, Ordering::Relaxed);
        self.upstream.last_used.store(self.upstream.now(), Ordering::Relaxed);
    }
}
