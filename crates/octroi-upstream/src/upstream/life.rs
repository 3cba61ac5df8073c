//! The supervisor of a server: connecting, health checks, backoff, idle stop.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use octroi_core::SwitchedOff;
use octroi_core::health::{Checks, Health, Lifecycle};
use octroi_core::server::Start;
use tokio::time::Instant;
use tracing::{info, warn};

use super::Upstream;
use crate::connection::{Connection, ControlRequest};
use crate::error::UpstreamError;
use crate::event::ServerEvent;

const BACKOFF_FIRST: Duration = Duration::from_secs(1);
const BACKOFF_LAST: Duration = Duration::from_mins(1);
/// A connection that lived this long was healthy; the next failure starts the backoff anew.
const STABLE: Duration = Duration::from_secs(10);
/// A health check that takes longer has failed.
const CHECK_LIMIT: Duration = Duration::from_secs(10);
/// How often to check whether the calls of a server that is being retired are done.
const RETIRE_CHECK: Duration = Duration::from_millis(100);
/// How often to check whether a server is idle.
const IDLE_CHECK: Duration = Duration::from_secs(1);

/// The current condition of a server.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Its lifecycle state.
    pub lifecycle: Lifecycle,
    /// The results of its health checks.
    pub checks: Checks,
    /// How often a connection was opened again after it was lost, or by an operator.
    pub restarts: u64,
    /// Why it cannot be reached, if it cannot.
    pub error: Option<UpstreamError>,
    /// The number of calls in flight.
    pub in_flight: usize,
    /// The number of calls that wait for a slot.
    pub waiting: usize,
    /// Whether calls are refused because the circuit breaker is open.
    pub is_resting: bool,
}

/// What wakes the supervisor while it watches a connection.
enum WatchEvent {
    Closed,
    Changed,
    Check,
    Look,
}

impl Upstream {
    /// The current condition of the server.
    pub fn condition(&self) -> Condition {
        let error = self.last_error();
        let is_running =
            self.shared.ready().is_some() || self.slots.all().iter().any(|slot| slot.ready().is_some());
        let lifecycle = if !self.spec.is_enabled() {
            Lifecycle::Disabled
        } else if self.closing.is_cancelled() {
            Lifecycle::Stopping
        } else if is_running {
            Lifecycle::Running
        } else if !self.life.may_connect.load(Ordering::Relaxed) {
            Lifecycle::Stopped
        } else if self.life.is_connecting.load(Ordering::Relaxed) && error.is_none() {
            Lifecycle::Starting
        } else {
            match &error {
                Some(UpstreamError::NeedsAuth) => Lifecycle::NeedsAuth,
                Some(_) => Lifecycle::Failed,
                None => Lifecycle::Stopped,
            }
        };
        let mut checks = self.life.checks.lock().clone();
        if matches!(lifecycle, Lifecycle::Failed | Lifecycle::NeedsAuth) {
            // The checks were made while it ran, if it ever did.
            checks.health = Health::Unhealthy;
        }
        Condition {
            lifecycle,
            checks,
            restarts: self.life.restarts.load(Ordering::Relaxed),
            error: error.filter(|_| !is_running),
            in_flight: self.n_in_flight(),
            waiting: self.n_waiting(),
            is_resting: self.load.breaker.lock().is_open(),
        }
    }

    /// Why connecting is not allowed at present, if so.
    pub(super) fn refusal(&self) -> Option<UpstreamError> {
        match &self.spec.switched_off {
            Some(SwitchedOff::Global) => return Some(UpstreamError::Idle("disabled, like every server")),
            Some(_) => return Some(UpstreamError::Idle("disabled")),
            None => {}
        }
        if self.closing.is_cancelled() {
            return Some(UpstreamError::Stopping);
        }
        (!self.life.may_connect.load(Ordering::Relaxed)).then_some(UpstreamError::Idle("stopped"))
    }

    /// Reconnects in any state; calls in flight are cut off.
    pub async fn restart(self: &Arc<Self>) -> Result<(), UpstreamError> {
        self.close().await;
        self.eras.forget();
        self.shared.is_used.store(false, Ordering::Relaxed);
        self.shared.connecting.lock().await.take();
        self.load.breaker.lock().succeeded();
        self.load.own_breakers.lock().clear();
        self.life.may_connect.store(true, Ordering::Relaxed);
        self.life.changed.notify_one();
        self.connection().await.map(drop)
    }

    /// Closes the server for good, once its calls are done or the time is up.
    pub async fn retire(&self, limit: Duration) {
        let until = self.instant() + limit;
        // Wait at least once: a caller may just have looked it up and not begun the call yet.
        while self.rest(RETIRE_CHECK).await
            && self.n_in_flight() + self.n_waiting() > 0
            && self.instant() < until
        {}
        self.life.may_connect.store(false, Ordering::Relaxed);
        self.close().await;
        self.closing.cancel();
    }

    /// Waits until the server is closed for good.
    pub async fn ended(&self) {
        self.closing.cancelled().await;
    }

