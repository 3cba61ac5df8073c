//! Persistent storage of server state across restarts.
//!
//! Nothing waits for the disk: a background task writes. If a write fails, that is logged and Octroi
//! continues; the next start then knows a little less.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use octroi_core::health::Checks;
use octroi_core::server::{Provenance, ServerSpec, Transport};
use octroi_core::{Clock, ServerKey};
use octroi_mcp::Version;
use octroi_mcp::capability::Abilities;
use octroi_store::{
    CanonicalJson, Catalogue, HealthSample, HeldDefinition, KnownKey, KnownLog, ManagedBy, PinRecord,
    ServerRecord, Store, StoreError, ToolUse,
};
use octroi_upstream::{BackgroundTasks, ServerIdentity, SpokenEras, UpstreamError};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::warn;

use crate::audit::{AuditError, FoundLog, LogFacts, Opened, Options};
use crate::catalogue::{LISTS, ServerLists, read_item};
use crate::lost_state::{Knowledge, Loss, LossList, OnLoss, compare, missing_files, missing_log};
use crate::persistence::key::KeyOrigin;

mod checks;
mod error;
pub(crate) mod key;

pub use error::PersistenceError;
mod system_secrets;

pub use system_secrets::SystemSecrets;

/// The maximum number of queued writes. More are dropped; lists are written again when they change.
const WAITING: usize = 1_024;

/// The subdirectory of the audit log in the data directory.
pub(crate) const AUDIT: &str = "audit";

/// The store, and the queue of writes to it.
pub struct Persistence {
    clock: Clock,
    store: Arc<Store>,
    audit: Option<Opened>,
    jobs: mpsc::Sender<WriteJob>,
    received: Option<mpsc::Receiver<WriteJob>>,
    /// Separate from other tasks, because it writes what they leave when they end.
    tasks: BackgroundTasks,
    /// Notified when something changes that a snapshot holds.
    changed: Arc<Notify>,
    /// What was lost, and accepted as lost.
    losses: Vec<Loss>,
    /// Outside the queue, which may be full: a tool whose pin was lost could change unnoticed.
    pins: Arc<Mutex<UnwrittenPins>>,
}

/// Pins and quarantined definitions that are not written yet.
#[derive(Default)]
struct UnwrittenPins {
    pins: Vec<PinRecord>,
    held: Vec<HeldDefinition>,
}

enum WriteJob {
    Define(ServerKey, ManagedBy, CanonicalJson),
    Keep(ServerKey, Arc<ServerLists>),
    Checked(ServerKey, HealthSample),
    /// Write pending pins, as before every job.
    Pins,
    Used(Vec<ToolUse>),
    Asks(ServerKey, bool),
    Agree(ServerKey),
    Forget(ServerKey),
    /// Reports when everything before it is done, and whether pins could be written.
    Flush(oneshot::Sender<Result<(), StoreError>>),
    /// The last job.
    Close,
}

impl Persistence {
    /// Opens the store in the data directory and locks it for this process. The first start makes the key that
    /// encrypts what is stored. Fails if something is lost.
    pub async fn open(directory: &Path, clock: Clock) -> Result<Self, PersistenceError> {
        Self::open_with(directory, clock, OnLoss::Refuse, &KeyOrigin::Directory).await
    }

