//! Settings for accepting definitions.

use octroi_core::pin::{Lock, NewTools, PinPolicy};

/// Settings for accepting definitions.
#[derive(Clone, Debug, Default)]
pub struct PinSettings {
    /// What happens to a definition that was never seen.
    pub policy: PinPolicy,
    /// What happens to a tool that a known server adds.
    pub new_tools: NewTools,
    /// The content of the lock file. It takes precedence over accepted definitions.
    pub lock: Lock,
}
