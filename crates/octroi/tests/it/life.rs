//! Server lifecycle: when a server is started, when it keeps running, when it is ended.

use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::{Value, json};

use crate::harness::{SOON, connect, octroi, remote_entry, stdio_entry};
use crate::processes::{descendants, left_of};

async fn gateway(settings: &str) -> TestGateway {
    TestGateway::launch(&octroi(), &format!("{}{settings}\n", stdio_entry("peer", &[])), &[]).await
}

async fn agent(gateway: &TestGateway) -> TestClient {
    connect(gateway, Era::Modern, ClientOptions::default()).await
}

async fn server(gateway: &TestGateway) -> Value {
    gateway.health().await["servers"]["list"][0].clone()
}

/// Waits until the server is in this state.
async fn until(gateway: &TestGateway, member: &str, expected: &str) {
    let deadline = Instant::now() + SOON;
    while server(gateway).await[member] != expected {
        assert!(Instant::now() < deadline, "not {expected}: {}", server(gateway).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// All processes below a gateway.
pub(crate) fn processes(gateway: &TestGateway) -> Vec<u32> {
    descendants(gateway.child.id().expect("it runs"))
}

async fn echo(client: &TestClient) -> String {
    client.call_text("peer_echo", json!({ "text": "x" })).await.expect("a result")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_nobody_uses_is_ended_until_somebody_does() {
    let gateway = gateway("idle_stop = \"300ms\"").await;
    let client = agent(&gateway).await;
    for _ in 0..2 {
        assert_eq!(echo(&client).await, "x");
        let running = processes(&gateway);
        assert_eq!(running.len(), 2);
        until(&gateway, "state", "stopped").await;
        assert_eq!(left_of(&running).await, Vec::<u32>::new());
        assert_eq!(client.list_tools().await.expect("a list").len(), 16, "it stays listed");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_manual_server_waits_to_be_started() {
    let gateway = gateway("start = \"manual\"").await;
    let client = agent(&gateway).await;
    assert_eq!(server(&gateway).await["state"], "stopped");
    assert_eq!(processes(&gateway), Vec::<u32>::new());
    let error = client.call("peer_echo", json!({ "text": "x" })).await.expect_err("nobody knows its tools");
    assert!(error.to_string().contains("unknown tool"), "{error}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hangs_is_found_out_and_started_again() {
    let gateway = gateway("health_interval = \"100ms\"\nlist_timeout = \"500ms\"").await;
    until(&gateway, "health", "healthy").await;
    let running = processes(&gateway);
    for process in &running {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        if line.starts_with(peer_binary().to_string_lossy().as_bytes()) {
            let _ = std::process::Command::new("kill").args(["-STOP", &process.to_string()]).output();
        }
    }
    until(&gateway, "health", "degraded").await;
    until(&gateway, "health", "unhealthy").await;
    until(&gateway, "state", "running").await;
    until(&gateway, "health", "healthy").await;
    assert_eq!(echo(&agent(&gateway).await).await, "x");
    assert!(server(&gateway).await["restarts"].as_u64() >= Some(1));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_checks_with_errors_is_not_healthy_and_started_again() {
    let flags = ["--era", "legacy", "--fault", "ping-error"];
    let config = format!("{}health_interval = \"300ms\"\n", stdio_entry("peer", &flags));
    let gateway = TestGateway::start(&octroi(), &config).await;
    until(&gateway, "health", "degraded").await;
    assert_eq!(echo(&agent(&gateway).await).await, "x", "its tools work");
    until(&gateway, "health", "unhealthy").await;
    let deadline = Instant::now() + SOON * 2;
    while server(&gateway).await["restarts"].as_u64() < Some(1) {
        assert!(Instant::now() < deadline, "{}", server(&gateway).await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beyond_the_queue_are_refused_at_once() {
    let gateway = gateway("max_concurrency = 1\nqueue = 1").await;
    let client = agent(&gateway).await;
    assert_eq!(echo(&client).await, "x");
    let slow = json!({ "name": "peer_slow", "arguments": { "steps": 1, "delay_ms": 1500 } });
    let first = client.start("tools/call", slow.clone());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let second = client.start("tools/call", slow.clone());
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(
        (&server(&gateway).await["in_flight"], &server(&gateway).await["waiting"]),
        (&json!(1), &json!(1))
    );
    let begun = Instant::now();
    let busy = client.request("tools/call", slow).await.expect_err("there is no room").to_string();
    assert!(busy.contains("-32954") && busy.contains("server `peer`"), "{busy}");
    assert!(begun.elapsed() < Duration::from_secs(1), "it was not made to wait");
    for call in [first, second] {
        assert_ne!(call.finish().await.expect("a result")["isError"], true);
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_keeps_failing_is_left_alone_for_a_while() {
    let entry = stdio_entry("peer", &["--fault", "never"]);
    let config = format!("{entry}timeout = \"100ms\"\nhealth_interval = \"1h\"\n");
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    let client = agent(&gateway).await;
    assert_eq!(echo(&client).await, "x");
    for _ in 0..5 {
        client.call("peer_never", json!({})).await.expect("a result");
    }
    let answer = echo(&client).await;
    assert!(answer.contains("server `peer` is not available: it failed repeatedly"), "{answer}");
    let deadline = Instant::now() + SOON;
    while echo(&client).await != "x" {
        assert!(Instant::now() < deadline, "it is never tried again");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_do_not_share_have_processes_of_their_own() {
    let legacy = Era::Legacy("2025-11-25");
    // One process for the lists, and depending on the sharing more for two sessions of one user.
    for (sharing, expected) in [("shared", 1), ("per_user", 2), ("per_session", 3)] {
        let gateway = gateway(&format!("sharing = \"{sharing}\"")).await;
        let clients = [
            connect(&gateway, legacy, ClientOptions::default()).await,
            connect(&gateway, legacy, ClientOptions::default()).await,
        ];
        for client in &clients {
            assert_eq!(echo(client).await, "x", "{sharing}");
        }
        let running = processes(&gateway);
        assert_eq!(running.len(), 2 * expected, "{sharing}");
        for client in clients {
            client.close().await.expect("the session ends");
        }
        if sharing == "per_session" {
            let deadline = Instant::now() + SOON;
            while processes(&gateway).len() > 2 {
                assert!(Instant::now() < deadline, "processes outlive their sessions");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        gateway.stop().await;
        assert_eq!(left_of(&running).await, Vec::<u32>::new(), "{sharing}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_credentials_says_so() {
    let guarded = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let gateway = TestGateway::launch(&octroi(), &remote_entry("far", "http", &guarded.url()), &[]).await;
    until(&gateway, "state", "needs_auth").await;
    gateway.stop().await;
    guarded.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lazy_server_that_crashed_says_so() {
    let entry = stdio_entry("peer", &["--fault", "die-mid-call"]);
    let gateway = TestGateway::launch(&octroi(), &format!("{entry}start = \"lazy\"\n"), &[]).await;
    let client = agent(&gateway).await;
    assert_eq!(echo(&client).await, "x");
    client.call("peer_die", json!({})).await.expect("a result");
    until(&gateway, "state", "failed").await;
    let error = server(&gateway).await["error"].to_string();
    assert!(error.contains("exit status: 3"), "{error}");
    assert_eq!(echo(&client).await, "x", "the next call starts it again");
    assert_eq!(server(&gateway).await["state"], "running");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_server_works_out_of_the_box() {
    let gateway = TestGateway::launch(&octroi(), "", &["--demo"]).await;
    gateway.wait_until_settled().await;
    let client = agent(&gateway).await;
    let result = client.call("demo_add", json!({ "a": 1, "b": 2 })).await.expect("a result");
    assert!(result.to_string().contains('3'), "{result}");
    assert_eq!(server(&gateway).await["state"], "running");
    gateway.stop().await;
}

/// What the README shows in the first minutes: reads are allowed, writes need approval.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_server_shows_an_approval() {
    let config = "[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"30s\"\n";
    let gateway = TestGateway::launch(&octroi(), config, &["--demo"]).await;
    gateway.wait_until_settled().await;
    let client = agent(&gateway).await;
    let mut names: Vec<String> =
        client.list_tools().await.expect("a list").iter().map(|tool| tool["name"].to_string()).collect();
    names.sort();
    assert_eq!(
        names.join(" "),
        r#""demo_add" "demo_echo" "demo_greet" "demo_read_notes" "demo_slow" "demo_write_note""#
    );
    for (tool, arguments, expected) in [
        ("demo_read_notes", json!({}), "no notes yet"),
        ("demo_add", json!({ "a": 1, "b": 2 }), "3"),
        ("demo_slow", json!({ "steps": 1 }), "done"),
    ] {
        let answer = client.call_text(tool, arguments).await.expect("nobody is asked");
        assert!(answer.contains(expected), "{tool}: {answer}");
    }
    let writing =
        client.start("tools/call", json!({"name": "demo_write_note", "arguments": {"text": "buy bread"}}));
    let id = crate::approvals::asked(&gateway).await;
    let (code, text) = crate::manage::exit_and_output(
        &crate::manage::run(&gateway.directory().join("data"), &["approve", &id]).await,
    );
    assert_eq!(code, Some(0), "{text}");
    let written = writing.finish().await.expect("a result");
    assert_eq!(written["content"][0]["text"], "kept as note 1", "{written}");
    assert_eq!(client.call_text("demo_read_notes", json!({})).await.as_deref(), Ok("buy bread"));
    let long = client.call("demo_write_note", json!({"text": "x".repeat(1_001)})).await.expect("a result");
    assert_eq!(long["isError"], true, "{long}");
    gateway.stop().await;
}

/// A server that hangs while it starts is tried three times, a second apart, before that counts as one failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_answer_in_time_is_tried_three_times() {
    let directory = tempfile::tempdir().expect("a directory");
    let starts = directory.path().join("starts");
    let script = format!("echo start >> {}; exec sleep 100", starts.display());
    let command = json!(["sh", "-c", script]);
    let config =
        format!("[[mcp.servers]]\nname = \"hangs\"\ncommand = {command}\nconnect_timeout = \"300ms\"\n");
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    let begun = Instant::now();
    until(&gateway, "state", "failed").await;
    assert!(begun.elapsed() > Duration::from_secs(2), "a second between two tries");
    let starts = std::fs::read_to_string(starts).expect("it was started");
    assert_eq!(starts.lines().count(), 3);
    gateway.stop().await;
}
