//! The arguments of approvals on the disk: encrypted, removed when they are over, and never left behind.

use std::fs;
use std::path::Path;

use octroi_core::Secret;
use octroi_core::approval::{Answer, Approval, ApprovalState, ApprovalVerdict, ArgumentsState};
use octroi_store::{KnownKey, MasterKey, Store, StoreError};

use crate::support::{approval, describe, run_sql, test_key};

const SENT: &str = "a-secret-that-was-sent";
const EDITED: &str = "a-secret-that-was-edited";
const SHOWN: &str = "a-secret-nobody-recognized";

fn with_secrets(number: u32) -> Approval {
    Approval {
        arguments: Secret::new(format!("{{\"x\":\"{SENT}\"}}")),
        arguments_preview: format!("{{\"x\":\"{SHOWN}\"}}"),
        other_params: Some(Secret::new(format!("{{\"params\":\"{SENT}\"}}"))),
        other_params_preview: Some(format!("{{\"params\":\"{SHOWN}\"}}")),
        ..approval(number)
    }
}

fn approve_with_edit() -> Answer {
    let verdict = ApprovalVerdict::Approve {
        edited_arguments: Some(Secret::new(format!("{{\"x\":\"{EDITED}\"}}"))),
        remembered_rule: None,
        policy_revision: 3,
        usable_until_ms: 1_000,
    };
    Answer { verdict, by: "bob".to_owned(), reason: None }
}

/// Which of the secrets are in any file of the directory.
fn found_on_disk(directory: &Path) -> Vec<&'static str> {
    let files =
        fs::read_dir(directory).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap_or_default());
    let contents: Vec<Vec<u8>> = files.collect();
    let is_there = |text: &&str| {
        let bytes = text.as_bytes();
        contents.iter().any(|content| content.windows(bytes.len()).any(|window| window == bytes))
    };
    [SENT, EDITED, SHOWN].into_iter().filter(is_there).collect()
}

#[tokio::test]
async fn arguments_are_on_no_disk_as_plain_text() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    store.request_approval(&with_secrets(1)).await.unwrap();
    store.decide_approval("ap_1", approve_with_edit(), 2).await.unwrap().unwrap();
    assert_eq!(found_on_disk(directory.path()), Vec::<&str>::new());
    store.close().await;
    assert_eq!(found_on_disk(directory.path()), Vec::<&str>::new());

    let store = Store::open(directory.path(), &test_key).await.unwrap();
    let read = store.approval("ap_1").await.unwrap().unwrap();
    assert_eq!(read.arguments, with_secrets(1).arguments);
    assert_eq!(read.arguments_preview, with_secrets(1).arguments_preview);
    assert_eq!(read.edited_arguments, Some(Secret::new(format!("{{\"x\":\"{EDITED}\"}}"))));
    assert_eq!(read.other_params, with_secrets(1).other_params);
    assert_eq!(read.other_params_preview, with_secrets(1).other_params_preview);
    assert_eq!(read.arguments_state, ArgumentsState::Whole);
}

/// An older version kept a short version of other params, by which nobody can decide.
#[tokio::test]
async fn what_an_older_version_cut_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    for number in 1..=2 {
        store.request_approval(&with_secrets(number)).await.unwrap();
    }
    store.close().await;
    let as_before = "UPDATE approvals SET other_params_sent = NULL, other_params = '{}' WHERE id = 'ap_1';
        UPDATE approvals SET other_params_sent = NULL, other_params = NULL WHERE id = 'ap_2'";
    run_sql(directory.path(), as_before).await;
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    for (id, state) in [("ap_1", ArgumentsState::Unreadable), ("ap_2", ArgumentsState::Whole)] {
        assert_eq!(store.approval(id).await.unwrap().unwrap().arguments_state, state, "{id}");
    }
}

