//! Tells people that they are needed, as `[notify]` says: a program, a webhook, the desktop.
//!
//! One task collects alerts and delivers them together, at most one notice about each topic in a while. It never
//! delays a call, and what it holds is limited.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use octroi_core::config::{NoticeTopic, NotifySection};
use octroi_upstream::Context;
use parking_lot::Mutex;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use tracing::warn;

use crate::alerts::Alert;
use crate::audit_recorder::AuditRecorder;
use digest::Digest;

mod deliver;
mod digest;

#[cfg(test)]
mod tests;

pub(crate) use digest::Notice;

/// How long the first alert waits for others that come at the same moment.
const GATHERING: Duration = Duration::from_millis(300);

/// Tells people what they should hear of.
pub(crate) struct Notifier {
    context: Arc<Context>,
    recorder: Arc<AuditRecorder>,
    settings: watch::Sender<Arc<NotifySection>>,
    /// Why the last delivery failed, by the way it took.
    failures: Mutex<BTreeMap<&'static str, String>>,
}

impl Notifier {
    pub(crate) fn new(context: &Arc<Context>, recorder: &Arc<AuditRecorder>) -> Self {
        Self {
            context: Arc::clone(context),
            recorder: Arc::clone(recorder),
            settings: watch::Sender::new(Arc::default()),
            failures: Mutex::default(),
        }
    }

    /// Applies new settings.
    pub(crate) fn set(&self, section: NotifySection) {
        if **self.settings.borrow() == section {
            return;
        }
        self.failures.lock().clear();
        self.settings.send_replace(Arc::new(section));
    }

    /// What people should know about deliveries that fail.
    pub(crate) fn problems(&self) -> Vec<String> {
        let failures = self.failures.lock();
        failures.iter().map(|(way, why)| format!("`{way}` of [notify] failed: {why}")).collect()
    }

    /// Delivers alerts until the gateway ends.
    pub(crate) async fn run(self: Arc<Self>, mut alerts: broadcast::Receiver<Alert>) {
        let mut digest = Digest::default();
        let mut due: Option<Instant> = None;
        let mut next = self.now();
        loop {
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                () = until(due) => {
                    let settings = Arc::clone(&self.settings.borrow());
                    next = self.now() + settings.every;
                    let notices = digest.take();
                    tokio::select! {
                        biased;
                        () = self.context.shutdown.cancelled() => return,
                        () = self.deliver_all(&notices, &settings) => {}
                    }
                }
                alert = alerts.recv() => match alert {
                    Ok(alert) => self.collect(&mut digest, alert),
                    Err(RecvError::Lagged(n_missed)) if self.is_about(NoticeTopic::Approvals) => digest.miss(n_missed),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
            }
            due = if digest.is_empty() {
                None
            } else {
                due.or_else(|| Some((self.now() + GATHERING).max(next)))
            };
        }
    }

    fn collect(&self, digest: &mut Digest, alert: Alert) {
        match alert {
            Alert::CallWaits(call) if self.is_about(NoticeTopic::Approvals) => digest.add_call(call),
            Alert::Quarantined(one) if self.is_about(NoticeTopic::Quarantine) => digest.add_definition(one),
            // Nobody needs to hear of it any more.
            Alert::CallSettled(call) => digest.remove_call(&call.id),
            Alert::CallWaits(_) | Alert::Quarantined(_) => {}
        }
    }

    /// Whether people are notified of this topic.
    fn is_about(&self, topic: NoticeTopic) -> bool {
        let settings = self.settings.borrow();
        !settings.is_silent() && settings.about.contains(&topic)
    }

    async fn deliver_all(&self, notices: &[Notice], settings: &NotifySection) {
        for notice in notices {
            self.deliver(notice, settings).await;
        }
    }

    /// Notes how a delivery went. Only a change is logged: a webhook that is gone is not news each time.
    fn note(&self, way: &'static str, delivered: Result<(), String>) {
        let mut failures = self.failures.lock();
        match delivered {
            Ok(()) => drop(failures.remove(way)),
            Err(why) => {
                if failures.insert(way, why.clone()).is_none() {
                    warn!(notify.way = way, reason = why, "a notice could not be delivered");
                }
            }
        }
    }

    fn now(&self) -> Instant {
        Instant::from_std(self.context.clock.instant())
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
