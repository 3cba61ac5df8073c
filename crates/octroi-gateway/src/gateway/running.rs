//! What a gateway does by itself while it runs.

use std::sync::Arc;
use std::time::Duration;

use super::Gateway;

/// Lists are fetched again after this time even if no change was announced.
const REFRESH_EVERY: Duration = Duration::from_mins(5);
const SWEEP_EVERY: Duration = Duration::from_secs(30);
const FORGET_EVERY: Duration = Duration::from_hours(1);

impl Gateway {
    /// Starts what goes on until the gateway ends.
    pub(super) fn start_tasks(self: &Arc<Self>) {
        let (tasks, shutdown) = (&self.context.tasks, || self.context.shutdown.clone());
        tasks.spawn("deliver-notices", Arc::clone(&self.subscriptions).deliver(shutdown()));
        tasks.spawn("agent-states", Arc::clone(self).announce_agents());
        tasks.spawn("notify", Arc::clone(&self.notifier).run(self.subscriptions.alerts()));
        tasks.spawn("sweep", Arc::clone(self).look_after());
        tasks.spawn("tokens", Arc::clone(&self.identity).look_after(shutdown()));
        tasks.spawn("ended-tokens", Arc::clone(&self.approvals).follow_ended_tokens());
    }

    /// Tells subscribers what agents do.
    async fn announce_agents(self: Arc<Self>) {
        self.governance.activities.announce(&self.subscriptions, &self.context.shutdown).await;
    }

    /// Periodic maintenance, until the gateway ends.
    async fn look_after(self: Arc<Self>) {
        let mut refresh = tokio::time::interval(REFRESH_EVERY);
        let mut sweep = tokio::time::interval(SWEEP_EVERY);
        let mut forget = tokio::time::interval(FORGET_EVERY);
        refresh.reset();
        loop {
            tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                _ = sweep.tick() => {
                    self.pipeline.exchanges.sweep();
                    self.pipeline.tasks.sweep(self.context.clock.now_ms());
                    self.recorder.end_completions(self.context.clock.now_ms()).await;
                    self.governance.keep_uses();
                    self.approvals.expire().await;
                    self.approvals.remove_arguments().await;
                    self.servers.sweep().await;
                    self.pools.sweep(SWEEP_EVERY);
                    self.clients.sweep();
                }
                _ = refresh.tick() => self.servers.request_lists(),
                _ = forget.tick() => {
                    self.forget_checks().await;
                    self.approvals.forget().await;
                }
            }
        }
    }

    /// Removes old results of health checks.
    pub(super) async fn forget_checks(&self) {
        if let Some(persistence) = &self.persistence {
            let retention = self.governance.settings().health_retention;
            persistence.forget_checks(retention).await;
        }
    }
}