    /// The same; lost state may be accepted, and the key may come from elsewhere.
    pub async fn open_with(
        directory: &Path,
        clock: Clock,
        on_loss: OnLoss,
        key: &KeyOrigin,
    ) -> Result<Self, PersistenceError> {
        let refuse = |losses: &LossList| match on_loss {
            OnLoss::Refuse if !losses.is_empty() => {
                Err(PersistenceError::Lost { directory: directory.to_owned(), losses: losses.to_vec() })
            }
            OnLoss::Refuse | OnLoss::Accept => Ok(()),
        };
        let log = directory.join(AUDIT);
        let mut losses = LossList::default();
        losses.add(missing_files(directory, &log, key::FILE));
        // Before anything is created: the next start would take it for what was lost.
        refuse(&losses)?;
        let find_key = |directory: &Path, known: Option<&KnownKey>| key.find(directory, known, on_loss);
        let store = Arc::new(Store::open(directory, &find_key).await?);
        let knowledge = Knowledge { nodes: store.audit_nodes().await?, logs: store.known_logs().await? };
        let lost_log = missing_log(directory, &log, &knowledge.nodes);
        let is_log_there = lost_log.is_none();
        losses.add(lost_log);
        refuse(&losses)?;
        let options = Options::new(clock.clone());
        let tasks = BackgroundTasks::new(Handle::current());
        let finding = tasks.spawn_blocking("find-audit-log", move || FoundLog::find(&log, &options));
        let found = finding.await.map_err(|_| AuditError::Closed)??;
        let facts = found.facts();
        if is_log_there {
            losses.add(compare(&knowledge, &facts));
            refuse(&losses)?;
        }
        remember_log(&store, &knowledge, &facts, &losses).await?;
        let opening = tasks.spawn_blocking("open-audit-log", move || found.open());
        let audit = opening.await.map_err(|_| AuditError::Closed)??;
        let (jobs, received) = mpsc::channel(WAITING);
        Ok(Self {
            clock,
            store,
            audit: Some(audit),
            jobs,
            received: Some(received),
            tasks,
            changed: Arc::default(),
            losses: losses.to_vec(),
            pins: Arc::default(),
        })
    }

    /// Notified when something changes that a snapshot holds.
    pub(crate) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    /// What was lost, and accepted as lost.
    pub(crate) fn losses(&self) -> &[Loss] {
        &self.losses
    }

    /// Takes the opened audit log, with the state that the last run left; once.
    pub(crate) fn take_audit(&mut self) -> Option<Opened> {
        self.audit.take()
    }

    /// What is known of servers, with what people decided about them.
    pub(crate) async fn servers(&self) -> Result<Vec<ServerRecord>, StoreError> {
        self.store.servers().await
    }

    /// Servers that ask their clients over connections that several share.
    pub(crate) async fn asking(&self) -> Result<HashSet<ServerKey>, StoreError> {
        let servers = self.store.servers().await?;
        Ok(servers.into_iter().filter(|server| server.asks_clients).map(|server| server.key).collect())
    }

    pub(crate) fn asks(&self, key: &ServerKey, asks_clients: bool) {
        self.later(WriteJob::Asks(key.clone(), asks_clients));
    }

    /// Stores that an operator enabled or disabled a server. Enabling it is a yes to it.
    pub(crate) async fn switch(&self, key: &ServerKey, enabled: bool, by: &str) -> Result<(), StoreError> {
        self.store.set_enabled_override(key, Some((enabled, by))).await
    }

    pub(crate) fn agree(&self, key: &ServerKey) {
        self.later(WriteJob::Agree(key.clone()));
    }

    /// The lists that servers last offered.
    pub(crate) async fn recall(&self) -> Result<Vec<(ServerKey, ServerLists)>, StoreError> {
        let stored = self.store.catalogues().await?;
        Ok(stored
            .into_iter()
            .filter_map(|stored| {
                let lists = read(&stored.key, &stored.catalogue);
                if lists.is_none() {
                    warn!(server.name = %stored.key, "stored lists of the server cannot be read");
                }
                Some((stored.key, lists?))
            })
            .collect())
    }

    pub(crate) fn define(&self, spec: &ServerSpec) {
        let managed_by = match spec.provenance {
            Provenance::File => ManagedBy::File,
            Provenance::Stored | Provenance::Member => ManagedBy::Database,
        };
        self.later(WriteJob::Define(spec.key.clone(), managed_by, definition(spec)));
    }

    pub(crate) fn keep(&self, key: &ServerKey, lists: &Arc<ServerLists>) {
        self.later(WriteJob::Keep(key.clone(), Arc::clone(lists)));
    }

    pub(crate) fn checked(&self, key: &ServerKey, checks: &Checks, error: Option<&UpstreamError>) {
        let latency = checks.latency.filter(|_| error.is_none());
        let sample = HealthSample {
            at_ms: self.clock.now_ms(),
            health: checks.health,
            latency_ms: latency.map(|latency| i64::try_from(latency.as_millis()).unwrap_or(i64::MAX)),
            error: error.map(ToString::to_string),
        };
        self.later(WriteJob::Checked(key.clone(), sample));
    }

