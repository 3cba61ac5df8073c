//! The queryable index of the audit log.

use std::ops::Range;

use octroi_store::{AuditCount, AuditCursor, AuditFilter, AuditPage, AuditRecord, AuditRow, KnownLog, Store};
use serde_json::{Value, json};

use super::{on_every_database, race};

const HOUR_MS: i64 = 3_600_000;

/// An event that differs from others by its sequence number.
pub(super) fn event(seq: u64) -> Value {
    json!({
        "at_ms": 1_000 + seq,
        "kind": if seq.is_multiple_of(2) { "tool_invocation_start" } else { "tool_invocation_end" },
        "level": "info",
        "actor": { "kind": "agent", "id": "coder" },
        "agent": format!("agent{}", seq % 3),
        "server": format!("server{}", seq % 4),
        "tool": format!("mcp:files:tool{}", seq % 5),
        "source_type": "mcp",
        "call": call(seq / 2),
        "decision": if seq.is_multiple_of(10) { "deny_continue" } else { "allow" },
        "context": { "number": seq },
    })
}

/// An id that does not contain a time.
fn call(number: u64) -> String {
    format!("ffffffff-ffff-7fff-8000-{number:012}")
}

/// The same event with some members replaced.
pub(super) fn with(mut event: Value, changed: Value) -> Value {
    if let (Value::Object(event), Value::Object(changed)) = (&mut event, changed) {
        event.extend(changed);
    }
    event
}

pub(super) async fn add(store: &Store, node: &str, events: &[(u64, Value)]) -> usize {
    let texts: Vec<(u64, String)> = events.iter().map(|(seq, event)| (*seq, event.to_string())).collect();
    let records: Vec<AuditRecord<'_>> =
        texts.iter().map(|(seq, text)| AuditRecord::read(*seq, text.as_bytes()).unwrap()).collect();
    store.append_audit(node, &records).await.unwrap()
}

async fn append(store: &Store, seqs: Range<u64>) {
    let events: Vec<(u64, Value)> = seqs.map(|seq| (seq, event(seq))).collect();
    for batch in events.chunks(500) {
        assert_eq!(add(store, "n1", batch).await, batch.len());
    }
}

/// The results of all pages of a search.
async fn search(store: &Store, filter: &AuditFilter, n_max: u32) -> Vec<u64> {
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let AuditPage { rows, next } = store.audit_events(filter, before, n_max).await.unwrap();
        assert!(rows.len() <= n_max as usize);
        found.extend(rows.iter().map(|row| row.seq));
        assert!(next.is_none() || next != before, "the search does not advance");
        before = next;
        if before.is_none() {
            return found;
        }
    }
}

/// The expected results, found by checking every event.
fn expected(n_rows: u64, matches: impl Fn(u64) -> bool) -> Vec<u64> {
    (0..n_rows).rev().filter(|seq| matches(*seq)).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "the fields that it fills are options")]
fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn events_come_back_as_they_were() {
    on_every_database(async |store| {
        let filter = AuditFilter::default();
        let empty = AuditPage { rows: Vec::new(), next: None };
        assert_eq!(store.audit_events(&filter, None, 10).await.unwrap(), empty);
        assert_eq!(store.append_audit("n1", &[]).await.unwrap(), 0);
        let full = with(event(1), json!({ "session": "s", "project": "p \"q\"" })).to_string();
        let full = full.replace("{\"number\":1}", "{ \"a\" : \"ü\\u0000\" }");
        let bare = r#"{"at_ms":7,"kind":"audit_opened","level":"warn","actor":{"kind":"system","id":""}}"#;
        for (node, seq, text) in [("n1", u64::MAX / 2, &*full), ("n2", 1, bare)] {
            let record = AuditRecord::read(seq, text.as_bytes()).unwrap();
            assert_eq!(store.append_audit(node, &[record]).await.unwrap(), 1);
        }
        let full = AuditRow {
            node: "n1".to_owned(),
            seq: u64::MAX / 2,
            at_ms: 1_001,
            event_type: "tool_invocation_end".to_owned(),
            level: "info".to_owned(),
            actor_kind: "agent".to_owned(),
            actor_id: "coder".to_owned(),
            agent: some("agent1"),
            session: some("s"),
            server: some("server1"),
            tool: some("mcp:files:tool1"),
            source_type: some("mcp"),
            project: some("p \"q\""),
            call_id: Some(call(0)),
            decision: some("allow"),
            context: "{ \"a\" : \"ü\\u0000\" }".to_owned(),
        };
        let bare = AuditRow {
            node: "n2".to_owned(),
            seq: 1,
            at_ms: 7,
            event_type: "audit_opened".to_owned(),
            level: "warn".to_owned(),
            actor_kind: "system".to_owned(),
            actor_id: String::new(),
            agent: None,
            session: None,
            server: None,
            tool: None,
            source_type: None,
            project: None,
            call_id: None,
            decision: None,
            context: "{}".to_owned(),
        };
        let page = AuditPage { rows: vec![bare, full], next: None };
        assert_eq!(store.audit_events(&filter, None, 10).await.unwrap(), page);
        assert_eq!(store.last_audit_seq("n1").await.unwrap(), Some(u64::MAX / 2));
        assert_eq!(store.last_audit_seq("n2").await.unwrap(), Some(1));
        assert_eq!(store.last_audit_seq("n3").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn adding_again_adds_nothing() {
    on_every_database(async |store| {
        append(&store, 0..700).await;
        let events = |seqs: Range<u64>| seqs.map(|seq| (seq, event(seq))).collect::<Vec<_>>();
        assert_eq!(add(&store, "n1", &events(0..700)).await, 0);
        assert_eq!(add(&store, "n1", &events(650..761)).await, 61);
        assert_eq!(add(&store, "n2", &events(3..4)).await, 1);
        assert_eq!(add(&store, "n1", &events(760..762)).await, 1);
        assert_eq!(store.audit_events(&AuditFilter::default(), None, 10_000).await.unwrap().rows.len(), 763);
        let counts = store.audit_counts(0, 1_000).await.unwrap();
        assert_eq!(counts.iter().map(|count| count.n).sum::<u64>(), 763);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_add_the_same_at_once() {
    on_every_database(async |store| {
        let adding = race(&store, |store, _| async move {
            let events: Vec<(u64, Value)> = (0..300).map(|seq| (seq, event(seq))).collect();
            Some(add(&store, "n1", &events).await)
        });
        assert_eq!(adding.await.into_iter().sum::<usize>(), 300);
        assert_eq!(search(&store, &AuditFilter::default(), 1_000).await.len(), 300);
    })
    .await;
}

type Matches = fn(u64) -> bool;

#[tokio::test]
async fn every_filter_finds_what_it_says() {
    const N_ROWS: u64 = 10_000;
    on_every_database(async |store| {
        append(&store, 0..N_ROWS).await;
        let any = AuditFilter::default;
        let types = |types: &[&str]| types.iter().map(|&one| one.to_owned()).collect();
        let cases: [(AuditFilter, Matches); 16] = [
            (any(), |_| true),
            (AuditFilter { tool: some("mcp:files:tool3"), ..any() }, |seq| seq % 5 == 3),
            (AuditFilter { agent: some("agent2"), ..any() }, |seq| seq % 3 == 2),
            (AuditFilter { server: some("server1"), ..any() }, |seq| seq % 4 == 1),
            (AuditFilter { decision: some("deny_continue"), ..any() }, |seq| seq % 10 == 0),
            (AuditFilter { source_type: some("builtin"), ..any() }, |_| false),
            (AuditFilter { event_types: types(&["tool_invocation_end", "other"]), ..any() }, |seq| {
                seq % 2 == 1
            }),
            (AuditFilter { since_ms: Some(5_000), ..any() }, |seq| 1_000 + seq >= 5_000),
            (AuditFilter { until_ms: Some(5_000), ..any() }, |seq| 1_000 + seq < 5_000),
            (AuditFilter { since_ms: Some(5_000), until_ms: Some(5_000), ..any() }, |_| false),
            (AuditFilter { call_id: Some(call(2_500)), ..any() }, |seq| seq / 2 == 2_500),
            (AuditFilter { text: some("NUMBER\":77"), ..any() }, |seq| seq.to_string().starts_with("77")),
            (AuditFilter { text: some("%"), ..any() }, |_| false),
            (AuditFilter { agents: types(&["agent0", "agent2", "nobody"]), ..any() }, |seq| seq % 3 != 1),
            (AuditFilter { agents: types(&["nobody"]), ..any() }, |_| false),
            (
                AuditFilter {
                    agent: some("agent1"),
                    tool: some("mcp:files:tool4"),
                    decision: some("allow"),
                    since_ms: Some(3_000),
                    text: some("9"),
                    ..any()
                },
                |seq| {
                    seq % 3 == 1
                        && seq % 5 == 4
                        && seq % 10 != 0
                        && 1_000 + seq >= 3_000
                        && seq.to_string().contains('9')
                },
            ),
        ];
        for (filter, matches) in cases {
            let expected = expected(N_ROWS, matches);
            for n_max in [97, 100_000] {
                assert_eq!(search(&store, &filter, n_max).await, expected, "{filter:?}");
            }
        }
        assert_eq!(store.audit_events(&any(), None, 0).await.unwrap().rows, []);
    })
    .await;
}

/// The decision about a call is in another record; who asks for decisions gets it as an event of its own.
#[tokio::test]
async fn decisions_are_found_in_the_records_that_contain_them() {
    on_every_database(async |store| {
        let of_kind = |kind: &str, decision: &str, changed: Value| {
            let event = with(event(1), json!({ "kind": kind, "decision": decision, "session": "s1" }));
            with(event, changed)
        };
        let arguments =
            json!({ "context": { "arguments": { "risk": "x" }, "risk": "low", "trace": ["scope"] } });
        let mut bare = event(1);
        bare.as_object_mut().unwrap().remove("decision");
        let events = [
            (1, of_kind("tool_invocation_start", "allow", arguments)),
            (2, of_kind("tool_invocation_end", "allow", json!({}))),
            (
                3,
                of_kind(
                    "approval_requested",
                    "ask",
                    json!({ "session": "s2", "context": { "reasons": ["r"] } }),
                ),
            ),
            (
                4,
                of_kind(
                    "policy_violation",
                    "deny_continue",
                    json!({ "level": "warn", "context": { "gate": "mode" } }),
                ),
            ),
            (5, with(bare, json!({ "kind": "policy_violation" }))),
        ];
        assert_eq!(add(&store, "n1", &events).await, 5);
        let kinds = |kinds: &[&str]| AuditFilter {
            event_types: kinds.iter().map(|&kind| kind.to_owned()).collect(),
            ..AuditFilter::default()
        };
        let found = store.audit_events(&kinds(&["policy_decision"]), None, 10).await.unwrap();
        assert_eq!(found.next, None);
        let found: Vec<_> = found
            .rows
            .iter()
            .map(|row| {
                (row.seq, &*row.event_type, &*row.level, row.decision.as_deref().unwrap(), &*row.context)
            })
            .collect();
        let expected = [
            (4, "policy_decision", "warn", "deny_continue", r#"{"gate":"mode"}"#),
            (3, "policy_decision", "info", "ask", r#"{"reasons":["r"]}"#),
            (1, "policy_decision", "info", "allow", r#"{"risk":"low","trace":["scope"]}"#),
        ];
        assert_eq!(found, expected);

        let both = kinds(&["policy_decision", "policy_violation", "tool_invocation_start"]);
        let decided = AuditFilter { decision: some("deny_continue"), ..kinds(&["policy_decision"]) };
        let in_session =
            AuditFilter { session: some("s2"), ..kinds(&["policy_decision", "approval_requested"]) };
        for (filter, expected) in [
            (AuditFilter::default(), vec![5, 4, 3, 2, 1]),
            (both, vec![5, 4, 4, 3, 1, 1]),
            (decided, vec![4]),
            (AuditFilter { session: some("s1"), ..AuditFilter::default() }, vec![4, 2, 1]),
            (AuditFilter { session: some("s"), ..AuditFilter::default() }, vec![]),
            (in_session, vec![3, 3]),
        ] {
            // No page is longer than it may be, and none repeats or loses one of two.
            for n_max in 1..7 {
                assert_eq!(search(&store, &filter, n_max).await, expected, "{filter:?} {n_max}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn large_events_are_found_like_others() {
    on_every_database(async |store| {
        let large = |seq: u64| (seq, with(event(seq), json!({ "context": { "text": "x".repeat(50_000) } })));
        for seq in 0..20 {
            assert_eq!(add(&store, "n1", &[large(seq)]).await, 1);
        }
        append(&store, 20..200).await;
        assert_eq!(search(&store, &AuditFilter::default(), 7).await, (0..200).rev().collect::<Vec<_>>());
        let of_call = AuditFilter { call_id: Some(call(3)), ..AuditFilter::default() };
        assert_eq!(search(&store, &of_call, 10).await, [7, 6]);
        assert_eq!(store.purge_audit("n1", 15).await.unwrap(), 15);
        assert_eq!(search(&store, &AuditFilter::default(), 50).await, (15..200).rev().collect::<Vec<_>>());
    })
    .await;
}

/// A server chooses the names of its tools; no name may hide its calls from a search.
#[tokio::test]
async fn names_of_all_kinds_are_found() {
    on_every_database(async |store| {
        let names = [
            "", "a\0b", "a\0c", "\0", "a\"b", "a\\b", "a'b", "ü𝄞", "1", "1.0", "null", "[1]", "{}",
            "\u{7f}\n",
        ];
        let events: Vec<(u64, Value)> =
            (0..).zip(names).map(|(seq, name)| (seq, with(event(seq), json!({ "tool": name })))).collect();
        add(&store, "n1", &events).await;
        for (seq, name) in (0..).zip(names) {
            let filter = AuditFilter { tool: some(name), ..AuditFilter::default() };
            assert_eq!(search(&store, &filter, 10).await, [seq], "{name:?}");
        }
        let counted: u64 = store.audit_counts(0, 100).await.unwrap().iter().map(|count| count.n).sum();
        assert_eq!(counted, events.len() as u64);
    })
    .await;
}

#[tokio::test]
async fn new_events_do_not_disturb_pagination() {
    on_every_database(async |store| {
        append(&store, 0..100).await;
        let filter = AuditFilter::default();
        let first = store.audit_events(&filter, None, 60).await.unwrap();
        append(&store, 100..200).await;
        // A position can be serialized.
        let next = first.next.map(|cursor| AuditCursor::from_number(cursor.number()));
        let second = store.audit_events(&filter, next, 60).await.unwrap();
        let found: Vec<u64> = first.rows.iter().chain(&second.rows).map(|row| row.seq).collect();
        assert_eq!(found, (0..100).rev().collect::<Vec<_>>());
        assert_eq!(second.next, None);
    })
    .await;
}

#[tokio::test]
async fn a_clock_that_goes_back_hides_nothing() {
    on_every_database(async |store| {
        let at = |seq, at_ms: u64| (seq, with(event(seq), json!({ "at_ms": at_ms })));
        let events = [at(0, 50_000), at(1, 60_000), at(2, 10_000), at(3, 55_000)];
        assert_eq!(add(&store, "n1", &events).await, 4);
        let since = AuditFilter { since_ms: Some(50_000), ..AuditFilter::default() };
        // The order is that of the log.
        assert_eq!(search(&store, &since, 10).await, [3, 1, 0]);
        let until = AuditFilter { until_ms: Some(50_000), ..AuditFilter::default() };
        assert_eq!(search(&store, &until, 10).await, [2]);
    })
    .await;
}

#[tokio::test]
async fn old_events_can_be_forgotten() {
    const N_ROWS: u64 = 12_000;
    on_every_database(async |store| {
        append(&store, 0..N_ROWS).await;
        add(&store, "n2", &[(5, event(5))]).await;
        assert_eq!(store.purge_audit("n1", 11_000).await.unwrap(), 11_000);
        assert_eq!(store.purge_audit("n1", 11_000).await.unwrap(), 0);
        let mut kept = vec![5];
        kept.extend((11_000..N_ROWS).rev());
        assert_eq!(search(&store, &AuditFilter::default(), 500).await, kept);
        let tool = AuditFilter { tool: some("mcp:files:tool0"), ..AuditFilter::default() };
        assert_eq!(search(&store, &tool, 500).await.len(), 201);

        assert_eq!(store.purge_audit("n1", u64::MAX / 2).await.unwrap(), 1_000);
        assert_eq!(store.purge_audit("n2", 6).await.unwrap(), 1);
        assert_eq!(search(&store, &AuditFilter::default(), 500).await, [0_u64; 0]);
        // The counts are kept, and later events are found.
        let counted: u64 = store.audit_counts(0, 1_000).await.unwrap().iter().map(|count| count.n).sum();
        assert_eq!(counted, N_ROWS + 1);
        append(&store, N_ROWS..N_ROWS + 3).await;
        assert_eq!(search(&store, &tool, 500).await, [N_ROWS]);
    })
    .await;
}

/// After a power failure, the log of a gateway may have lost records that are already indexed.
#[tokio::test]
async fn records_that_the_log_lost_are_replaced() {
    on_every_database(async |store| {
        append(&store, 0..500).await;
        add(&store, "n2", &[(450, event(450))]).await;
        assert_eq!(store.rewind_audit("n1", 500).await.unwrap(), 0);
        assert_eq!(store.rewind_audit("n1", 300).await.unwrap(), 199);
        assert_eq!(store.last_audit_seq("n1").await.unwrap(), Some(300));
        let mut left = vec![450];
        left.extend((0..=300).rev());
        assert_eq!(search(&store, &AuditFilter::default(), 1_000).await, left);
        let again: Vec<(u64, Value)> =
            (290..400).map(|seq| (seq, with(event(seq), json!({ "tool": "new" })))).collect();
        assert_eq!(add(&store, "n1", &again).await, 99);
        let new = AuditFilter { tool: some("new"), ..AuditFilter::default() };
        assert_eq!(search(&store, &new, 1_000).await, (301..400).rev().collect::<Vec<_>>());
        assert_eq!(store.rewind_audit("n1", 0).await.unwrap(), 399);
        assert_eq!(search(&store, &AuditFilter::default(), 1_000).await, [450, 0]);
    })
    .await;
}

#[tokio::test]
async fn what_is_known_of_a_log_only_grows_until_it_is_replaced() {
    on_every_database(async |store| {
        assert_eq!(store.known_logs().await.unwrap(), []);
        assert!(store.next_snapshot("n1").await.is_err(), "of which log?");
        let known = |signed_until, snapshot| KnownLog {
            node: "n1".to_owned(),
            key: "k".to_owned(),
            signed_until,
            snapshot,
        };
        store.save_known_log(&known(0, 4)).await.unwrap();
        assert_eq!(store.next_snapshot("n1").await.unwrap(), 5);
        assert_eq!(store.next_snapshot("n1").await.unwrap(), 6);
        store.note_signed("n1", 70).await.unwrap();
        store.note_signed("n1", 60).await.unwrap();
        store.note_signed("other", 90).await.unwrap();
        assert_eq!(store.known_logs().await.unwrap(), [known(70, 6)]);
        store.save_known_log(&known(10, 2)).await.unwrap();
        assert_eq!(store.known_logs().await.unwrap(), [known(10, 2)]);
    })
    .await;
}

#[tokio::test]
async fn counts_are_exact_from_any_moment_on() {
    on_every_database(async |store| {
        let mut events = Vec::new();
        for seq in 0..600_u64 {
            // A minute apart, over ten hours.
            let mut one = with(event(seq), json!({ "at_ms": seq * 60_000 }));
            let members = one.as_object_mut().unwrap();
            for (member, divisor) in [("agent", 2), ("tool", 3)] {
                if seq.is_multiple_of(divisor) {
                    members.insert(member.to_owned(), json!("x"));
                } else {
                    members.remove(member);
                }
            }
            events.push((seq, one));
        }
        add(&store, "n1", &events).await;
        for since_ms in [-HOUR_MS, -1, 0, 1, HOUR_MS, HOUR_MS + 30_001, 5 * HOUR_MS, i64::MAX / 2] {
            let mut expected: Vec<AuditCount> = Vec::new();
            for (_, event) in events.iter().filter(|(_, event)| event["at_ms"].as_i64() >= Some(since_ms)) {
                let text = |member: &str| event[member].as_str().map(str::to_owned);
                let count = AuditCount {
                    event_type: text("kind").unwrap(),
                    agent: text("agent"),
                    tool: text("tool"),
                    decision: text("decision"),
                    n: 1,
                };
                match expected.iter_mut().find(|one| AuditCount { n: 1, ..(*one).clone() } == count) {
                    Some(known) => known.n += 1,
                    None => expected.push(count),
                }
            }
            let sort = |one: &AuditCount| {
                let AuditCount { event_type, agent, tool, decision, n } = one.clone();
                (u64::MAX - n, event_type, agent, tool, decision)
            };
            expected.sort_by_key(sort);
            assert_eq!(store.audit_counts(since_ms, 1_000).await.unwrap(), expected, "{since_ms}");
            expected.truncate(2);
            assert_eq!(store.audit_counts(since_ms, 2).await.unwrap(), expected, "{since_ms}");
        }
    })
    .await;
}
