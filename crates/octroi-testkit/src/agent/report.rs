//! What an agent reports: how long requests took, what failed, and how attacks were answered.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What an honest agent saw in one phase.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HonestReport {
    /// By kind of request; `all` is every request on an open connection.
    pub latencies: BTreeMap<String, Latencies>,
    /// The requests that failed, up to a few.
    pub failures: Vec<String>,
    /// A session that it used.
    pub session: String,
}

/// How long the requests of one kind took.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Latencies {
    /// How many there were.
    pub n: usize,
    /// Half of them took at most this long, in microseconds.
    pub p50_us: u64,
    /// 99 of 100 took at most this long.
    pub p99_us: u64,
    /// The slowest.
    pub max_us: u64,
}

impl Latencies {
    /// The quantiles of these times.
    pub fn of(times: &mut [Duration]) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
            times.get(index).map_or(0, |time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
        };
        Self { n: times.len(), p50_us: at(50), p99_us: at(99), max_us: at(100) }
    }
}

/// How attacks were answered in one phase: by attack and HTTP status, how often.
pub type AttackReport = BTreeMap<String, u64>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_sorted_times() {
        let mut times: Vec<Duration> = (1..=1_000).rev().map(Duration::from_micros).collect();
        let latencies = Latencies::of(&mut times);
        assert_eq!(
            (latencies.n, latencies.p50_us, latencies.p99_us, latencies.max_us),
            (1_000, 501, 991, 1_000)
        );
        assert_eq!(Latencies::of(&mut []).p99_us, 0);
    }
}
