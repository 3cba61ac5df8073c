//! The audit log as it can be asked.

use octroi_store::{AuditCount, AuditCursor, AuditFilter, AuditPage, AuditRow, Store};

use super::{on_every_database, race};

const HOUR_MS: i64 = 3_600_000;

/// An event that is told from others by its number.
fn row(seq: u64) -> AuditRow<'static> {
    let number = seq.cast_signed();
    AuditRow {
        node: "n1".into(),
        seq,
        at_ms: 1_000 + number,
        event_type: if seq.is_multiple_of(2) { "tool_invocation_start" } else { "tool_invocation_end" }
            .into(),
        level: "info".into(),
        actor_kind: "agent".into(),
        actor_id: "coder".into(),
        agent: Some(format!("agent{}", seq % 3).into()),
        tool: Some(format!("mcp:files:tool{}", seq % 5).into()),
        server: Some(format!("server{}", seq % 4).into()),
        source_type: Some("mcp".into()),
        call_id: Some(format!("call-{}", seq / 2).into()),
        decision: Some(if seq.is_multiple_of(10) { "deny_continue" } else { "allow" }.into()),
        context: format!("{{\"number\":{seq}}}").into(),
        ..AuditRow::default()
    }
}

async fn append(store: &Store, seqs: std::ops::Range<u64>) {
    let rows: Vec<AuditRow<'_>> = seqs.map(row).collect();
    for batch in rows.chunks(500) {
        assert_eq!(store.append_audit(batch).await.unwrap(), batch.len());
    }
}

/// All pages of a search.
async fn search(store: &Store, filter: &AuditFilter, n_max: u32) -> Vec<u64> {
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let AuditPage { rows, next } = store.audit_events(filter, before, n_max).await.unwrap();
        assert!(rows.len() <= n_max as usize);
        found.extend(rows.iter().map(|row| row.seq));
        assert!(next.is_none() || next != before, "the search does not get on");
        before = next;
        if before.is_none() {
            return found;
        }
    }
}

