//! Health check history of servers.

use octroi_core::Health;

/// The number of samples kept per server, a week of one each minute; older ones are dropped.
pub const SAMPLES_MAX: u32 = 12_000;

/// The number of characters kept of an error: the text comes from the server.
pub const ERROR_LENGTH_MAX: usize = 1_000;

/// The result of one health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthSample {
    /// When it was checked.
    pub at_ms: i64,
    /// Its health.
    pub health: Health,
    /// How long it took to answer.
    pub latency_ms: Option<i64>,
    /// The error or the reason for no answer. Safe to show.
    pub error: Option<String>,
}
