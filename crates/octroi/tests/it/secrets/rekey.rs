//! Master keys: where they come from, and their change, however it is cut off.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use octroi_testkit::gateway::TestGateway;
use serde_json::Value;
use tokio::process::Command;

use super::stored::{entry_with_key, run, set, started_with};
use crate::harness::octroi;
use crate::manage;
use crate::processes::descendants;

const FIRST: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222222222222222222222222222";

/// A gateway that has stopped, with a secret that the server `hub` uses.
async fn stopped_with_secret(place: tempfile::TempDir) -> (tempfile::TempDir, String) {
    let config = entry_with_key(place.path(), "hub", "${secret:hub}");
    let gateway = TestGateway::launch_in(place, &octroi(), &config, &[]).await;
    set(&gateway, "hub", "the-value-of-the-hub").await;
    set(&gateway, "other", "the-value-of-another").await;
    let path = gateway.directory().to_owned();
    started_with(&path, "hub", "the-value-of-the-hub").await;
    let (place, _) = gateway.stop_and_keep().await;
    std::fs::remove_file(path.join("seen-by-hub")).expect("it was started");
    (place, config)
}

fn arguments(place: &Path) -> Vec<String> {
    let (config, data) = (place.join("octroi.toml"), place.join("data"));
    [
        "secret",
        "rekey",
        "--json",
        "--config",
        &config.display().to_string(),
        "--data",
        &data.display().to_string(),
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Changes the key; returns how many secrets were encrypted again, and how many could not be.
async fn rekey(place: &Path, variables: &[(&str, &str)]) -> (Value, Value) {
    let arguments = arguments(place);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (code, output) = run(&place.join("data"), &arguments, "", variables).await;
    assert_eq!(code, Some(0), "{output}");
    let line = output.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    let report: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {output}"));
    (report["secrets"].clone(), report["unreadable"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_fails_is_recorded_and_can_be_made_again() {
    let (place, config) = stopped_with_secret(tempfile::tempdir().expect("a directory")).await;
    let path = place.path().to_owned();
    // A key cannot be written over a directory.
    let next = path.join("data/master.key.next");
    std::fs::create_dir_all(next.join("x")).expect("a directory");
    let (code, output) = run(&path.join("data"), &["secret", "rekey"], "", &[]).await;
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("cannot be written") && output.contains("run this again"), "{output}");
    std::fs::remove_dir_all(&next).expect("it is removed");
    assert_eq!(rekey(&path, &[]).await, (2.into(), 0.into()));
    let gateway = TestGateway::launch_in(place, &octroi(), &config, &[]).await;
    let audit = manage::command(&gateway, 0, &["audit", "list", "--kind", "secret_changed", "--json"]).await;
    assert_eq!(audit.matches("master_key_changed").count(), 3, "{audit}");
    assert_eq!(audit.matches("the new key cannot be written").count(), 1, "{audit}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_key_takes_the_place_of_the_old_one() {
    let (place, config) = stopped_with_secret(tempfile::tempdir().expect("a directory")).await;
    let path = place.path().to_owned();
    let file = path.join("data/master.key");
    let before = std::fs::read_to_string(&file).expect("a key");
    assert_eq!(rekey(&path, &[]).await, (2.into(), 0.into()));
    let after = std::fs::read_to_string(&file).expect("a key");
    assert_ne!(before, after);
    let gateway = TestGateway::launch_in(place, &octroi(), &config, &[]).await;
    started_with(&path, "hub", "the-value-of-the-hub").await;

    // A running gateway has the old key in memory.
    let (code, output) = run(&path.join("data"), &["secret", "rekey"], "", &[]).await;
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("stop the gateway first"), "{output}");
    assert_eq!(std::fs::read_to_string(&file).expect("a key"), after);
    let audit = manage::command(&gateway, 0, &["audit", "list", "--json"]).await;
    assert!(audit.contains("master_key_changed"), "{audit}");
    assert!(!audit.contains(before.trim()) && !audit.contains(after.trim()));
    let (place, _) = gateway.stop_and_keep().await;

    // With the key of before, the start fails and nothing is lost.
    std::fs::write(&file, &before).expect("it can be written");
    let (code, output) = up(&path, &[]).await;
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("is not the key that the database is encrypted with"), "{output}");
    assert!(output.contains("put the right key back"), "{output}");
    std::fs::remove_file(&file).expect("it is there");
    let (code, output) = up(&path, &[]).await;
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("has no usable key") && !file.exists(), "{output}");
    std::fs::write(&file, &after).expect("it can be written");
    let gateway = TestGateway::launch_in(place, &octroi(), &config, &[]).await;
    started_with(&path, "hub", "the-value-of-the-hub").await;
    let (place, _) = gateway.stop_and_keep().await;

    // Who accepts the loss sets them again.
    std::fs::remove_file(&file).expect("it is there");
    let gateway = TestGateway::launch_in(place, &octroi(), &config, &["--accept-loss"]).await;
    let status = manage::command(&gateway, 0, &["status"]).await;
    assert!(status.contains("encrypted with another master key"), "{status}");
    set(&gateway, "hub", "the-value-set-again").await;
    started_with(&path, "hub", "the-value-set-again").await;
    gateway.stop().await;
}

/// Starts a gateway that must not come up.
async fn up(place: &Path, variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let config = place.join("octroi.toml").display().to_string();
    let arguments = ["up", "--listen", "127.0.0.1:0", "--config", &config];
    let data = place.join("data");
    let ended = run(&data, &arguments, "", variables);
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("it ends by itself")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_come_from_a_variable_or_a_named_file() {
    let (place, config) = stopped_with_secret(tempfile::tempdir().expect("a directory")).await;
    let path = place.path().to_owned();
    for (key, message) in [
        ("no key", "OCTROI_MASTER_KEY is not a key"),
        (FIRST, "OCTROI_MASTER_KEY is not the key that the database is encrypted with"),
    ] {
        let (code, output) = up(&path, &[("OCTROI_MASTER_KEY", key)]).await;
        assert_eq!(code, Some(1), "{output}");
        assert!(output.contains(message) && !output.contains(key), "{output}");
    }
    // From the file to a variable.
    assert_eq!(rekey(&path, &[("OCTROI_NEW_MASTER_KEY", FIRST)]).await, (2.into(), 0.into()));
    std::fs::remove_file(path.join("data/master.key")).expect("it is there");
    // From one variable to the next. Nothing is written.
    let all: Vec<String> = arguments(&path);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let (code, output) = run(&path.join("data"), &all, "", &[("OCTROI_MASTER_KEY", FIRST)]).await;
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains("OCTROI_NEW_MASTER_KEY"), "{output}");
    let both = [("OCTROI_MASTER_KEY", FIRST), ("OCTROI_NEW_MASTER_KEY", SECOND)];
    assert_eq!(rekey(&path, &both).await, (2.into(), 0.into()));
    assert!(!path.join("data/master.key").exists());
    let (code, output) = up(&path, &[("OCTROI_MASTER_KEY", FIRST)]).await;
    assert_eq!(code, Some(1), "{output}");
    assert!(!output.contains(FIRST), "{output}");
    assert_nobody_has_the_key(&path).await;
    // And to a file that the configuration names.
    let named = path.join("keys");
    std::fs::write(&named, SECOND).expect("it can be written");
    let config = format!("[secrets]\nkey_file = \"keys\"\n{config}");
    let gateway = TestGateway::launch_in(place, &octroi(), &config, &["--accept-config"]).await;
    started_with(&path, "hub", "the-value-of-the-hub").await;
    let _ = gateway.stop_and_keep().await.0.keep();
    assert_eq!(rekey(&path, &[]).await, (2.into(), 0.into()));
    assert_ne!(std::fs::read_to_string(&named).expect("a key").trim(), SECOND);
    assert!(!path.join("data/master.key").exists());
    std::fs::remove_dir_all(&path).expect("it can be removed");
}

/// Starts a gateway with a key in a variable; its server must not get it.
async fn assert_nobody_has_the_key(place: &Path) {
    let mut child = Command::new(octroi())
        .args(["up", "--listen", "127.0.0.1:0", "--config"])
        .arg(place.join("octroi.toml"))
        .arg("--data")
        .arg(place.join("data"))
        .env("OCTROI_MASTER_KEY", SECOND)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("octroi can be started");
    started_with(place, "hub", "the-value-of-the-hub").await;
    let mut n_servers = 0;
    for process in descendants(child.id().expect("it runs")) {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        assert!(!environment.contains(SECOND), "{environment}");
        n_servers += u32::from(environment.contains("the-value-of-the-hub"));
    }
    assert!(n_servers > 0, "its own secret it has");
    child.kill().await.expect("it can be killed");
    std::fs::remove_file(place.join("seen-by-hub")).expect("it was started");
}

/// At every moment the old key or the new one opens everything, and the next start finds the right one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_is_killed_loses_nothing() {
    let (place, config) = stopped_with_secret(tempfile::tempdir().expect("a directory")).await;
    let path = place.path().to_owned();
    let mut duration = Duration::from_secs(5);
    let mut n_killed = 0;
    for number in 0..100_u32 {
        let begun = tokio::time::Instant::now();
        assert_eq!(rekey(&path, &[]).await, (2.into(), 0.into()), "after {n_killed} were killed");
        assert!(!path.join("data/master.key.next").exists());
        duration = duration.min(begun.elapsed());
        if n_killed == 20 {
            break;
        }
        let mut child = Command::new(octroi())
            .args(arguments(&path))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("octroi can be started");
        // Mostly in its second half, where it writes.
        tokio::time::sleep(duration * (8 + number % 20) / 30).await;
        child.start_kill().expect("it can be killed");
        n_killed += u32::from(!child.wait().await.expect("it ends").success());
    }
    assert_eq!(n_killed, 20, "so many were killed while they ran");
    let gateway = TestGateway::launch_in(place, &octroi(), &config, &[]).await;
    started_with(&path, "hub", "the-value-of-the-hub").await;
    gateway.stop().await;
}
