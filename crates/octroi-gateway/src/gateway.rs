//! The gateway: its parts, how they are put together, started and ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use octroi_core::Clock;
use octroi_core::config::AuditSection;
use octroi_core::redact::Redactor;
use octroi_core::server::ServerSpec;
use octroi_mcp::param_header::ParamHeaders;
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Method, RpcError, Version};
use octroi_upstream::{BackgroundTasks, Context, HttpClient, Spawner, UpstreamError};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::answer::Answer;
use crate::approvals::Approvals;
use crate::audit::Unfinished;
use crate::audit_index::AuditIndex;
use crate::audit_recorder::AuditRecorder;
use crate::caller::Caller;
use crate::exchange::Exchanges;
use crate::governance::{Governance, GovernanceSettings};
use crate::inspector::Inspector;
use crate::metrics::ToolReading;
use crate::persistence::Persistence;
use crate::pipeline::Pipeline;
use crate::policy_error::PolicyError;
use crate::provider::BuiltinProvider;
use crate::registry::Registry;
use crate::request_state::Sealer;
use crate::servers::Servers;
use crate::subscriptions::{Filter, Listener, Notice, Subscriber, Subscriptions};
use crate::tasks::Tasks;
use crate::view::View;

mod recording;
#[cfg(test)]
mod tests;

/// How long remote servers may take to hear that their session is over, and the disk to take what is left.
const GOODBYE: Duration = Duration::from_secs(2);
const EVENTS_QUEUED: usize = 1024;
/// Lists are asked for again after this time even if no change was announced.
const REFRESH_EVERY: Duration = Duration::from_mins(5);
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// The data plane: each part owns its own state and knows those below it.
pub struct Gateway {
    context: Arc<Context>,
    persistence: Option<Arc<Persistence>>,
    recorder: Arc<AuditRecorder>,
    audit: Arc<AuditIndex>,
    subscriptions: Arc<Subscriptions>,
    governance: Arc<Governance>,
    registry: Arc<Registry>,
    servers: Arc<Servers>,
    approvals: Arc<Approvals>,
    inspector: Arc<Inspector>,
    pipeline: Arc<Pipeline>,
    problems: ArcSwap<Vec<String>>,
}

/// How the processes of servers are started and found again.
#[derive(Clone, Debug)]
pub struct Processes {
    /// Marks them; the same after a restart, and different from that of any other gateway.
    pub owner: String,
    /// A program that calls [`take_over`](octroi_upstream::take_over) first of all, to stay with each.
    pub reaper: Option<PathBuf>,
    /// Whether no other gateway with this mark can be running, so that what carries it is left over.
    pub is_alone: bool,
}

/// What a gateway is made from.
pub struct GatewayOptions {
    /// How the servers are defined.
    pub servers: Vec<ServerSpec>,
    /// How their processes are started and found again.
    pub processes: Processes,
    /// What is remembered from one run to the next, if anything is.
    pub persistence: Option<Persistence>,
    /// What Octroi itself offers to agents, if anything.
    pub builtin: Option<Arc<dyn BuiltinProvider>>,
    /// What time it is.
    pub clock: Clock,
}