    /// The store, for parts that persist more than servers.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn pin(&self, pins: Vec<PinRecord>, held: Vec<HeldDefinition>) {
        if pins.is_empty() && held.is_empty() {
            return;
        }
        let mut waiting = self.pins.lock();
        waiting.pins.extend(pins);
        waiting.held.extend(held);
        drop(waiting);
        self.changed.notify_one();
        // If the queue is full, its jobs write them first anyway.
        let _ = self.jobs.try_send(WriteJob::Pins);
    }

    pub(crate) fn used(&self, uses: Vec<ToolUse>) {
        if !uses.is_empty() {
            self.later(WriteJob::Used(uses));
        }
    }

    pub(crate) fn forget(&self, key: &ServerKey) {
        self.later(WriteJob::Forget(key.clone()));
    }

    /// Waits until everything so far is written. Fails while pins cannot be written: an operator's decision
    /// about a definition must not be followed by an older pin of it.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        let (done, flushed) = oneshot::channel();
        if self.jobs.send(WriteJob::Flush(done)).await.is_err() {
            return Ok(());
        }
        flushed.await.unwrap_or(Ok(()))
    }

    fn later(&self, job: WriteJob) {
        if self.jobs.try_send(job).is_err() {
            warn!("persistence queue is full, a write was dropped");
        }
    }

    /// Starts the writer task, unless it is running already.
    pub(crate) fn start_writing(&mut self) {
        let Some(mut received) = self.received.take() else {
            return;
        };
        let (store, pins, clock) = (Arc::clone(&self.store), Arc::clone(&self.pins), self.clock.clone());
        self.tasks.spawn("store-writer", async move {
            while let Some(job) = received.recv().await {
                let is_last = matches!(job, WriteJob::Close);
                let pinned = write_pins(&store, &pins).await;
                if let Err(error) = write(&store, job, pinned, clock.now_ms()).await {
                    warn!(%error, hint = error.hint(), "state could not be persisted");
                }
                if is_last {
                    return;
                }
            }
        });
    }

    /// Writes everything so far, and nothing that comes later.
    pub(crate) async fn close(&self) {
        if self.jobs.send(WriteJob::Close).await.is_ok() {
            self.tasks.wait().await;
        }
    }
}

/// Stores what is known of the audit log, unless it is known already. After an accepted loss it is what there
/// is; the number of the newest snapshot never becomes smaller.
async fn remember_log(
    store: &Store,
    knowledge: &Knowledge,
    facts: &LogFacts,
    losses: &LossList,
) -> Result<(), StoreError> {
    if !losses.is_empty() {
        for (node, _) in knowledge.nodes.iter().filter(|(node, _)| *node != facts.node) {
            store.rewind_audit(node, 0).await?;
        }
    }
    let before = knowledge.of_log(&facts.node);
    if losses.is_empty() && before.is_some() {
        return Ok(());
    }
    let snapshot = before.map_or(0, |before| before.snapshot).max(facts.snapshot);
    let (node, key) = (facts.node.clone(), facts.key.clone());
    store.save_known_log(&KnownLog { node, key, signed_until: facts.signed_until, snapshot }).await
}

/// Failed writes are retried before the next job.
async fn write_pins(store: &Store, waiting: &Mutex<UnwrittenPins>) -> Result<(), StoreError> {
    let UnwrittenPins { pins, held } = std::mem::take(&mut *waiting.lock());
    let pinned = if pins.is_empty() { Ok(()) } else { store.save_pins(&pins).await };
    let noted = if held.is_empty() { Ok(()) } else { store.hold(&held).await };
    let mut waiting = waiting.lock();
    if let Err(error) = &pinned {
        warn!(%error, hint = error.hint(), "pins could not be persisted yet");
        waiting.pins.splice(..0, pins);
    }
    if let Err(error) = &noted {
        warn!(%error, hint = error.hint(), "quarantined definitions could not be persisted yet");
        waiting.held.splice(..0, held);
    }
    pinned.and(noted)
}

