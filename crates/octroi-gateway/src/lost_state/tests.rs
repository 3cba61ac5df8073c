//! What is noticed, as tables, and with a real data directory.

use std::fs;
use std::sync::Arc;

use octroi_core::audit::{Actor, Event, Kind};

use super::*;
use crate::audit::{AuditLog, Durability, Options};
use crate::persistence::key::KeyOrigin;
use crate::persistence::{Persistence, PersistenceError};

fn facts() -> LogFacts {
    LogFacts {
        node: "a".to_owned(),
        last: 9,
        key: "k".to_owned(),
        has_other_key: false,
        signed_until: 9,
        signed_before: 4,
        has_only_other_checkpoints: false,
        snapshot: 3,
    }
}

fn knowledge() -> Knowledge {
    let log = KnownLog { node: "a".to_owned(), key: "k".to_owned(), signed_until: 9, snapshot: 3 };
    Knowledge { nodes: vec![("a".to_owned(), 9)], logs: vec![log] }
}

#[test]
fn the_log_is_compared_with_what_the_database_knows() {
    type Change = fn(&mut Knowledge, &mut LogFacts);
    let end = |last, known| vec![Loss::LogEnd { last, known }];
    let cases: [(&str, Change, Vec<Loss>); 16] = [
        ("nothing happened", |_, _| {}, vec![]),
        (
            "both are new",
            |known, found| {
                *known = Knowledge::default();
                (found.last, found.signed_until, found.signed_before, found.snapshot) = (0, 0, 0, 0);
            },
            vec![],
        ),
        (
            "killed before the table had the end",
            |known, found| {
                known.nodes[0].1 = 5;
                (found.last, found.signed_until) = (12, 9);
            },
            vec![],
        ),
        ("killed before the snapshot was in the log", |known, _| known.logs[0].snapshot = 4, vec![]),
        ("a shorter log", |_, found| (found.last, found.signed_until) = (8, 8), {
            vec![Loss::LogEnd { last: 8, known: 9 }, Loss::Checkpoints]
        }),
        ("a cut log, with its checkpoints", |_, found| found.last = 2, end(2, 9)),
        (
            "a cut log that only checkpoints know",
            |known, found| {
                known.nodes.clear();
                found.last = 2;
            },
            end(2, 9),
        ),
        (
            "another log",
            |_, found| found.node = "b".to_owned(),
            vec![Loss::OtherLog, Loss::DatabaseChanges { known: 0, newest: 3 }],
        ),
        (
            "an older database",
            |known, _| {
                known.nodes[0].1 = 5;
                known.logs[0].snapshot = 2;
            },
            vec![Loss::DatabaseChanges { known: 2, newest: 3 }],
        ),
        (
            "an emptied database",
            |known, _| *known = Knowledge::default(),
            vec![Loss::DatabaseChanges { known: 0, newest: 3 }],
        ),
        ("another key", |known, _| known.logs[0].key = "l".to_owned(), vec![Loss::OtherSigningKey]),
        ("another public key", |_, found| found.has_other_key = true, vec![Loss::OtherSigningKey]),
        (
            "no checkpoints, as the database knows",
            |_, found| {
                (found.signed_until, found.signed_before) = (0, 0);
            },
            vec![Loss::Checkpoints],
        ),
        (
            "no checkpoints, as the log knows",
            |known, found| {
                known.logs[0].signed_until = 0;
                found.signed_until = 3;
            },
            vec![Loss::Checkpoints],
        ),
        (
            "checkpoints of somebody else",
            |known, found| {
                known.logs[0].signed_until = 0;
                (found.signed_until, found.signed_before) = (0, 0);
                found.has_only_other_checkpoints = true;
            },
            vec![Loss::Checkpoints],
        ),
        (
            "too many records without a checkpoint",
            |_, found| found.last = 9 + UNSIGNED_MAX + 1,
            vec![Loss::Checkpoints],
        ),
    ];
    for (what, change, expected) in cases {
        let (mut known, mut found) = (knowledge(), facts());
        change(&mut known, &mut found);
        assert_eq!(compare(&known, &found), expected, "{what}");
    }
}

#[test]
fn a_part_of_something_larger_is_not_named_again() {
    let mut losses = LossList::default();
    losses.add([Loss::Database, Loss::Log { n_known: None }, Loss::SigningKey]);
    losses.add([
        Loss::DatabaseChanges { known: 1, newest: 2 },
        Loss::Log { n_known: Some(3) },
        Loss::OtherSigningKey,
        Loss::Checkpoints,
        Loss::OtherLog,
        Loss::OtherLog,
    ]);
    let expected = [Loss::Database, Loss::Log { n_known: None }, Loss::SigningKey, Loss::OtherLog];
    assert_eq!(losses.to_vec(), expected);
}

