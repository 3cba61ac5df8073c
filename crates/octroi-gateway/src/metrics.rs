//! Metrics of tools: number of calls, duration, and outcome.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use octroi_core::{Clock, ServerKey};
use parking_lot::RwLock;

/// Upper bounds of the histogram, in milliseconds. Longer calls are only in the sum.
pub const BOUNDS_MS: [u64; 12] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000];
/// Tools beyond this number are counted together: servers may list any number of names.
const METRICS_MAX: usize = 10_000;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The tool succeeded.
    Done,
    /// The tool reported an error.
    ToolError,
    /// There was no result.
    Failed,
}

/// Counters of one tool.
#[derive(Debug, Default)]
pub(crate) struct ToolMetric {
    endings: [AtomicU64; 3],
    in_flight: AtomicU64,
    buckets: [AtomicU64; BOUNDS_MS.len()],
    sum_us: AtomicU64,
}

/// The current values of a tool's metrics.
#[derive(Clone, Debug)]
pub struct ToolReading {
    /// The server.
    pub server: ServerKey,
    /// The tool's name at the server.
    pub tool: String,
    /// Calls by [`Ending`], in its order.
    pub endings: [u64; 3],
    /// Calls in flight.
    pub in_flight: u64,
    /// Calls that took at most as long as each of [`BOUNDS_MS`].
    pub buckets: [u64; BOUNDS_MS.len()],
    /// Total duration of all calls.
    pub sum: Duration,
}

/// The metrics of all tools.
#[derive(Debug, Default)]
pub(crate) struct ToolMetrics {
    tools: RwLock<HashMap<ServerKey, HashMap<String, Arc<ToolMetric>>>>,
}

impl ToolMetrics {
    /// The metric of a tool. Names that the server does not list share one metric: clients can invent any.
    pub(crate) fn of(
        &self,
        server: &ServerKey,
        tool: &str,
        is_listed: impl FnOnce() -> bool,
    ) -> Arc<ToolMetric> {
        if let Some(metric) = self.tools.read().get(server).and_then(|tools| tools.get(tool)) {
            return Arc::clone(metric);
        }
        let is_listed = is_listed();
        let mut servers = self.tools.write();
        let n_metrics: usize = servers.values().map(HashMap::len).sum();
        let tool = if is_listed && n_metrics < METRICS_MAX { tool } else { "other" };
        Arc::clone(servers.entry(server.clone()).or_default().entry(tool.to_owned()).or_default())
    }

    pub(crate) fn readings(&self) -> Vec<ToolReading> {
        let servers = self.tools.read();
        let mut readings: Vec<ToolReading> = servers
            .iter()
            .flat_map(|(server, tools)| tools.iter().map(move |(tool, metric)| metric.reading(server, tool)))
            .collect();
        readings.sort_by(|left, right| (&left.server, &left.tool).cmp(&(&right.server, &right.tool)));
        readings
    }
}

impl ToolMetric {
    /// Counts a call while it is in flight.
    pub(crate) fn begin(self: Arc<Self>, clock: &Clock) -> Measuring<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Measuring { metric: self, clock, begun: clock.instant(), ending: Ending::Failed }
    }

    fn reading(&self, server: &ServerKey, tool: &str) -> ToolReading {
        ToolReading {
            server: server.clone(),
            tool: tool.to_owned(),
            endings: self.endings.each_ref().map(|count| count.load(Ordering::Relaxed)),
            in_flight: self.in_flight.load(Ordering::Relaxed),
            buckets: self.buckets.each_ref().map(|count| count.load(Ordering::Relaxed)),
            sum: Duration::from_micros(self.sum_us.load(Ordering::Relaxed)),
        }
    }
}

/// A call in flight. One that is dropped counts as failed.
pub(crate) struct Measuring<'a> {
    metric: Arc<ToolMetric>,
    clock: &'a Clock,
    begun: Instant,
    ending: Ending,
}

impl Measuring<'_> {
    pub(crate) fn end(mut self, ending: Ending) {
        self.ending = ending;
    }
}

impl Drop for Measuring<'_> {
    fn drop(&mut self) {
        let took = self.clock.instant().saturating_duration_since(self.begun);
        let metric = &self.metric;
        metric.in_flight.fetch_sub(1, Ordering::Relaxed);
        metric.endings[self.ending as usize].fetch_add(1, Ordering::Relaxed);
        metric.sum_us.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        for (bucket, bound) in metric.buckets.iter().zip(BOUNDS_MS) {
            if took <= Duration::from_millis(bound) {
                bucket.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_counted_once() {
        let (metrics, clock) = (ToolMetrics::default(), octroi_upstream::system_clock());
        let server = ServerKey::parse("a").unwrap();
        metrics.of(&server, "x", || true).begin(&clock).end(Ending::Done);
        metrics.of(&server, "x", || true).begin(&clock).end(Ending::ToolError);
        drop(metrics.of(&server, "x", || true).begin(&clock));
        let running = metrics.of(&server, "y", || true).begin(&clock);
        let readings = metrics.readings();
        assert_eq!(readings[0].endings, [1, 1, 1]);
        assert_eq!(readings[0].buckets.last(), Some(&3));
        assert_eq!((readings[1].tool.as_str(), readings[1].in_flight), ("y", 1));
        running.end(Ending::Done);
        assert_eq!(metrics.readings()[1].in_flight, 0);
        metrics.of(&server, "made up", || false).begin(&clock).end(Ending::Failed);
        let names: Vec<String> = metrics.readings().into_iter().map(|reading| reading.tool).collect();
        assert_eq!(names, ["other", "x", "y"]);
    }
}
