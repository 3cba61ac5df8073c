//! The servers there are at present. A new configuration makes a new set; what did not change stays.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use octroi_core::ServerName;
use octroi_core::server::{ServerSpec, Start, Transport};
use octroi_store::StoreError;
use octroi_upstream::Upstream;
use parking_lot::Mutex;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::desk;
use crate::gateway::Gateway;
use crate::refresh::Refresher;
use crate::view::View;

/// How long the first list after the start may wait for servers that are still starting.
const FIRST_LIST_PATIENCE: Duration = Duration::from_secs(10);

type Members = BTreeMap<ServerName, Arc<Member>>;

/// One server and what is known about its lists.
pub(crate) struct Member {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) refresher: Refresher,
}

/// All of them.
pub(crate) struct Fleet {
    members: ArcSwap<Members>,
    /// Whether servers may be on at all; held while a new set is made from the old one.
    applying: Mutex<bool>,
    started: Instant,
    /// Set once every server has answered or failed, so that calls need not look again.
    all_settled: AtomicBool,
}

/// What a new configuration changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Changes {
    /// Servers that were not there before.
    pub added: Vec<String>,
    /// Servers that were replaced.
    pub changed: Vec<String>,
    /// Servers that are gone.
    pub removed: Vec<String>,
    /// How many stayed as they were.
    pub unchanged: usize,
}

/// What a person wants to know about a server.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// What people call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// What it is up to: `running`, `stopped`, `failed` and so on.
    pub state: &'static str,
    /// How well it answers: `healthy`, `degraded`, `unhealthy` or `unknown`.
    pub health: &'static str,
    /// The era it speaks, once known.
    pub era: Option<&'static str>,
    /// The protocol version agreed on, once known.
    pub version: Option<&'static str>,
    /// How many tools it offers.
    pub tools: usize,
    /// How long its last check took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// How many checks in a row failed.
    pub consecutive_failures: u32,
    /// How often it was connected to again.
    pub restarts: u64,
    /// Calls that are being made.
    pub in_flight: usize,
    /// Calls that wait for room.
    pub waiting: usize,
    /// Why it cannot be reached, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is said of tools that it does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Default for Fleet {
    fn default() -> Self {
        Self {
            members: ArcSwap::default(),
            applying: Mutex::new(true),
            started: Instant::now(),
            all_settled: AtomicBool::new(false),
        }
    }
}

impl Fleet {
    pub(crate) fn members(&self) -> arc_swap::Guard<Arc<Members>> {
        self.members.load()
    }

    pub(crate) fn get(&self, name: &ServerName) -> Option<Arc<Member>> {
        self.members.load().get(name).cloned()
    }

    /// How long a request may wait for servers that have not answered yet.
    pub(crate) fn patience(&self, view: &View) -> Instant {
        match view {
            View::Merged | View::Managed => {
                (self.started + FIRST_LIST_PATIENCE).max(Instant::now() + Duration::from_millis(500))
            }
            View::Server(_) => Instant::now() + FIRST_LIST_PATIENCE,
        }
    }
}

impl Gateway {
    /// A server by name.
    pub fn upstream(&self, name: &ServerName) -> Option<Arc<Upstream>> {
        self.fleet.members.load().get(name).map(|member| Arc::clone(&member.upstream))
    }

    /// Replaces the servers by these. Those whose definition did not change go on as they were; others
    /// are ended once their calls are done.
    ///
    /// If none is to be on, none is, whatever anybody switched.
    pub fn apply(self: &Arc<Self>, specs: Vec<ServerSpec>, are_on: bool) -> Changes {
        // Two at once would each lose what the other did.
        let mut applying = self.fleet.applying.lock();
        *applying = are_on;
        self.replace(specs, are_on)
    }

