//! What is remembered of servers from one run to the next.
//!
//! Nobody waits for the disk: what is to be kept goes to a task of its own. If it cannot be written, the
//! log says so and Octroi goes on; the next start then knows a little less.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use octroi_core::health::Checks;
use octroi_core::server::{ServerSpec, Transport};
use octroi_core::{Clock, ServerKey};
use octroi_mcp::Version;
use octroi_store::{
    CanonicalJson, Catalogue, HealthSample, HeldDefinition, ManagedBy, PinRecord, Store, StoreError, ToolUse,
};
use octroi_upstream::{BackgroundTasks, ServerIdentity, UpstreamError};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use crate::audit::{AuditError, AuditLog, Opened, Options};
use crate::catalogue::{LISTS, ServerLists, read_item};

/// What may wait to be written. More is not kept; the lists are written again when they change.
const WAITING: usize = 1_024;

/// Where the audit log is, in the data directory.
const AUDIT: &str = "audit";

/// Why nothing can be remembered.
#[derive(Debug, thiserror::Error)]
pub enum PersistenceError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The audit log cannot be opened.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

impl PersistenceError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Store(error) => error.hint().clone(),
            Self::Audit(error) => error.hint(),
        }
    }

    /// Whether another process has the directory.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::Store(StoreError::InUse { .. }))
    }

    /// The process that has the directory, where it is known.
    pub fn holder(&self) -> Option<u32> {
        match self {
            Self::Store(StoreError::InUse { process, .. }) => *process,
            Self::Store(_) | Self::Audit(_) => None,
        }
    }
}

/// The store, and the queue of what is to be written into it.
pub struct Persistence {
    clock: Clock,
    store: Arc<Store>,
    audit: Option<Opened>,
    jobs: mpsc::Sender<Job>,
    received: Option<mpsc::Receiver<Job>>,
    /// The writer, apart from other tasks: it writes what they leave when they end.
    tasks: BackgroundTasks,
    /// Not in the queue, where there may be no room: a tool whose pin was lost could change unseen.
    pins: Arc<Mutex<Pins>>,
}

/// What is to be remembered of definitions, until it is written.
#[derive(Default)]
struct Pins {
    pins: Vec<PinRecord>,
    held: Vec<HeldDefinition>,
}

enum Job {
    Define(ServerKey, CanonicalJson),
    Keep(ServerKey, Arc<ServerLists>),
    Checked(ServerKey, HealthSample),
    /// Look for pins, as before every job.
    Pins,
    Used(Vec<ToolUse>),
    Forget(ServerKey),
    /// Says when everything before is done, and whether pins could be written.
    Flush(oneshot::Sender<Result<(), StoreError>>),
    /// Nothing follows.
    Close,
}

impl Persistence {
    /// Opens the store in the data directory, which then belongs to this process.
    pub async fn open(directory: &Path, clock: Clock) -> Result<Self, PersistenceError> {
        let store = Arc::new(Store::open(directory).await?);
        let audit = directory.join(AUDIT);
        let options = Options::new(clock.clone());
        let tasks = BackgroundTasks::new(Handle::current());
        let opening = tasks.spawn_blocking("open-audit-log", move || AuditLog::open(&audit, &options));
        let audit = opening.await.map_err(|_| AuditError::Closed)??;
        let (jobs, received) = mpsc::channel(WAITING);
        Ok(Self {
            clock,
            store,
            audit: Some(audit),
            jobs,
            received: Some(received),
            tasks,
            pins: Arc::default(),
        })
    }

    /// The audit log and what the last run left in it, for the first who asks.
    pub(crate) fn take_audit(&mut self) -> Option<Opened> {
        self.audit.take()
    }

    /// Which servers a person switched on or off, whatever their definition says.
    pub async fn switches(&self) -> Result<HashMap<ServerKey, bool>, StoreError> {
        let servers = self.store.servers().await?;
        Ok(servers.into_iter().filter_map(|server| Some((server.key, server.enabled_override?))).collect())
    }

    /// Remembers that a person switched a server on or off.
    pub(crate) async fn switch(&self, key: &ServerKey, enabled: Option<bool>) -> Result<(), StoreError> {
        self.store.set_enabled_override(key, enabled).await
    }

    /// The last checks of a server, newest first.
    pub async fn checks(&self, key: &ServerKey, n_max: u32) -> Result<Vec<HealthSample>, StoreError> {
        self.store.health_samples(key, n_max).await
    }

    /// What the servers offered when they were last seen.
    pub(crate) async fn recall(&self) -> Result<Vec<(ServerKey, ServerLists)>, StoreError> {
        let stored = self.store.catalogues().await?;
        Ok(stored
            .into_iter()
            .filter_map(|stored| {
                let lists = read(&stored.key, &stored.catalogue);
                if lists.is_none() {
                    warn!(server.name = %stored.key, "what was remembered of it cannot be read");
                }
                Some((stored.key, lists?))
            })
            .collect())
    }

