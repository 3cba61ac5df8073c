//! One configured server and its connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use octroi_core::breaker::Breaker;
use octroi_core::health::Checks;
use octroi_core::server::{ServerSpec, Start};
use octroi_mcp::Era;
use octroi_mcp::capability::ClientCapabilities;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::child::ProcessList;
use crate::connection::Connection;
use crate::context::Context;
use crate::error::UpstreamError;
use crate::event::{EventSink, ServerEvent};
use crate::logs::Logs;
use crate::processes::memory_of;
use crate::watch::Watched;

mod asking;
mod concurrency;
mod declared;
mod eras;
mod fair_queue;
mod life;
mod open;
mod slots;

pub use concurrency::{CallOutcome, CallSlot, Hold};
use declared::DeclaredCapabilities;
use eras::Eras;
use fair_queue::FairQueue;
pub use life::Condition;
pub use slots::Sharer;
use slots::Slots;

/// After a failed attempt, callers within this time get the same error without another attempt.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// How many tries one attempt to connect makes.
const TRIES: usize = 3;
const TRIES_APART: Duration = Duration::from_secs(1);

/// One configured server.
#[derive(Debug)]
pub struct Upstream {
    spec: ServerSpec,
    context: Arc<Context>,
    events: EventSink,
    logs: Arc<Logs>,
    running: Arc<ProcessList>,
    eras: Eras,
    declared: DeclaredCapabilities,
    shared: Arc<Slot>,
    slots: Slots,
    /// Cancelled when this server is closed for good.
    closing: CancellationToken,
    life: Life,
    load: Load,
    made: Instant,
}

/// What the supervisor of a server goes by.
#[derive(Debug, Default)]
struct Life {
    /// Whether connecting is allowed: the server is enabled and was not stopped.
    may_connect: AtomicBool,
    is_connecting: AtomicBool,
    /// Wakes the supervisor after a change.
    changed: Notify,
    checks: Mutex<Checks>,
    restarts: AtomicU64,
}

/// The calls of a server, and how they went.
#[derive(Debug)]
struct Load {
    breaker: Mutex<Breaker>,
    /// For failures that may be of a principal's own making, by principal.
    own_breakers: Mutex<HashMap<Arc<str>, Breaker>>,
    queue: Arc<FairQueue>,
    n_in_flight: AtomicUsize,
    /// When the last call began or ended, in milliseconds after the server's `made`.
    last_used: AtomicU64,
}

/// A place for one connection, which one caller at a time opens.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    current: ArcSwapOption<Connection>,
    connecting: tokio::sync::Mutex<Option<(Instant, UpstreamError)>>,
    last_error: Mutex<Option<UpstreamError>>,
    watched: Watched,
    /// When its last call began or ended, in milliseconds after the server's `made`.
    last_used: AtomicU64,
    /// Set once the slot is removed, so that a connection that is being opened gets closed.
    is_gone: AtomicBool,
    /// The era to open it in; `None` for whichever the server speaks.
    era: Option<Era>,
    /// Whether it was opened before, or tried to be: doing so again is a restart.
    was_tried: AtomicBool,
    /// Whether a client has used it; the shared one may carry nothing but lists.
    is_used: AtomicBool,
    /// Whether it belongs to one client.
    is_own: bool,
    /// Whether the server may ask the one client whose connection it is for its roots at any time.
    gives_roots: bool,
}

impl Slot {
    fn ready(&self) -> Option<Arc<Connection>> {
        self.current.load_full().filter(|connection| !connection.is_closed())
    }
}

impl Upstream {
    /// Creates a server that is not connected yet.
    pub fn new(spec: ServerSpec, context: Arc<Context>) -> Arc<Self> {
        let events = EventSink::new(spec.key.clone(), context.events.clone());
        let queue = FairQueue::new(spec.limits.concurrency, spec.limits.queue);
        let closing = context.shutdown.child_token();
        let logs = Logs::new(&spec, &context.clock, &context.redactor);
        let logs = Arc::new(logs.reporting(events.clone()));
        let made = Instant::from_std(context.clock.instant());
        let may_connect = AtomicBool::new(spec.is_enabled() && spec.start != Start::Manual);
        Arc::new(Self {
            spec,
            context,
            events,
            logs,
            running: Arc::default(),
            eras: Eras::default(),
            declared: DeclaredCapabilities::default(),
            shared: Arc::default(),
            slots: Slots::default(),
            closing,
            life: Life { may_connect, ..Life::default() },
            load: Load {
                breaker: Mutex::default(),
                own_breakers: Mutex::default(),
                queue,
                n_in_flight: AtomicUsize::new(0),
                last_used: AtomicU64::new(0),
            },
            made,
        })
    }

