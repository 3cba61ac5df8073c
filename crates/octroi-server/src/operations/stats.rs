//! Handlers of operations about statistics.

use std::collections::HashMap;

use octroi_api::operations::stats::{
    CallNumbers, CallStatistics, CallsAt, CallsOf, CallsStatsRequest, StatsBy, StatsStep,
};
use octroi_core::OWN_NAME;
use octroi_core::audit::CallSums;
use octroi_gateway::{CALL_SPAN_MS, CallFilter, CallsOfPeriod, CallsOfTool};

use super::context::OperationContext;
use super::shape::count;
use crate::error::OperationError;

const ROWS: u64 = 50;
const ROWS_MAX: u64 = 1_000;
/// So many tools of agents are read; rarer ones are in the totals only.
const READ_MAX: u32 = 20_000;
/// So many steps may a series have: a chart shows no more.
const STEPS_MAX: u64 = 1_500;
const HOUR_MS: u64 = 60 * 60 * 1_000;
const DAY_MS: u64 = 24 * HOUR_MS;

pub(super) async fn calls(
    context: &OperationContext,
    request: CallsStatsRequest,
) -> Result<CallStatistics, OperationError> {
    let now_ms = u64::try_from(context.gateway.clock().now_ms()).unwrap_or_default();
    let period = Period::of(&request, now_ms).map_err(OperationError::InvalidArguments)?;
    let filter = CallFilter {
        since_ms: signed(period.since_ms),
        until_ms: Some(signed(period.until_ms)),
        agents: agents(context, request.agent).await?,
        tool: request.tool,
        tool_prefix: request.server.as_deref().map(prefix),
    };
    let audit = context.gateway.audit();
    let found = match period.step {
        StatsStep::Minute => audit.recent_calls(&filter).await?,
        StatsStep::TenMinutes | StatsStep::Hour | StatsStep::Day => {
            let n_spans = period.step.ms() / CALL_SPAN_MS.unsigned_abs();
            audit.calls(&filter, u32::try_from(n_spans).unwrap_or(1), READ_MAX).await?
        }
    };
    let limit = usize::try_from(request.limit.unwrap_or(ROWS).min(ROWS_MAX)).unwrap_or_default();
    Ok(describe(&period, &found, request.by.unwrap_or_default(), limit))
}

/// The agents whose calls the caller may see; `None` for all.
async fn agents(
    context: &OperationContext,
    agent: Option<String>,
) -> Result<Option<Vec<String>>, OperationError> {
    // Whether this one is the caller's was checked already.
    if agent.is_some() || context.principal().is_admin() {
        return Ok(agent.map(|agent| vec![agent]));
    }
    let agents = context.gateway.governance().agents().await?;
    let own = agents.into_iter().filter(|agent| context.may_see(Some(&agent.id)));
    Ok(Some(own.map(|agent| agent.id.clone()).collect()))
}

/// The period of a request, from the beginning of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Period {
    since_ms: u64,
    until_ms: u64,
    step: StatsStep,
}

impl Period {
    fn of(request: &CallsStatsRequest, now_ms: u64) -> Result<Self, String> {
        let until_ms = request.until_ms.unwrap_or(now_ms).min(now_ms);
        let length = if request.step == Some(StatsStep::Minute) { HOUR_MS } else { DAY_MS };
        let since_ms = request.since_ms.unwrap_or_else(|| until_ms.saturating_sub(length));
        if since_ms > until_ms {
            return Err("`since_ms` is later than `until_ms`".to_owned());
        }
        let fits = |step: &StatsStep| (until_ms - since_ms) / step.ms() < STEPS_MAX;
        let step = match request.step {
            Some(StatsStep::Minute) => StatsStep::Minute,
            Some(step) if !fits(&step) => {
                return Err(format!(
                    "the period has more than {STEPS_MAX} of these steps; choose longer ones"
                ));
            }
            Some(step) => step,
            None => {
                let steps = [StatsStep::TenMinutes, StatsStep::Hour, StatsStep::Day];
                // What nobody can have recorded is left out.
                let longest = || "the period is too long; give `since_ms`".to_owned();
                steps.into_iter().find(fits).ok_or_else(longest)?
            }
        };
        // Minutes are known of the last hour.
        let earliest = if step == StatsStep::Minute { now_ms.saturating_sub(HOUR_MS - step.ms()) } else { 0 };
        let since_ms = since_ms.max(earliest).min(until_ms);
        Ok(Self { since_ms: since_ms - since_ms % step.ms(), until_ms, step })
    }
}

fn describe(period: &Period, found: &CallsOfPeriod, by: StatsBy, limit: usize) -> CallStatistics {
    let mut total = CallSums::default();
    let mut by_time: HashMap<u64, CallSums> = HashMap::new();
    for (at_ms, sums) in &found.by_time {
        total.add(sums);
        by_time.entry(u64::try_from(*at_ms).unwrap_or_default()).or_default().add(sums);
    }
    let mut by_name: HashMap<&str, CallSums> = HashMap::new();
    for calls in &found.by_tool {
        by_name.entry(name_of(calls, by)).or_default().add(&calls.sums);
    }
    let mut rows: Vec<(&str, CallSums)> = by_name.into_iter().collect();
    rows.sort_by(|(one, sums), (other, others)| {
        (others.calls + others.denials).cmp(&(sums.calls + sums.denials)).then(one.cmp(other))
    });
    let more = count(rows.len().saturating_sub(limit));
    let rows = rows.iter().take(limit);
    let rows =
        rows.map(|(name, sums)| CallsOf { name: (*name).to_owned(), numbers: numbers(sums) }).collect();
    let step_ms = period.step.ms();
    let last = period.until_ms.saturating_sub(1).max(period.since_ms);
    let steps = (period.since_ms..=last).step_by(usize::try_from(step_ms).unwrap_or(usize::MAX));
    let series =
        steps.map(|at_ms| CallsAt { at_ms, numbers: by_time.get(&at_ms).map(numbers).unwrap_or_default() });
    CallStatistics {
        since_ms: period.since_ms,
        until_ms: period.until_ms,
        step_ms,
        total: numbers(&total),
        rows,
        more,
        series: series.collect(),
    }
}

