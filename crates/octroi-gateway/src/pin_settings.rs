//! Settings for accepting definitions.

use octroi_core::pin::{Lock, PinPolicy};

/// Settings for accepting definitions.
#[derive(Clone, Debug, Default)]
pub struct PinSettings {
    /// What happens to a definition that was never seen.
    pub policy: PinPolicy,
    /// The content of the lock file. It takes precedence over accepted definitions.
    pub lock: Lock,
}
