//! Everything that reads the audit log while the gateway runs: the table that searches use, the end of
//! records that are too old, and those who get a copy. Nothing here is in the way of a call.

mod projection;
mod query;
mod refusals;
mod retention;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use octroi_core::config::AuditSection;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tracing::info;

use crate::audit::{AuditHandler, AuditLog, HandlerError, HandlerReading, Posts, Reader};
use crate::gateway::Gateway;
use refusals::Refusals;

pub use query::{AuditFound, AuditSearch, TrailError};

/// The newest records, for those who watch.
pub(crate) const RECENT: &str = "resource://audit/recent";

/// What those who read share.
pub(crate) struct Trail {
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
    pub(crate) posts: Posts,
}

impl Default for Trail {
    fn default() -> Self {
        Self {
            settings: watch::Sender::new(Arc::default()),
            projected: watch::Sender::new(0),
            hurry: Notify::new(),
            reader: Mutex::default(),
            refusals: Mutex::default(),
            purging: tokio::sync::Mutex::default(),
            posts: Posts::default(),
        }
    }
}

impl Gateway {
    /// Starts everything that reads along.
    pub(crate) fn start_trail(self: &Arc<Self>) {
        let (Some(log), Some(memory)) = (self.ledger.log(), &self.memory) else {
            return;
        };
        let (tasks, runtime) = (&self.context.tasks, &self.context.runtime);
        let store = Arc::clone(memory.store());
        tasks.spawn_on(Arc::clone(self).project(log.clone(), Arc::clone(&store)), runtime);
        tasks.spawn_on(Arc::clone(self).keep_short(log.clone(), store), runtime);
        tasks.spawn_on(tell_checkpoints(Arc::clone(self), log.clone()), runtime);
    }

    /// Puts what the configuration says about keeping and sending records into effect.
    pub(crate) fn set_trail(&self, settings: &AuditSection) {
        self.trail.settings.send_replace(Arc::new(settings.clone()));
        if let Some(log) = self.ledger.log() {
            self.trail.posts.set(&settings.handlers, log, &self.context);
        }
    }
}

impl Gateway {
    /// Adds a receiver of everything that is recorded from now on. It stays until the gateway ends, and goes
    /// on where it was when a later run adds one of the same name.
    pub fn register_handler(&self, name: &str, handler: Arc<dyn AuditHandler>) -> Result<(), HandlerError> {
        match self.ledger.log() {
            Some(log) => self.trail.posts.add(name, handler, log, &self.context),
            None => Err(HandlerError::Other("this gateway keeps no audit log".to_owned())),
        }
    }

    /// How those who get a copy of the audit log are doing.
    pub fn handler_readings(&self) -> Vec<HandlerReading> {
        self.trail.posts.readings()
    }
}

/// Says each new checkpoint, so that whoever keeps what Octroi says keeps a copy.
async fn tell_checkpoints(gateway: Arc<Gateway>, log: AuditLog) {
    let mut checkpoints = log.checkpoints();
    loop {
        tokio::select! {
            biased;
            () = gateway.context.shutdown.cancelled() => return,
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
