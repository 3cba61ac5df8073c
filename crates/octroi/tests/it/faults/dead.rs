//! Servers that were there and are gone for good.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::ClientOptions;
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use octroi_testkit::peer_binary;
use serde_json::json;

use super::{CLIENTS, bad, explained, stop};
use crate::harness::{connect, octroi, remote_entry, stdio_entry};

/// Returns the texts that callers get.
async fn assert_listed_but_gone(client: &TestClient, what: &str) -> String {
    let tools = client.list_tools().await.expect("a list");
    for name in ["bad_echo", "good_echo"] {
        assert!(tools.iter().any(|tool| tool["name"] == name), "{what}: {name} is not listed");
    }
    let result = client.call("bad_echo", json!({ "text": "x" })).await.expect("a result");
    let explained = explained(&result, "server_unavailable", what);
    let read = client.request("resources/read", json!({ "uri": "peer://bad/static" })).await;
    let error = read.expect_err("nobody is there to read it").to_string();
    assert!(error.contains("server `bad` is not available"), "{what}: {error}");
    assert_eq!(client.call_text("good_echo", json!({ "text": "x" })).await.as_deref(), Ok("x"), "{what}");
    format!("{what}: {explained}\n{what}: {error}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_ended_for_good_stays_listed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (broken, script) = (directory.path().join("broken"), directory.path().join("server.sh"));
    let text = format!(
        "if [ -e '{}' ]; then echo 'the disk is full' >&2; exit 1; fi\nexec '{}' --fault die-mid-call\n",
        broken.display(),
        peer_binary().display()
    );
    std::fs::write(&script, text).expect("the script can be written");
    let entry = format!(
        "[[mcp.servers]]\nname = \"bad\"\ncommand = {}\n",
        json!(["sh", script.display().to_string()])
    );
    let gateway =
        TestGateway::start(&octroi(), &format!("{}{}", bad(&entry), stdio_entry("good", &[]))).await;
    for (number, era) in CLIENTS.into_iter().enumerate() {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        if number == 0 {
            std::fs::write(&broken, "").expect("the mark can be set");
            let result = client.call("bad_die", json!({})).await.expect("a result");
            explained(&result, "outcome_unknown", "die");
        }
        println!("{}", assert_listed_but_gone(&client, "stdio").await);
    }
    stop(gateway, "a dead program").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remote_server_that_is_gone_stays_listed() {
    for era in ["legacy", "modern"] {
        let mut peer = PeerProcess::start(&["--transport", "http", "--era", era]).await.expect("the peer");
        let config = format!("{}{}", bad(&remote_entry("bad", "http", &peer.url)), stdio_entry("good", &[]));
        let gateway = TestGateway::start(&octroi(), &config).await;
        let clients = [
            connect(&gateway, CLIENTS[0], ClientOptions::default()).await,
            connect(&gateway, CLIENTS[1], ClientOptions::default()).await,
        ];
        peer.stop().await.expect("the peer leaves");
        for client in &clients {
            println!("{}", assert_listed_but_gone(client, era).await);
        }
        stop(gateway, era).await;
    }
}
