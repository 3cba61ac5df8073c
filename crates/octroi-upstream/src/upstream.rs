//! One configured server and its connections.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use octroi_core::ServerName;
use octroi_core::server::{EraChoice, Remote, ServerSpec, Start, Transport};
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::{Era, Id, Method, envelope};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use crate::connection::{Connection, Link};
use crate::error::UpstreamError;
use crate::event::{EventSink, ServerEvent};
use crate::handshake::{self, Introduction, Probe};
use crate::http::{Address, HttpClient};
use crate::streamable::{Mirror, Setup, Streamable};
use crate::watch::Watched;
use crate::{old_sse, stdio};

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
    /// Name and version that Octroi gives, as JSON text.
    pub client_info: Bytes,
    /// Owner of every task.
    pub tasks: TaskTracker,
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
        Arc::new(Self {
            spec,
            context,
            events,
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
        if self.spec.start == Start::Lazy {
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
        let attempt = tokio::time::timeout(limit, self.open(capabilities)).await;
        match attempt.unwrap_or(Err(UpstreamError::Timeout(limit))) {
            Ok(connection) => {
                *last_failure = None;
                *slot.last_error.lock() = None;
                slot.current.store(Some(Arc::clone(&connection)));
                self.announce(slot, &connection).await;
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

    async fn open(
        &self,
        capabilities: Option<&ClientCapabilities>,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let everything = ClientCapabilities::everything();
        let introduction = Introduction {
            client_info: self.context.client_info.clone(),
            capabilities: capabilities.unwrap_or(&everything).json().clone(),
        };
        let remembered = *self.era.lock();
        let choice = match (self.spec.era, remembered) {
            (EraChoice::Auto, Some(Era::Legacy)) => EraChoice::Legacy,
            (EraChoice::Auto, Some(Era::Modern)) => EraChoice::Modern,
            (choice, _) => choice,
        };
        let opened = match self.open_as(choice, &introduction).await {
            // What was remembered no longer holds: look again.
            Err(error) if choice != self.spec.era && !matches!(error, UpstreamError::Connect { .. }) => {
                self.open_as(self.spec.era, &introduction).await
            }
            opened => opened,
        }?;
        *self.era.lock() = Some(opened.era());
        Ok(opened)
    }

    async fn open_as(
        &self,
        choice: EraChoice,
        introduction: &Introduction,
    ) -> Result<Arc<Connection>, UpstreamError> {
        match &self.spec.transport {
            Transport::Stdio(program) => {
                let start = || {
                    stdio::start(
                        &self.spec,
                        program,
                        self.events.clone(),
                        &self.context.tasks,
                        &self.context.shutdown,
                    )
                };
                match self.talk(start()?, choice, introduction).await {
                    // Some legacy servers end when they are asked something before the handshake.
                    Err(UpstreamError::Closed(_)) if choice == EraChoice::Auto => {
                        self.talk(start()?, EraChoice::Legacy, introduction).await
                    }
                    opened => opened,
                }
            }
            Transport::Http(remote) => self.open_http(remote, choice, introduction).await,
            Transport::Sse(remote) => self.open_sse(remote, introduction).await,
        }
    }

    /// Has the handshake over a shared channel; a failed one closes the channel.
    async fn talk(
        &self,
        mux: Arc<crate::mux::Mux>,
        choice: EraChoice,
        introduction: &Introduction,
    ) -> Result<Arc<Connection>, UpstreamError> {
        // Closes the channel also when this future is dropped, as a timeout does.
        let guard = mux.closed().clone().drop_guard();
        match handshake::over_channel(&mux, choice, introduction).await {
            Ok(identity) => {
                guard.disarm();
                Ok(Connection::new(identity, Link::Shared(mux), introduction.client_info.clone()))
            }
            Err(error) => {
                mux.close(error.to_string());
                Err(error)
            }
        }
    }

    async fn open_sse(
        &self,
        remote: &Remote,
        introduction: &Introduction,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let address = Address::new(remote)?;
        let context = &self.context;
        let limit = self.spec.limits.message_bytes;
        let mux = old_sse::connect(
            &context.http,
            &address,
            self.events.clone(),
            &context.tasks,
            &context.shutdown,
            limit,
        )
        .await?;
        self.talk(mux, EraChoice::Legacy, introduction).await
    }

    async fn open_http(
        &self,
        remote: &Remote,
        choice: EraChoice,
        introduction: &Introduction,
    ) -> Result<Arc<Connection>, UpstreamError> {
        let setup = || -> Result<Setup, UpstreamError> {
            Ok(Setup {
                client: self.context.http.clone(),
                address: Address::new(remote)?,
                initialize_params: introduction.initialize_params(),
                events: self.events.clone(),
                tasks: self.context.tasks.clone(),
                closed: self.context.shutdown.child_token(),
                limit: self.spec.limits.message_bytes,
            })
        };
        if choice != EraChoice::Legacy {
            let link = Streamable::new(setup()?, Era::Modern);
            match (link.probe(introduction).await, choice) {
                (Ok(Probe::Modern(identity)), _) => {
                    return Ok(Connection::new(
                        *identity,
                        Link::Http(link),
                        introduction.client_info.clone(),
                    ));
                }
                (Ok(Probe::Legacy), EraChoice::Modern) => {
                    return Err(UpstreamError::Protocol(
                        "the server does not speak the modern era that its entry pins it to".to_owned(),
                    ));
                }
                // A modern refusal comes from a modern server: the legacy handshake is not for it.
                (Err(error), EraChoice::Modern)
                | (
                    Err(
                        error @ (UpstreamError::Connect { .. }
                        | UpstreamError::NeedsAuth
                        | UpstreamError::Refused(_)),
                    ),
                    _,
                ) => return Err(error),
                (Ok(Probe::Legacy) | Err(_), _) => {}
            }
        }
        let link = Streamable::new(setup()?, Era::Legacy);
        match link.initialize().await {
            Ok(result) => {
                let identity = handshake::read_initialized(&result)?;
                link.start_listening().await;
                Ok(Connection::new(identity, Link::Http(link), introduction.client_info.clone()))
            }
            // No Streamable HTTP here; the same address may be an old event stream.
            Err(error @ (UpstreamError::Status(400..=499) | UpstreamError::Protocol(_))) => {
                self.open_sse(remote, introduction).await.map_err(|_| error)
            }
            Err(error) => Err(error),
        }
    }
}

impl Streamable {
    async fn probe(&self, introduction: &Introduction) -> Result<Probe, UpstreamError> {
        let id = Id::number(self.next_id());
        let params = introduction.discover_params();
        let message = envelope::request(&id, &Method::Discover, params.as_bytes());
        let response = self.post(&Method::Discover, &Mirror::default(), message).await?;
        let answer = self.read_answer(response, &id).await?;
        handshake::read_probe(&answer)
    }
}
