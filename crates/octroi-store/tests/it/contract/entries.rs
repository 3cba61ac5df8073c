//! Servers that were added at run time.

use std::fs;

use octroi_core::{Scope, ServerName};
use octroi_store::{CanonicalJson, EntryChange, EntryDraft, EntryRefusal, ServerEntry, ServerKey, Store};
use serde_json::{Value, json};

use super::{on_every_database, race};
use crate::support::test_key;

fn of_ana(name: &str) -> ServerKey {
    ServerKey { scope: Scope::User("ana".into()), name: ServerName::parse(name).unwrap() }
}

/// An entry of ana's.
pub(super) fn draft(id: &str, name: &str, entry: Value, replaces: Option<i64>) -> EntryDraft {
    EntryDraft {
        id: id.to_owned(),
        key: of_ana(name),
        title: Some("Notes".to_owned()),
        entry: CanonicalJson::of(entry),
        change: if replaces.is_some() { EntryChange::Updated } else { EntryChange::Added },
        replaces,
    }
}

async fn save(store: &Store, draft: &EntryDraft, now_ms: i64) -> Result<ServerEntry, EntryRefusal> {
    store.save_server_entry(draft, "bob", now_ms).await.unwrap()
}

/// Each revision as `number change name entry`.
async fn history(store: &Store, id: &str) -> Vec<String> {
    let revisions = store.server_revisions(id).await.unwrap();
    let entry =
        |entry: Option<CanonicalJson>| entry.map_or("-".to_owned(), |entry| entry.as_str().to_owned());
    let line = |one: octroi_store::EntryRevision| {
        format!("{} {} {} {} {}", one.revision, one.change.as_str(), one.key, entry(one.entry), one.at_ms)
    };
    revisions.into_iter().map(line).collect()
}

