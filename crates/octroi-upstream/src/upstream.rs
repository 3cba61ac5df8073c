//! One configured server and its connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use octroi_core::ServerName;
use octroi_core::server::{ServerSpec, Start, Transport};
use octroi_mcp::Era;
use octroi_mcp::capability::ClientCapabilities;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::event::{EventSink, ServerEvent};
use crate::http::HttpClient;
use crate::logs::Logs;
use crate::spawner::Spawner;
use crate::watch::Watched;

mod open;

/// After a failed attempt, callers within this time get the same error without another attempt.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
const BACKOFF_FIRST: Duration = Duration::from_secs(1);
const BACKOFF_LAST: Duration = Duration::from_mins(1);
/// A connection that lived this long was good, and the next failure starts the backoff anew.
const STABLE: Duration = Duration::from_secs(10);
/// Legacy sessions are kept per set of client capabilities; clients beyond this share one.
const PROFILES_MAX: usize = 32;

/// What all servers share.
#[derive(Debug)]
pub struct Context {
    /// For remote servers.
    pub http: HttpClient,
    /// For processes.
    pub spawner: Spawner,
    /// Name and version that Octroi gives, as JSON text.
    pub client_info: Bytes,
    /// Owner of every task.
    pub tasks: TaskTracker,
    /// Where connections live, whoever was the first to need them.
    pub runtime: Handle,
    /// Ends everything.
    pub shutdown: CancellationToken,
    /// Where events go.
    pub events: mpsc::Sender<(ServerName, ServerEvent)>,
}

/// One configured server.
#[derive(Debug)]
pub struct Upstream {
    spec: ServerSpec,
    context: Arc<Context>,
    events: EventSink,
    logs: Arc<Logs>,
    era: Mutex<Option<Era>>,
    shared: Arc<Slot>,
    profiles: Mutex<HashMap<Bytes, Arc<Slot>>>,
    permits: Arc<Semaphore>,
}

/// Room for one connection, made by one caller at a time.
#[derive(Debug, Default)]
struct Slot {
    current: ArcSwapOption<Connection>,
    connecting: tokio::sync::Mutex<Option<(Instant, UpstreamError)>>,
    last_error: Mutex<Option<UpstreamError>>,
    watched: Watched,
}

impl Slot {
    fn ready(&self) -> Option<Arc<Connection>> {
        self.current.load_full().filter(|connection| !connection.is_closed())
    }
}

impl Upstream {
    /// A server that is not connected yet.
    pub fn new(spec: ServerSpec, context: Arc<Context>) -> Arc<Self> {
        let events = EventSink::new(spec.name.clone(), context.events.clone());
        let permits = Arc::new(Semaphore::new(spec.limits.concurrency));
        let logs = Arc::new(Logs::new(&spec));
        Arc::new(Self {
            spec,
            context,
            events,
            logs,
            era: Mutex::default(),
            shared: Arc::default(),
            profiles: Mutex::default(),
            permits,
        })
    }

    /// How the server is defined.
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// The connection in use, if there is one.
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

