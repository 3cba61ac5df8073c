//! How definitions come to be accepted, as the configuration says it.

use octroi_core::pin::{Lock, PinPolicy};

/// How definitions come to be accepted.
#[derive(Clone, Debug, Default)]
pub struct PinSettings {
    /// What happens to one that was never seen.
    pub policy: PinPolicy,
    /// What the lock file holds. It stands above what was accepted here.
    pub lock: Lock,
}
