//! Everything that reads the audit log while the gateway runs: the table that searches use, the end of
//! records that are too old, and those who get a copy. Nothing here is in the way of a call.

use std::sync::Arc;

use octroi_core::config::AuditSection;
use octroi_upstream::Context;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tracing::info;

use crate::audit::{AuditHandler, AuditLog, HandlerError, HandlerReading, Posts, Reader};
use crate::audit_recorder::AuditRecorder;
use crate::persistence::Persistence;
use crate::subscriptions::Subscriptions;
use refusals::Refusals;

mod projection;
mod query;
mod refusals;
mod retention;

pub use query::{AuditFound, AuditIndexError, AuditSearch};

/// The audit log as it is searched.
pub struct AuditIndex {
    context: Arc<Context>,
    persistence: Option<Arc<Persistence>>,
    recorder: Arc<AuditRecorder>,
    subscriptions: Arc<Subscriptions>,
    settings: watch::Sender<Arc<AuditSection>>,
    /// The last record that searches find.
    projected: watch::Sender<u64>,
    /// Somebody waits for the table.
    hurry: Notify,
    /// One for all who ask, because it knows where records stand. Away while it is used.
    reader: Mutex<Option<Reader>>,
    refusals: Mutex<Refusals>,
    /// Held while records are taken away: two at once would get in each other's way.
    purging: tokio::sync::Mutex<()>,
    posts: Posts,
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
            settings: watch::Sender::new(Arc::default()),
            projected: watch::Sender::new(0),
            hurry: Notify::new(),
            reader: Mutex::default(),
            refusals: Mutex::default(),
            purging: tokio::sync::Mutex::default(),
            posts: Posts::default(),
        }
    }

    /// Starts everything that reads along.
    pub(crate) fn start(self: &Arc<Self>) {
        let (Some(log), Some(persistence)) = (self.recorder.log(), &self.persistence) else {
            return;
        };
        let tasks = &self.context.tasks;
        let store = Arc::clone(persistence.store());
        tasks.spawn_on_main("audit-index", Arc::clone(self).project(log.clone(), Arc::clone(&store)));
        tasks.spawn_on_main("audit-retention", Arc::clone(self).keep_short(log.clone(), store));
        tasks.spawn_on_main("audit-checkpoints", log_checkpoints(Arc::clone(&self.context), log.clone()));
    }

    /// Puts what the configuration says about keeping and sending records into effect.
    pub(crate) fn set(&self, settings: &AuditSection) {
        self.settings.send_replace(Arc::new(settings.clone()));
        if let Some(log) = self.recorder.log() {
            self.posts.set(&settings.handlers, log, &self.context);
        }
    }

    /// The log itself, if anything is recorded.
    pub fn log(&self) -> Option<&AuditLog> {
        self.recorder.log()
    }

    /// Adds a receiver of everything that is recorded from now on. It stays until the gateway ends, and goes
    /// on where it was when a later run adds one of the same name.
    pub fn register_handler(&self, name: &str, handler: Arc<dyn AuditHandler>) -> Result<(), HandlerError> {
        match self.recorder.log() {
            Some(log) => self.posts.add(name, handler, log, &self.context),
            None => Err(HandlerError::Other("this gateway keeps no audit log".to_owned())),
        }
    }

    /// How those who get a copy of the audit log are doing.
    pub fn handler_readings(&self) -> Vec<HandlerReading> {
        self.posts.readings()
    }
}

/// Logs each new checkpoint, so that whoever keeps what Octroi logs keeps a copy.
async fn log_checkpoints(context: Arc<Context>, log: AuditLog) {
    let mut checkpoints = log.checkpoints();
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
        }
    }
}
