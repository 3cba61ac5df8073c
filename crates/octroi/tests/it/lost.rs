//! State that is lost is noticed, and made again as far as the audit log has it.

use std::path::Path;
use std::process::Stdio;

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;
use tokio::process::Command;

use crate::audit::{of_kind, records};
use crate::harness::{SOON, connect, octroi, stdio_entry};

const POLICY: &str = "[[deny]]\nid = \"no-echo\"\ntool = \"peer.echo\"\n";

/// Runs a command on a data directory; returns its exit code and its output.
async fn run(directory: &Path, arguments: &[&str]) -> (i32, String) {
    let running = Command::new(octroi())
        .args(arguments)
        .arg("--data")
        .arg(directory.join("data"))
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(SOON, running).await.expect("it ends").expect("octroi runs");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code().unwrap_or(-1), text.concat())
}

async fn refused(directory: &Path, expected: &str) {
    let (code, text) = run(directory, &["up", "--listen", "127.0.0.1:0"]).await;
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("has lost") && text.contains(expected), "{text}");
    assert!(text.contains("--accept-loss"), "{text}");
}

fn remove_database(data: &Path) {
    for file in ["octroi.db", "octroi.db-wal", "octroi.db-shm"] {
        let _ = std::fs::remove_file(data.join(file));
    }
}

/// A server whose tool `touch` changes while there is a file `lie` in the directory.
fn entry(directory: &Path) -> String {
    let file = directory.join("lie").display().to_string();
    stdio_entry("peer", &["--lie", "annotations", "--lies-while", &file])
}