/// A database as the version before encryption left it.
async fn make_plain(directory: &Path) {
    let store = Store::open(directory, &test_key).await.unwrap();
    store.request_approval(&approval(1)).await.unwrap();
    store.decide_approval("ap_1", approve_with_edit(), 2).await.unwrap().unwrap();
    store.close().await;
    let plain = format!(
        "DROP TABLE audit_logs; DROP INDEX approvals_plain; DROP INDEX approvals_with_arguments;
         DELETE FROM migrations WHERE version > 10; ALTER TABLE approvals DROP COLUMN other_params_sent;
         ALTER TABLE servers DROP COLUMN asks_clients;
         UPDATE approvals SET other_params = NULL, arguments = '{{\"x\":\"{SENT}\"}}', edited_arguments = '{{\"x\":\"{EDITED}\"}}',
             arguments_preview = '{{\"x\":\"{SHOWN}\"}}';
         DROP INDEX health_samples_by_time; DROP TABLE former_agents; DROP TABLE users; DROP TABLE tokens; DROP TABLE invites;
         DROP TABLE secrets; DROP TABLE master_key; DROP TABLE agent_servers; DROP TABLE agent_lists;
         DROP TABLE session_servers; DROP TABLE sessions; DROP TABLE server_preferences; DROP TABLE server_revisions;
         DROP TABLE server_entries; DROP TABLE audit_calls;
         ALTER TABLE approvals DROP COLUMN approvers;
         ALTER TABLE servers DROP COLUMN switched_by; ALTER TABLE servers DROP COLUMN is_agreed;
         ALTER TABLE agents DROP COLUMN title; ALTER TABLE agents DROP COLUMN owner;
         ALTER TABLE agents DROP COLUMN created_at_ms; ALTER TABLE agents DROP COLUMN created_by;
         ALTER TABLE agents DROP COLUMN paused_at_ms; ALTER TABLE agents DROP COLUMN paused_by;
         ALTER TABLE agents DROP COLUMN pause_reason; ALTER TABLE agents DROP COLUMN preset;
         ALTER TABLE agents DROP COLUMN system_prompt; ALTER TABLE audit_nodes DROP COLUMN indexed_seq;
         DROP VIEW audit_decisions;"
    );
    run_sql(directory, &plain).await;
    assert_eq!(found_on_disk(directory).len(), 3);
}

#[tokio::test]
async fn plain_arguments_of_an_older_version_are_encrypted_before_they_are_backed_up() {
    let directory = tempfile::tempdir().unwrap();
    make_plain(directory.path()).await;
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    assert!(directory.path().join("octroi.db.backup-10").exists());
    assert_eq!(found_on_disk(directory.path()), Vec::<&str>::new());
    let read = store.approval("ap_1").await.unwrap().unwrap();
    assert_eq!(read.arguments, with_secrets(1).arguments);
    assert_eq!(read.edited_arguments, Some(Secret::new(format!("{{\"x\":\"{EDITED}\"}}"))));
    store.close().await;
}

#[tokio::test]
async fn with_another_key_arguments_are_unreadable_and_all_else_works() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    for number in 1..=2 {
        store.request_approval(&with_secrets(number)).await.unwrap();
    }
    store.decide_approval("ap_2", approve_with_edit(), 2).await.unwrap().unwrap();
    assert_eq!(store.count_unreadable().await.unwrap(), 0);
    store.close().await;

    let other_key = |_: &Path, _: Option<&KnownKey>| Ok(Some(MasterKey::new([1; 32])));
    let store = Store::open(directory.path(), &other_key).await.unwrap();
    assert_eq!(store.count_unreadable().await.unwrap(), 2);
    let read = store.approval("ap_2").await.unwrap().unwrap();
    assert_eq!((read.arguments_state, read.arguments.expose()), (ArgumentsState::Unreadable, ""));
    // Using it does not destroy what the right key could read.
    store.claim_approval("ap_2", &read.binding, 3).await.unwrap().unwrap();
    // A person can still say no, and new calls can be asked about.
    let no = Answer { verdict: ApprovalVerdict::DenyContinue, by: "bob".to_owned(), reason: None };
    let denied = store.decide_approval("ap_1", no, 3).await.unwrap().unwrap();
    assert_eq!(denied.state, ApprovalState::DeniedContinue);
    store.request_approval(&with_secrets(3)).await.unwrap();
    assert_eq!(store.approval("ap_3").await.unwrap().unwrap().arguments, with_secrets(3).arguments);
    store.close().await;

    let store = Store::open(directory.path(), &test_key).await.unwrap();
    let read = store.approval("ap_2").await.unwrap().unwrap();
    assert_eq!(read.edited_arguments, Some(Secret::new(format!("{{\"x\":\"{EDITED}\"}}"))));
    store.close().await;

    let store = Store::open(directory.path(), &|_, _| Ok(None)).await.unwrap();
    let error = store.request_approval(&with_secrets(4)).await.unwrap_err();
    assert!(matches!(error, StoreError::NoKey { .. }));
    assert_eq!(
        describe(&error, directory.path()),
        "there is no key to encrypt what DIR/octroi.db stores\n\
         hint: restore the file master.key of the data directory, or remove it and restart to make a new one"
    );
}

