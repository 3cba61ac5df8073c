//! The current set of servers. A new configuration creates a new set; unchanged servers keep running.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use octroi_api::ResourceChange;
use octroi_core::server::{ServerSpec, Start};
use octroi_core::{EntityId, Principal, ServerKey, SwitchedOff};
use octroi_store::StoreError;
use octroi_upstream::{Context, Upstream};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::catalogue::Builtins;
use crate::change::PlannedChange;
use crate::governance::Governance;
use crate::membership::Sight;
use crate::persistence::Persistence;
use crate::pools::{Pools, SharedPool, may_know};
use crate::provider::BuiltinProvider;
use crate::registry::Registry;
use crate::subscriptions::{Subscriber, Subscriptions};
use crate::view::View;
use configured::{ConfiguredServers, FileServers};
use refresh::Refresher;

mod asking;
mod configured;
mod events;
mod refresh;
mod resolve;
mod schemas;
mod silent;
mod status;
mod switches;
mod watching;

pub use refresh::Refreshed;
pub(crate) use resolve::Target;
pub use silent::SilentServer;
pub use status::ErrorDetail;
use switches::{OperatorSwitch, Switches};

/// How long a list waits for a server that was never seen, unless configured otherwise: clients that wait for several
/// seconds show no tools at all.
const LIST_WAIT: Duration = Duration::from_millis(1500);
/// How long a request waits for a server that it cannot do without.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// How long remote servers may take to close their sessions.
const GOODBYE: Duration = Duration::from_secs(2);

type ManagedServers = BTreeMap<ServerKey, Arc<ManagedServer>>;

/// One server and the state of its lists.
struct ManagedServer {
    upstream: Arc<Upstream>,
    refresher: Refresher,
}

/// All servers.
pub struct Servers {
    context: Arc<Context>,
    persistence: Option<Arc<Persistence>>,
    subscriptions: Arc<Subscriptions>,
    governance: Arc<Governance>,
    registry: Arc<Registry>,
    pools: Arc<Pools>,
    builtin: Option<Arc<dyn BuiltinProvider>>,
    members: ArcSwap<ManagedServers>,
    /// Another one for every set of members.
    generation: AtomicU64,
    /// What is configured; held while a new set is built from the old one.
    configured: Mutex<ConfiguredServers>,
    /// What people decided about servers.
    switches: Mutex<Switches>,
    /// Servers that ask their clients over connections that several share.
    asking: Mutex<HashSet<ServerKey>>,
    in_file: ArcSwap<FileServers>,
}

/// What a new configuration changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Changes {
    /// Servers that were added.
    pub added: Vec<String>,
    /// Servers that were replaced.
    pub changed: Vec<String>,
    /// Servers that were removed.
    pub removed: Vec<String>,
    /// How many are unchanged.
    pub unchanged: usize,
}

