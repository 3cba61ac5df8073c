//! Damaged database files.

use std::fs;
use std::path::Path;

use octroi_store::{Store, StoreError};

use crate::support::{catalogue, describe, fill, key, test_key};

/// Damages a filled database; opening it must report that and leave it unchanged.
async fn check(damage: impl FnOnce(&mut Vec<u8>)) -> String {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path()).await;
    let path = directory.path().join("octroi.db");
    let mut bytes = fs::read(&path).unwrap();
    damage(&mut bytes);
    fs::write(&path, &bytes).unwrap();

    let error = Store::open(directory.path(), &test_key).await.unwrap_err();
    let StoreError::Corrupt { detail, .. } = &error else { panic!("{error:?}") };
    assert_eq!(
        describe(&error, directory.path()),
        format!(
            "DIR/octroi.db is damaged ({detail}); nothing was changed\n\
             hint: move DIR/octroi.db, DIR/octroi.db-wal and DIR/octroi.db-shm away; \
             then copy the newest DIR/octroi.db.backup-* to DIR/octroi.db, or start without it"
        )
    );
    assert!(!detail.is_empty());
    assert_eq!(fs::read(&path).unwrap(), bytes);

    following_the_hint_helps(directory.path()).await;
    detail.clone()
}

async fn following_the_hint_helps(directory: &Path) {
    for name in ["octroi.db", "octroi.db-wal", "octroi.db-shm"] {
        let _ = fs::rename(directory.join(name), directory.join(format!("{name}.damaged")));
    }
    let store = Store::open(directory, &test_key).await.unwrap();
    assert_eq!(store.server(&key("files")).await.unwrap(), None);
}

#[tokio::test]
async fn bytes_overwritten_in_the_middle() {
    for at in [8192, 16384, 24576] {
        check(|bytes| bytes[at..at + 512].fill(0x5a)).await;
    }
}

#[tokio::test]
async fn everything_after_the_header_overwritten() {
    check(|bytes| bytes[100..].fill(0xff)).await;
}

#[tokio::test]
async fn a_file_cut_off() {
    check(|bytes| bytes.truncate(bytes.len() / 2)).await;
    check(|bytes| bytes.truncate(4096)).await;
    check(|bytes| bytes.truncate(50)).await;
}

#[tokio::test]
async fn a_file_of_another_kind() {
    let detail = check(|bytes| *bytes = b"These are notes of mine. ".repeat(100)).await;
    assert_eq!(detail, "file is not a database");
    check(|bytes| *bytes = vec![0; 4096]).await;
}

/// A start that was interrupted right after the file was created.
#[tokio::test]
async fn an_empty_file_is_a_fresh_database() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("octroi.db"), "").unwrap();
    fill(directory.path()).await;
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    assert_eq!(store.catalogues().await.unwrap()[0].catalogue, catalogue(1));
}