#[tokio::test]
async fn arguments_are_removed_when_an_approval_is_over() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    for number in 1..=4 {
        store.request_approval(&with_secrets(number)).await.unwrap();
    }
    // 1 is made, 2 is being made, 3 is denied, 4 waits.
    for id in ["ap_1", "ap_2"] {
        let approved = store.decide_approval(id, approve_with_edit(), 5).await.unwrap().unwrap();
        store.claim_approval(id, &approved.binding, 6).await.unwrap().unwrap();
    }
    store.finish_approval("ap_1", "completed", 20).await.unwrap().unwrap();
    let no = Answer { verdict: ApprovalVerdict::DenyAbort, by: "bob".to_owned(), reason: None };
    store.decide_approval("ap_3", no, 10).await.unwrap().unwrap();

    for (over_before_ms, n_removed, states) in [
        (9, 0, [ArgumentsState::Whole; 4]),
        (
            10,
            1,
            [ArgumentsState::Whole, ArgumentsState::Whole, ArgumentsState::Removed, ArgumentsState::Whole],
        ),
        (
            500,
            1,
            [ArgumentsState::Removed, ArgumentsState::Whole, ArgumentsState::Removed, ArgumentsState::Whole],
        ),
        (
            5_000,
            0,
            [ArgumentsState::Removed, ArgumentsState::Whole, ArgumentsState::Removed, ArgumentsState::Whole],
        ),
    ] {
        assert_eq!(store.remove_arguments(over_before_ms).await.unwrap(), n_removed, "{over_before_ms}");
        for (number, state) in (1..).zip(states) {
            let read = store.approval(&format!("ap_{number}")).await.unwrap().unwrap();
            assert_eq!(read.arguments_state, state, "{number} at {over_before_ms}");
            assert_eq!(
                read.binding.arguments_hash,
                approval(number).binding.arguments_hash,
                "the digest stays"
            );
        }
    }
    let done = store.approval("ap_1").await.unwrap().unwrap();
    assert_eq!(done.edited_arguments, Some(Secret::new("")), "that they were edited is still known");
    assert_eq!(done.other_params, Some(Secret::new("")), "and that there was more");
    assert_eq!(done.arguments_preview, with_secrets(1).arguments_preview);
    assert_eq!(done.other_params_preview, with_secrets(1).other_params_preview);
}

#[tokio::test]
async fn removed_arguments_are_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    let large =
        Approval { arguments: Secret::new(format!("{{\"x\":\"{}\"}}", "y".repeat(100_000))), ..approval(1) };
    store.request_approval(&large).await.unwrap();
    let no = Answer { verdict: ApprovalVerdict::DenyAbort, by: "bob".to_owned(), reason: None };
    store.decide_approval("ap_1", no, 10).await.unwrap().unwrap();
    store.close().await;
    let mut connection = crate::support::connect(directory.path()).await;
    let sealed: String =
        sqlx::query_scalar("SELECT arguments FROM approvals").fetch_one(&mut connection).await.unwrap();
    sqlx::Connection::close(connection).await.unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    assert_eq!(store.remove_arguments(10).await.unwrap(), 1);
    store.close().await;
    let content = fs::read(directory.path().join("octroi.db")).unwrap();
    // Pieces of the encrypted text from all over it, each within one page.
    for at in [100, 20_000, 60_000, 120_000] {
        let piece = &sealed.as_bytes()[at..at + 64];
        assert!(!content.windows(64).any(|window| window == piece), "byte {at} is still there");
    }
}
