//! How calls went: the last hour by minute from memory, everything else by spans of ten minutes from the database.

use std::collections::{BTreeMap, HashMap};

use octroi_core::audit::{CallEnd, CallSums};
use octroi_store::{AuditRecord, CallFilter, CallsOfTool};
use parking_lot::Mutex;

use super::{AuditIndex, AuditIndexError};

const MINUTE_MS: i64 = 60_000;
/// How many minutes are kept, with the current one.
const MINUTES_KEPT: i64 = 60;
/// So many tools of agents have sums of their own in a minute; others are counted together, as nobody's.
const SUMS_MAX: usize = 5_000;

/// The calls of a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallsOfPeriod {
    /// By agent and tool, the most frequent first.
    pub by_tool: Vec<CallsOfTool>,
    /// By the beginning of each step with calls, in milliseconds since 1970.
    pub by_time: Vec<(i64, CallSums)>,
}

/// The calls of the last hour by minute, since the gateway started.
#[derive(Debug, Default)]
pub(super) struct RecentCalls {
    minutes: Mutex<BTreeMap<i64, Minute>>,
}

/// By agent and tool.
type Minute = HashMap<(String, String), CallSums>;

impl RecentCalls {
    /// Counts the calls that ended in these records, unless they ended longer ago.
    pub(super) fn count(&self, records: &[AuditRecord<'_>], now_ms: i64) {
        let oldest = now_ms.div_euclid(MINUTE_MS) - MINUTES_KEPT + 1;
        let mut minutes = self.minutes.lock();
        *minutes = minutes.split_off(&oldest);
        for entry in records.iter().map(AuditRecord::entry) {
            let minute = i64::try_from(entry.at_ms).unwrap_or_default().div_euclid(MINUTE_MS);
            let Some(end) = CallEnd::of(entry).filter(|_| minute >= oldest) else {
                continue;
            };
            let name = |text: Option<&str>| text.unwrap_or_default().to_owned();
            let mut key = (name(entry.agent.as_deref()), name(entry.tool.as_deref()));
            let sums = minutes.entry(minute).or_default();
            if sums.len() >= SUMS_MAX && !sums.contains_key(&key) {
                key = (String::new(), String::new());
            }
            sums.entry(key).or_default().count(end);
        }
    }

    fn of_period(&self, filter: &CallFilter) -> CallsOfPeriod {
        let (mut by_tool, mut by_time) = (Minute::new(), Vec::new());
        let first = filter.since_ms.div_euclid(MINUTE_MS);
        let last = filter.until_ms.unwrap_or(i64::MAX).saturating_sub(1).div_euclid(MINUTE_MS);
        let minutes = self.minutes.lock();
        for (minute, sums) in minutes.range(first..).take_while(|(minute, _)| **minute <= last) {
            let mut of_minute = CallSums::default();
            for (key, sums) in sums.iter().filter(|((agent, tool), _)| fits(filter, agent, tool)) {
                of_minute.add(sums);
                by_tool.entry(key.clone()).or_default().add(sums);
            }
            if of_minute != CallSums::default() {
                by_time.push((minute * MINUTE_MS, of_minute));
            }
        }
        let by_tool = by_tool.into_iter().map(|((agent, tool), sums)| CallsOfTool { agent, tool, sums });
        let mut by_tool: Vec<_> = by_tool.collect();
        by_tool.sort_by(|one, other| {
            let number = |calls: &CallsOfTool| calls.sums.calls + calls.sums.denials;
            let name = |calls: &CallsOfTool| (calls.agent.clone(), calls.tool.clone());
            number(other).cmp(&number(one)).then_with(|| name(one).cmp(&name(other)))
        });
        CallsOfPeriod { by_tool, by_time }
    }
}

fn fits(filter: &CallFilter, agent: &str, tool: &str) -> bool {
    filter.agents.as_ref().is_none_or(|agents| agents.iter().any(|one| one == agent))
        && filter.tool.as_ref().is_none_or(|one| one == tool)
        && filter.tool_prefix.as_ref().is_none_or(|prefix| tool.starts_with(prefix.as_str()))
}

impl AuditIndex {
    /// How the calls of a period went, in steps of this many spans of ten minutes, and at most for so many tools.
    pub async fn calls(
        &self,
        filter: &CallFilter,
        n_spans: u32,
        n_max: u32,
    ) -> Result<CallsOfPeriod, AuditIndexError> {
        let (log, store) = self.parts()?;
        self.await_table(log.position()).await;
        let by_tool = store.calls_by_tool(filter, n_max).await?;
        let by_time = store.calls_by_time(filter, n_spans).await?;
        Ok(CallsOfPeriod { by_tool, by_time })
    }

