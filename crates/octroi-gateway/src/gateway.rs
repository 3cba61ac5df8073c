//! The gateway: its parts, their wiring, start and shutdown.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use octroi_api::operations::config::ConfigDifference;
use octroi_core::audit::{Kind, Level};
use octroi_core::config::AuditSection;
use octroi_core::server::ServerSpec;
use octroi_core::{Clock, Principal};
use octroi_mcp::params::Params;
use octroi_mcp::{Envelope, Method, RpcError, Version};
use octroi_upstream::{BackgroundTasks, Context, HttpClient, Spawner, UpstreamError};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::alerts::Alert;
use crate::answer::Answer;
use crate::approvals::Approvals;
use crate::audit::Unfinished;
use crate::audit_index::{AuditIndex, SnapshotWhen, note_signed};
use crate::audit_recorder::{AuditRecorder, Initiator};
use crate::caller::Caller;
use crate::carried::CarriedKeys;
use crate::choices::Choices;
use crate::clients::Clients;
use crate::exchange::Exchanges;
use crate::governance::{Governance, GovernanceSettings};
use crate::identity::Identity;
use crate::inspector::Inspector;
use crate::membership::Membership;
use crate::notifier::Notifier;
use crate::offers::Offers;
use crate::persistence::Persistence;
use crate::pipeline::Pipeline;
use crate::policy_error::PolicyError;
use crate::pools::Pools;
use crate::provider::BuiltinProvider;
use crate::redaction::Redaction;
use crate::registry::Registry;
use crate::request_state::{self, Sealer};
use crate::secrets::Secrets;
use crate::servers::Servers;
use crate::stored_servers::StoredServers;
use crate::subscriptions::{Filter, Listener, Notice, Subscriber, Subscriptions};
use crate::tasks::Tasks;
use crate::view::View;

mod agents;
mod parts;
mod problems;
mod recording;
mod running;
#[cfg(test)]
mod tests;

pub use agents::AgentWork;
use problems::KnownProblems;

/// How long remote servers may take to close their sessions, and the disk to write the rest.
const GOODBYE: Duration = Duration::from_secs(2);
const EVENTS_QUEUED: usize = 1024;

/// The data plane: each part owns its own state and knows only those below it.
pub struct Gateway {
    context: Arc<Context>,
    persistence: Option<Arc<Persistence>>,
    carried: CarriedKeys,
    recorder: Arc<AuditRecorder>,
    audit: Arc<AuditIndex>,
    subscriptions: Arc<Subscriptions>,
    identity: Arc<Identity>,
    secrets: Arc<Secrets>,
    governance: Arc<Governance>,
    membership: Arc<Membership>,
    redaction: Arc<Redaction>,
    stored_servers: Arc<StoredServers>,
    choices: Arc<Choices>,
    registry: Arc<Registry>,
    pools: Arc<Pools>,
    servers: Arc<Servers>,
    approvals: Arc<Approvals>,
    inspector: Arc<Inspector>,
    pipeline: Arc<Pipeline>,
    notifier: Arc<Notifier>,
    clients: Arc<Clients>,
    started_at_ms: i64,
    problems: KnownProblems,
    offers: Offers,
}

/// Changes of the configuration that wait for a person.
#[derive(Debug, Default)]
pub struct WaitingChanges {
    /// The changes.
    pub changes: Vec<ConfigDifference>,
    /// Identifies the files that they come from; `None` if nothing waits.
    pub digest: Option<String>,
}

/// How the processes of servers are started and identified.
#[derive(Clone, Debug)]
pub struct Processes {
    /// The mark of the processes; the same after a restart, and different from any other gateway's.
    pub owner: String,
    /// A program that calls [`take_over`](octroi_upstream::take_over) first, to supervise each process.
    pub reaper: Option<PathBuf>,
    /// Whether no other gateway with this mark can be running, so that processes with it are leftovers.
    pub is_alone: bool,
}

/// The parts and settings of a gateway.
pub struct GatewayOptions {
    /// The server definitions.
    pub servers: Vec<ServerSpec>,
    /// How their processes are started and identified.
    pub processes: Processes,
    /// The persistent storage, if there is one.
    pub persistence: Option<Persistence>,
    /// The tools and resources that Octroi itself offers to agents, if any.
    pub builtin: Option<Arc<dyn BuiltinProvider>>,
    /// The clock.
    pub clock: Clock,
}