    pub(crate) fn define(&self, spec: &ServerSpec) {
        self.later(Job::Define(spec.key.clone(), definition(spec)));
    }

    pub(crate) fn keep(&self, key: &ServerKey, lists: &Arc<ServerLists>) {
        self.later(Job::Keep(key.clone(), Arc::clone(lists)));
    }

    pub(crate) fn checked(&self, key: &ServerKey, checks: &Checks, error: Option<&UpstreamError>) {
        let latency = checks.latency.filter(|_| error.is_none());
        let sample = HealthSample {
            at_ms: self.clock.now_ms(),
            health: checks.health,
            latency_ms: latency.map(|latency| i64::try_from(latency.as_millis()).unwrap_or(i64::MAX)),
            error: error.map(ToString::to_string),
        };
        self.later(Job::Checked(key.clone(), sample));
    }

    /// What is remembered, for those who keep more than servers.
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
        // If there is no room, there are jobs before which they are written.
        let _ = self.jobs.try_send(Job::Pins);
    }

    pub(crate) fn used(&self, uses: Vec<ToolUse>) {
        if !uses.is_empty() {
            self.later(Job::Used(uses));
        }
    }

    pub(crate) fn forget(&self, key: &ServerKey) {
        self.later(Job::Forget(key.clone()));
    }

    /// Waits until everything so far is written. Fails while pins cannot be: what a person decides about a
    /// definition must not be followed by an older pin of it.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        let (done, flushed) = oneshot::channel();
        if self.jobs.send(Job::Flush(done)).await.is_err() {
            return Ok(());
        }
        flushed.await.unwrap_or(Ok(()))
    }

    fn later(&self, job: Job) {
        if self.jobs.try_send(job).is_err() {
            warn!("too much to remember at once, something was left out");
        }
    }

    /// Starts the task that writes, unless it runs already.
    pub(crate) fn start_writing(&mut self) {
        let Some(mut received) = self.received.take() else {
            return;
        };
        let (store, pins, clock) = (Arc::clone(&self.store), Arc::clone(&self.pins), self.clock.clone());
        self.tasks.spawn("store-writer", async move {
            while let Some(job) = received.recv().await {
                let is_last = matches!(job, Job::Close);
                let pinned = write_pins(&store, &pins).await;
                if let Err(error) = write(&store, job, pinned, clock.now_ms()).await {
                    warn!(%error, hint = error.hint(), "cannot be remembered");
                }
                if is_last {
                    return;
                }
            }
        });
    }

    /// Writes everything so far, and nothing that comes later.
    pub(crate) async fn close(&self) {
        if self.jobs.send(Job::Close).await.is_ok() {
            self.tasks.wait().await;
        }
    }
}

/// What cannot be written is tried again before the next job.
async fn write_pins(store: &Store, waiting: &Mutex<Pins>) -> Result<(), StoreError> {
    let Pins { pins, held } = std::mem::take(&mut *waiting.lock());
    let pinned = if pins.is_empty() { Ok(()) } else { store.save_pins(&pins).await };
    let noted = if held.is_empty() { Ok(()) } else { store.hold(&held).await };
    let mut waiting = waiting.lock();
    if let Err(error) = &pinned {
        warn!(%error, hint = error.hint(), "pins of tools cannot be remembered yet");
        waiting.pins.splice(..0, pins);
    }
    if let Err(error) = &noted {
        warn!(%error, hint = error.hint(), "what is kept back cannot be remembered yet");
        waiting.held.splice(..0, held);
    }
    pinned.and(noted)
}

async fn write(
    store: &Store,
    job: Job,
    pinned: Result<(), StoreError>,
    now_ms: i64,
) -> Result<(), StoreError> {
    match job {
        Job::Define(key, definition) => {
            store.record_server(&key, ManagedBy::File, &definition, now_ms).await?;
        }
        Job::Keep(key, lists) => {
            store.save_catalogue(&key, &written(&lists), now_ms).await?;
        }
        Job::Checked(key, sample) => store.add_health_sample(&key, &sample).await?,
        Job::Flush(done) => {
            let _ = done.send(pinned);
        }
        Job::Pins | Job::Close => {}
        Job::Used(uses) => store.record_uses(&uses).await?,
        Job::Forget(key) => {
            store.forget_server(&key).await?;
        }
    }
    Ok(())
}

/// How a server is defined, without what might be secret.
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
    CanonicalJson::of(json!({"name": spec.name().as_str(), "enabled": spec.enabled, "reach": transport}))
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
    });
    let texts = [&stored.tools, &stored.prompts, &stored.resources, &stored.templates];
    for (method, texts) in LISTS.iter().zip(texts) {
        // They were checked when they were fetched.
        let items = texts.iter().filter_map(|text| read_item(key, method, Bytes::from(text.clone()), false));
        lists.set(method, items.collect());
    }
    Some(lists)
}
