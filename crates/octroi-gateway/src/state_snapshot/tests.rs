//! Only whole snapshots count.

use super::*;

fn item(number: usize) -> SnapshotItem {
    SnapshotItem::Switch { server: format!("s{number}{}", "x".repeat(1_000)), enabled: true, by: None }
}

fn read(records: &[String]) -> Option<Vec<SnapshotItem>> {
    let mut reader = SnapshotReader::default();
    for context in records {
        let body = format!(
            "{{\"at_ms\":1,\"kind\":\"state_snapshot\",\"level\":\"info\",\
             \"actor\":{{\"kind\":\"system\",\"id\":\"octroi\"}},\"context\":{context}}}"
        );
        reader.take(&Entry::parse(body.as_bytes()).unwrap());
    }
    reader.into_complete()
}

#[test]
fn only_a_whole_snapshot_counts() {
    let old = to_records(&[item(0)], 1);
    let items: Vec<SnapshotItem> = (0..1_000).map(item).collect();
    let parts = to_records(&items, 2);
    assert!(parts.len() > 3 && parts.iter().all(|part| part.len() < PART_BYTES * 2), "{}", parts.len());
    assert_eq!(read(&parts), Some(items.clone()));
    // Without one of its parts, the one before it counts.
    for missing in 0..parts.len() {
        let mut records = old.clone();
        records.extend(parts.iter().enumerate().filter(|(n, _)| *n != missing).map(|(_, part)| part.clone()));
        assert_eq!(read(&records), Some(vec![item(0)]), "{missing}");
    }
    assert_eq!(read(&[parts, old].concat()), Some(vec![item(0)]));
    let none = to_records(&[], 3);
    assert_eq!(read(&none), Some(Vec::new()));
    assert_eq!(read(&[]), None);
}
