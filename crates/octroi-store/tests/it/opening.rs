//! Opening a data directory, and permissions.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use octroi_store::{KnownKey, KnownLog, Store, StoreError};

use crate::support::{catalogue, describe, fill, test_key};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn everything_missing_is_made_for_this_user_alone() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("a/b");
    let store = Store::open(&directory, &test_key).await.unwrap();
    assert_eq!(mode(&directory), 0o700);
    let mut names: Vec<String> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["gateway.pid", "octroi.db", "octroi.db-shm", "octroi.db-wal"]);
    for name in names {
        assert_eq!(mode(&directory.join(&name)), 0o600, "{name}");
    }
    store.close().await;
    assert!(!directory.join("octroi.db-wal").exists());
}

#[tokio::test]
async fn stored_data_is_loaded_again() {
    // A name with characters that have a meaning in a URL.
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("a b?mode=memory&c%20d#e'f");
    fill(&directory).await;
    assert!(directory.join("octroi.db").exists());
    let store = Store::open(&directory, &test_key).await.unwrap();
    assert_eq!(store.catalogues().await.unwrap()[0].catalogue, catalogue(1));
}

/// A key beside no database then shows that a database was lost.
#[tokio::test]
async fn a_new_database_is_there_before_its_key() {
    let directory = tempfile::tempdir().unwrap();
    for is_new in [true, false] {
        let key = |directory: &Path, known: Option<&KnownKey>| {
            let wal = fs::metadata(directory.join("octroi.db-wal")).map_or(0, |wal| wal.len());
            assert!(Store::exists(directory) && wal == 0, "{is_new}");
            assert_eq!(known.is_none(), is_new, "the key is known from the first start on");
            test_key(directory, known)
        };
        Store::open(directory.path(), &key).await.unwrap().close().await;
    }
}

/// As after a crash whose write-ahead log is gone, or as in a copy that somebody made meanwhile.
#[tokio::test]
async fn the_file_alone_has_what_a_snapshot_has() {
    let directory = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let copied = async || {
        fs::copy(directory.path().join("octroi.db"), copy.path().join("octroi.db")).unwrap();
        let store = Store::open(copy.path(), &test_key).await.unwrap();
        let known = store.known_logs().await.unwrap();
        store.close().await;
        known
    };
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    assert_eq!(copied().await, []);
    let mut known = KnownLog { node: "n".to_owned(), key: "k".to_owned(), signed_until: 0, snapshot: 0 };
    store.save_known_log(&known).await.unwrap();
    known.snapshot = store.next_snapshot("n").await.unwrap();
    assert_eq!(copied().await, [known]);
}

#[tokio::test]
async fn a_second_gateway_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let first = Store::open(directory.path(), &test_key).await.unwrap();
    let error = Store::open(directory.path(), &test_key).await.unwrap_err();
    let process = std::process::id();
    assert_eq!(
        describe(&error, directory.path()),
        format!(
            "another Octroi (process {process}) uses DIR\n\
             hint: stop it (kill {process}), or name another directory with --data DIR"
        )
    );
    drop(first);
    Store::open(directory.path(), &test_key).await.unwrap().close().await;
    Store::open(directory.path(), &test_key).await.unwrap();
}

#[tokio::test]
async fn a_file_is_not_a_directory() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "mine").unwrap();
    for (path, expected) in [(file.clone(), "DIR/file"), (file.join("below"), "DIR/file/below")] {
        let error = Store::open(&path, &test_key).await.unwrap_err();
        assert_eq!(
            describe(&error, parent.path()),
            format!(
                "cannot keep data in {expected}: it is not a directory\n\
                 hint: name another directory with --data DIR"
            )
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

/// The kernel's own file systems refuse new files from everybody, root included.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_directory_without_permission() {
    let directory = Path::new("/sys/kernel");
    let error = Store::open(directory, &test_key).await.unwrap_err();
    let text = describe(&error, directory);
    // In containers it is often mounted read-only instead.
    match error {
        StoreError::PermissionDenied { .. } => assert_eq!(
            text,
            "cannot use DIR/gateway.pid: permission denied\n\
             hint: let this user read and write DIR/gateway.pid, or name another directory with --data DIR"
        ),
        StoreError::ReadOnly { .. } => assert_eq!(
            text,
            "cannot write DIR/gateway.pid: it is read-only\n\
             hint: name a directory that can be written with --data DIR"
        ),
        other => panic!("{other:?}"),
    }
}

/// Everything can be opened on `/dev/full`, and nothing can be written.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.path().join("gateway.pid")).unwrap();
    let error = Store::open(directory.path(), &test_key).await.unwrap_err();
    assert_eq!(
        describe(&error, directory.path()),
        "cannot write DIR/gateway.pid: the disk is full\n\
         hint: free space on the disk, or name another directory with --data DIR"
    );
}