impl Gateway {
    /// Starts all servers in the background. Nothing here waits for any of them.
    pub async fn start(options: GatewayOptions) -> Result<Arc<Self>, UpstreamError> {
        let GatewayOptions { servers: specs, processes, mut persistence, builtin, clock } = options;
        let (events, received) = mpsc::channel(EVENTS_QUEUED);
        let context = context(processes, events, clock)?;
        let clock = &context.clock;
        let carried = CarriedKeys::new()
            .ok_or_else(|| UpstreamError::Protocol("the system gives no random numbers".to_owned()))?;
        let cipher = carried.cipher(persistence.as_ref(), request_state::PURPOSE);
        let sealer = Arc::new(Sealer::new(clock.clone(), cipher, carried.run()));
        let audit = persistence.as_mut().and_then(Persistence::take_audit);
        let (log, unfinished) = audit.map(|opened| (opened.log, opened.unfinished)).unzip();
        if let Some(persistence) = &mut persistence {
            persistence.start_writing();
        }
        let persistence = persistence.map(Arc::new);
        let kept = || persistence.clone();
        let recorder = Arc::new(AuditRecorder::new(log, context.tasks.clone(), clock.clone()));
        let membership = Arc::new(Membership::default());
        let subscriptions = Arc::new(Subscriptions::new(clock.clone(), &membership));
        let audit = Arc::new(AuditIndex::new(&context, kept(), &recorder, &subscriptions));
        let identity = Arc::new(Identity::new(&context, kept(), &subscriptions));
        let secrets = Arc::new(Secrets::new(clock.clone(), kept()));
        let governance = Arc::new(Governance::new(&context, kept(), &subscriptions, &identity));
        let offered = builtin.as_ref().map(|builtin| builtin.offered()).unwrap_or_default();
        let registry = Registry::new(clock.clone(), kept(), &recorder, &subscriptions, &governance, &offered);
        let registry = Arc::new(registry);
        let pools = Pools::new(&membership, &registry, &subscriptions);
        let servers = Servers::new(&context, kept(), &subscriptions, &governance, &registry, &pools, builtin);
        let servers = Arc::new(servers);
        let redaction = Arc::new(Redaction::new(&context, &recorder));
        let stored_servers =
            StoredServers::new(clock.clone(), kept(), &secrets, &identity, &servers, &redaction);
        let stored_servers = Arc::new(stored_servers);
        let choices =
            Choices::new(clock.clone(), kept(), &identity, &stored_servers, &membership, &subscriptions);
        let choices = Arc::new(choices);
        let approvals =
            Approvals::new(&context, kept(), &recorder, &subscriptions, &governance, &registry, &sealer);
        let approvals = Arc::new(approvals);
        let exchanges = Exchanges::new(&context, &governance, &registry, &servers, &approvals, &sealer);
        let inspector =
            Arc::new(Inspector::new(&context, kept(), &recorder, &governance, &registry, &pools, &servers));
        let pipeline = Arc::new(Pipeline {
            context: Arc::clone(&context),
            persistence: kept(),
            recorder: Arc::clone(&recorder),
            governance: Arc::clone(&governance),
            registry: Arc::clone(&registry),
            pools: Arc::clone(&pools),
            servers: Arc::clone(&servers),
            approvals: Arc::clone(&approvals),
            sealer,
            exchanges,
            tasks: Tasks::default(),
        });
        let notifier = Arc::new(Notifier::new(&context, &recorder));
        let offers = Offers::new(&context, &subscriptions);
        let gateway = Arc::new(Self {
            persistence,
            carried,
            recorder,
            audit,
            clients: Arc::new(Clients::new(context.clock.clone(), &subscriptions)),
            started_at_ms: context.clock.now_ms(),
            context,
            subscriptions,
            identity,
            secrets,
            governance,
            membership,
            redaction,
            stored_servers,
            choices,
            registry,
            pools,
            servers,
            approvals,
            inspector,
            pipeline,
            notifier,
            problems: KnownProblems::default(),
            offers,
        });
        gateway.record_losses().await;
        gateway.recall(unfinished.unwrap_or_default()).await;
        gateway.audit.start();
        gateway.context.tasks.spawn("server-events", Arc::clone(&gateway.servers).follow_events(received));
        gateway.start_tasks();
        let agreed = specs.iter().map(|spec| spec.key.clone()).collect();
        gateway.servers.apply(specs, true, &agreed);
        Ok(gateway)
    }

