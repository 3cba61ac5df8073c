//! Gateways that are killed. The test binary starts itself again to be one.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use octroi_store::{ManagedBy, Store, StoreError};

use crate::support::{catalogue, definition, fill, key};

const DIRECTORY: &str = "OCTROI_STORE_TEST_DIRECTORY";
const READY: &str = "ready to be killed";

/// Starts one of the ignored tests below in a process of its own, and waits until it is at work.
fn start(test: &str, directory: &Path) -> Child {
    let mut child = Command::new(env::current_exe().unwrap())
        .args([&format!("crashes::{test}"), "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let is_ready = output.lines().any(|line| line.unwrap().contains(READY));
    assert!(is_ready, "{test} ended before it was ready");
    child
}

/// SIGKILL: nothing of the process runs any more.
fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn directory() -> PathBuf {
    env::var_os(DIRECTORY).unwrap().into()
}

#[tokio::test]
#[ignore = "started by other tests, to be killed"]
async fn child_that_holds_the_directory() {
    let _store = Store::open(&directory()).await.unwrap();
    println!("{READY}");
    std::future::pending::<()>().await;
}

#[tokio::test]
#[ignore = "started by other tests, to be killed"]
async fn child_that_writes() {
    let store = Store::open(&directory()).await.unwrap();
    println!("{READY}");
    for number in 0.. {
        for name in ["files", "other"] {
            store.record_server(&key(name), ManagedBy::File, &definition(name), 1).await.unwrap();
            store.save_catalogue(&key(name), &catalogue(number), number.try_into().unwrap()).await.unwrap();
        }
    }
}

#[tokio::test]
#[ignore = "started by other tests, to be killed"]
async fn child_that_opens() {
    println!("{READY}");
    let _store = Store::open(&directory()).await.unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn the_lock_goes_with_a_killed_process() {
    let directory = tempfile::tempdir().unwrap();
    let child = start("child_that_holds_the_directory", directory.path());
    match Store::open(directory.path()).await.unwrap_err() {
        StoreError::InUse { process, .. } => assert_eq!(process, Some(child.id())),
        other => panic!("{other:?}"),
    }
    kill(child);
    Store::open(directory.path()).await.unwrap();
}

#[tokio::test]
async fn killed_while_writing() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path()).await;
    let mut n_written = 0;
    for round in 0..50 {
        let child = start("child_that_writes", directory.path());
        tokio::time::sleep(Duration::from_millis(round % 10)).await;
        kill(child);
        let store = Store::open(directory.path()).await.unwrap();
        let stored = store.catalogues().await.unwrap();
        // One that is neither the old nor the new one would not fit its hash and be missing.
        assert!(stored.iter().any(|one| one.key == key("files")), "round {round}");
        for one in stored {
            let number = usize::try_from(one.saved_at_ms).unwrap();
            n_written = n_written.max(number);
            assert_eq!(one.catalogue, catalogue(number), "round {round}");
        }
        store.close().await;
    }
    assert!(n_written > 1, "no child came as far as writing");
}

#[tokio::test]
async fn killed_while_opening_for_the_first_time() {
    for round in 0..25 {
        let directory = tempfile::tempdir().unwrap();
        let child = start("child_that_opens", directory.path());
        tokio::time::sleep(Duration::from_micros(400 * round)).await;
        kill(child);
        fill(directory.path()).await;
    }
}