    /// The server's configuration.
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// The shared connection, if it is open.
    pub fn current(&self) -> Option<Arc<Connection>> {
        self.shared.ready()
    }

    /// Why the last attempt to connect failed, if it did.
    pub fn last_error(&self) -> Option<UpstreamError> {
        self.shared.last_error.lock().clone()
    }

    /// What it wrote to its standard error.
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// Memory of its processes, in bytes.
    pub fn memory(&self) -> u64 {
        memory_of(&self.running.list())
    }

    /// How often the reaper of one of its processes was killed.
    pub fn n_killed_reapers(&self) -> u64 {
        self.running.n_killed_reapers()
    }

    /// The shared connection, which lists are fetched over; connects if necessary.
    pub async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        self.connect(&self.shared, None).await
    }

    /// Watches a resource for a client; returns once the server knows.
    pub async fn watch(
        self: &Arc<Self>,
        sharer: &Sharer<'_>,
        capabilities: &ClientCapabilities,
        uri: &str,
    ) -> Result<(), UpstreamError> {
        let (slot, _) = self.connected_slot(sharer, capabilities).await?;
        slot.watched.add(uri).await
    }

    /// Stops watching a resource for a client.
    pub fn unwatch(&self, sharer: &Sharer<'_>, capabilities: &ClientCapabilities, uri: &str) {
        let slot = self.find_slot(self.sharing(), sharer, capabilities);
        // It may have begun to watch over a shared connection, before the server asked its clients.
        let slot = slot.filter(|slot| slot.watched.has(uri));
        slot.unwrap_or_else(|| self.common_slot(sharer, capabilities)).watched.remove(uri);
    }

    /// Drops a connection that turned out not to work, so that the next caller opens a new one and
    /// detects the server's eras again.
    pub async fn discard(&self, connection: &Arc<Connection>) {
        self.eras.forget();
        connection.close().await;
    }

    /// Closes idle connections; to be called periodically.
    pub async fn sweep(&self) {
        for slot in self.slots.idle(self.now()) {
            self.close_slot(&slot).await;
        }
        for connection in self.connections() {
            connection.sweep();
        }
    }

    /// Closes all connections. Processes are ended by their own supervisors.
    pub async fn close(&self) {
        let slots = self.slots.clear();
        for slot in &slots {
            slot.is_gone.store(true, Ordering::Relaxed);
        }
        let connections: Vec<_> =
            slots.iter().chain([&self.shared]).filter_map(|slot| slot.ready()).collect();
        futures_util::future::join_all(connections.iter().map(|connection| connection.close())).await;
    }

    fn connections(&self) -> Vec<Arc<Connection>> {
        let slots = self.slots.all();
        slots.iter().chain([&self.shared]).filter_map(|slot| slot.ready()).collect()
    }

    async fn close_slot(&self, slot: &Slot) {
        slot.is_gone.store(true, Ordering::Relaxed);
        if let Some(connection) = slot.ready() {
            connection.close().await;
        }
    }

    async fn connect(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        capabilities: Option<&ClientCapabilities>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        if let Some(connection) = slot.ready() {
            return Ok(connection);
        }
        // In a separate task: a caller that gives up must not cancel a slow start that others wait for.
        let attempt = Arc::clone(self).attempt(Arc::clone(slot), capabilities.cloned());
        let attempt = self.context.tasks.spawn_on_main("connect", attempt);
        attempt.await.unwrap_or(Err(UpstreamError::Stopping))
    }

    async fn attempt(
        self: Arc<Self>,
        slot: Arc<Slot>,
        capabilities: Option<ClientCapabilities>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        // One attempt at a time; a caller that waited for the lock uses the result.
        let mut last_failure = slot.connecting.lock().await;
        if let Some(connection) = slot.ready() {
            return Ok(connection);
        }
        if let Some(reason) = self.refusal() {
            return Err(reason);
        }
        if let Some((at, error)) = &*last_failure
            && self.instant().duration_since(*at) < RETRY_PAUSE
        {
            return Err(error.clone());
        }
        if slot.was_tried.swap(true, Ordering::Relaxed) {
            self.life.restarts.fetch_add(1, Ordering::Relaxed);
        }
        self.life.is_connecting.store(true, Ordering::Relaxed);
        let opened = tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(UpstreamError::Stopping),
            opened = self.try_often(capabilities.as_ref(), slot.era) => opened,
        };
        self.life.is_connecting.store(false, Ordering::Relaxed);
        match opened {
            // It was stopped meanwhile.
            Ok(connection) if self.refusal().is_some() => {
                connection.close().await;
                Err(self.refusal().unwrap_or(UpstreamError::Stopping))
            }
            Ok(connection) => {
                connection.settle_first_questions(self.audience(&slot)).await;
                *last_failure = None;
                *slot.last_error.lock() = None;
                slot.current.store(Some(Arc::clone(&connection)));
                // The slot was removed while the connection was being opened.
                if slot.is_gone.load(Ordering::Relaxed) {
                    connection.close().await;
                    return Err(UpstreamError::Stopping);
                }
                self.announce(&slot, &connection).await;
                Ok(connection)
            }
            Err(error) => {
                let error = error.redacted(|text| self.logs.redacted(text));
                *last_failure = Some((self.instant(), error.clone()));
                *slot.last_error.lock() = Some(error.clone());
                Err(error)
            }
        }
    }

    async fn try_often(
        &self,
        capabilities: Option<&ClientCapabilities>,
        era: Option<Era>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let limit = self.spec.timeouts.connect;
        let mut tries = 1;
        loop {
            let opened = tokio::time::timeout(limit, self.open(capabilities, era)).await;
            match opened.unwrap_or(Err(UpstreamError::Timeout(limit))) {
                // Also after a timeout: the server may have been busy with its own start.
                Err(error) if (error.is_passing() || error.is_timeout()) && tries < TRIES => tries += 1,
                settled => return settled,
            }
            tokio::time::sleep(TRIES_APART).await;
        }
    }

    /// Reports a new connection and follows its notifications. Lists are followed over one connection only.
    async fn announce(self: &Arc<Self>, slot: &Arc<Slot>, connection: &Arc<Connection>) {
        let is_shared = Arc::ptr_eq(slot, &self.shared);
        let identity = connection.identity();
        if is_shared {
            info!(server.name = %self.spec.key, era = %identity.era, version = %identity.version, "connected");
            self.touch(slot);
            self.life.changed.notify_one();
            self.events.send(ServerEvent::Connected).await;
        }
        let (upstream, slot, followed) = (Arc::clone(self), Arc::clone(slot), Arc::clone(connection));
        self.context.tasks.spawn("follow-connection", async move {
            slot.watched.follow(Arc::clone(&followed), upstream.events.clone()).await;
            let reason = upstream.logs.redacted(&followed.closed().await);
            if !followed.is_ended() {
                *slot.last_error.lock() = Some(UpstreamError::Closed(reason.clone()));
            }
            if is_shared && !upstream.closing.is_cancelled() {
                info!(server.name = %upstream.spec.key, reason, "connection lost");
                upstream.life.changed.notify_one();
                upstream.events.send(ServerEvent::Lost(reason)).await;
            }
        });
    }

    fn instant(&self) -> Instant {
        Instant::from_std(self.context.clock.instant())
    }

    /// The time since this server was created.
    fn age(&self) -> Duration {
        self.instant().duration_since(self.made)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.age().as_millis()).unwrap_or(u64::MAX)
    }

    fn touch(&self, slot: &Slot) {
        let now = self.now();
        slot.last_used.store(now, Ordering::Relaxed);
        self.load.last_used.store(now, Ordering::Relaxed);
    }
}