    /// Room for one more call; waits while too many are in flight.
    pub async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// The connection that lists go over.
    pub async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        self.connect(&self.shared, None).await
    }

    /// The connection for a client with these capabilities.
    pub async fn connection_for(
        self: &Arc<Self>,
        capabilities: &ClientCapabilities,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let slot = self.slot_for(capabilities).await?;
        self.connect_profile(&slot, capabilities).await
    }

    /// Watches a resource for a client with these capabilities; returns once the server knows.
    pub async fn watch(
        self: &Arc<Self>,
        capabilities: &ClientCapabilities,
        uri: &str,
    ) -> Result<(), UpstreamError> {
        let slot = self.slot_for(capabilities).await?;
        self.connect_profile(&slot, capabilities).await?;
        slot.watched.add(uri).await
    }

    /// Watches a resource no longer.
    pub fn unwatch(&self, capabilities: &ClientCapabilities, uri: &str) {
        let profile = self.profiles.lock().get(capabilities.json()).cloned();
        profile.as_ref().unwrap_or(&self.shared).watched.remove(uri);
    }

    /// A remote legacy server learns a client's capabilities at the handshake and keeps state per
    /// session, so it gets a session per set of capabilities; every other server serves all clients
    /// over one connection.
    async fn slot_for(
        self: &Arc<Self>,
        capabilities: &ClientCapabilities,
    ) -> Result<Arc<Slot>, UpstreamError> {
        let shared = self.connection().await?;
        let is_remote = match self.spec.transport {
            Transport::Http(_) | Transport::Sse(_) => true,
            Transport::Stdio(_) => false,
        };
        if shared.era() == Era::Modern || !is_remote {
            return Ok(Arc::clone(&self.shared));
        }
        let mut profiles = self.profiles.lock();
        let has_room = profiles.len() < PROFILES_MAX;
        Ok(match profiles.get(capabilities.json()) {
            Some(slot) => Arc::clone(slot),
            None if has_room => Arc::clone(profiles.entry(capabilities.json().clone()).or_default()),
            None => Arc::clone(&self.shared),
        })
    }

    async fn connect_profile(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        capabilities: &ClientCapabilities,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let is_shared = Arc::ptr_eq(slot, &self.shared);
        self.connect(slot, (!is_shared).then_some(capabilities)).await
    }

    /// Forgets a connection that turned out not to work, so that the next caller opens a new one and
    /// looks again which era the server speaks.
    pub async fn discard(&self, connection: &Arc<Connection>) {
        *self.era.lock() = None;
        connection.close().await;
    }

    /// Connects when Octroi starts, and again whenever the connection is lost.
    pub async fn keep_connected(self: Arc<Self>) {
        if self.spec.start != Start::Eager {
            return;
        }
        let mut delay = BACKOFF_FIRST;
        loop {
            let since = Instant::now();
            let pause = tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                connected = self.connection() => match connected {
                    Ok(connection) => {
                        tokio::select! {
                            biased;
                            () = self.context.shutdown.cancelled() => return,
                            _ = connection.closed() => {}
                        }
                        if since.elapsed() > STABLE {
                            delay = BACKOFF_FIRST;
                        }
                        delay
                    }
                    Err(error) => {
                        warn!(server.name = %self.spec.name, %error, retry_ms = delay.as_millis(), "cannot connect");
                        delay
                    }
                },
            };
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            delay = (delay * 2).min(BACKOFF_LAST);
        }
    }

    /// Lets go of what is kept for later and was not needed for a while; to be called now and then.
    pub fn sweep(&self) {
        let slots: Vec<_> = self.profiles.lock().values().cloned().collect();
        for connection in slots.iter().chain([&self.shared]).filter_map(|slot| slot.ready()) {
            connection.sweep();
        }
    }

    /// Ends all connections. Processes are ended by their own supervisors.
    pub async fn close(&self) {
        let slots: Vec<_> = self.profiles.lock().drain().map(|(_, slot)| slot).collect();
        for connection in slots.iter().chain([&self.shared]).filter_map(|slot| slot.ready()) {
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
        // In a task of its own: a caller that gives up does not undo a slow start that others wait for.
        let attempt = Arc::clone(self).attempt(Arc::clone(slot), capabilities.cloned());
        let attempt = self.context.tasks.spawn_on(attempt, &self.context.runtime);
        attempt.await.unwrap_or_else(|_| Err(UpstreamError::Stopping))
    }

    async fn attempt(
        self: Arc<Self>,
        slot: Arc<Slot>,
        capabilities: Option<ClientCapabilities>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        // One attempt at a time; whoever waited takes what came out of it.
        let mut last_failure = slot.connecting.lock().await;
        if let Some(connection) = slot.ready() {
            return Ok(connection);
        }
        if let Some((at, error)) = &*last_failure
            && at.elapsed() < RETRY_PAUSE
        {
            return Err(error.clone());
        }
        let limit = self.spec.timeouts.connect;
        let opened = tokio::select! {
            biased;
            () = self.context.shutdown.cancelled() => Err(UpstreamError::Stopping),
            opened = tokio::time::timeout(limit, self.open(capabilities.as_ref())) => {
                opened.unwrap_or(Err(UpstreamError::Timeout(limit)))
            }
        };
        match opened {
            Ok(connection) => {
                *last_failure = None;
                *slot.last_error.lock() = None;
                slot.current.store(Some(Arc::clone(&connection)));
                self.announce(&slot, &connection).await;
                Ok(connection)
            }
            Err(error) => {
                *last_failure = Some((Instant::now(), error.clone()));
                *slot.last_error.lock() = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Reports a new connection and keeps its news coming. Lists are followed over one connection.
    async fn announce(self: &Arc<Self>, slot: &Arc<Slot>, connection: &Arc<Connection>) {
        let is_shared = Arc::ptr_eq(slot, &self.shared);
        let identity = connection.identity();
        if is_shared {
            info!(server.name = %self.spec.name, era = %identity.era, version = %identity.version, "connected");
            self.events.send(ServerEvent::Connected).await;
        }
        let (upstream, slot, followed) = (Arc::clone(self), Arc::clone(slot), Arc::clone(connection));
        self.context.tasks.spawn(async move {
            slot.watched.follow(Arc::clone(&followed), upstream.events.clone()).await;
            let reason = followed.closed().await;
            if is_shared && !upstream.context.shutdown.is_cancelled() {
                info!(server.name = %upstream.spec.name, reason, "connection lost");
                upstream.events.send(ServerEvent::Lost(reason)).await;
            }
        });
    }
}
