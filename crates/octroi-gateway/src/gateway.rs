//! The servers, the catalogue, and what keeps both up to date.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use octroi_core::ServerName;
use octroi_core::server::{ServerSpec, Start, Transport};
use octroi_core::wire_name::WIRE_NAME_MAX;
use octroi_mcp::capability::ClientCapabilities;
use octroi_mcp::{Method, RpcError};
use octroi_upstream::{Context, HttpClient, ServerEvent, Spawner, Upstream, UpstreamError};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, info, warn};

use crate::catalogue::{Catalogue, LISTS, ServerLists, fetch};
use crate::hub::{Filter, Hub, Listener, Notice};
use crate::park::Parking;
use crate::seal::Sealer;
use crate::view::View;

/// Lists are asked for again after this time even if no change was announced.
const REFRESH_EVERY: Duration = Duration::from_mins(5);
const SWEEP_EVERY: Duration = Duration::from_secs(30);
/// How long the first list after the start may wait for servers that are still starting.
const FIRST_LIST_PATIENCE: Duration = Duration::from_secs(10);
/// How long remote servers may take to hear that their session is over.
const GOODBYE: Duration = Duration::from_secs(2);
const EVENTS_QUEUED: usize = 1024;

/// The data plane.
pub struct Gateway {
    servers: BTreeMap<ServerName, Server>,
    catalogue: ArcSwap<Catalogue>,
    /// Held while a new catalogue is made from the old one.
    changing: Mutex<()>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) sealer: Sealer,
    pub(crate) parking: Parking,
    started: Instant,
    /// Set once every server has answered or failed, so that calls need not look again.
    all_settled: AtomicBool,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

struct Server {
    upstream: Arc<Upstream>,
    refresher: Arc<Refresher>,
}

/// Which lists of a server are to be fetched again.
#[derive(Default)]
struct Refresher {
    wanted: Mutex<Wanted>,
    notify: Notify,
    /// Whether the server has answered or failed once.
    settled: watch::Sender<bool>,
    woken: AtomicBool,
}

#[derive(Default)]
struct Wanted {
    lists: HashSet<Method>,
    announced: HashSet<Method>,
}

/// How the processes of servers are started and found again.
#[derive(Clone, Debug)]
pub struct Processes {
    /// Marks them; the same after a restart, and different from that of any other gateway.
    pub owner: String,
    /// A program that calls [`take_over`](octroi_upstream::take_over) first of all, to stay with each.
    pub keeper: Option<PathBuf>,
    /// Whether no other gateway with this mark can be running, so that what carries it is left over.
    pub is_alone: bool,
}