    /// How the calls of the last hour went, by minute, as far as this run of the gateway knows.
    pub async fn recent_calls(&self, filter: &CallFilter) -> Result<CallsOfPeriod, AuditIndexError> {
        self.await_table(self.parts()?.0.position()).await;
        Ok(self.recent.of_period(filter))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn count(recent: &RecentCalls, now_ms: i64, ended: &[(i64, &str, &str)]) {
        let texts: Vec<String> = ended
            .iter()
            .map(|(at_ms, agent, tool)| {
                json!({
                    "at_ms": at_ms, "kind": "tool_invocation_end", "level": "info",
                    "actor": {"kind": "agent", "id": agent}, "agent": agent, "tool": tool,
                    "context": {"outcome": "completed", "duration_ms": 3},
                })
                .to_string()
            })
            .collect();
        let records = texts.iter().map(|text| AuditRecord::read(1, text.as_bytes()).unwrap());
        recent.count(&records.collect::<Vec<_>>(), now_ms);
    }

    #[test]
    fn the_last_hour_is_kept_by_minute() {
        let recent = RecentCalls::default();
        let hour = 60 * MINUTE_MS;
        count(&recent, hour, &[(0, "a", "mcp:x:old"), (MINUTE_MS, "a", "mcp:x:y"), (hour, "b", "mcp:z:y")]);
        count(&recent, hour, &[(MINUTE_MS + 1, "a", "mcp:x:y")]);
        let all = recent.of_period(&CallFilter::default());
        let names: Vec<_> = all.by_tool.iter().map(|calls| (calls.tool.as_str(), calls.sums.calls)).collect();
        assert_eq!(names, [("mcp:x:y", 2), ("mcp:z:y", 1)], "what is older than an hour is not counted");
        assert_eq!(all.by_time.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [MINUTE_MS, hour]);
        for (filter, n_calls) in [
            (CallFilter { agents: Some(vec!["a".to_owned()]), ..CallFilter::default() }, 2),
            (CallFilter { agents: Some(Vec::new()), ..CallFilter::default() }, 0),
            (CallFilter { tool_prefix: Some("mcp:z:".to_owned()), ..CallFilter::default() }, 1),
            (CallFilter { tool: Some("mcp:z:".to_owned()), ..CallFilter::default() }, 0),
            (CallFilter { since_ms: 2 * MINUTE_MS, ..CallFilter::default() }, 1),
            (CallFilter { until_ms: Some(hour), ..CallFilter::default() }, 2),
        ] {
            let found = recent.of_period(&filter).by_time;
            assert_eq!(found.iter().map(|(_, sums)| sums.calls).sum::<u64>(), n_calls, "{filter:?}");
        }
        count(&recent, hour + 2 * MINUTE_MS, &[]);
        assert_eq!(recent.of_period(&CallFilter::default()).by_time.len(), 1, "an hour later it is gone");
    }

    #[test]
    fn a_minute_keeps_a_bounded_number_of_sums() {
        let recent = RecentCalls::default();
        let tools: Vec<String> = (0..SUMS_MAX + 10).map(|n| format!("mcp:x:{n}")).collect();
        let ended: Vec<_> = tools.iter().map(|tool| (1, "a", tool.as_str())).collect();
        count(&recent, 1, &ended);
        let all = recent.of_period(&CallFilter::default());
        assert_eq!(all.by_tool.len(), SUMS_MAX + 1);
        assert_eq!((all.by_tool[0].tool.as_str(), all.by_tool[0].sums.calls), ("", 10));
    }
}