async fn write(
    store: &Store,
    job: WriteJob,
    pinned: Result<(), StoreError>,
    now_ms: i64,
) -> Result<(), StoreError> {
    match job {
        WriteJob::Define(key, managed_by, definition) => {
            store.record_server(&key, managed_by, &definition, now_ms).await?;
        }
        WriteJob::Keep(key, lists) => {
            store.save_catalogue(&key, &written(&lists), now_ms).await?;
        }
        WriteJob::Checked(key, sample) => store.add_health_sample(&key, &sample).await?,
        WriteJob::Flush(done) => {
            let _ = done.send(pinned);
        }
        WriteJob::Pins | WriteJob::Close => {}
        WriteJob::Used(uses) => store.record_uses(&uses).await?,
        WriteJob::Agree(key) => store.agree_to_server(&key).await?,
        WriteJob::Asks(key, asks_clients) => store.set_asks_clients(&key, asks_clients).await?,
        WriteJob::Forget(key) => {
            store.forget_server(&key).await?;
        }
    }
    Ok(())
}

/// The definition of a server, without possible secrets.
fn definition(spec: &ServerSpec) -> CanonicalJson {
    let transport = match &spec.transport {
        Transport::Stdio(program) => json!({
            "transport": "stdio",
            "command": program.command,
            "cwd": program.cwd,
            "env": program.env.keys().collect::<Vec<_>>(),
        }),
        Transport::Http(remote) => {
            json!({"transport": "http", "headers": remote.headers.keys().collect::<Vec<_>>()})
        }
        Transport::Sse(remote) => {
            json!({"transport": "sse", "headers": remote.headers.keys().collect::<Vec<_>>()})
        }
    };
    CanonicalJson::of(json!({"name": spec.name().as_str(), "enabled": spec.is_enabled(), "reach": transport}))
}

fn written(lists: &ServerLists) -> Catalogue {
    let identity = &lists.identity;
    let info: Option<Value> = identity.info.as_ref().and_then(|info| serde_json::from_slice(info).ok());
    let texts = |method| {
        let items = lists.list(method).iter();
        items.map(|item| String::from_utf8_lossy(&item.definition).into_owned()).collect()
    };
    let [tools, prompts, resources, templates] = LISTS.each_ref().map(texts);
    Catalogue {
        identity: json!({
            "version": identity.version.as_str(),
            "info": info,
            "capabilities": identity.capabilities,
            "instructions": identity.instructions,
            "spoken": {"legacy": identity.spoken.legacy, "modern": identity.spoken.modern},
            "abilities": identity.abilities.bits(),
        })
        .to_string(),
        tools,
        prompts,
        resources,
        templates,
    }
}

fn read(key: &ServerKey, stored: &Catalogue) -> Option<ServerLists> {
    let identity: Value = serde_json::from_str(&stored.identity).ok()?;
    let version = Version::parse(identity["version"].as_str()?)?;
    let info = Some(&identity["info"]).filter(|info| !info.is_null());
    let mut lists = ServerLists::empty(ServerIdentity {
        era: version.era(),
        version,
        info: info.map(|info| Bytes::from(info.to_string())),
        capabilities: identity["capabilities"].clone(),
        instructions: identity["instructions"].as_str().map(str::to_owned),
        spoken: SpokenEras {
            legacy: identity["spoken"]["legacy"].as_bool(),
            modern: identity["spoken"]["modern"].as_bool(),
        },
        abilities: identity["abilities"]
            .as_u64()
            .and_then(|bits| u8::try_from(bits).ok())
            .map_or(Abilities::ALL, Abilities::from_bits),
    });
    let texts = [&stored.tools, &stored.prompts, &stored.resources, &stored.templates];
    for (method, texts) in LISTS.iter().zip(texts) {
        // They were checked when they were fetched.
        let items = texts.iter().filter_map(|text| read_item(key, method, Bytes::from(text.clone()), false));
        lists.set(method, items.collect());
    }
    Some(lists)
}