    /// Supervises the server until it is closed for good.
    pub async fn supervise(self: Arc<Self>) {
        let mut backoff = BACKOFF_FIRST;
        let mut is_first = true;
        // Stopped because it was idle, and not reconnected before the next call.
        let mut is_idle = false;
        loop {
            let keeps_connected = || self.refusal().is_none() && self.spec.start == Start::Eager;
            let should_connect = keeps_connected() && (is_first || self.spec.reconnect) && !is_idle;
            let connection = match self.shared.ready() {
                Some(connection) => Some(connection),
                None if should_connect => match self.connection().await {
                    Ok(connection) => Some(connection),
                    Err(error) => {
                        warn!(server.name = %self.spec.key, %error, retry_ms = backoff.as_millis(), "cannot connect");
                        if !self.rest(jittered(backoff)).await {
                            return;
                        }
                        backoff = (backoff * 2).min(BACKOFF_LAST);
                        is_first = false;
                        continue;
                    }
                },
                None => None,
            };
            is_first = false;
            let Some(connection) = connection else {
                // Woken by a call, an operator or a new configuration.
                tokio::select! {
                    biased;
                    () = self.closing.cancelled() => return,
                    () = self.life.changed.notified() => continue,
                }
            };
            let since = self.instant();
            is_idle = self.attend(&connection).await;
            if self.closing.is_cancelled() {
                return;
            }
            if self.instant().duration_since(since) > STABLE {
                backoff = BACKOFF_FIRST;
            }
            if keeps_connected() && self.spec.reconnect && !is_idle {
                if !self.rest(jittered(backoff)).await {
                    return;
                }
                backoff = (backoff * 2).min(BACKOFF_LAST);
            }
        }
    }

    /// Waits; `false` if the server was closed meanwhile.
    async fn rest(&self, pause: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.closing.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }

    /// Watches a connection until it is gone; `true` if it was stopped because it was idle.
    async fn attend(&self, connection: &Arc<Connection>) -> bool {
        // The first one is made now: nobody should have to wait for the interval to learn whether it answers.
        let mut next_check = self.spec.health_interval.map(|_| self.instant());
        let mut is_checked = false;
        loop {
            let look = self.spec.idle_stop.map(|idle| idle.min(IDLE_CHECK));
            let event = tokio::select! {
                biased;
                () = self.closing.cancelled() => return false,
                _ = connection.closed() => WatchEvent::Closed,
                () = self.life.changed.notified() => WatchEvent::Changed,
                () = until(next_check) => WatchEvent::Check,
                () = pause(look) => WatchEvent::Look,
            };
            match event {
                WatchEvent::Closed => return false,
                WatchEvent::Changed if connection.is_closed() => return false,
                WatchEvent::Changed => {}
                WatchEvent::Check => {
                    // Calls in flight have time limits of their own, and a server that does one thing at a
                    // time is not unhealthy.
                    let is_busy = self.n_in_flight() > 0;
                    let next = match self.spec.health_interval {
                        Some(_) if is_busy && !is_checked => Some(IDLE_CHECK),
                        Some(every) if !is_checked => Some(jittered(every)),
                        every => every,
                    };
                    is_checked |= !is_busy;
                    next_check = next.map(|pause| self.instant() + pause);
                    if !is_busy && self.check(connection).await.0.health == Health::Unhealthy {
                        warn!(server.name = %self.spec.key, "does not answer, stopped");
                        connection.close().await;
                        return false;
                    }
                }
                WatchEvent::Look => {
                    let idle = Duration::from_millis(
                        self.now().saturating_sub(self.load.last_used.load(Ordering::Relaxed)),
                    );
                    if self.spec.idle_stop.is_some_and(|limit| idle >= limit)
                        && self.n_in_flight() == 0
                        && self.shared.watched.is_empty()
                    {
                        info!(server.name = %self.spec.key, "idle, stopped until the next call");
                        // The next start is none that anything went wrong for.
                        self.shared.was_tried.store(false, Ordering::Relaxed);
                        connection.close().await;
                        return true;
                    }
                }
            }
        }
    }

    /// Asks the server whether it is alive, and records the result.
    async fn check(&self, connection: &Connection) -> (Checks, Option<UpstreamError>) {
        let begun = self.instant();
        let limit = CHECK_LIMIT.min(self.spec.timeouts.list);
        let outcome = connection.control(ControlRequest::Alive, limit).await;
        let error = match outcome {
            Ok(_) => None,
            // A server that does not know the question understood it.
            Err(UpstreamError::Refused(error)) if error.code == octroi_mcp::code::METHOD_NOT_FOUND => None,
            Err(error) => Some(error),
        };
        let checks = {
            let mut checks = self.life.checks.lock();
            checks.observe(error.is_none().then(|| self.instant().duration_since(begun)));
            checks.clone()
        };
        self.events.send(ServerEvent::Checked(checks.clone(), error.clone())).await;
        (checks, error)
    }

    /// Runs a health check now, connecting if necessary.
    pub async fn check_now(self: &Arc<Self>) -> Result<Checks, UpstreamError> {
        let connection = self.connection().await?;
        match self.check(&connection).await {
            (checks, None) => Ok(checks),
            (_, Some(error)) => Err(error),
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn pause(span: Option<Duration>) {
    match span {
        Some(span) => tokio::time::sleep(span).await,
        None => std::future::pending().await,
    }
}

/// Up to a fifth more or less, so that servers that failed together do not reconnect together.
fn jittered(span: Duration) -> Duration {
    let mut byte = [0_u8];
    // Without randomness the span is used as it is.
    let _ = getrandom::fill(&mut byte);
    span.mul_f64(0.8 + 0.4 * f64::from(byte[0]) / 255.0)
}