impl Gateway {
    /// Starts all servers in the background. Nothing here waits for any of them.
    pub async fn start(options: GatewayOptions) -> Result<Arc<Self>, UpstreamError> {
        let GatewayOptions { servers: specs, processes, mut persistence, builtin, clock } = options;
        let (events, received) = mpsc::channel(EVENTS_QUEUED);
        let context = context(processes, events, clock)?;
        let clock = &context.clock;
        let sealer = Sealer::new(clock.clone()).map_err(|error| {
            UpstreamError::Protocol(format!("the system gives no random numbers: {error}"))
        })?;
        let sealer = Arc::new(sealer);
        let audit = persistence.as_mut().and_then(Persistence::take_audit);
        let (log, unfinished) = audit.map(|opened| (opened.log, opened.unfinished)).unzip();
        if let Some(persistence) = &mut persistence {
            persistence.start_writing();
        }
        let persistence = persistence.map(Arc::new);
        let kept = || persistence.clone();
        let recorder = Arc::new(AuditRecorder::new(log, context.tasks.clone(), clock.clone()));
        let subscriptions = Arc::new(Subscriptions::default());
        let audit = Arc::new(AuditIndex::new(&context, kept(), &recorder, &subscriptions));
        let governance = Arc::new(Governance::new(&context, kept(), &subscriptions));
        let offered = builtin.as_ref().map(|builtin| builtin.offered()).unwrap_or_default();
        let registry = Registry::new(clock.clone(), kept(), &recorder, &subscriptions, &governance, &offered);
        let registry = Arc::new(registry);
        let servers =
            Arc::new(Servers::new(&context, kept(), &subscriptions, &governance, &registry, builtin));
        let approvals =
            Approvals::new(&context, kept(), &recorder, &subscriptions, &governance, &registry, &sealer);
        let approvals = Arc::new(approvals);
        let exchanges = Exchanges::new(&context, &governance, &registry, &servers, &approvals, &sealer);
        let inspector =
            Arc::new(Inspector::new(&context, kept(), &recorder, &governance, &registry, &servers));
        let pipeline = Arc::new(Pipeline {
            context: Arc::clone(&context),
            persistence: kept(),
            recorder: Arc::clone(&recorder),
            governance: Arc::clone(&governance),
            registry: Arc::clone(&registry),
            servers: Arc::clone(&servers),
            approvals: Arc::clone(&approvals),
            sealer,
            exchanges,
            tasks: Tasks::default(),
        });
        let gateway = Arc::new(Self {
            context,
            persistence,
            recorder,
            audit,
            subscriptions,
            governance,
            registry,
            servers,
            approvals,
            inspector,
            pipeline,
            problems: ArcSwap::default(),
        });
        gateway.recall(unfinished.unwrap_or_default()).await;
        gateway.audit.start();
        let tasks = &gateway.context.tasks;
        tasks.spawn("server-events", Arc::clone(&gateway.servers).follow_events(received));
        tasks.spawn("sweep", Arc::clone(&gateway).look_after());
        gateway.servers.apply(specs, true);
        Ok(gateway)
    }

    /// Takes over what an earlier run left. What cannot be read is reported, and nothing is trusted for it.
    async fn recall(&self, unfinished: Vec<Unfinished>) {
        if let Some(log) = self.recorder.log()
            && !unfinished.is_empty()
        {
            warn!(
                n_calls = unfinished.len(),
                "calls were cut off when the last run ended; their outcome is unknown"
            );
            let now_ms = u64::try_from(self.context.clock.now_ms()).unwrap_or_default();
            if let Err(error) = log.end_unfinished(&unfinished, now_ms).await {
                error!(%error, hint = error.hint(), "their end is not recorded");
            }
        }
        let Some(persistence) = &self.persistence else {
            return;
        };
        self.approvals.recall(persistence.store()).await;
        self.registry.recall(persistence).await;
        self.servers.recall(persistence).await;
        self.governance.recall(persistence.store()).await;
    }

    /// Puts what the configuration says about deciding into effect. If a policy of it cannot be used,
    /// everything stays as it was.
    pub async fn govern(
        &self,
        settings: GovernanceSettings,
        audit: AuditSection,
        secrets: &[String],
    ) -> Result<(), PolicyError> {
        self.governance.adopt_files(&settings.policies).await?;
        self.audit.set(&audit);
        self.recorder.set(audit, Redactor::new(secrets.iter().map(String::as_str)));
        self.registry.set_rules(&settings);
        let is_other_list = self.governance.settings().proposals != settings.proposals;
        self.governance.set_settings(settings);
        if is_other_list {
            self.subscriptions.own_list_changed(&Method::ToolsChanged);
        }
        self.registry.reconsider_all();
        Ok(())
    }

