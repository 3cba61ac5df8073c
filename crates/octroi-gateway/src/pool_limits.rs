//! The limits of pools.

use std::time::Duration;

/// How many pools there may be, and how long an unused one is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// How long one is kept that nobody uses.
    pub idle: Duration,
    /// How many are kept; beyond, those go that were unused for longest.
    pub max: usize,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self { idle: Duration::from_mins(10), max: 1_000 }
    }
}