#[test]
fn every_file_that_comes_later_is_a_witness() {
    let key = crate::persistence::key::FILE;
    for (file, expected) in [
        ("gateway.pid", vec![]),
        (key, vec![Loss::Database]),
        ("admin.token", vec![Loss::Database, Loss::Log { n_known: None }]),
        ("default.token", vec![Loss::Database, Loss::Log { n_known: None }]),
        ("stdio.token", vec![Loss::Database, Loss::Log { n_known: None }]),
        ("audit/checkpoints", vec![Loss::Database, Loss::Log { n_known: None }]),
        // The key of a log that was just about to be made.
        ("audit/key", vec![]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("audit");
        fs::create_dir(&log).unwrap();
        fs::write(directory.path().join(file), "x").unwrap();
        assert_eq!(missing_files(directory.path(), &log, key), expected, "{file}");
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("admin.token"), "x").unwrap();
    fs::write(directory.path().join("octroi.db"), "x").unwrap();
    let log = directory.path().join("audit");
    assert_eq!(missing_files(directory.path(), &log, key), []);
    assert_eq!(missing_log(directory.path(), &log, &[]), Some(Loss::Log { n_known: None }));
}

/// Opens a data directory as a run does, and leaves a snapshot and some records. Returns what was lost.
async fn run(data: &Path, on_loss: OnLoss) -> Result<Vec<Loss>, Vec<Loss>> {
    let clock = octroi_upstream::system_clock();
    let mut persistence = match Persistence::open_with(data, clock, on_loss, &KeyOrigin::Directory).await {
        Ok(persistence) => persistence,
        Err(PersistenceError::Lost { losses, .. }) => return Err(losses),
        Err(error) => panic!("{error:?}"),
    };
    let log = persistence.take_audit().unwrap().log;
    let number = persistence.store().next_snapshot(log.node()).await.unwrap();
    let context = format!("{{\"number\":{number}}}");
    let event = Event { context: &context, ..Event::new(1, Kind::StateSnapshot, Actor::SYSTEM) };
    log.append(&event, Durability::Disk).await.unwrap();
    fill(&log).await;
    log.close().await.unwrap();
    crate::audit_index::note_signed(persistence.store(), &log).await;
    let losses = persistence.losses().to_vec();
    let store = Arc::clone(persistence.store());
    drop(persistence);
    Arc::into_inner(store).unwrap().close().await;
    Ok(losses)
}

async fn fill(log: &AuditLog) {
    for _ in 0..20 {
        log.append(&Event::new(1, Kind::PolicyDecision, Actor::SYSTEM), Durability::Os).await.unwrap();
    }
}

type Damage = fn(&Path);

fn database(data: &Path) -> std::path::PathBuf {
    data.join("octroi.db")
}

/// Each damage is found twice, because a refused start hides nothing; then it is accepted once and for all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_directory_is_refused_until_it_is_accepted() {
    let cases: [(&str, Damage); 9] = [
        ("older", |data| fs::rename(data.join("old.db"), database(data)).unwrap()),
        ("the database", |data| truncate(&database(data), 0)),
        ("the end", |data| truncate(&data.join("audit/000001.log"), 900)),
        ("the audit log", |data| truncate(&data.join("audit/000001.log"), 0)),
        ("signed checkpoints", |data| truncate(&data.join("audit/checkpoints"), 0)),
        ("another one", |data| fs::write(data.join("audit/key"), [7; 32]).unwrap()),
        ("another one", |data| {
            fs::write(data.join("audit/key"), [7; 32]).unwrap();
            fs::remove_file(data.join("audit/key.pub")).unwrap();
        }),
        ("signed checkpoints", |data| fs::remove_file(data.join("audit/checkpoints")).unwrap()),
        ("the database", |data| fs::remove_file(database(data)).unwrap()),
    ];
    for (number, (expected, damage)) in cases.into_iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        assert_eq!(run(data, OnLoss::Refuse).await, Ok(vec![]), "{number}");
        fs::copy(database(data), data.join("old.db")).unwrap();
        assert_eq!(run(data, OnLoss::Refuse).await, Ok(vec![]), "{number}");
        damage(data);
        for _ in 0..2 {
            let losses = run(data, OnLoss::Refuse).await.unwrap_err();
            let text = losses.first().unwrap().to_string();
            assert!(text.contains(expected), "{number}: {text}");
        }
        assert!(!run(data, OnLoss::Accept).await.unwrap().is_empty(), "{number}");
        assert_eq!(run(data, OnLoss::Refuse).await, Ok(vec![]), "{number}");
    }
}

fn truncate(file: &Path, n_bytes: u64) {
    fs::OpenOptions::new().write(true).open(file).unwrap().set_len(n_bytes).unwrap();
}

/// Only the opening record of a new segment still knows the snapshot.
#[tokio::test]
async fn the_number_of_a_snapshot_outlives_its_segment() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::new(octroi_upstream::system_clock());
    options.segment_bytes = 1_500;
    let log = AuditLog::open(directory.path(), &options).unwrap().log;
    let event = Event { context: "{\"number\":7}", ..Event::new(1, Kind::StateSnapshot, Actor::SYSTEM) };
    log.append(&event, Durability::Os).await.unwrap();
    fill(&log).await;
    let last = log.close().await.unwrap();
    assert!(directory.path().join("000002.log").exists());
    let facts = crate::audit::FoundLog::find(directory.path(), &options).unwrap().facts();
    assert_eq!((facts.snapshot, facts.last, facts.signed_until), (7, last, last));
}
