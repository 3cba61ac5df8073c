//! A log that is not what was signed makes no database.

use std::fs;

use octroi_core::UserRole;
use octroi_core::principal::TokenKind;
use octroi_store::{BrowserRecord, TokenRecord, UserRecord};

use super::*;
use crate::audit::AuditLog;
use crate::state_snapshot::{read_state, to_records};

/// A log with a snapshot of one switched server, and records after it.
async fn log_in(data: &Path) {
    let log = AuditLog::open(&data.join(AUDIT), &Options::new(octroi_upstream::system_clock())).unwrap().log;
    let items = [SnapshotItem::Switch { server: "files".to_owned(), enabled: false, by: None }];
    for context in to_records(&items, 1) {
        let event = Event { context: &context, ..Event::new(1, Kind::StateSnapshot, Actor::SYSTEM) };
        log.append(&event, Durability::Disk).await.unwrap();
    }
    log.close().await.unwrap();
}

async fn rebuild(data: &Path, on_loss: OnLoss) -> Result<Rebuilt, RebuildError> {
    rebuild_database(data, &octroi_upstream::system_clock(), Actor::SYSTEM, on_loss).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_revoked_token_stays_revoked() {
    let (directory, lost) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = Store::open(lost.path(), &|directory, known| {
        KeyOrigin::Directory.find(directory, known, OnLoss::Accept)
    })
    .await
    .unwrap();
    let user = UserRecord {
        name: "ana".to_owned(),
        role: UserRole::Admin,
        is_disabled: true,
        created_at_ms: 1,
        created_by: "admin".to_owned(),
    };
    let token = |id: u8, kind, agent: Option<&str>| TokenRecord {
        id: format!("t{id}"),
        hash: [id; 32],
        kind,
        user: "ana".to_owned(),
        agent: agent.map(str::to_owned),
        session: None,
        label: "one".to_owned(),
        created_at_ms: i64::from(id),
        created_by: "admin".to_owned(),
        expires_at_ms: None,
        last_used_at_ms: None,
        revoked: None,
        replaced_by: None,
        browser: None,
    };
    let revoked = TokenRecord {
        revoked: Some((5, "bob".to_owned())),
        browser: Some(BrowserRecord { key: [9; 32], signed_in_with: "t9".to_owned() }),
        ..token(1, TokenKind::Human, None)
    };
    let expiring = TokenRecord {
        expires_at_ms: Some(9),
        replaced_by: Some("t3".to_owned()),
        ..token(2, TokenKind::Agent, Some("coder"))
    };
    let over = TokenRecord {
        expires_at_ms: Some(9),
        ..TokenRecord { id: "t4".into(), hash: [4; 32], ..revoked.clone() }
    };
    store.save_user(&user).await.unwrap();
    let service = TokenRecord { last_used_at_ms: Some(8), ..token(3, TokenKind::Service, None) };
    store.save_tokens(&[revoked.clone(), expiring.clone(), service.clone(), over]).await.unwrap();
    let items = read_state(&store, str::to_owned).await.unwrap();
    let text = serde_json::to_string(&items).unwrap();

    let data = directory.path();
    let log = AuditLog::open(&data.join(AUDIT), &Options::new(octroi_upstream::system_clock())).unwrap().log;
    for context in to_records(&items, 1) {
        let event = Event { context: &context, ..Event::new(1, Kind::StateSnapshot, Actor::SYSTEM) };
        log.append(&event, Durability::Disk).await.unwrap();
    }
    log.close().await.unwrap();
    let rebuilt = rebuild(data, OnLoss::Refuse).await.unwrap();
    assert_eq!((rebuilt.n_users, rebuilt.n_tokens, rebuilt.lost), (1, 3, Vec::new()), "{text}");
    let store =
        Store::open(data, &|directory, known| KeyOrigin::Directory.find(directory, known, OnLoss::Accept))
            .await
            .unwrap();
    assert_eq!(store.users().await.unwrap(), [user]);
    let unused = TokenRecord { last_used_at_ms: None, ..service };
    assert_eq!(store.tokens().await.unwrap(), [revoked, expiring, unused]);
}

type Change = fn(&Path);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_log_that_was_signed_is_believed() {
    let cases: [(&str, Change); 6] = [
        ("was edited", |log| {
            let segment = log.join("000001.log");
            let text = fs::read(&segment).unwrap();
            let at = text.windows(5).position(|window| window == b"files").unwrap();
            fs::write(&segment, [&text[..at], b"filez", &text[at + 5..]].concat()).unwrap();
        }),
        ("the end was cut off", |log| {
            let text = fs::read(log.join("000001.log")).unwrap();
            fs::write(log.join("000001.log"), &text[..text.len() - 1]).unwrap();
        }),
        ("checkpoints are gone", |log| fs::remove_file(log.join("checkpoints")).unwrap()),
        ("no checkpoint covers", |log| fs::write(log.join("checkpoints"), "").unwrap()),
        ("signs its checkpoints is gone", |log| fs::remove_file(log.join("key")).unwrap()),
        ("not the one that was published", |log| fs::write(log.join("key"), [7; 32]).unwrap()),
    ];
    for (expected, change) in cases {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        log_in(data).await;
        if expected.contains("cut off") {
            // Another run follows, so that the snapshot is whole.
            log_in(data).await;
        }
        change(&data.join(AUDIT));
        for _ in 0..2 {
            let error = rebuild(data, OnLoss::Refuse).await.unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.hint().contains("octroi audit verify"), "{}", error.hint());
            assert!(!Store::exists(data), "{expected}");
        }
        assert_eq!(rebuild(data, OnLoss::Accept).await.unwrap().n_switches, 1, "{expected}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_names_the_next_command() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let error = rebuild(data, OnLoss::Refuse).await.unwrap_err();
    assert!(matches!(error, RebuildError::NoLog { .. }) && error.hint().contains("octroi up --accept-loss"));
    AuditLog::open(&data.join(AUDIT), &Options::new(octroi_upstream::system_clock()))
        .unwrap()
        .log
        .close()
        .await
        .unwrap();
    let error = rebuild(data, OnLoss::Refuse).await.unwrap_err();
    assert!(matches!(error, RebuildError::NoSnapshot { .. }) && error.hint().contains("octroi up"));
    log_in(data).await;
    rebuild(data, OnLoss::Refuse).await.unwrap();
    let error = rebuild(data, OnLoss::Refuse).await.unwrap_err();
    assert!(matches!(error, RebuildError::HasDatabase { .. }) && error.hint().contains("octroi.db-wal"));
}