    fn replace(self: &Arc<Self>, specs: Vec<ServerSpec>, are_on: bool) -> Changes {
        let mut changes = Changes::default();
        let mut members = Members::new();
        let mut begun = Vec::new();
        let old = self.fleet.members.load_full();
        for mut spec in specs {
            let name = spec.name.clone();
            if name == *desk::OCTROI {
                warn!("a server cannot be called `{name}`, it is left out");
                continue;
            }
            if let Some(enabled) = self.switches.lock().get(&name) {
                spec.enabled = *enabled;
            }
            spec.enabled &= are_on;
            match old.get(&name) {
                Some(member) if *member.upstream.spec() == spec => {
                    changes.unchanged += 1;
                    members.insert(name, Arc::clone(member));
                    continue;
                }
                Some(_) => changes.changed.push(name.to_string()),
                None => changes.added.push(name.to_string()),
            }
            let upstream = Upstream::new(spec, Arc::clone(&self.context));
            let member = Arc::new(Member { upstream, refresher: Refresher::default() });
            begun.push(Arc::clone(&member));
            members.insert(name, member);
        }
        let gone: Vec<Arc<Member>> = old
            .iter()
            .filter(|(name, member)| !members.get(*name).is_some_and(|new| Arc::ptr_eq(new, member)))
            .map(|(_, member)| Arc::clone(member))
            .collect();
        let members = Arc::new(members);
        self.fleet.members.store(Arc::clone(&members));
        self.fleet.all_settled.store(false, Ordering::Relaxed);
        let left: Vec<&ServerName> = old
            .keys()
            .filter(|name| members.get(*name).is_none_or(|new| !new.upstream.spec().enabled))
            .collect();
        changes.removed =
            left.iter().filter(|name| !members.contains_key(**name)).map(ToString::to_string).collect();
        self.forget(&left);
        self.remember(begun.iter().map(|member| member.upstream.spec()));
        // What a new entry says of its tools counts now, not when the server has listed them again.
        for member in &begun {
            self.reconsider(&member.upstream.spec().name);
        }
        if let Some(memory) = &self.memory {
            for member in &begun {
                memory.define(member.upstream.spec());
            }
            for name in left.iter().filter(|name| !members.contains_key(**name)) {
                // What was accepted of it is not forgotten: under its name another may come back.
                memory.forget(name);
                self.switches.lock().remove(*name);
            }
        }
        for member in begun {
            self.begin(&member);
        }
        for member in gone {
            info!(server.name = %member.upstream.spec().name, "ended by a new configuration");
            let limit = member.upstream.spec().timeouts.call_cap;
            self.context
                .tasks
                .spawn_on(async move { member.upstream.retire(limit).await }, &self.context.runtime);
        }
        self.servers_changed();
        changes
    }

    /// Switches a server on or off until it is switched again, whatever its definition says.
    pub async fn switch(self: &Arc<Self>, name: &ServerName, enabled: bool) -> Result<(), StoreError> {
        if let Some(memory) = &self.memory {
            // What is known of the server comes first; whether its pins are kept is another matter.
            let _ = memory.flush().await;
            memory.switch(name, Some(enabled)).await?;
        }
        self.switches.lock().insert(name.clone(), enabled);
        let applying = self.fleet.applying.lock();
        let specs = self.fleet.members.load().values().map(|member| member.upstream.spec().clone()).collect();
        self.replace(specs, *applying);
        Ok(())
    }

    /// Starts what looks after a server.
    fn begin(self: &Arc<Self>, member: &Arc<Member>) {
        let (tasks, runtime) = (&self.context.tasks, &self.context.runtime);
        tasks.spawn_on(Arc::clone(&member.upstream).supervise(), runtime);
        tasks.spawn_on(Arc::clone(self).refresh_on_demand(Arc::clone(member)), runtime);
        let spec = member.upstream.spec();
        let is_known = self.catalogue().server(&spec.name).is_some();
        if is_known || !spec.enabled || spec.start == Start::Manual {
            member.refresher.settle();
        }
        if spec.enabled && spec.start == Start::Eager {
            self.wake(member);
        }
        let (hub, upstream) = (Arc::clone(&self.hub), Arc::clone(&member.upstream));
        let watching = async move {
            for (listener, uri) in hub.watchers_of(&upstream.spec().name) {
                // Who watched its predecessor watches it too, unless it does not know that resource.
                let _ = upstream.watch(&listener.sharer(), listener.capabilities(), &uri).await;
            }
        };
        tasks.spawn_on(watching, runtime);
    }