/// A gateway that accepted definitions and has a policy, stopped.
async fn stopped() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let config = entry(directory.path());
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    std::fs::write(gateway.directory().join("p.toml"), POLICY).expect("a file");
    let (code, text) = run(gateway.directory(), &["policy", "apply", "p.toml", "--yes"]).await;
    assert_eq!(code, 0, "{text}");
    let (directory, _) = gateway.stop_and_keep().await;
    directory
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_database_is_noticed_and_made_again() {
    let directory = stopped().await;
    let data = directory.path().join("data");
    assert!(!data.join("octroi.db-wal").metadata().is_ok_and(|wal| wal.len() > 0), "the file is complete");
    remove_database(&data);
    // Also the second time: a refused start creates nothing.
    refused(directory.path(), "octroi db rebuild").await;
    refused(directory.path(), "octroi db rebuild").await;
    let (code, text) = run(directory.path(), &["db", "rebuild"]).await;
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("policies               1") && text.contains("lost: approvals"), "{text}");
    let (code, text) = run(directory.path(), &["db", "rebuild"]).await;
    assert_eq!(code, 1, "{text}");

    // What changed meanwhile is quarantined, as it was before; the policy is in effect.
    let config = entry(directory.path());
    std::fs::write(directory.path().join("lie"), "").expect("the server begins to lie");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let (code, text) = run(gateway.directory(), &["pins"]).await;
    let is_reported = text.contains("peer.touch") && text.contains("differs from the accepted one");
    assert!(code == 0 && is_reported && !text.contains("peer.echo"), "{text}");
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let denied = client.call("peer_touch", json!({})).await;
    assert!(format!("{denied:?}").contains("tool_changed_needs_review"), "{denied:?}");
    let denied = client.call("peer_echo", json!({"text": "x"})).await;
    assert!(format!("{denied:?}").contains("no-echo"), "{denied:?}");
    let all = records(&data, &[]).await;
    let changes = of_kind(&all, "administrative_change");
    assert!(changes.iter().any(|record| record["context"]["change"] == "database_rebuilt"), "{changes:?}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loss_can_be_accepted_and_is_recorded() {
    let directory = stopped().await;
    let data = directory.path().join("data");
    remove_database(&data);
    let config = entry(directory.path());
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &["--accept-loss"]).await;
    let all = records(&data, &[]).await;
    let changes = of_kind(&all, "administrative_change");
    let accepted = changes.iter().find(|record| record["context"]["change"] == "loss_accepted");
    assert!(accepted.is_some_and(|record| record["context"]["lost"][0].to_string().contains("database")));
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_log_is_noticed() {
    let directory = stopped().await;
    let data = directory.path().join("data");
    let audit = data.join("audit");
    for file in ["key", "checkpoints"] {
        std::fs::rename(audit.join(file), data.join("away")).expect("a file");
        refused(directory.path(), if file == "key" { "the key" } else { "checkpoints" }).await;
        std::fs::rename(data.join("away"), audit.join(file)).expect("a file");
    }
    // The whole log, and then one with fewer records.
    std::fs::rename(&audit, data.join("away")).expect("a directory");
    refused(directory.path(), "the audit log, which had").await;
    refused(directory.path(), "the audit log, which had").await;
    let config = entry(directory.path());
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &["--accept-loss"]).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_copy_of_the_log_is_noticed() {
    let directory = stopped().await;
    let data = directory.path().join("data");
    let copy = data.join("copy");
    std::fs::create_dir(&copy).expect("a directory");
    for file in std::fs::read_dir(data.join("audit")).expect("a directory") {
        let file = file.expect("a file");
        if file.path().is_file() {
            std::fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
        }
    }
    let config = entry(directory.path());
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for _ in 0..50 {
        client.call("peer_add", json!({"a": 1, "b": 2})).await.expect("a result");
    }
    drop(client);
    let (directory, _) = gateway.stop_and_keep().await;
    std::fs::remove_dir_all(data.join("audit")).expect("the log goes");
    std::fs::rename(&copy, data.join("audit")).expect("the copy comes");
    refused(directory.path(), "the end of the audit log").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_database_is_noticed_and_the_log_has_what_it_lacks() {
    let config = stdio_entry("peer", &[]);
    let gateway = TestGateway::start(&octroi(), &config).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let data = directory.path().join("data");
    std::fs::copy(data.join("octroi.db"), data.join("old")).expect("a copy");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    std::fs::write(gateway.directory().join("p.toml"), POLICY).expect("a file");
    let (code, text) = run(gateway.directory(), &["policy", "apply", "--floor", "p.toml", "--yes"]).await;
    assert_eq!(code, 0, "{text}");
    let (directory, _) = gateway.stop_and_keep().await;
    remove_database(&data);
    std::fs::copy(data.join("old"), data.join("octroi.db")).expect("a copy");
    // Also the second time.
    refused(directory.path(), "it is an older one").await;
    refused(directory.path(), "octroi db rebuild").await;
    remove_database(&data);
    let (code, text) = run(directory.path(), &["db", "rebuild"]).await;
    assert!(code == 0 && text.contains("policies               1"), "{text}");

    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let denied = client.call("peer_echo", json!({"text": "x"})).await;
    assert!(format!("{denied:?}").contains("no-echo"), "{denied:?}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_is_not_made_from_a_log_that_was_changed() {
    let directory = stopped().await;
    let data = directory.path().join("data");
    remove_database(&data);
    let segment = data.join("audit/000001.log");
    let log = std::fs::read(&segment).expect("a log");
    let at = log.windows(9).rposition(|window| window == b"peer.echo").expect("the policy is in it");
    let forged = [&log[..at], b"peer.none", &log[at + 9..]].concat();
    std::fs::write(&segment, forged).expect("a log");
    let (code, text) = run(directory.path(), &["db", "rebuild"]).await;
    assert!(code == 1 && text.contains("cannot be trusted") && text.contains("was edited"), "{text}");
    assert!(text.contains("octroi audit verify") && text.contains("--accept-loss"), "{text}");
    let (code, text) = run(directory.path(), &["db", "rebuild", "--accept-loss"]).await;
    assert_eq!(code, 0, "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_lost_both_is_not_new() {
    let directory = stopped().await;
    let data = directory.path().join("data");
    let segment = data.join("audit/000001.log");
    let log = std::fs::read(&segment).expect("a log");
    // A log that was cut, or emptied, although its checkpoints know better.
    for length in [900, 0] {
        std::fs::write(&segment, &log[..length]).expect("a log");
        refused(directory.path(), if length > 0 { "the end of the audit log" } else { "the audit log" })
            .await;
        refused(directory.path(), "the audit log").await;
    }
    remove_database(&data);
    refused(directory.path(), "the database").await;
    std::fs::remove_dir_all(data.join("audit")).expect("the log goes");
    refused(directory.path(), "the audit log").await;
    let (code, text) = run(directory.path(), &["db", "rebuild"]).await;
    assert!(code == 1 && text.contains("has no audit log") && text.contains("octroi up"), "{text}");
    let config = entry(directory.path());
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &["--accept-loss"]).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_stays_locked_when_somebody_removes_the_file_of_the_lock() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let file = gateway.directory().join("data/gateway.pid");
    for what in ["with its file", "without it"] {
        let (code, text) = run(gateway.directory(), &["up", "--listen", "127.0.0.1:0"]).await;
        assert!(code == 1 && text.contains("another Octroi"), "{what}: {text}");
        let _ = std::fs::remove_file(&file);
        assert!(!file.exists());
    }
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert_eq!(client.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    gateway.stop().await;
}
