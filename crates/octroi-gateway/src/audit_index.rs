//! Everything that reads the audit log while the gateway runs: the search index, retention, and the
//! handlers that get a copy. None of it delays a call.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use octroi_core::config::AuditSection;
use octroi_store::Store;
use octroi_upstream::Context;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tracing::{info, warn};

use crate::audit::{
    AuditHandler, AuditLog, HandlerError, HandlerReading, HandlerSet, LogReader, count_segments,
};
use crate::audit_recorder::AuditRecorder;
use crate::persistence::Persistence;
use crate::subscriptions::Subscriptions;

mod calls;
mod projection;
mod query;
mod refusals;
mod retention;
mod snapshots;

pub use calls::CallsOfPeriod;
pub use query::{AuditFound, AuditIndexError, AuditSearch};
pub(crate) use snapshots::SnapshotWhen;

/// Under load there is a checkpoint every few milliseconds; the database need not know each.
const NOTED_EVERY: Duration = Duration::from_secs(5);

/// What a data directory takes on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSize {
    /// The files of the database.
    pub database_bytes: u64,
    /// The files of the audit log.
    pub audit_bytes: u64,
    /// How many of them are segments.
    pub n_segments: u64,
}

impl DataSize {
    /// Looks at a log and at the database beside it. Files that vanish meanwhile are not counted.
    fn of(log: &Path) -> Self {
        let database = log.parent().map(files).unwrap_or_default().into_iter();
        let database = database.filter(|(name, _)| name.starts_with("octroi.db"));
        Self {
            audit_bytes: files(log).iter().map(|(_, n_bytes)| n_bytes).sum(),
            n_segments: u64::try_from(count_segments(log)).unwrap_or(u64::MAX),
            database_bytes: database.map(|(_, n_bytes)| n_bytes).sum(),
        }
    }
}

/// The files of a directory, each with its size.
fn files(directory: &Path) -> Vec<(String, u64)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let sized = entries.flatten().filter_map(|entry| {
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some((entry.file_name().to_string_lossy().into_owned(), metadata.len()))
    });
    sized.collect()
}

/// The searchable audit log.
pub struct AuditIndex {
    context: Arc<Context>,
    persistence: Option<Arc<Persistence>>,
    recorder: Arc<AuditRecorder>,
    subscriptions: Arc<Subscriptions>,
    settings: watch::Sender<Arc<AuditSection>>,
    /// The last record that searches find.
    projected: watch::Sender<u64>,
    /// Wakes the projection because a search waits for it.
    hurry: Notify,
    /// One shared reader, because it caches record positions. `None` while it is in use.
    reader: Mutex<Option<LogReader>>,
    refusals: refusals::Refusals,
    /// Held while records are purged: two purges at once would conflict.
    purging: tokio::sync::Mutex<()>,
    handlers: HandlerSet,
    /// Whether a record of a call came by in this run.
    has_seen_calls: AtomicBool,
    /// How the calls of the last hour went.
    recent: calls::RecentCalls,
    /// What identifies the last snapshot of this run.
    snapshot: tokio::sync::Mutex<Option<String>>,
}

impl AuditIndex {
    pub(crate) fn new(
        context: &Arc<Context>,
        persistence: Option<Arc<Persistence>>,
        recorder: &Arc<AuditRecorder>,
        subscriptions: &Arc<Subscriptions>,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            persistence,
            recorder: Arc::clone(recorder),
            subscriptions: Arc::clone(subscriptions),
            // Nothing is removed before the configuration says what is kept.
            settings: watch::Sender::new(Arc::new(AuditSection {
                retention: None,
                max_bytes: None,
                ..AuditSection::default()
            })),
            projected: watch::Sender::new(0),
            hurry: Notify::new(),
            reader: Mutex::default(),
            refusals: refusals::Refusals::default(),
            purging: tokio::sync::Mutex::default(),
            handlers: HandlerSet::default(),
            has_seen_calls: AtomicBool::new(false),
            recent: calls::RecentCalls::default(),
            snapshot: tokio::sync::Mutex::default(),
        }
    }

    /// Starts all background readers of the log.
    pub(crate) fn start(self: &Arc<Self>) {
        let (Some(log), Some(persistence)) = (self.recorder.log(), &self.persistence) else {
            return;
        };
        let tasks = &self.context.tasks;
        let store = Arc::clone(persistence.store());
        tasks.spawn_on_main("audit-index", Arc::clone(self).project(log.clone(), Arc::clone(&store)));
        tasks.spawn_on_main("audit-retention", Arc::clone(self).keep_short(log.clone(), store));
        tasks.spawn_on_main("state-snapshots", Arc::clone(self).keep_snapshots());
        let follow =
            follow_checkpoints(Arc::clone(&self.context), log.clone(), Arc::clone(persistence.store()));
        tasks.spawn_on_main("audit-checkpoints", follow);
    }

    /// Applies the configured retention and handlers.
    pub(crate) fn set(&self, settings: &AuditSection) {
        self.settings.send_replace(Arc::new(settings.clone()));
        if let Some(log) = self.recorder.log() {
            self.handlers.set(&settings.handlers, log, &self.context);
        }
    }

    /// The log itself, if this gateway records.
    pub fn log(&self) -> Option<&AuditLog> {
        self.recorder.log()
    }

    /// What the data directory takes on the disk.
    pub async fn size(&self) -> DataSize {
        let Some(directory) = self.log().map(|log| log.directory().to_owned()) else {
            return DataSize::default();
        };
        let measuring = self.context.tasks.spawn_blocking("data-size", move || DataSize::of(&directory));
        measuring.await.unwrap_or_default()
    }

    /// Adds a handler for everything that is recorded from now on. It stays until the gateway ends; a handler
    /// of the same name in a later run continues where it stopped.
    pub fn register_handler(&self, name: &str, handler: Arc<dyn AuditHandler>) -> Result<(), HandlerError> {
        match self.recorder.log() {
            Some(log) => self.handlers.add(name, handler, log, &self.context),
            None => Err(HandlerError::Other("this gateway has no audit log".to_owned())),
        }
    }

    /// The status of the audit handlers.
    pub fn handler_readings(&self) -> Vec<HandlerReading> {
        self.handlers.readings()
    }
}

/// Logs each new checkpoint, so that log collectors keep a copy. The database remembers how far they go, so
/// that a start notices if they are gone.
async fn follow_checkpoints(context: Arc<Context>, log: AuditLog, store: Arc<Store>) {
    let mut checkpoints = log.checkpoints();
    let mut noted_at = None;
    loop {
        tokio::select! {
            biased;
            () = context.shutdown.cancelled() => return,
            changed = checkpoints.changed() => if changed.is_err() { return },
        }
        let note = checkpoints.borrow_and_update().clone();
        if let Some(note) = note {
            let mut lines = note.lines().skip(1);
            let (size, root) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
            info!(audit.size = size, audit.root = root, "audit.checkpoint");
            let now = context.clock.instant();
            if noted_at.is_none_or(|at| now.saturating_duration_since(at) >= NOTED_EVERY) {
                noted_at = Some(now);
                note_signed(&store, &log).await;
            }
        }
    }
}

/// Lets the database remember how many records a checkpoint covers that is on disk.
pub(crate) async fn note_signed(store: &Store, log: &AuditLog) {
    match log.signed_on_disk().await {
        Ok(signed_until) => {
            if let Err(error) = store.note_signed(log.node(), signed_until).await {
                warn!(%error, hint = error.hint(), "the database does not know the newest checkpoint");
            }
        }
        Err(error) => warn!(%error, hint = error.hint(), "the database does not know the newest checkpoint"),
    }
}
