//! How calls went, counted by tool and by time.

use octroi_core::audit::CallSums;
use octroi_store::CallFilter;
use serde_json::{Value, json};

use super::audit::{add, event, with};
use super::on_every_database;

/// How calls went is known without their events.
#[tokio::test]
async fn calls_are_counted_by_tool_and_by_time() {
    on_every_database(async |store| {
        let ended = |agent: &str, tool: &str, minutes: i64, outcome: &str, duration_ms: u64| {
            with(
                event(1),
                json!({
                    "kind": "tool_invocation_end", "at_ms": minutes * 60_000, "agent": agent, "tool": tool,
                    "context": {"outcome": outcome, "duration_ms": duration_ms},
                }),
            )
        };
        let denied = |agent: &str, tool: &str, minutes: i64| {
            let changed =
                json!({"kind": "policy_violation", "at_ms": minutes * 60_000, "agent": agent, "tool": tool});
            with(event(1), changed)
        };
        let events = [
            ended("a", "mcp:x:t", 1, "completed", 3),
            ended("a", "mcp:x:t", 9, "tool_error", 700),
            ended("a", "mcp:x:t", 11, "completed", 3),
            ended("b", "mcp:xy:t", 11, "completed", 100_000),
            denied("b", "mcp:x:t", 31),
            event(2),
        ];
        let events: Vec<(u64, Value)> = (1..).zip(events).collect();
        // In two batches: sums are added to those that are there.
        assert_eq!(add(&store, "n1", &events[..1]).await, 1);
        assert_eq!(add(&store, "n1", &events).await, 5);

        let calls = async |filter: CallFilter| {
            let by_tool = store.calls_by_tool(&filter, 10).await.unwrap();
            let by_tool: Vec<_> = by_tool
                .iter()
                .map(|calls| {
                    let CallSums { calls: made, errors, denials, .. } = calls.sums;
                    format!("{} {} {made} {errors} {denials}", calls.agent, calls.tool)
                })
                .collect();
            let by_time = store.calls_by_time(&filter, 1).await.unwrap();
            let by_time: Vec<_> = by_time.iter().map(|(at_ms, sums)| (at_ms / 60_000, sums.calls)).collect();
            (by_tool.join(", "), by_time)
        };
        let all = CallFilter::default();
        let (by_tool, by_time) = calls(all.clone()).await;
        assert_eq!(by_tool, "a mcp:x:t 3 1 0, b mcp:x:t 0 0 1, b mcp:xy:t 1 0 0");
        assert_eq!(by_time, [(0, 2), (10, 2), (30, 0)]);
        let a = CallFilter { agents: Some(vec!["a".to_owned()]), ..all.clone() };
        assert_eq!(calls(a).await, ("a mcp:x:t 3 1 0".to_owned(), vec![(0, 2), (10, 1)]));
        let nobody = CallFilter { agents: Some(Vec::new()), ..all.clone() };
        assert_eq!(calls(nobody).await, (String::new(), Vec::new()));
        let server = CallFilter { tool_prefix: Some("mcp:xy:".to_owned()), ..all.clone() };
        assert_eq!(calls(server).await.0, "b mcp:xy:t 1 0 0");
        let tool = CallFilter { tool: Some("mcp:x:t".to_owned()), since_ms: 600_000, ..all.clone() };
        assert_eq!(calls(tool).await.0, "a mcp:x:t 1 0 0, b mcp:x:t 0 0 1");
        let first = CallFilter { until_ms: Some(600_000), ..all.clone() };
        assert_eq!(calls(first).await.1, [(0, 2)]);
        let hours = store.calls_by_time(&all, 6).await.unwrap();
        assert_eq!(hours.len(), 1);
        assert_eq!(hours[0].1.quantile_ms(1_000), Some(30_000), "longer than all bounds");
        assert_eq!(store.calls_by_tool(&all, 1).await.unwrap().len(), 1);
        // Purging removes events, and not what was counted.
        store.purge_audit("n1", 100).await.unwrap();
        assert_eq!(calls(all).await.0, by_tool);
    })
    .await;
}
