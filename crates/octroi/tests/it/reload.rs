//! A new configuration while everything runs.

use std::time::Duration;

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::audit::{of_kind, records};
use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::processes::{descendants, left_of};

const SERVERS: usize = 50;

fn config(changed: Option<usize>) -> String {
    let entry = |number: usize| {
        let flags: &[&str] = if changed == Some(number) { &["--tools", "3"] } else { &[] };
        stdio_entry(&format!("s{number:02}"), flags)
    };
    (0..SERVERS).map(entry).collect()
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + SOON;
    while !is_so().await {
        assert!(tokio::time::Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_change_among_fifty_servers_restarts_one() {
    let gateway = TestGateway::start(&octroi(), &config(None)).await;
    let id = gateway.child.id().expect("it runs");
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    // The processes that serve their first client stay.
    for tool in client.list_tools().await.expect("a list") {
        let name = tool["name"].as_str().expect("a name");
        if name.ends_with("_echo") {
            assert_eq!(client.call_text(name, json!({"text": "x"})).await.as_deref(), Ok("x"));
        }
    }
    until("one process each", async || descendants(id).len() == 2 * SERVERS).await;
    let before = descendants(id);
    let n_tools = client.list_tools().await.expect("a list").len();
    let long =
        client.start("tools/call", json!({"name": "s07_slow", "arguments": {"delay_ms": 2000, "steps": 2}}));
    tokio::time::sleep(Duration::from_millis(300)).await;

    gateway.rewrite_config(&config(Some(8)));
    until("the new list", async || client.list_tools().await.expect("a list").len() == n_tools + 3).await;
    until("the old process ending", async || descendants(id).len() == 2 * SERVERS).await;
    let after = descendants(id);
    let stayed = before.iter().filter(|process| after.contains(process)).count();
    assert_eq!(stayed, 2 * SERVERS - 2, "one server and its reaper were replaced");
    let result = long.finish().await.expect("the long call ends well");
    assert_ne!(result["isError"], true, "{result}");
    drop(client);
    gateway.stop().await;
    assert_eq!(left_of(&after).await, Vec::<u32>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_announced_when_they_change_and_only_then() {
    let one = stdio_entry("one", &[]);
    let two = stdio_entry("two", &[]);
    let gateway = TestGateway::start(&octroi(), &one).await;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        gateway.rewrite_config(&one);
        until("one server", async || gateway.health().await["servers"]["total"] == 1).await;
        let client = connect(&gateway, era, ClientOptions::default()).await;
        let n_before = client.list_tools().await.expect("a list").len();
        let mut watcher = client.watch(Watch::tools()).await.expect("changes can be watched");

        // A comment changes the file and nothing else.
        gateway.rewrite_config(&format!("# nothing new\n{one}"));
        assert!(watcher.next(Duration::from_millis(2_500)).await.is_none(), "{era:?}: nothing changed");

        gateway.rewrite_config(&format!("{one}{two}"));
        assert!(watcher.next(SOON).await.is_some(), "{era:?}: a server came");
        until("twice the tools", async || client.list_tools().await.expect("a list").len() == 2 * n_before)
            .await;
        while watcher.next(Duration::from_millis(500)).await.is_some() {}

        gateway.rewrite_config(&one);
        assert!(watcher.next(SOON).await.is_some(), "{era:?}: a server went");
        assert_eq!(client.list_tools().await.expect("a list").len(), n_before);
        let gone = client.call("two_echo", json!({"text": "x"})).await;
        assert!(gone.is_err(), "{era:?}: {gone:?}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_used_changes_nothing() {
    let entry = stdio_entry("one", &[]);
    let gateway = TestGateway::start(&octroi(), &entry).await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    // The process that serves its first client stays.
    assert_eq!(client.call_text("one_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    until("one process", async || descendants(gateway.child.id().expect("it runs")).len() == 2).await;
    let before = descendants(gateway.child.id().expect("it runs"));
    for broken in [format!("{entry}oops\n"), format!("nonsense = 1\n{entry}")] {
        gateway.rewrite_config(&broken);
        until("the problem", async || {
            !gateway.health().await["problems"].as_array().is_none_or(Vec::is_empty)
        })
        .await;
        assert_eq!(descendants(gateway.child.id().expect("it runs")), before);
        assert_eq!(client.call_text("one_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
        gateway.rewrite_config(&entry);
        until("all being well again", async || {
            gateway.health().await["problems"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_turned_is_noticed() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("one", &[])).await;
    let directory = gateway.directory();
    let (real, link) = (directory.join("real.toml"), directory.join("octroi.toml"));
    std::fs::rename(&link, &real).expect("the file can be moved");
    let other = std::fs::read_to_string(&real).expect("the file").replace("\"one\"", "\"other\"");
    std::fs::write(directory.join("other.toml"), other).expect("a file can be written");
    for (target, expected) in [("other.toml", "other"), ("real.toml", "one")] {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(target, &link).expect("a link can be made");
        until(expected, async || gateway.health().await["servers"]["list"][0]["name"] == expected).await;
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_begins_like_another_is_another() {
    let (git, git_hub) = (stdio_entry("git", &[]), stdio_entry("git_hub", &[]));
    let gateway = TestGateway::start(&octroi(), &format!("{git}{git_hub}")).await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    gateway.rewrite_config(&git_hub);
    until("one server", async || gateway.health().await["servers"]["total"] == 1).await;
    assert_eq!(client.list_tools().await.expect("a list").len(), 16);
    assert_eq!(client.call_text("git_hub_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_watched_a_server_watches_its_successor() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    for (number, era) in [Era::Modern, Era::Legacy("2025-11-25")].into_iter().enumerate() {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        let before = client.list_tools().await.expect("a list").len();
        let mut watcher =
            client.watch(Watch::resource("peer://peer/counter")).await.expect("it can be watched");
        let n_more = (number + 1).to_string();
        gateway.rewrite_config(&stdio_entry("peer", &["--tools", &n_more]));
        until("the new server", async || client.list_tools().await.expect("a list").len() == before + 1)
            .await;
        let mut is_told = false;
        for _ in 0..20 {
            client.call("peer_touch", json!({})).await.expect("a result");
            is_told = is_told || watcher.next(Duration::from_millis(200)).await.is_some();
        }
        assert!(is_told, "{era:?}: the change was missed");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reload_is_recorded_with_its_trigger() {
    let entry = |number: usize| stdio_entry(&format!("s{number}"), &[]);
    let gateway = TestGateway::start(&octroi(), &entry(1)).await;
    let data = gateway.directory().join("data");
    let expect = async |expected: &[&str]| {
        let mut reloads: Vec<Value> = Vec::new();
        until("the record", async || {
            reloads = of_kind(&records(&data, &[]).await, "config_reloaded").into_iter().cloned().collect();
            reloads.len() >= expected.len()
        })
        .await;
        let triggers: Vec<&str> =
            reloads.iter().filter_map(|record| record["context"]["trigger"].as_str()).collect();
        assert_eq!(triggers, expected, "{reloads:?}");
        assert!(reloads.iter().all(|record| record["actor"]["kind"] == "system"), "{reloads:?}");
        reloads.pop().unwrap_or_default()
    };
    gateway.rewrite_config(&(entry(1) + &entry(2)));
    let by_file = expect(&["file"]).await;
    assert_eq!(by_file["context"]["before"]["servers"], json!(["s1"]));
    assert_eq!(by_file["context"]["after"]["servers"], json!(["s1", "s2"]));
    let process = gateway.child.id().expect("it runs").to_string();
    let sent = std::process::Command::new("kill").args(["-HUP", &process]).status().expect("kill runs");
    assert!(sent.success());
    expect(&["file", "signal"]).await;
    gateway.stop().await;
}
