//! The history of health checks.

use std::time::Duration;

use octroi_core::ServerKey;
use octroi_store::{HealthSample, StoreError};
use tracing::warn;

use super::Persistence;

impl Persistence {
    /// The last health checks of a server, newest first.
    pub async fn checks(&self, key: &ServerKey, n_max: u32) -> Result<Vec<HealthSample>, StoreError> {
        self.store.health_samples(key, n_max).await
    }

    /// Removes results of health checks that are older than this, and those beyond what is kept of each server.
    pub(crate) async fn forget_checks(&self, retention: Option<Duration>) {
        let kept_ms = retention.map_or(i64::MAX, |kept| i64::try_from(kept.as_millis()).unwrap_or(i64::MAX));
        if let Err(error) = self.store.purge_health(self.clock.now_ms().saturating_sub(kept_ms)).await {
            warn!(%error, hint = error.hint(), "old results of health checks could not be removed");
        }
    }
}