    /// Restores the state of an earlier run. What cannot be read is reported, and nothing depends on it.
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
                error!(%error, hint = error.hint(), "unfinished calls could not be closed in the audit log");
            }
        }
        let Some(persistence) = &self.persistence else {
            return;
        };
        self.identity.recall(persistence.store()).await;
        self.approvals.recall(persistence.store()).await;
        self.registry.recall(persistence).await;
        self.servers.recall(persistence).await;
        self.governance.recall(persistence.store()).await;
        self.stored_servers.recall(persistence.store()).await;
        self.choices.recall(persistence.store()).await;
    }

    /// Records what was lost, and accepted as lost.
    async fn record_losses(&self) {
        let losses = self.persistence.iter().flat_map(|persistence| persistence.losses());
        let losses: Vec<String> = losses.map(ToString::to_string).collect();
        if losses.is_empty() {
            return;
        }
        warn!(?losses, "going on without what was lost");
        let context = json!({"change": "loss_accepted", "lost": losses}).to_string();
        let mut event = self.recorder.system_event(Kind::AdministrativeChange, &context);
        event.level = Level::Warn;
        if let Err(error) = self.recorder.record(&event).await {
            error!(%error, hint = error.hint(), "the loss could not be recorded");
        }
    }

    /// Has a snapshot of what the database must not forget written to the audit log, soon.
    pub fn state_changed(&self) {
        if let Some(persistence) = &self.persistence {
            persistence.changed().notify_one();
        }
    }

    /// Applies the governance settings. If one of their policies is invalid, everything stays as it
    /// was.
    pub async fn govern(
        &self,
        settings: GovernanceSettings,
        audit: AuditSection,
        secrets: &[String],
    ) -> Result<(), PolicyError> {
        self.governance.adopt_files(&settings.policies).await?;
        self.audit.set(&audit);
        self.redaction.configure(audit, secrets);
        self.registry.set_rules(&settings);
        self.pools.set_limits(settings.pools);
        self.notifier.set(settings.notify.clone());
        let is_other_list = self.governance.settings().proposals != settings.proposals;
        self.governance.set_settings(settings);
        if is_other_list {
            self.subscriptions.own_list_changed(&Method::ToolsChanged);
        }
        self.registry.reconsider_all();
        self.approvals.remove_arguments().await;
        self.state_changed();
        Ok(())
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
            self.identity.keep_uses().await;
            let last = async {
                self.audit.record_state(SnapshotWhen::Changed).await;
                persistence.close().await;
            };
            let _ = tokio::time::timeout(GOODBYE, last).await;
        }
        if let Some(log) = self.recorder.log() {
            let _ = tokio::time::timeout(GOODBYE, self.recorder.end_all_completions()).await;
            let _ = tokio::time::timeout(GOODBYE, log.close()).await;
            if let Some(persistence) = &self.persistence {
                let _ = tokio::time::timeout(GOODBYE, note_signed(persistence.store(), log)).await;
            }
        }
        if let Some(persistence) = &self.persistence {
            // A copy of the database file alone is complete then.
            match tokio::time::timeout(GOODBYE, persistence.store().checkpoint()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => warn!(%error, hint = error.hint(), "the database was not checkpointed"),
                Err(_) => warn!("the database was not checkpointed in time"),
            }
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
    pub async fn initialize(&self, view: &View, principal: &Principal, version: Version) -> Answer {
        self.pipeline.initialize(view, principal, version).await
    }

    /// Registers a client for change notifications. `deliver` must not wait.
    pub fn listen(
        &self,
        subscriber: Subscriber,
        filter: Filter,
        deliver: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Arc<Listener> {
        let servers = Arc::clone(&self.servers);
        self.subscriptions.listen(subscriber, filter, servers, deliver)
    }

    /// What people should hear of at once, from now on. Whoever does not keep up misses some.
    pub fn alerts(&self) -> broadcast::Receiver<Alert> {
        self.subscriptions.alerts()
    }

    /// How many subscriptions a principal has.
    pub fn n_subscriptions(&self, principal: &str) -> usize {
        self.subscriptions.count_of(principal)
    }

    /// Records that a client sent a method that nobody answers here; returns the error for it. No view is given for
    /// a person, who reaches no server.
    pub fn refuse_method(&self, principal: &Principal, view: Option<&View>, method: &Method) -> RpcError {
        let server = match view {
            None | Some(View::Merged) => None,
            Some(View::Server(server)) => Some(server),
        };
        self.pipeline.refuse_method(&Initiator::of(principal), server, method)
    }

    /// Subscribes a client to a resource, after a decision that is recorded; returns once the server knows.
    pub async fn watch(&self, principal: &Principal, listener: &Listener, uri: &str) -> Result<(), RpcError> {
        self.pipeline.watch(principal, listener, uri).await
    }

    /// Unsubscribes a client from a resource.
    pub fn unwatch(&self, listener: &Listener, uri: &str) -> Result<(), RpcError> {
        self.servers.unwatch(listener, uri)
    }
}

/// The context that all servers share.
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
    let n_killed = if processes.is_alone {
        if let Err(error) = spawner.adopt_orphans() {
            tracing::warn!(%error, "what servers leave behind when they kill their reaper cannot be found");
        }
        spawner.kill_leftovers()
    } else {
        0
    };
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
        redactor: octroi_upstream::SharedRedactor::default(),
    }))
}
