//! The servers, the catalogue, and what keeps both up to date.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use octroi_core::ServerName;
use octroi_core::server::ServerSpec;
use octroi_core::tool::infer::InferenceRule;
use octroi_core::wire_name::WIRE_NAME_MAX;
use octroi_mcp::RpcError;
use octroi_upstream::{Context, HttpClient, Spawner, UpstreamError};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use crate::catalogue::{Catalogue, ServerLists};
use crate::denial;
use crate::desk::{self, Builtins, Desk};
use crate::fleet::Fleet;
use crate::govern::Governor;
use crate::govern::approvals::Waiting;
use crate::govern::gates::Gates;
use crate::govern::ledger::Ledger;
use crate::govern::quotas::Quotas;
use crate::govern::tasks::Tasks;
use crate::govern::uses::Uses;
use crate::hub::{Filter, Hub, Listener, Notice, Wisher};
use crate::memory::Memory;
use crate::meters::{Meters, Reading};
use crate::park::Parking;
use crate::pins::Pins;
use crate::seal::Sealer;
use crate::trail::Trail;

/// How long remote servers may take to hear that their session is over.
const GOODBYE: Duration = Duration::from_secs(2);
const EVENTS_QUEUED: usize = 1024;

/// The data plane.
pub struct Gateway {
    pub(crate) context: Arc<Context>,
    pub(crate) fleet: Fleet,
    pub(crate) catalogue: ArcSwap<Catalogue>,
    /// Held while a new catalogue is made from the old one.
    pub(crate) changing: Mutex<()>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) sealer: Sealer,
    pub(crate) parking: Parking,
    pub(crate) memory: Option<Memory>,
    /// Servers that a person switched on or off.
    pub(crate) switches: Mutex<HashMap<ServerName, bool>>,
    pub(crate) desk: Option<Arc<dyn Desk>>,
    pub(crate) builtins: Builtins,
    problems: ArcSwap<Vec<String>>,
    pub(crate) meters: Meters,
    pub(crate) pins: Pins,
    pub(crate) governor: Governor,
    pub(crate) gates: Gates,
    pub(crate) quotas: Quotas,
    pub(crate) uses: Uses,
    pub(crate) waiting: Waiting,
    pub(crate) tasks: Tasks,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) trail: Trail,
    /// Where people find pages, once Octroi listens.
    pub(crate) page: ArcSwapOption<String>,
    /// What people know about tools.
    pub(crate) inference: ArcSwap<Vec<InferenceRule>>,
    /// What servers offered in an earlier run, until they are configured in this one.
    pub(crate) known: Mutex<HashMap<ServerName, Arc<ServerLists>>>,
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