/// What a person wants to know about a server.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// `running`, `starting`, `failed` or `stopped`.
    pub state: &'static str,
    /// The era it speaks, once known.
    pub era: Option<&'static str>,
    /// The protocol version agreed on, once known.
    pub version: Option<&'static str>,
    /// How many tools it offers.
    pub tools: usize,
    /// Why it cannot be reached, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Gateway {
    /// Starts all servers in the background. Nothing here waits for any of them.
    pub fn start(specs: Vec<ServerSpec>, processes: Processes) -> Result<Arc<Self>, UpstreamError> {
        let (events, received) = mpsc::channel(EVENTS_QUEUED);
        let tasks = TaskTracker::new();
        let shutdown = CancellationToken::new();
        let client_info = Bytes::from_static(
            concat!(r#"{"name":"octroi","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#).as_bytes(),
        );
        let spawner = Spawner::new(processes.owner, processes.keeper, Handle::current())
            .map_err(|error| UpstreamError::Protocol(format!("no thread can be started: {error}")))?;
        let n_killed = if processes.is_alone { spawner.kill_leftovers() } else { 0 };
        if n_killed > 0 {
            info!(n_killed, "processes of an earlier run ended");
        }
        let context = Arc::new(Context {
            http: HttpClient::new()?,
            spawner,
            client_info,
            tasks: tasks.clone(),
            runtime: Handle::current(),
            shutdown: shutdown.clone(),
            events,
        });
        let hub = Arc::new(Hub::default());
        let servers: BTreeMap<ServerName, Server> = specs
            .into_iter()
            .map(|spec| {
                let name = spec.name.clone();
                let upstream = Upstream::new(spec, Arc::clone(&context));
                hub.add_upstream(&upstream);
                (name, Server { upstream, refresher: Arc::default() })
            })
            .collect();
        let sealer = Sealer::new().map_err(|error| {
            UpstreamError::Protocol(format!("the system gives no random numbers: {error}"))
        })?;
        let gateway = Arc::new(Self {
            servers,
            catalogue: ArcSwap::default(),
            changing: Mutex::default(),
            hub,
            sealer,
            parking: Parking::default(),
            started: Instant::now(),
            all_settled: AtomicBool::new(false),
            tasks,
            shutdown,
        });
        gateway.spawn_tasks(received);
        Ok(gateway)
    }

    fn spawn_tasks(self: &Arc<Self>, events: mpsc::Receiver<(ServerName, ServerEvent)>) {
        self.tasks.spawn(Arc::clone(self).follow_events(events));
        self.tasks.spawn(Arc::clone(self).keep_fresh());
        for (name, server) in &self.servers {
            self.tasks.spawn(Arc::clone(self).refresh_on_demand(name.clone()));
            if server.upstream.spec().start == Start::Eager {
                self.wake(server);
                self.tasks.spawn(Arc::clone(&server.upstream).keep_connected());
            }
        }
    }

    /// Ends all servers and waits for their processes, up to a limit.
    pub async fn stop(&self, limit: Duration) {
        let closing = async {
            // All at once: a remote server that does not answer must not keep the others' processes alive.
            let servers = self.servers.values().map(|server| server.upstream.close());
            let _ = tokio::time::timeout(GOODBYE, futures_util::future::join_all(servers)).await;
            self.shutdown.cancel();
            self.tasks.close();
            self.tasks.wait().await;
        };
        if tokio::time::timeout(limit, closing).await.is_err() {
            warn!("some servers did not end in time");
        }
        self.shutdown.cancel();
    }

    /// The lists as they are now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.load_full()
    }

    /// A server by name.
    pub fn upstream(&self, name: &ServerName) -> Option<&Arc<Upstream>> {
        self.servers.get(name).map(|server| &server.upstream)
    }

    /// How every server is doing.
    pub fn status(&self) -> Vec<ServerStatus> {
        let catalogue = self.catalogue();
        let status = self.servers.iter().map(|(name, server)| {
            let connection = server.upstream.current();
            let error = server.upstream.last_error();
            let state = match (&connection, &error) {
                (Some(_), _) => "running",
                (None, Some(_)) => "failed",
                (None, None) if *server.refresher.settled.borrow() => "stopped",
                (None, None) if server.upstream.spec().start != Start::Eager => "stopped",
                (None, None) => "starting",
            };
            ServerStatus {
                name: name.to_string(),
                state,
                era: connection.as_ref().map(|connection| connection.era().as_str()),
                version: connection.as_ref().map(|connection| connection.identity().version.as_str()),
                tools: catalogue.server(name).map_or(0, |lists| lists.tools.len()),
                error: error.filter(|_| connection.is_none()).map(|error| error.to_string()),
            }
        });
        status.collect()
    }

    /// Registers a client that wants to hear of changes. `deliver` must not wait.
    pub fn listen(
        &self,
        view: View,
        filter: Filter,
        capabilities: ClientCapabilities,
        deliver: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Arc<Listener> {
        self.hub.listen(view, filter, capabilities, deliver)
    }

    /// Adds a resource to what a client watches; returns once the server knows.
    pub async fn watch(&self, listener: &Listener, shown: &str) -> Result<(), RpcError> {
        let (name, own) = self.resource(listener.view(), shown)?;
        let Some(upstream) = self.upstream(&name) else {
            return Err(RpcError::invalid_params(format!("unknown resource `{shown}`")));
        };
        if !listener.watch(&name, &own) {
            return Ok(());
        }
        match upstream.watch(listener.capabilities(), &own).await {
            Ok(()) => Ok(()),
            Err(UpstreamError::Refused(error)) => {
                listener.forget(&name, &own);
                Err(error)
            }
            Err(error) => {
                listener.forget(&name, &own);
                let message = format!("server `{name}` is not available: {error}");
                Err(RpcError::new(octroi_mcp::code::INTERNAL_ERROR, message))
            }
        }
    }

    /// Removes a resource from what a client watches.
    pub fn unwatch(&self, listener: &Listener, shown: &str) -> Result<(), RpcError> {
        let (name, own) = self.resource(listener.view(), shown)?;
        listener.unwatch(&name, &own);
        Ok(())
    }

    /// Waits until the servers of a view have answered or failed for the first time, but not for ever:
    /// a client that lists right after the start should see tools, and one slow server must not make
    /// it wait long.
    pub(crate) async fn settled(&self, view: &View) {
        if self.all_settled.load(Ordering::Relaxed) {
            return;
        }
        if self.servers.values().all(|server| *server.refresher.settled.borrow()) {
            self.all_settled.store(true, Ordering::Relaxed);
            return;
        }
        let deadline = self.patience(view);
        while self.one_settled(view, deadline).await {}
    }

    /// How long a request may wait for servers that have not answered yet.
    pub(crate) fn patience(&self, view: &View) -> Instant {
        match view {
            View::Merged => {
                (self.started + FIRST_LIST_PATIENCE).max(Instant::now() + Duration::from_millis(500))
            }
            View::Server(_) => Instant::now() + FIRST_LIST_PATIENCE,
        }
    }

    /// Waits until one more server of a view has answered or failed for the first time; false when
    /// none did before the deadline, or none is left.
    pub(crate) async fn one_settled(&self, view: &View, deadline: Instant) -> bool {
        let servers: Vec<&Server> = match view {
            View::Merged => self.servers.values().collect(),
            View::Server(name) => self.servers.get(name).into_iter().collect(),
        };
        let unsettled: Vec<_> = servers
            .into_iter()
            .filter(|server| !*server.refresher.settled.borrow())
            .map(|server| {
                self.wake(server);
                let mut settled = server.refresher.settled.subscribe();
                Box::pin(async move { settled.wait_for(|settled| *settled).await.is_ok() })
            })
            .collect();
        if unsettled.is_empty() {
            return false;
        }
        tokio::time::timeout_at(deadline, futures_util::future::select_all(unsettled)).await.is_ok()
    }

    /// Connects a server in the background, once.
    fn wake(&self, server: &Server) {
        if server.refresher.woken.swap(true, Ordering::Relaxed) {
            return;
        }
        let (upstream, refresher) = (Arc::clone(&server.upstream), Arc::clone(&server.refresher));
        self.tasks.spawn(async move {
            // Success is reported by an event, and the lists that follow settle the server.
            if upstream.connection().await.is_err() {
                refresher.settled.send_replace(true);
            }
        });
    }

    async fn follow_events(self: Arc<Self>, mut events: mpsc::Receiver<(ServerName, ServerEvent)>) {
        loop {
            let received = tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return,
                received = events.recv() => received,
            };
            let Some((name, event)) = received else {
                return;
            };
            let Some(server) = self.servers.get(&name) else {
                continue;
            };
            match event {
                ServerEvent::Connected => server.refresher.want(&LISTS, &[]),
                ServerEvent::ListChanged(method) => {
                    let lists = lists_of(&method);
                    server.refresher.want(lists, std::slice::from_ref(&method));
                }
                ServerEvent::ResourceUpdated(uri) => self.hub.resource_updated(&name, &uri),
                // The first two concern a client's own out-of-band business, whose end it learns by asking;
                // what a lost server offered stays listed.
                ServerEvent::ElicitationComplete(_) | ServerEvent::TaskChanged(_) | ServerEvent::Lost(_) => {}
            }
        }
    }

    async fn keep_fresh(self: Arc<Self>) {
        let mut refresh = tokio::time::interval(REFRESH_EVERY);
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        refresh.reset();
        loop {
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return,
                _ = sweep.tick() => {
                    self.parking.sweep();
                    for server in self.servers.values() {
                        server.upstream.sweep();
                    }
                }
                _ = refresh.tick() => {
                    for server in self.servers.values().filter(|server| server.upstream.current().is_some()) {
                        server.refresher.want(&LISTS, &[]);
                    }
                }
            }
        }
    }

    async fn refresh_on_demand(self: Arc<Self>, name: ServerName) {
        let Some(server) = self.servers.get(&name) else {
            return;
        };
        let refresher = &server.refresher;
        loop {
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return,
                () = refresher.notify.notified() => {}
            }
            let wanted = std::mem::take(&mut *refresher.wanted.lock());
            let changed = self.refresh(&server.upstream, &wanted.lists).await;
            refresher.settled.send_replace(true);
            for method in changed.union(&wanted.announced) {
                self.hub.list_changed(&name, method);
            }
        }
    }

    /// Fetches lists of one server and puts them into a new catalogue; returns the notifications for
    /// those that differ from before.
    pub(crate) async fn refresh(&self, upstream: &Arc<Upstream>, lists: &HashSet<Method>) -> HashSet<Method> {
        let name = &upstream.spec().name;
        let connection = match upstream.connection().await {
            Ok(connection) => connection,
            Err(error) => {
                debug!(server.name = %name, %error, "lists not refreshed");
                return HashSet::new();
            }
        };
        let is_http = matches!(upstream.spec().transport, Transport::Http(_));
        let mut fetched = Vec::new();
        for method in lists {
            match fetch(name, &connection, method, is_http, upstream.spec().timeouts.list).await {
                Ok(items) => fetched.push((method, items)),
                Err(error) => {
                    warn!(server.name = %name, list = %method, %error, "list not refreshed, the old one stays")
                }
            }
        }
        let mut changed = HashSet::new();
        let _changing = self.changing.lock();
        let old = self.catalogue.load_full();
        let mut servers = old.servers().clone();
        let known = servers.get(name).map(|lists| ServerLists::clone(lists));
        let mut lists = known.unwrap_or_else(|| ServerLists::empty(connection.identity().clone()));
        lists.identity = connection.identity().clone();
        for (method, items) in fetched {
            if *lists.list(method) != items {
                changed.insert(notification_of(method));
                lists.set(method, items);
            }
        }
        if !changed.is_empty() || !servers.contains_key(name) {
            info!(server.name = %name, n_tools = lists.tools.len(), n_resources = lists.resources.len(), "catalogue refreshed");
        }
        servers.insert(name.clone(), Arc::new(lists));
        self.catalogue.store(Arc::new(Catalogue::new(servers, WIRE_NAME_MAX)));
        changed
    }
}

impl Refresher {
    fn want(&self, lists: &[Method], announced: &[Method]) {
        let mut wanted = self.wanted.lock();
        wanted.lists.extend(lists.iter().cloned());
        wanted.announced.extend(announced.iter().cloned());
        self.notify.notify_one();
    }
}

fn lists_of(notification: &Method) -> &'static [Method] {
    match notification {
        Method::PromptsChanged => &LISTS[1..2],
        Method::ResourcesChanged => &LISTS[2..4],
        _ => &LISTS[..1],
    }
}

fn notification_of(list: &Method) -> Method {
    match list {
        Method::PromptsList => Method::PromptsChanged,
        Method::ResourcesList | Method::TemplatesList => Method::ResourcesChanged,
        _ => Method::ToolsChanged,
    }
}
