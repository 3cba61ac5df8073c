//! Remote servers that restart and no longer know their sessions.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::json;

use crate::harness::{connect, octroi, remote_entry};

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