    /// What is looked at now and then, until the gateway ends.
    async fn look_after(self: Arc<Self>) {
        let mut refresh = tokio::time::interval(REFRESH_EVERY);
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        refresh.reset();
        loop {
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                _ = sweep.tick() => {
                    self.pipeline.exchanges.sweep();
                    self.pipeline.tasks.sweep(self.context.clock.now_ms());
                    self.governance.keep_uses();
                    self.approvals.expire().await;
                    self.servers.sweep().await;
                }
                _ = refresh.tick() => self.servers.request_lists(),
            }
        }
    }

    /// Ends all servers and waits for their processes, up to a limit.
    pub async fn stop(&self, limit: Duration) {
        let closing = async {
            self.servers.close().await;
            let _ = tokio::time::timeout(GOODBYE, self.governance.close()).await;
            self.context.shutdown.cancel();
            self.context.tasks.wait().await;
        };
        if tokio::time::timeout(limit, closing).await.is_err() {
            warn!(tasks = self.context.tasks.names(), "some servers did not end in time");
        }
        self.context.shutdown.cancel();
        if let Some(persistence) = &self.persistence {
            self.governance.keep_uses();
            let _ = tokio::time::timeout(GOODBYE, persistence.close()).await;
        }
        if let Some(log) = self.recorder.log() {
            let _ = tokio::time::timeout(GOODBYE, log.close()).await;
        }
    }

    /// Answers a request of a client. Dropping the future cancels it.
    pub async fn request(
        &self,
        view: &View,
        caller: &Caller,
        envelope: &Envelope,
        params: &Params,
    ) -> Answer {
        self.pipeline.request(view, caller, envelope, params).await
    }

    /// The answer to `initialize`.
    pub async fn initialize(&self, view: &View, version: Version) -> Answer {
        self.pipeline.initialize(view, version).await
    }

    /// The arguments of a tool that a client must mirror into headers, if it has any.
    pub fn param_headers(&self, view: &View, name: Option<&str>) -> Option<Arc<ParamHeaders>> {
        self.servers.param_headers(view, name)
    }

    /// Registers a client that wants to hear of changes. `deliver` must not wait.
    pub fn listen(
        &self,
        subscriber: Subscriber,
        filter: Filter,
        deliver: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Arc<Listener> {
        let servers = Arc::clone(&self.servers);
        self.subscriptions.listen(subscriber, filter, servers, deliver)
    }

    /// Adds a resource to what a client watches; returns once the server knows.
    pub async fn watch(&self, listener: &Listener, shown: &str) -> Result<(), RpcError> {
        self.servers.watch(listener, shown).await
    }

    /// Removes a resource from what a client watches.
    pub fn unwatch(&self, listener: &Listener, shown: &str) -> Result<(), RpcError> {
        self.servers.unwatch(listener, shown)
    }

    /// The servers.
    pub fn servers(&self) -> &Arc<Servers> {
        &self.servers
    }

    /// What all servers offer.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// What decides about calls.
    pub fn governance(&self) -> &Arc<Governance> {
        &self.governance
    }

    /// Calls that wait for a person.
    pub fn approvals(&self) -> &Arc<Approvals> {
        &self.approvals
    }

    /// What is recorded.
    pub fn audit(&self) -> &Arc<AuditIndex> {
        &self.audit
    }

    /// Who explains decisions.
    pub fn inspector(&self) -> &Arc<Inspector> {
        &self.inspector
    }

    /// What is remembered from one run to the next, if anything is.
    pub fn persistence(&self) -> Option<&Arc<Persistence>> {
        self.persistence.as_ref()
    }

    /// What time it is.
    pub fn clock(&self) -> &Clock {
        &self.context.clock
    }

    /// How often every tool was called, and how that went.
    pub fn readings(&self) -> Vec<ToolReading> {
        self.pipeline.exchanges.readings()
    }

    /// What is wrong with the configuration, if anything is.
    pub fn problems(&self) -> Arc<Vec<String>> {
        self.problems.load_full()
    }

    /// Says what is wrong with the configuration.
    pub fn set_problems(&self, problems: Vec<String>) {
        self.problems.store(Arc::new(problems));
        self.servers.announce();
    }
}

/// What all servers share.
fn context(
    processes: Processes,
    events: mpsc::Sender<(octroi_core::ServerKey, octroi_upstream::ServerEvent)>,
    clock: Clock,
) -> Result<Arc<Context>, UpstreamError> {
    let client_info = Bytes::from_static(
        concat!(r#"{"name":"octroi","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#).as_bytes(),
    );
    let spawner = Spawner::new(processes.owner, processes.reaper, Handle::current())
        .map_err(|error| UpstreamError::Protocol(format!("no thread can be started: {error}")))?;
    let n_killed = if processes.is_alone { spawner.kill_leftovers() } else { 0 };
    if n_killed > 0 {
        info!(n_killed, "processes of an earlier run ended");
    }
    Ok(Arc::new(Context {
        http: HttpClient::new(clock.clone())?,
        spawner,
        client_info,
        tasks: BackgroundTasks::new(Handle::current()),
        shutdown: CancellationToken::new(),
        clock,
        events,
    }))
}
