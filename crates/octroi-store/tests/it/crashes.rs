//! Killed gateways. The test binary starts itself again as the gateway.

use std::collections::HashSet;
use std::env;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use octroi_core::approval::{Answer, Approval, ApprovalState};
use octroi_store::{ApprovalFilter, ManagedBy, Store, StoreError};

use crate::support::{approval, catalogue, definition, fill, key, test_key, yes};

const DIRECTORY: &str = "OCTROI_STORE_TEST_DIRECTORY";
const CLAIMED: &str = "claimed ";
const GRANTS: u32 = 400;
const READY: &str = "ready to be killed";

/// Starts one of the ignored tests below in a separate process, and waits until it is ready.
fn start(test: &str, directory: &Path) -> Child {
    start_and_listen(test, directory).0
}

/// The same for one that reports its progress.
fn start_and_listen(test: &str, directory: &Path) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args([&format!("crashes::{test}"), "--exact", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_ready = output.any(|line| line.unwrap().contains(READY));
    assert!(is_ready, "{test} ended before it was ready");
    (child, output)
}

/// SIGKILL: no more code of the process runs.
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
    let _store = Store::open(&directory(), &test_key).await.unwrap();
    println!("{READY}");
    std::future::pending::<()>().await;
}

#[tokio::test]
#[ignore = "started by other tests, to be killed"]
async fn child_that_writes() {
    let store = Store::open(&directory(), &test_key).await.unwrap();
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
    let _store = Store::open(&directory(), &test_key).await.unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
#[ignore = "started by other tests, to be killed"]
async fn child_that_claims() {
    let store = Store::open(&directory(), &test_key).await.unwrap();
    println!("{READY}");
    for number in 0..GRANTS {
        let Approval { id, binding, .. } = approval(number);
        if let Ok(claimed) = store.claim_approval(&id, &binding, 3).await.unwrap() {
            println!("{CLAIMED}{}", claimed.id);
        }
    }
}

#[tokio::test]
async fn the_lock_goes_with_a_killed_process() {
    let directory = tempfile::tempdir().unwrap();
    let child = start("child_that_holds_the_directory", directory.path());
    match Store::open(directory.path(), &test_key).await.unwrap_err() {
        StoreError::InUse { process, .. } => assert_eq!(process, Some(child.id())),
        other => panic!("{other:?}"),
    }
    kill(child);
    Store::open(directory.path(), &test_key).await.unwrap();
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
        let store = Store::open(directory.path(), &test_key).await.unwrap();
        let stored = store.catalogues().await.unwrap();
        // A mix of the old and the new one would not match its hash and be missing.
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

/// A call that a gateway reported as claimed is used up for all later ones, however it ended.
#[tokio::test]
async fn killed_while_claiming() {
    const ROUNDS: u32 = 20;
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), &test_key).await.unwrap();
    for number in 0..GRANTS {
        let id = store.request_approval(&approval(number)).await.unwrap().approval.id;
        let answer = Answer { verdict: yes(), by: "bob".to_owned(), reason: None };
        store.decide_approval(&id, answer, 2).await.unwrap().unwrap();
    }
    store.close().await;

    let mut claimed = HashSet::new();
    for round in 0..ROUNDS {
        let (child, mut output) = start_and_listen("child_that_claims", directory.path());
        let n_heard = usize::try_from(round % 7).unwrap();
        let mut lines: Vec<String> = output.by_ref().take(n_heard).map(Result::unwrap).collect();
        kill(child);
        // Output before its death counts too. A line is written atomically.
        lines.extend(output.map_while(Result::ok));
        for id in lines.iter().filter_map(|line| line.strip_prefix(CLAIMED)) {
            assert!(
                claimed.insert(id.to_owned()),
                "{id} was claimed twice, the second time in round {round}"
            );
        }
        let store = Store::open(directory.path(), &test_key).await.unwrap();
        for id in &claimed {
            let found = store.approval(id).await.unwrap().unwrap();
            assert_eq!(found.state, ApprovalState::Claimed, "{id} in round {round}");
        }
        let all = store.approvals(&ApprovalFilter::default(), None, u32::MAX).await.unwrap();
        let n_claimed = all.iter().filter(|one| one.state == ApprovalState::Claimed).count();
        // Each child may have died between its last claim and its report.
        assert!(n_claimed <= claimed.len() + usize::try_from(round + 1).unwrap());
        store.close().await;
    }
    assert!(claimed.len() > 20, "no child came as far as claiming");
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