/// What a search must find, looked for in the plainest way.
fn expected(n_rows: u64, matches: impl Fn(&AuditRow<'_>) -> bool) -> Vec<u64> {
    (0..n_rows).rev().filter(|seq| matches(&row(*seq))).collect()
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
        assert_eq!(store.append_audit(&[]).await.unwrap(), 0);
        let full = AuditRow {
            session: Some("s".into()),
            project: Some("p \"q\"".into()),
            context: "{ \"a\" : \"ü\\u0000\" }".into(),
            seq: u64::MAX / 2,
            at_ms: -5,
            ..row(1)
        };
        let bare = AuditRow { node: "n2".into(), seq: 1, context: "{}".into(), ..AuditRow::default() };
        assert_eq!(store.append_audit(&[full.clone(), bare.clone()]).await.unwrap(), 2);
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
        let again: Vec<AuditRow<'_>> = (0..700).map(row).collect();
        assert_eq!(store.append_audit(&again).await.unwrap(), 0);
        // Partly known, out of order, and twice in one batch.
        let mut mixed: Vec<AuditRow<'_>> = (650..760).rev().map(row).collect();
        mixed.extend([row(755), row(760)]);
        let other = AuditRow { node: "n2".into(), ..row(3) };
        mixed.push(other);
        assert_eq!(store.append_audit(&mixed).await.unwrap(), 62);
        assert_eq!(store.audit_events(&AuditFilter::default(), None, 10_000).await.unwrap().rows.len(), 762);
        let counts = store.audit_counts(0, 1_000).await.unwrap();
        assert_eq!(counts.iter().map(|count| count.n).sum::<u64>(), 762);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_add_the_same_at_once() {
    on_every_database(async |store| {
        let adding = race(&store, |store, _| async move {
            let rows: Vec<AuditRow<'_>> = (0..300).map(row).collect();
            Some(store.append_audit(&rows).await.unwrap())
        });
        assert_eq!(adding.await.into_iter().sum::<usize>(), 300);
        assert_eq!(search(&store, &AuditFilter::default(), 1_000).await.len(), 300);
    })
    .await;
}

type Matches = fn(&AuditRow<'_>) -> bool;

#[tokio::test]
async fn every_filter_finds_what_it_says() {
    const N_ROWS: u64 = 10_000;
    on_every_database(async |store| {
        append(&store, 0..N_ROWS).await;
        let any = AuditFilter::default;
        let types = |types: &[&str]| types.iter().map(|&one| one.to_owned()).collect();
        let cases: [(AuditFilter, Matches); 14] = [
            (any(), |_| true),
            (AuditFilter { tool: some("mcp:files:tool3"), ..any() }, |row| row.seq % 5 == 3),
            (AuditFilter { agent: some("agent2"), ..any() }, |row| row.seq % 3 == 2),
            (AuditFilter { server: some("server1"), ..any() }, |row| row.seq % 4 == 1),
            (AuditFilter { decision: some("deny_continue"), ..any() }, |row| row.seq % 10 == 0),
            (AuditFilter { source_type: some("builtin"), ..any() }, |_| false),
            (AuditFilter { event_types: types(&["tool_invocation_end", "other"]), ..any() }, |row| {
                row.seq % 2 == 1
            }),
            (AuditFilter { since_ms: Some(5_000), ..any() }, |row| row.at_ms >= 5_000),
            (AuditFilter { until_ms: Some(5_000), ..any() }, |row| row.at_ms < 5_000),
            (AuditFilter { since_ms: Some(5_000), until_ms: Some(5_000), ..any() }, |_| false),
            (AuditFilter { call_id: some("call-2500"), ..any() }, |row| row.seq / 2 == 2_500),
            (AuditFilter { text: some("NUMBER\":77"), ..any() }, |row| row.seq.to_string().starts_with("77")),
            (AuditFilter { text: some("%"), ..any() }, |_| false),
            (
                AuditFilter {
                    agent: some("agent1"),
                    tool: some("mcp:files:tool4"),
                    decision: some("allow"),
                    since_ms: Some(3_000),
                    text: some("9"),
                    ..any()
                },
                |row| {
                    row.seq % 3 == 1
                        && row.seq % 5 == 4
                        && row.seq % 10 != 0
                        && row.at_ms >= 3_000
                        && row.seq.to_string().contains('9')
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

/// A server chooses the names of its tools; none may keep its calls from being found.
#[tokio::test]
async fn names_of_all_kinds_are_found() {
    on_every_database(async |store| {
        let names = [
            "", "a\0b", "a\0c", "\0", "a\"b", "a\\b", "a'b", "ü𝄞", "1", "1.0", "null", "[1]", "{}",
            "\u{7f}\n",
        ];
        let rows: Vec<AuditRow<'_>> =
            (0..).zip(names).map(|(seq, name)| AuditRow { tool: Some(name.into()), ..row(seq) }).collect();
        store.append_audit(&rows).await.unwrap();
        for (seq, name) in (0..).zip(names) {
            let filter = AuditFilter { tool: some(name), ..AuditFilter::default() };
            assert_eq!(search(&store, &filter, 10).await, [seq], "{name:?}");
        }
        let counted: u64 = store.audit_counts(0, 100).await.unwrap().iter().map(|count| count.n).sum();
        assert_eq!(counted, rows.len() as u64);
    })
    .await;
}

#[tokio::test]
async fn new_events_do_not_disturb_who_turns_pages() {
    on_every_database(async |store| {
        append(&store, 0..100).await;
        let filter = AuditFilter::default();
        let first = store.audit_events(&filter, None, 60).await.unwrap();
        append(&store, 100..200).await;
        // The place can be written down.
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
        let at = |seq, at_ms| AuditRow { at_ms, ..row(seq) };
        let rows = [at(0, 50_000), at(1, 60_000), at(2, 10_000), at(3, 55_000)];
        assert_eq!(store.append_audit(&rows).await.unwrap(), 4);
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
        let other = AuditRow { node: "n2".into(), ..row(5) };
        store.append_audit(&[other]).await.unwrap();
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
        // The counts stay, and what comes next is found.
        let counted: u64 = store.audit_counts(0, 1_000).await.unwrap().iter().map(|count| count.n).sum();
        assert_eq!(counted, N_ROWS + 1);
        append(&store, N_ROWS..N_ROWS + 3).await;
        assert_eq!(search(&store, &tool, 500).await, [N_ROWS]);
    })
    .await;
}

#[tokio::test]
async fn counts_are_exact_from_any_moment_on() {
    on_every_database(async |store| {
        let mut rows = Vec::new();
        for seq in 0..600_u64 {
            // A minute apart, over ten hours, some of them before 1970.
            let at_ms = (seq.cast_signed() - 90) * 60_000;
            let mut one = AuditRow { at_ms, ..row(seq) };
            one.agent = seq.is_multiple_of(2).then(|| "a".into());
            one.tool = seq.is_multiple_of(3).then(|| "t".into());
            rows.push(one);
        }
        store.append_audit(&rows).await.unwrap();
        for since_ms in
            [i64::MIN / 2, -HOUR_MS, -1, 0, 1, HOUR_MS, HOUR_MS + 30_001, 5 * HOUR_MS, i64::MAX / 2]
        {
            let mut expected: Vec<AuditCount> = Vec::new();
            for row in rows.iter().filter(|row| row.at_ms >= since_ms) {
                let count = AuditCount {
                    event_type: row.event_type.to_string(),
                    agent: row.agent.as_deref().map(str::to_owned),
                    tool: row.tool.as_deref().map(str::to_owned),
                    decision: row.decision.as_deref().map(str::to_owned),
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
