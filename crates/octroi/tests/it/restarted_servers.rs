//! Remote servers that restart and no longer know their sessions.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::json;

use crate::harness::{SOON, answering, connect, octroi, remote_entry};
use crate::peers::installed::Everything;
use crate::roots::script;

/// A remote peer that refuses unknown sessions in this way, at a fixed address.
async fn start(listen: &str, how: &str) -> PeerProcess {
    let flags = ["--transport", "http", "--listen", listen, "--unknown-session", how];
    PeerProcess::start(&flags).await.expect("the peer should start")
}

async fn echo(client: &TestClient, text: &str) -> Result<String, ClientError> {
    client.call_text("remote_echo", json!({ "text": text })).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_call_opens_a_new_session() {
    for how in [
        "not-found",
        "bad-request",
        "not-initialized",
        "unauthorized",
        "unprocessable",
        "ok",
        "ok-answered",
        "ok-streamed",
    ] {
        let mut peer = start("127.0.0.1:0", how).await;
        let address = peer.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let config = format!("{}health_interval = \"1h\"\n", remote_entry("remote", "http", &peer.url));
        let gateway = TestGateway::start(&octroi(), &config).await;
        for era in [Era::Legacy("2025-11-25"), Era::Modern] {
            let client = connect(&gateway, era, ClientOptions::default()).await;
            assert_eq!(echo(&client, "before").await.as_deref(), Ok("before"), "{how}");
            peer.stop().await.expect("it ends");
            peer = start(&address, how).await;
            assert_eq!(echo(&client, "after").await.as_deref(), Ok("after"), "{how} {era:?}");
            assert_eq!(echo(&client, "later").await.as_deref(), Ok("later"), "{how} {era:?}");
        }
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_is_noticed_while_nobody_calls() {
    let mut peer = start("127.0.0.1:0", "bad-request").await;
    let address = peer.url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let config = format!("{}health_interval = \"300ms\"\n", remote_entry("remote", "http", &peer.url));
    let gateway = TestGateway::launch(&octroi(), &config, &["-v"]).await;
    gateway.wait_until_settled().await;
    peer.stop().await.expect("it ends");
    let _peer = start(&address, "bad-request").await;
    let deadline = tokio::time::Instant::now() + SOON * 2;
    loop {
        let status = gateway.health().await;
        let server = &status["servers"]["list"][0];
        if server["state"] == "running" && server["health"] == "healthy" {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{status}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // A check that the new server answers with 400 would have made it degraded.
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(gateway.health().await["servers"]["list"][0]["health"], "healthy");
    }
    let log = gateway.stop().await;
    assert!(log.contains("server lost the session, opening a new one"), "{log}");
}

/// Its stream stays open, as behind a proxy, so that only the refused call tells of the restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_a_server_of_the_old_transport_refused_is_sent_again() {
    let flags = ["--transport", "sse", "--fault", "session-lost", "--lost-after", "2"];
    let peer = PeerProcess::start(&flags).await.expect("the peer should start");
    let config = format!("{}health_interval = \"1h\"\n", remote_entry("remote", "sse", &peer.url));
    let gateway = TestGateway::start(&octroi(), &config).await;
    for (era, expected) in [(Era::Legacy("2025-11-25"), "6"), (Era::Modern, "12")] {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        for number in 0..6 {
            let text = format!("call {number}");
            assert_eq!(echo(&client, &text).await.as_ref(), Ok(&text), "{era:?}");
        }
        let n_calls = client.call_text("remote_calls_count", json!({})).await;
        assert_eq!(n_calls.as_deref(), Ok(expected), "{era:?}: each is made once");
    }
    gateway.stop().await;
}

/// `server-everything` answers 400 to a session that it does not know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_server_is_called_again_after_a_restart() {
    let script = script("server-everything/dist/index.js");
    let mut server = Everything::start_script(&script, "streamableHttp", "mcp").await;
    let config = format!("{}health_interval = \"1h\"\n", remote_entry("all", "http", &server.url));
    let gateway = TestGateway::start(&octroi(), &config).await;
    for era in [Era::Legacy("2025-11-25"), Era::Modern] {
        let user = answering(json!({ "action": "accept", "content": { "name": "Ada" } }));
        let client = connect(&gateway, era, user).await;
        for text in ["before", "after"] {
            let answer = client.call_text("all_echo", json!({ "message": text })).await;
            assert_eq!(answer, Ok(format!("Echo: {text}")), "{era:?}");
            if text == "before" {
                let port = server.kill().await;
                server = Everything::start_at(&script, "streamableHttp", "mcp", port).await;
            }
        }
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_a_tool_about_a_session_of_its_own_is_passed_on_and_the_tool_called_once() {
    let peer = start("127.0.0.1:0", "ok-answered").await;
    let gateway = TestGateway::start(&octroi(), &remote_entry("remote", "http", &peer.url)).await;
    for era in [Era::Legacy("2025-11-25"), Era::Modern] {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        let n_calls = async || client.call_text("remote_calls_count", json!({})).await.expect("a number");
        let before: u64 = n_calls().await.parse().expect("a number");
        let words = "the session of the browser was not found";
        let error = client.call("remote_protocol_error", json!({ "message": words })).await;
        assert!(format!("{error:?}").contains(words), "{era:?}: {error:?}");
        assert_eq!(n_calls().await.parse(), Ok(before + 1), "{era:?}");
    }
    gateway.stop().await;
}