impl Servers {
    pub(crate) fn new(
        context: &Arc<Context>,
        persistence: Option<Arc<Persistence>>,
        subscriptions: &Arc<Subscriptions>,
        governance: &Arc<Governance>,
        registry: &Arc<Registry>,
        pools: &Arc<Pools>,
        builtin: Option<Arc<dyn BuiltinProvider>>,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            persistence,
            subscriptions: Arc::clone(subscriptions),
            governance: Arc::clone(governance),
            registry: Arc::clone(registry),
            pools: Arc::clone(pools),
            builtin,
            members: ArcSwap::default(),
            generation: AtomicU64::new(1),
            configured: Mutex::default(),
            switches: Mutex::default(),
            asking: Mutex::default(),
            in_file: ArcSwap::default(),
        }
    }

    /// Restores the switches that operators set in an earlier run.
    pub(crate) async fn recall(&self, persistence: &Persistence) {
        match persistence.servers().await {
            Ok(records) => *self.switches.lock() = Switches::of_records(records),
            Err(error) => warn!(%error, hint = error.hint(), "server switches could not be loaded"),
        }
        match persistence.asking().await {
            Ok(asking) => *self.asking.lock() = asking,
            Err(error) => warn!(%error, hint = error.hint(), "which servers ask could not be loaded"),
        }
    }

    /// One server.
    pub fn upstream(&self, key: &ServerKey) -> Option<Arc<Upstream>> {
        self.members.load().get(key).map(|member| Arc::clone(&member.upstream))
    }

    /// All servers.
    pub fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.members.load().values().map(|member| Arc::clone(&member.upstream)).collect()
    }

    /// All servers that somebody may know of.
    fn upstreams_for(&self, who: &Principal) -> Vec<Arc<Upstream>> {
        let members = self.members.load();
        let known = members.iter().filter(|(key, _)| may_know(who, key));
        known.map(|(_, member)| Arc::clone(&member.upstream)).collect()
    }

    fn get(&self, key: &ServerKey) -> Option<Arc<ManagedServer>> {
        self.members.load().get(key).cloned()
    }

    fn now(&self) -> Instant {
        Instant::from_std(self.context.clock.instant())
    }

    /// Until when a call of something unknown waits for a server that may have it. In the list of all servers the
    /// time counts from when the server was first started: it is not waited for again and again.
    pub(crate) fn patience(&self, view: &View) -> impl Fn(Instant) -> Instant + use<> {
        let begun = self.now();
        let is_merged = view.is_merged();
        move |woken| if is_merged { woken + ANSWER_PATIENCE } else { begun + ANSWER_PATIENCE }
    }

    /// Replaces the set of servers. Those with an unchanged definition keep running; others are closed once
    /// their calls are done.
    ///
    /// With `are_on` false all are disabled, regardless of any switch. `agreed` are those that a person has seen in the
    /// configuration and accepted; others with low trust stay off until somebody enables them.
    pub fn apply(
        self: &Arc<Self>,
        specs: Vec<ServerSpec>,
        are_on: bool,
        agreed: &HashSet<ServerKey>,
    ) -> Changes {
        // Two concurrent changes would each lose the other's.
        let mut configured = self.configured.lock();
        let in_file =
            specs.iter().map(|spec| (EntityId::of_configured(&spec.key).to_string(), spec.key.clone()));
        self.in_file.store(Arc::new(in_file.collect()));
        let stored = std::mem::take(&mut configured.stored);
        *configured = ConfiguredServers { specs, stored, are_on };
        let is_agreed = |spec: &&ServerSpec| spec.is_enabled() && agreed.contains(&spec.key);
        let agreed: Vec<&ServerKey> = {
            let mut switches = self.switches.lock();
            let agreed = configured.specs.iter().filter(is_agreed).map(|spec| &spec.key);
            agreed.filter(|key| switches.agree(key)).collect()
        };
        let changes = self.replace(&configured);
        if let Some(persistence) = &self.persistence {
            for key in agreed {
                persistence.agree(key);
            }
        }
        changes
    }

    fn replace(self: &Arc<Self>, configured: &ConfiguredServers) -> Changes {
        let mut changes = Changes::default();
        let mut members = ManagedServers::new();
        let mut begun = Vec::new();
        let old = self.members.load_full();
        for mut spec in configured.all().cloned() {
            let key = spec.key.clone();
            if key.name == Builtins::key().name {
                warn!("a server cannot be called `{key}`, it is left out");
                continue;
            }
            spec.switched_off = if configured.are_on {
                self.switches.lock().switched_off(&spec)
            } else {
                Some(SwitchedOff::Global)
            };
            match old.get(&key) {
                Some(member) if *member.upstream.spec() == spec => {
                    changes.unchanged += 1;
                    members.insert(key, Arc::clone(member));
                    continue;
                }
                Some(_) => changes.changed.push(key.to_string()),
                None => changes.added.push(key.to_string()),
            }
            let upstream = self.new_upstream(spec, old.get(&key).map(|member| member.upstream.spec()));
            let member = Arc::new(ManagedServer { upstream, refresher: Refresher::default() });
            begun.push(Arc::clone(&member));
            members.insert(key, member);
        }
        let gone: Vec<Arc<ManagedServer>> = old
            .iter()
            .filter(|(key, member)| !members.get(*key).is_some_and(|new| Arc::ptr_eq(new, member)))
            .map(|(_, member)| Arc::clone(member))
            .collect();
        let members = Arc::new(members);
        self.members.store(Arc::clone(&members));
        self.generation.fetch_add(1, Ordering::Relaxed);
        let specs = members.iter().map(|(key, member)| (key.clone(), member.upstream.spec().clone()));
        self.registry.set_specs(specs.collect());
        self.pools.set_servers(members.keys());
        let left: Vec<&ServerKey> = old
            .keys()
            .filter(|key| members.get(*key).is_none_or(|new| !new.upstream.spec().is_enabled()))
            .collect();
        changes.removed =
            left.iter().filter(|key| !members.contains_key(**key)).map(ToString::to_string).collect();
        self.registry.forget(&left);
        self.registry.offer_remembered(begun.iter().map(|member| member.upstream.spec()));
        // Tool settings of a new entry take effect now, not when the server has listed its tools again.
        for member in &begun {
            self.registry.reconsider(&member.upstream.spec().key);
        }
        if let Some(persistence) = &self.persistence {
            for member in &begun {
                persistence.define(member.upstream.spec());
            }
            for key in left.iter().filter(|key| !members.contains_key(**key)) {
                // Its pins are kept: a server of the same name may come back.
                persistence.forget(key);
                self.switches.lock().forget(key);
                self.asking.lock().remove(*key);
            }
        }
        for member in begun {
            self.begin(&member);
        }
        for member in gone {
            info!(server.name = %member.upstream.spec().key, "stopped by a new configuration");
            let limit = member.upstream.spec().timeouts.call_cap;
            self.context.tasks.spawn_on_main("retire", async move { member.upstream.retire(limit).await });
        }
        let touched = [&changes.added, &changes.changed, &changes.removed].into_iter().flatten();
        for key in touched.filter_map(|key| ServerKey::parse(key)) {
            self.announce(&key);
        }
        changes
    }

    /// Enables or disables a server until it is switched again, regardless of its definition.
    pub fn switch(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        enabled: bool,
        by: Arc<str>,
    ) -> PlannedChange<(), StoreError> {
        let spec = upstream.spec();
        let subject = json!({"change": "server_switched", "server": spec.key.to_string()});
        let (before, after) = (json!({"enabled": spec.is_enabled()}), json!({"enabled": enabled}));
        let (servers, key) = (Arc::clone(self), spec.key.clone());
        PlannedChange::new(
            subject,
            before,
            after,
            async move { servers.apply_switch(&key, enabled, by).await },
        )
    }

    /// The same at once, as a part of a change of several servers.
    pub async fn switch_now(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        is_enabled: bool,
        by: &Arc<str>,
    ) -> Result<(), StoreError> {
        self.apply_switch(&upstream.spec().key, is_enabled, Arc::clone(by)).await
    }

    async fn apply_switch(
        self: &Arc<Self>,
        key: &ServerKey,
        is_enabled: bool,
        by: Arc<str>,
    ) -> Result<(), StoreError> {
        if let Some(persistence) = &self.persistence {
            // The server must be recorded first; whether its pins were written does not matter here.
            let _ = persistence.flush().await;
            persistence.switch(key, is_enabled, &by).await?;
        }
        self.switches.lock().switch(key, OperatorSwitch { is_enabled, by: Some(by) });
        self.replace(&self.configured.lock());
        Ok(())
    }

    /// Starts the supervisor of a server.
    fn begin(self: &Arc<Self>, member: &Arc<ManagedServer>) {
        let spec = member.upstream.spec();
        let known = self.registry.catalogue().server(&spec.key).map(|lists| lists.identity.clone());
        if let Some(identity) = &known {
            member.upstream.recall_eras(identity);
            member.upstream.recall_abilities(identity);
        }
        let tasks = &self.context.tasks;
        tasks.spawn_on_main("supervise", Arc::clone(&member.upstream).supervise());
        tasks.spawn_on_main("refresh", Arc::clone(self).refresh_on_demand(Arc::clone(member)));
        if known.is_some() || !spec.is_enabled() || spec.start == Start::Manual {
            member.refresher.settle();
        }
        if let Some(switch) = &spec.switched_off {
            info!(server.name = %spec.key, switch = switch.as_str(), "disabled, skipped");
        } else if spec.start == Start::Eager {
            self.wake(member);
        }
        let (subscriptions, upstream) = (Arc::clone(&self.subscriptions), Arc::clone(&member.upstream));
        let watching = async move {
            for (listener, uri) in subscriptions.watchers_of(&upstream.spec().key) {
                // The watchers of its predecessor watch it too, unless it does not know that resource.
                let _ = upstream.watch(&listener.sharer(), listener.capabilities(), &uri).await;
            }
        };
        tasks.spawn_on_main("watch", watching);
    }

    /// Connects a server in the background, once; returns when that was.
    fn wake(&self, member: &Arc<ManagedServer>) -> Instant {
        let (woken, is_first) = member.refresher.wake(self.now());
        if is_first {
            let member = Arc::clone(member);
            let connecting = async move {
                // Success is reported by an event, and the lists that follow settle the server.
                if member.upstream.connection().await.is_err() {
                    member.refresher.settle();
                }
            };
            self.context.tasks.spawn_on_main("connect", connecting);
        }
        woken
    }

    /// The servers that a caller sees and that have neither answered nor failed yet.
    fn unsettled(&self, view: &View, principal: &Principal) -> Vec<Arc<ManagedServer>> {
        match view {
            View::Merged => self.unsettled_of(&self.pools.shared_by(principal)),
            View::Server(key) if self.pools.sight(principal, key) == Sight::Visible => {
                self.get(key).filter(|member| !member.refresher.is_settled()).into_iter().collect()
            }
            View::Server(_) => Vec::new(),
        }
    }

    fn unsettled_of(&self, pool: &SharedPool) -> Vec<Arc<ManagedServer>> {
        // Read before the members: what settles an older set does not settle a newer one.
        let generation = self.generation.load(Ordering::Acquire);
        if pool.is_settled(generation) {
            return Vec::new();
        }
        let members = self.members.load();
        let found = pool.keys().iter().filter_map(|key| members.get(key));
        let unsettled: Vec<_> = found.filter(|member| !member.refresher.is_settled()).cloned().collect();
        if unsettled.is_empty() {
            pool.settle(generation);
        }
        unsettled
    }

    /// Waits until the servers that a caller sees have answered or failed for the first time, within a limit: a
    /// client that lists right after the start should see tools, and one slow server must not delay it
    /// for long. What comes later is announced. Servers that start when they are needed are started.
    pub(crate) async fn settled(&self, view: &View, principal: &Principal) {
        let list_wait = self.governance.settings().list_wait.unwrap_or(LIST_WAIT);
        self.all_settled(view, principal, |woken| woken + list_wait).await;
    }

    /// Whether a server that a caller sees has neither answered nor failed yet.
    pub(crate) fn is_starting(&self, view: &View, principal: &Principal) -> bool {
        !self.unsettled(view, principal).is_empty()
    }

    /// The same, each server with a limit that depends on when it was first started.
    pub(crate) async fn all_settled(
        &self,
        view: &View,
        principal: &Principal,
        deadline_of: impl Fn(Instant) -> Instant,
    ) {
        let unsettled = self.unsettled(view, principal);
        if unsettled.is_empty() {
            return;
        }
        let waiting = unsettled.into_iter().map(|member| {
            let deadline = deadline_of(self.wake(&member));
            async move { tokio::time::timeout_at(deadline, member.refresher.settled()).await }
        });
        futures_util::future::join_all(waiting).await;
    }

    /// Waits until one more server that a caller sees has answered or failed for the first time, or is no longer waited
    /// for; false if there is none to wait for.
    pub(crate) async fn one_settled(
        &self,
        view: &View,
        principal: &Principal,
        deadline_of: &impl Fn(Instant) -> Instant,
    ) -> bool {
        let now = self.now();
        let waiting: Vec<_> = self
            .unsettled(view, principal)
            .into_iter()
            .map(|member| (deadline_of(self.wake(&member)), member))
            .filter(|(deadline, _)| *deadline > now)
            .map(|(deadline, member)| {
                Box::pin(async move { tokio::time::timeout_at(deadline, member.refresher.settled()).await })
            })
            .collect();
        if waiting.is_empty() {
            return false;
        }
        // Which one it was does not matter.
        let _ = futures_util::future::select_all(waiting).await;
        true
    }

    /// Closes the connections that belong to a client's session.
    pub async fn end_session(&self, session: &str) {
        for upstream in self.upstreams() {
            upstream.end_session(session).await;
        }
    }

    /// Closes all servers.
    pub(crate) async fn close(&self) {
        // Concurrently: a remote server that does not answer must not keep the others' processes alive.
        let upstreams = self.upstreams();
        let closing = upstreams.iter().map(|upstream| upstream.close());
        let _ = tokio::time::timeout(GOODBYE, futures_util::future::join_all(closing)).await;
    }

    /// Notifies subscribers who may know of a server that it changed.
    pub(crate) fn announce(&self, key: &ServerKey) {
        self.subscriptions.announce_of(key, &ResourceChange::Servers(std::slice::from_ref(key)));
        self.announce_mounts(std::slice::from_ref(key));
    }

    /// Notifies those who watch the servers of an agent.
    pub(crate) fn announce_mounts(&self, servers: &[ServerKey]) {
        for agent in self.subscriptions.agents_with_watched_mounts() {
            // What an agent reads about itself has the same URI for every agent.
            let is_meant = |one: &Subscriber| one.principal.agent_id().is_none_or(|own| **own == *agent);
            self.subscriptions.announce_to(&ResourceChange::Mounts { agent: &agent, servers }, is_meant);
        }
    }

    /// Notifies administrators that what concerns all servers changed.
    pub(crate) fn announce_problems(&self) {
        let is_meant = |subscriber: &Subscriber| subscriber.principal.is_admin();
        self.subscriptions.announce_to(&ResourceChange::Servers(&[]), is_meant);
    }
}
