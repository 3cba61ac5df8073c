//! How a server was.

use octroi_core::Health;

/// Samples kept of one server; older ones are dropped.
pub const SAMPLES_MAX: u32 = 1_000;

/// Letters kept of an error: a server writes it, and a thousand of them are kept.
pub const ERROR_LENGTH_MAX: usize = 1_000;

/// How a server was at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthSample {
    /// When it was asked.
    pub at_ms: i64,
    /// How it was.
    pub health: Health,
    /// How long it took to answer.
    pub latency_ms: Option<i64>,
    /// What it answered instead, or why it did not. Safe to show.
    pub error: Option<String>,
}