impl Gateway {
    /// Starts all servers in the background. Nothing here waits for any of them.
    pub async fn start(
        specs: Vec<ServerSpec>,
        processes: Processes,
        mut memory: Option<Memory>,
        desk: Option<Arc<dyn Desk>>,
    ) -> Result<Arc<Self>, UpstreamError> {
        let (events, received) = mpsc::channel(EVENTS_QUEUED);
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
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            shutdown: CancellationToken::new(),
            events,
        });
        let sealer = Sealer::new().map_err(|error| {
            UpstreamError::Protocol(format!("the system gives no random numbers: {error}"))
        })?;
        let known = match &memory {
            Some(memory) => memory.recall().await.unwrap_or_else(|error| {
                warn!(%error, hint = error.hint(), "what servers offered before is not known");
                Vec::new()
            }),
            None => Vec::new(),
        };
        let switches = match &memory {
            Some(memory) => memory.switches().await.unwrap_or_default(),
            None => HashMap::new(),
        };
        let builtins = desk.as_deref().map(Builtins::of).unwrap_or_default();
        let known = known.into_iter().map(|(name, lists)| (name, Arc::new(lists))).collect();
        let catalogue = Catalogue::new(BTreeMap::new(), &builtins, WIRE_NAME_MAX);
        let audit = memory.as_mut().and_then(Memory::take_audit);
        let (log, unfinished) = audit.map(|opened| (opened.log, opened.unfinished)).unzip();
        let ledger = Arc::new(Ledger::new(log, Handle::current()));
        if let Some(writer) = memory.as_mut().and_then(Memory::writer) {
            context.runtime.spawn(writer);
        }
        let gateway = Arc::new_cyclic(|gateway| Self {
            context,
            fleet: Fleet::default(),
            catalogue: ArcSwap::from_pointee(catalogue),
            changing: Mutex::default(),
            hub: Arc::new(Hub::new(gateway.clone())),
            sealer,
            parking: Parking::default(),
            memory,
            switches: Mutex::new(switches),
            desk,
            builtins,
            problems: ArcSwap::default(),
            meters: Meters::default(),
            pins: Pins::default(),
            governor: Governor::default(),
            gates: Gates::default(),
            quotas: Quotas::default(),
            uses: Uses::default(),
            waiting: Waiting::default(),
            tasks: Tasks::default(),
            ledger,
            trail: Trail::default(),
            page: ArcSwapOption::empty(),
            inference: ArcSwap::default(),
            known: Mutex::new(known),
        });
        gateway.recall(unfinished.unwrap_or_default()).await;
        gateway.start_trail();
        gateway.context.tasks.spawn(Arc::clone(&gateway).follow_events(received));
        gateway.context.tasks.spawn(Arc::clone(&gateway).keep_fresh());
        gateway.apply(specs, true);
        Ok(gateway)
    }

    /// Ends all servers and waits for their processes, up to a limit.
    pub async fn stop(&self, limit: Duration) {
        let closing = async {
            // All at once: a remote server that does not answer must not keep the others' processes alive.
            let members: Vec<_> = self.fleet.members().values().cloned().collect();
            let servers = members.iter().map(|member| member.upstream.close());
            let _ = tokio::time::timeout(GOODBYE, futures_util::future::join_all(servers)).await;
            let _ = tokio::time::timeout(GOODBYE, self.gates.close()).await;
            self.context.shutdown.cancel();
            self.context.tasks.close();
            self.context.tasks.wait().await;
        };
        if tokio::time::timeout(limit, closing).await.is_err() {
            warn!("some servers did not end in time");
        }
        self.context.shutdown.cancel();
        if let Some(memory) = &self.memory {
            memory.used(self.uses.take_fresh());
            let _ = tokio::time::timeout(GOODBYE, memory.flush()).await;
        }
        if let Some(log) = self.ledger.log() {
            let _ = tokio::time::timeout(GOODBYE, log.close()).await;
        }
    }

    /// How often every tool was called, and how that went.
    pub fn readings(&self) -> Vec<Reading> {
        self.meters.readings()
    }

    /// What is wrong with the configuration, if anything is.
    pub fn problems(&self) -> Arc<Vec<String>> {
        self.problems.load_full()
    }

    /// Says what is wrong with the configuration.
    pub fn set_problems(&self, problems: Vec<String>) {
        self.problems.store(Arc::new(problems));
        self.servers_changed();
    }

    /// What is remembered from one run to the next, if anything is.
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    /// The lists as they are now.
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.catalogue.load_full()
    }

    /// Ends what a client's session had to itself at the servers.
    pub async fn end_session(&self, session: &str) {
        let members: Vec<_> = self.fleet.members().values().cloned().collect();
        for member in members {
            member.upstream.end_session(session).await;
        }
    }

    /// Registers a client that wants to hear of changes. `deliver` must not wait.
    pub fn listen(
        &self,
        wisher: Wisher,
        filter: Filter,
        deliver: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Arc<Listener> {
        self.hub.listen(wisher, filter, deliver)
    }

    /// Adds a resource to what a client watches; returns once the server knows.
    pub async fn watch(&self, listener: &Listener, shown: &str) -> Result<(), RpcError> {
        if self.is_own_resource(listener.view(), shown) || self.is_resource_of_agent(listener, shown).await {
            listener.watch(&desk::OCTROI, shown);
            return Ok(());
        }
        let (name, own) = self.resource(listener.view(), shown)?;
        let Some(upstream) = self.upstream(&name) else {
            return Err(RpcError::invalid_params(format!("unknown resource `{shown}`")));
        };
        if !listener.watch(&name, &own) {
            return Ok(());
        }
        match upstream.watch(&listener.sharer(), listener.capabilities(), &own).await {
            Ok(()) => Ok(()),
            Err(UpstreamError::Refused(error)) => {
                listener.forget(&name, &own);
                Err(if denial::is_forged(&error) { denial::forged(name.as_str(), &error) } else { error })
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
        if self.is_own_resource(listener.view(), shown) || listener.watches(&desk::OCTROI, shown) {
            listener.forget(&desk::OCTROI, shown);
            return Ok(());
        }
        let (name, own) = self.resource(listener.view(), shown)?;
        listener.unwatch(&name, &own);
        Ok(())
    }
}
