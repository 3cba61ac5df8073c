//! Secrets, and the key that they are encrypted with.

use std::fs;
use std::path::Path;

use octroi_core::approval::ArgumentsState;
use octroi_core::{Scope, Secret};
use octroi_store::{KnownKey, MasterKey, Rekeyed, SecretRecord, Store, StoreError};
use serde_json::json;

use super::{on_every_database, race};
use crate::support::{approval, test_key};

fn ana() -> Scope {
    Scope::User("ana".into())
}

async fn set(store: &Store, scope: &Scope, name: &str, value: &str, now_ms: i64) -> SecretRecord {
    store.save_secret(scope, name, &Secret::new(value), "bob", now_ms).await.unwrap()
}

/// Each secret as `owner/name=value`.
async fn values(store: &Store) -> Vec<String> {
    let secrets = store.secret_values().await.unwrap();
    let line = |value: Option<Secret>| value.map_or("?".to_owned(), |value| value.expose().to_owned());
    secrets.into_iter().map(|one| format!("{}/{}={}", one.scope, one.name, line(one.value))).collect()
}

fn key(byte: u8) -> impl Fn(&Path, Option<&KnownKey>) -> Result<Option<MasterKey>, StoreError> + Send + Sync {
    move |_, _| Ok(Some(MasterKey::new([byte; 32])))
}

#[tokio::test]
async fn each_owner_has_secrets_of_the_same_name() {
    on_every_database(async |store| {
        assert_eq!(store.secrets().await.unwrap(), []);
        set(&store, &ana(), "hub", "hers", 2).await;
        let made = set(&store, &Scope::System, "hub", "ours", 1).await;
        let expected = SecretRecord {
            scope: Scope::System,
            name: "hub".to_owned(),
            revision: 1,
            created_at_ms: 1,
            created_by: "bob".to_owned(),
            updated_at_ms: 1,
            updated_by: "bob".to_owned(),
            is_readable: true,
        };
        assert_eq!(made, expected);
        let changed =
            store.save_secret(&Scope::System, "hub", &Secret::new("newer"), "ada", 5).await.unwrap();
        let expected =
            SecretRecord { revision: 2, updated_at_ms: 5, updated_by: "ada".to_owned(), ..expected };
        assert_eq!(changed, expected);
        let listed = store.secrets().await.unwrap();
        assert_eq!((listed.len(), &listed[0]), (2, &expected));
        assert_eq!(values(&store).await, ["system/hub=newer", "user:ana/hub=hers"]);
        assert!(store.remove_secret(&Scope::System, "hub").await.unwrap());
        assert!(!store.remove_secret(&Scope::System, "hub").await.unwrap());
        assert_eq!(values(&store).await, ["user:ana/hub=hers"]);
        // A secret that was removed begins again.
        assert_eq!(set(&store, &Scope::System, "hub", "again", 9).await.revision, 1);
    })
    .await;
}

#[tokio::test]
async fn any_text_is_a_value() {
    on_every_database(async |store| {
        for value in ["", "ä\n\0 $ ' \" \\", &"x".repeat(100_000)] {
            set(&store, &Scope::System, "hub", value, 1).await;
            assert_eq!(values(&store).await, [format!("system/hub={value}")]);
        }
    })
    .await;
}

#[tokio::test]
async fn of_concurrent_changes_all_count() {
    on_every_database(async |store| {
        let revisions = race(&store, async |store, number| {
            Some(set(&store, &Scope::System, "hub", &format!("value {number}"), 1).await.revision)
        });
        let mut revisions = revisions.await;
        revisions.sort_unstable();
        assert_eq!(revisions, (1..=16).collect::<Vec<_>>());
        assert_eq!(store.secrets().await.unwrap()[0].revision, 16);
    })
    .await;
}

#[tokio::test]
async fn with_a_user_the_users_secrets_go() {
    on_every_database(async |store| {
        set(&store, &Scope::System, "hub", "ours", 1).await;
        set(&store, &ana(), "hub", "hers", 1).await;
        store.remove_user("ana", "admin", 2).await.unwrap();
        assert_eq!(values(&store).await, ["system/hub=ours"]);
    })
    .await;
}

#[tokio::test]
async fn without_a_key_no_secret_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &|_, _| Ok(None)).await.unwrap();
    let stored = store.save_secret(&Scope::System, "hub", &Secret::new("value"), "bob", 1).await;
    assert!(matches!(stored, Err(StoreError::NoKey { .. })));
    assert_eq!(store.secrets().await.unwrap(), []);
}