fn numbers(sums: &CallSums) -> CallNumbers {
    CallNumbers {
        calls: sums.calls,
        errors: sums.errors,
        denials: sums.denials,
        p50_ms: sums.quantile_ms(500),
        p95_ms: sums.quantile_ms(950),
        p99_ms: sums.quantile_ms(990),
    }
}

fn name_of(calls: &CallsOfTool, by: StatsBy) -> &str {
    match by {
        StatsBy::Agent => &calls.agent,
        StatsBy::Tool => &calls.tool,
        StatsBy::Server => server_of(&calls.tool),
    }
}

/// The server in the canonical id of a tool: `mcp:server:tool`, or `mcp:owner/server:tool`.
fn server_of(tool: &str) -> &str {
    match tool.split_once(':') {
        Some(("builtin", _)) => OWN_NAME,
        Some((_, rest)) => rest.split(':').next().unwrap_or_default(),
        None => "",
    }
}

/// How the canonical ids of a server's tools begin.
fn prefix(server: &str) -> String {
    if server == OWN_NAME { "builtin:".to_owned() } else { format!("mcp:{server}:") }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use octroi_core::audit::CallEnd;

    use super::*;

    #[test]
    fn a_period_begins_with_a_step_and_has_few_of_them() {
        let now = 400 * DAY_MS + 12_345_678;
        let ask = |since: Option<u64>, until: Option<u64>, step: Option<StatsStep>| {
            let request =
                CallsStatsRequest { since_ms: since, until_ms: until, step, ..CallsStatsRequest::default() };
            Period::of(&request, now).map(|period| ((now - period.since_ms) / 60_000, period.step))
        };
        assert_eq!(ask(None, None, None), Ok((1_445, StatsStep::TenMinutes)));
        assert_eq!(ask(None, None, Some(StatsStep::Minute)).map(|(minutes, _)| minutes), Ok(59));
        assert_eq!(ask(Some(0), None, Some(StatsStep::Minute)).map(|(minutes, _)| minutes), Ok(59));
        assert_eq!(ask(Some(now - 30 * DAY_MS), None, None).map(|(_, step)| step), Ok(StatsStep::Hour));
        assert_eq!(ask(Some(0), None, None).map(|(_, step)| step), Ok(StatsStep::Day));
        assert!(ask(Some(0), None, Some(StatsStep::TenMinutes)).is_err());
        assert!(ask(Some(2), Some(1), None).is_err());
        // Nothing has happened in the future yet.
        let request = CallsStatsRequest { until_ms: Some(u64::MAX), ..CallsStatsRequest::default() };
        assert_eq!(Period::of(&request, now).map(|period| period.until_ms), Ok(now));
        assert!(Period::of(&CallsStatsRequest::default(), 5).is_ok());
    }

    #[test]
    fn calls_are_grouped_and_every_step_is_there() {
        let calls = |agent: &str, tool: &str, n: u64| {
            let mut sums = CallSums::default();
            (0..n).for_each(|_| sums.count(CallEnd::Made { is_error: false, duration_ms: 7 }));
            CallsOfTool { agent: agent.to_owned(), tool: tool.to_owned(), sums }
        };
        let by_tool = vec![calls("a", "mcp:x:t", 3), calls("b", "mcp:x:u", 2), calls("b", "builtin:p", 1)];
        let by_time = vec![(600_000, by_tool[0].sums), (1_800_000, by_tool[1].sums)];
        let found = CallsOfPeriod { by_tool, by_time };
        let period = Period { since_ms: 0, until_ms: 1_800_001, step: StatsStep::TenMinutes };
        for (by, limit, expected, more) in [
            (StatsBy::Tool, 2, vec![("mcp:x:t", 3), ("mcp:x:u", 2)], 1),
            (StatsBy::Server, 9, vec![("x", 5), ("octroi", 1)], 0),
            (StatsBy::Agent, 9, vec![("a", 3), ("b", 3)], 0),
        ] {
            let told = describe(&period, &found, by, limit);
            let rows: Vec<_> = told.rows.iter().map(|row| (row.name.as_str(), row.numbers.calls)).collect();
            assert_eq!((rows, told.more), (expected, more), "{by:?}");
            let series: Vec<_> = told.series.iter().map(|at| at.numbers.calls).collect();
            assert_eq!((series, told.total.calls), (vec![0, 3, 0, 2], 5));
        }
    }

    #[test]
    fn the_server_is_part_of_the_id() {
        for (tool, server) in [
            ("mcp:files:read", "files"),
            ("mcp:ana/notes:create", "ana/notes"),
            ("builtin:policy_check", "octroi"),
            ("", ""),
        ] {
            assert_eq!(server_of(tool), server, "{tool}");
        }
        assert_eq!((prefix("files").as_str(), prefix("octroi").as_str()), ("mcp:files:", "builtin:"));
    }
}
