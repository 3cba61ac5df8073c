//! Settings for accepting definitions.

use octroi_core::pin::{Lock, NewTools, PinPolicy};

/// Settings for accepting definitions.
#[derive(Clone, Debug, Default)]
pub struct PinSettings {
    /// What happens to a definition that was never seen.
    pub policy: PinPolicy,
    /// What happens to a tool that a known server adds; `None` leaves it to the strictest profile of an agent.
    pub new_tools: Option<NewTools>,
    /// The content of the lock file. It takes precedence over accepted definitions.
    pub lock: Lock,
}