    /// Connects a server in the background, once.
    fn wake(&self, member: &Arc<Member>) {
        if !member.refresher.wake() {
            return;
        }
        let member = Arc::clone(member);
        let connecting = async move {
            // Success is reported by an event, and the lists that follow settle the server.
            if member.upstream.connection().await.is_err() {
                member.refresher.settle();
            }
        };
        self.context.tasks.spawn_on(connecting, &self.context.runtime);
    }

    /// Waits until the servers of a view have answered or failed for the first time, but not for ever:
    /// a client that lists right after the start should see tools, and one slow server must not make
    /// it wait long.
    pub(crate) async fn settled(&self, view: &View) {
        if self.fleet.all_settled.load(Ordering::Relaxed) {
            return;
        }
        if self.fleet.members.load().values().all(|member| member.refresher.is_settled()) {
            self.fleet.all_settled.store(true, Ordering::Relaxed);
            return;
        }
        let deadline = self.fleet.patience(view);
        while self.one_settled(view, deadline).await {}
    }

    /// Waits until one more server of a view has answered or failed for the first time; false when
    /// none did before the deadline, or none is left.
    pub(crate) async fn one_settled(&self, view: &View, deadline: Instant) -> bool {
        let members: Vec<Arc<Member>> = match view {
            View::Merged | View::Managed => self.fleet.members.load().values().cloned().collect(),
            View::Server(name) => self.fleet.get(name).into_iter().collect(),
        };
        let unsettled: Vec<_> = members
            .into_iter()
            .filter(|member| !member.refresher.is_settled())
            .map(|member| {
                self.wake(&member);
                Box::pin(async move { member.refresher.settled().await })
            })
            .collect();
        if unsettled.is_empty() {
            return false;
        }
        tokio::time::timeout_at(deadline, futures_util::future::select_all(unsettled)).await.is_ok()
    }

    /// How every server is doing.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.fleet.members.load().values().map(|member| self.status_of(member)).collect()
    }

    /// How one server is doing.
    pub fn server_status(&self, name: &ServerName) -> Option<ServerStatus> {
        self.fleet.get(name).map(|member| self.status_of(&member))
    }

    fn status_of(&self, member: &Member) -> ServerStatus {
        let spec = member.upstream.spec();
        let connection = member.upstream.current();
        let condition = member.upstream.condition();
        ServerStatus {
            name: spec.name.to_string(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            transport: match spec.transport {
                Transport::Stdio(_) => "stdio",
                Transport::Http(_) => "http",
                Transport::Sse(_) => "sse",
            },
            state: condition.lifecycle.as_str(),
            health: condition.checks.health.as_str(),
            era: connection.as_ref().map(|connection| connection.era().as_str()),
            version: connection.as_ref().map(|connection| connection.identity().version.as_str()),
            tools: self.catalogue().server(&spec.name).map_or(0, |lists| lists.tools.len()),
            latency_ms: condition
                .checks
                .latency
                .map(|latency| u64::try_from(latency.as_millis()).unwrap_or(u64::MAX)),
            consecutive_failures: condition.checks.failures,
            restarts: condition.restarts,
            in_flight: condition.in_flight,
            waiting: condition.waiting,
            error: condition.error.map(|error| error.to_string()),
            warnings: self
                .catalogue()
                .offer(&spec.name)
                .map(|offer| offer.strays.clone())
                .unwrap_or_default(),
        }
    }
}