#[tokio::test]
async fn every_change_is_a_revision() {
    on_every_database(async |store| {
        let made = save(&store, &draft("1", "notes", json!({"b": 1, "a": 2}), None), 5).await.unwrap();
        let expected = ServerEntry {
            id: "1".to_owned(),
            key: of_ana("notes"),
            title: Some("Notes".to_owned()),
            entry: Some(CanonicalJson::of(json!({"a": 2, "b": 1}))),
            revision: 1,
            created_at_ms: 5,
            created_by: "bob".to_owned(),
            updated_at_ms: 5,
            updated_by: "bob".to_owned(),
        };
        assert_eq!(made, expected);
        assert_eq!(store.server_entries().await.unwrap(), std::slice::from_ref(&expected));
        let renamed = draft("1", "memos", json!({"a": 3}), Some(1));
        let changed = store.save_server_entry(&renamed, "ada", 9).await.unwrap().unwrap();
        let entry = Some(CanonicalJson::of(json!({"a": 3})));
        let (key, updated_by) = (of_ana("memos"), "ada".to_owned());
        assert_eq!(
            changed,
            ServerEntry { key, entry, revision: 2, updated_at_ms: 9, updated_by, ..expected }
        );
        assert!(store.delete_server_entry("1", "ada", 12).await.unwrap());
        assert!(!store.delete_server_entry("1", "ada", 13).await.unwrap());
        assert_eq!(store.server_entries().await.unwrap(), []);
        assert_eq!(store.deleted_server(&of_ana("memos")).await.unwrap().as_deref(), Some("1"));
        assert_eq!(store.deleted_server(&of_ana("notes")).await.unwrap(), None);
        let again = EntryDraft {
            change: EntryChange::RolledBack,
            ..draft("1", "notes", json!({"b": 1, "a": 2}), None)
        };
        assert_eq!(save(&store, &again, 15).await.unwrap().revision, 4);
        assert_eq!(store.deleted_server(&of_ana("memos")).await.unwrap(), None);
        assert_eq!(
            history(&store, "1").await,
            [
                r#"4 rolled_back ana/notes {"a":2,"b":1} 15"#,
                "3 deleted ana/memos - 12",
                r#"2 updated ana/memos {"a":3} 9"#,
                r#"1 added ana/notes {"a":2,"b":1} 5"#,
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn a_name_is_an_owners_once() {
    on_every_database(async |store| {
        save(&store, &draft("1", "notes", json!({}), None), 1).await.unwrap();
        let other = draft("2", "notes", json!({}), None);
        assert_eq!(save(&store, &other, 1).await, Err(EntryRefusal::NameTaken));
        for scope in [Scope::System, Scope::User("bob".into())] {
            let key = ServerKey { scope: scope.clone(), ..of_ana("notes") };
            save(&store, &EntryDraft { id: scope.to_string(), key, ..other.clone() }, 1).await.unwrap();
        }
        save(&store, &draft("3", "memos", json!({}), None), 1).await.unwrap();
        let renamed = draft("3", "notes", json!({}), Some(1));
        assert_eq!(save(&store, &renamed, 1).await, Err(EntryRefusal::NameTaken));
        assert_eq!(history(&store, "3").await.len(), 1, "a refused change leaves nothing");
    })
    .await;
}

#[tokio::test]
async fn of_concurrent_changes_one_succeeds() {
    on_every_database(async |store| {
        save(&store, &draft("1", "notes", json!({}), None), 1).await.unwrap();
        let won = race(&store, async |store, number| {
            let draft = draft("1", "notes", json!({"number": number}), Some(1));
            save(&store, &draft, 2).await.ok()
        });
        assert_eq!(won.await.len(), 1);
        assert_eq!(history(&store, "1").await.len(), 2);
        let gone = draft("2", "other", json!({}), Some(1));
        assert_eq!(save(&store, &gone, 3).await, Err(EntryRefusal::ChangedMeanwhile));
        let twice = draft("1", "notes", json!({}), None);
        assert_eq!(save(&store, &twice, 3).await, Err(EntryRefusal::ChangedMeanwhile));
    })
    .await;
}

#[tokio::test]
async fn history_has_an_end() {
    on_every_database(async |store| {
        save(&store, &draft("1", "notes", json!({}), None), 1).await.unwrap();
        for revision in 1..130 {
            save(&store, &draft("1", "notes", json!({"n": revision}), Some(revision)), 2).await.unwrap();
        }
        let revisions = store.server_revisions("1").await.unwrap();
        assert_eq!((revisions.len(), revisions[0].revision, revisions[99].revision), (100, 130, 31));
        for number in 0..103 {
            let id = format!("d{number}");
            save(&store, &draft(&id, "gone", json!({}), None), 3).await.unwrap();
            store.delete_server_entry(&id, "bob", 10 + number).await.unwrap();
        }
        assert!(store.server_revisions("d2").await.unwrap().is_empty());
        assert_eq!(store.server_revisions("d3").await.unwrap().len(), 2);
        assert_eq!(store.server_revisions("1").await.unwrap().len(), 100, "those of others stay");
    })
    .await;
}

#[tokio::test]
async fn with_a_user_the_users_servers_go() {
    on_every_database(async |store| {
        save(&store, &draft("1", "notes", json!({}), None), 1).await.unwrap();
        let system =
            EntryDraft { key: ServerKey::system(of_ana("hub").name), ..draft("2", "hub", json!({}), None) };
        save(&store, &system, 1).await.unwrap();
        store.remove_user("ana", "admin", 2).await.unwrap();
        let left: Vec<String> = store.server_entries().await.unwrap().into_iter().map(|one| one.id).collect();
        assert_eq!(left, ["2"]);
        assert!(store.server_revisions("1").await.unwrap().is_empty(), "they had the user's tokens");
    })
    .await;
}

#[tokio::test]
async fn no_entry_is_on_the_disk_as_plain_text() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    let token = "a-token-in-an-entry";
    save(&store, &draft("1", "notes", json!({"env": {"TOKEN": token}}), None), 1).await.unwrap();
    store.delete_server_entry("1", "bob", 2).await.unwrap();
    for file in fs::read_dir(directory.path()).unwrap() {
        let content = fs::read(file.unwrap().path()).unwrap();
        assert!(!content.windows(token.len()).any(|window| window == token.as_bytes()));
    }
    store.close().await;
}

#[tokio::test]
async fn without_a_key_no_entry_is_stored() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &|_, _| Ok(None)).await.unwrap();
    let saved = store.save_server_entry(&draft("1", "notes", json!({}), None), "bob", 1).await;
    assert!(saved.is_err());
    assert_eq!(store.server_entries().await.unwrap(), []);
}