#[tokio::test]
async fn a_row_that_was_moved_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    set(&store, &Scope::System, "a", "first", 1).await;
    set(&store, &ana(), "a", "second", 1).await;
    set(&store, &Scope::System, "c", "third", 1).await;
    store.close().await;
    // Whoever can write the database could otherwise have somebody else's secret sent somewhere.
    crate::support::run_sql(
        directory.path(),
        "UPDATE secrets SET scope = 'system', name = 'b' WHERE scope = 'user:ana';
         UPDATE secrets SET value = (SELECT value FROM secrets WHERE name = 'c') WHERE name = 'a'",
    )
    .await;
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    assert_eq!(values(&store).await, ["system/a=?", "system/b=?", "system/c=third"]);
}

#[tokio::test]
async fn with_another_key_values_are_unreadable_and_stay() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &key(1)).await.unwrap();
    set(&store, &Scope::System, "a", "first", 1).await;
    store.close().await;
    let refuse = |_: &Path, known: Option<&KnownKey>| {
        let known = known.unwrap();
        assert_eq!((known.key_id.clone(), known.n_secrets), (MasterKey::new([1; 32]).id(), 1));
        Err(StoreError::OtherKey { place: "here".to_owned() })
    };
    let refused = Store::open(directory.path(), &refuse).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "here is not the key that the database is encrypted with; nothing was changed"
    );
    let store = Store::open(directory.path(), &key(2)).await.unwrap();
    set(&store, &Scope::System, "b", "second", 1).await;
    assert_eq!(values(&store).await, ["system/a=?", "system/b=second"]);
    let readable: Vec<bool> = store.secrets().await.unwrap().iter().map(|one| one.is_readable).collect();
    assert_eq!(readable, [false, true]);
    store.close().await;
    let store = Store::open(directory.path(), &key(1)).await.unwrap();
    assert_eq!(values(&store).await, ["system/a=first", "system/b=?"]);
}

#[tokio::test]
async fn another_master_key_encrypts_everything_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &key(7)).await.unwrap();
    set(&store, &Scope::System, "lost", "with key 7", 1).await;
    store.close().await;
    let store = Store::open(directory.path(), &key(1)).await.unwrap();
    set(&store, &Scope::System, "a", "first", 1).await;
    set(&store, &ana(), "b", "second", 1).await;
    for number in 1..=3 {
        store.request_approval(&approval(number)).await.unwrap();
    }
    let draft = super::entries::draft("1", "notes", json!({"url": "https://a.example"}), None);
    store.save_server_entry(&draft, "ana", 1).await.unwrap().unwrap();
    let draft = super::entries::draft("1", "notes", json!({"url": "https://b.example"}), Some(1));
    store.save_server_entry(&draft, "ana", 2).await.unwrap().unwrap();
    let rekeyed = store.rekey(&MasterKey::new([2; 32])).await.unwrap();
    assert_eq!(rekeyed, Rekeyed { n_secrets: 2, n_approvals: 3, n_entries: 2, n_unreadable: 1 });
    store.close().await;
    let known = |_: &Path, known: Option<&KnownKey>| {
        let new = MasterKey::new([2; 32]);
        assert_eq!(known.unwrap().key_id, new.id());
        Ok(Some(new))
    };
    let store = Store::open(directory.path(), &known).await.unwrap();
    assert_eq!(values(&store).await, ["system/a=first", "system/lost=?", "user:ana/b=second"]);
    for number in 1..=3 {
        let read = store.approval(&format!("ap_{number}")).await.unwrap().unwrap();
        assert_eq!(read.arguments_state, ArgumentsState::Whole);
        assert_eq!(read.arguments, approval(number).arguments);
        assert_eq!(read.arguments_preview, approval(number).arguments_preview);
    }
    let entry = store.server_entries().await.unwrap().remove(0).entry.unwrap();
    assert_eq!(entry.as_str(), r#"{"url":"https://b.example"}"#);
    assert!(store.server_revisions("1").await.unwrap().iter().all(|one| one.entry.is_some()));
    store.close().await;
    let store = Store::open(directory.path(), &key(1)).await.unwrap();
    assert_eq!(values(&store).await, ["system/a=?", "system/lost=?", "user:ana/b=?"]);
    assert_eq!(store.server_entries().await.unwrap()[0].entry, None);
}

#[tokio::test]
async fn no_value_is_on_the_disk_as_plain_text() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    let (first, second) = ("the-first-value-of-it", "the-second-value-of-it");
    set(&store, &Scope::System, "hub", first, 1).await;
    set(&store, &Scope::System, "hub", second, 1).await;
    store.rekey(&MasterKey::new([2; 32])).await.unwrap();
    for is_closed in [false, true] {
        for entry in fs::read_dir(directory.path()).unwrap() {
            let content = fs::read(entry.unwrap().path()).unwrap();
            for value in [first, second] {
                let is_there = content.windows(value.len()).any(|window| window == value.as_bytes());
                assert!(!is_there, "{value} {is_closed}");
            }
        }
    }
    store.close().await;
}
