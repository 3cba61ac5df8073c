//! Shutdown: running calls finish, endless streams are ended, nothing is left behind.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway, stdio_transport};
use serde_json::json;

use super::{Modern, RawSession, call, gateway, next, next_message};
use crate::faults::signal_term;
use crate::harness::{octroi, stdio_entry};
use crate::processes::{descendants, left_of};

fn slow_call(id: &str) -> Modern {
    Modern::new(
        id,
        "tools/call",
        json!({
            "name": "peer_slow", "arguments": { "steps": 10, "delay_ms": 150 }, "_meta": { "progressToken": id },
        }),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_finished_before_the_process_ends() {
    for era in ["legacy", "modern"] {
        let mut gateway = gateway(&["--era", era]).await;
        let id = gateway.child.id().expect("the gateway runs");
        let processes = descendants(id);
        assert_eq!(processes.len(), 2, "one server and its reaper");
        let session = RawSession::open(&gateway, "2025-11-25").await;
        let mut own = session.stream(None).await;
        next(&mut own).await.expect("an event to resume from");
        let listen = Modern::new(
            "\"l\"",
            "subscriptions/listen",
            json!({ "notifications": { "toolsListChanged": true } }),
        );
        let mut listening = listen.stream(&gateway).await;
        next_message(&mut listening).await.expect("an acknowledgment");

        // One answered by a stream, one by plain JSON, in both eras.
        let mut streamed = slow_call("1").stream(&gateway).await;
        next_message(&mut streamed).await.expect("progress");
        let arguments = json!({ "steps": 10, "delay_ms": 150 });
        let (legacy, modern) =
            (call("2", "peer_slow", &arguments), Modern::call("3", "peer_slow", &arguments));
        let (plain_legacy, plain_modern, ()) =
            tokio::join!(session.post(&legacy), modern.send(&gateway), async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                signal_term(id).await;
            });
        for plain in [plain_legacy, plain_modern] {
            assert_eq!(plain.json()["result"]["content"][0]["text"], "done after 10 steps", "{era}");
        }
        let mut last = None;
        while let Some((_, message)) = next_message(&mut streamed).await {
            last = Some(message);
        }
        assert_eq!(last.expect("a result")["result"]["content"][0]["text"], "done after 10 steps", "{era}");
        let (_, ended) = next_message(&mut listening).await.expect("a final result");
        assert_eq!(
            (&ended["id"], &ended["result"]["resultType"]),
            (&json!("l"), &json!("complete")),
            "{ended}"
        );
        assert_eq!(next(&mut listening).await, None);
        assert_eq!(next(&mut own).await, None, "the session's own stream ends");
        assert_ended(&mut gateway, &processes).await;
    }
}

async fn assert_ended(gateway: &mut TestGateway, processes: &[u32]) {
    let status = tokio::time::timeout(Duration::from_secs(15), gateway.child.wait()).await;
    let status = status.expect("the gateway ends").expect("it was waited for");
    assert_eq!(status.code(), Some(0));
    assert_eq!(left_of(processes).await, Vec::<u32>::new(), "no process is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_takes_too_long_does_not_keep_the_process() {
    let mut gateway = gateway(&[]).await;
    let id = gateway.child.id().expect("the gateway runs");
    let processes = descendants(id);
    let session = RawSession::open(&gateway, "2025-11-25").await;
    let arguments = json!({ "steps": 1, "delay_ms": 60_000 });
    let endless = call("1", "peer_slow", &arguments);
    let waiting = tokio::spawn(async move { session.try_post(&endless).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    signal_term(id).await;
    assert_ended(&mut gateway, &processes).await;
    waiting.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_standard_streams_the_end_of_input_ends_everything() {
    for flags in [&["--era", "legacy"][..], &["--era", "modern"], &["--fault", "ignore-term"]] {
        for era in [Era::Legacy("2025-11-25"), Era::Modern] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let config = format!("{}shutdown_grace = \"300ms\"\n", stdio_entry("peer", flags));
            let transport = stdio_transport(&octroi(), directory.path(), &config);
            let client =
                TestClient::connect(transport, era, ClientOptions::default()).await.expect("a client");
            assert_eq!(client.call_text("peer_echo", json!({ "text": "x" })).await.as_deref(), Ok("x"));
            let id = client.process_id().await.expect("it runs");
            let mut processes = descendants(id);
            for _ in 0..100 {
                if processes.len() == 2 {
                    break;
                }
                // A process of the other era, which nobody used, is still ending.
                tokio::time::sleep(Duration::from_millis(50)).await;
                processes = descendants(id);
            }
            assert_eq!(processes.len(), 2, "the server and its reaper");
            let status = client.close().await.expect("it ends").expect("it has a status");
            assert_eq!(status.code(), Some(0), "{flags:?}");
            assert_eq!(left_of(&processes).await, Vec::<u32>::new(), "{flags:?}: no process is left");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_standard_streams_a_signal_ends_everything_too() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let transport = stdio_transport(&octroi(), directory.path(), &stdio_entry("peer", &[]));
    let client =
        TestClient::connect(transport, Era::Modern, ClientOptions::default()).await.expect("a client");
    assert_eq!(client.call_text("peer_echo", json!({ "text": "x" })).await.as_deref(), Ok("x"));
    let id = client.process_id().await.expect("it runs");
    let mut processes = descendants(id);
    processes.push(id);
    signal_term(id).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(left_of(&processes).await, Vec::<u32>::new(), "although nobody closed its input");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_stalls_does_not_keep_the_process() {
    use tokio::io::AsyncWriteExt as _;
    let mut gateway = gateway(&[]).await;
    let address = gateway.base.trim_start_matches("http://").to_owned();
    let mut stalled = tokio::net::TcpStream::connect(&address).await.expect("a connection");
    let half = format!("POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {AGENT_TOKEN}\r\n");
    let head = "content-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    stalled.write_all(format!("{half}{head}").as_bytes()).await.expect("it can be written");
    tokio::time::sleep(Duration::from_millis(200)).await;
    let id = gateway.child.id().expect("it runs").to_string();
    tokio::process::Command::new("kill").args(["-TERM", &id]).status().await.expect("kill runs");
    let ended = tokio::time::timeout(Duration::from_secs(20), gateway.child.wait()).await;
    assert!(ended.is_ok(), "it still waits for the client");
}
