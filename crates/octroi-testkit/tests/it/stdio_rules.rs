//! Rules of stdio only: probes, eras that the client chooses, broken lines, and shutdown.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::peer_binary;
use serde_json::json;

async fn connect(flags: &[&str], era: Era) -> Result<TestClient, ClientError> {
    let options = ClientOptions { timeout: Duration::from_secs(1), ..ClientOptions::default() };
    TestClient::connect(Transport::stdio(peer_binary(), flags), era, options).await
}

#[tokio::test]
async fn a_legacy_server_does_not_know_the_probe() {
    let error = connect(&["--era", "legacy"], Era::Modern).await.expect_err("no modern server");
    assert_eq!(error.code(), Some(-32601));
}

#[tokio::test]
async fn a_silent_legacy_server_does_not_answer_the_probe() {
    let error = connect(&["--era", "legacy", "--probe-silence"], Era::Modern).await.err();
    assert_eq!(error, Some(ClientError::Timeout));
    connect(&["--era", "legacy", "--probe-silence"], Era::Legacy("2025-06-18"))
        .await
        .expect("it does know initialize");
}

#[tokio::test]
async fn a_modern_server_refuses_initialize_and_says_why() {
    let error = connect(&["--era", "modern"], Era::Legacy("2025-11-25")).await.expect_err("no legacy server");
    assert!(error.to_string().contains("2026-07-28"), "{error}");
}

#[tokio::test]
async fn a_server_of_both_eras_follows_the_client() {
    for era in [Era::Modern, Era::Legacy("2025-11-25"), Era::Legacy("2024-11-05")] {
        let client = connect(&["--era", "both"], era).await.expect("it speaks both");
        assert_eq!(client.call_text("echo", json!({ "text": "x" })).await.unwrap(), "x");
    }
}

#[tokio::test]
async fn an_unknown_version_gets_the_newest_of_the_server() {
    for (asked, given) in
        [("2025-11-25", "2025-06-18"), ("2099-01-01", "2025-06-18"), ("2024-11-05", "2024-11-05")]
    {
        let client = connect(&["--legacy-version", "2025-06-18"], Era::Legacy(asked)).await.unwrap();
        assert_eq!(client.hello()["protocolVersion"], given);
    }
}

#[tokio::test]
async fn a_modern_request_must_carry_its_meta() {
    let client = connect(&["--era", "modern"], Era::Modern).await.unwrap();
    let meta = |version: &str| json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": version } });
    let error = client.request("tools/list", meta("2099-01-01")).await.unwrap_err();
    let ClientError::Rpc(error) = error else { panic!("not a JSON-RPC error: {error}") };
    assert_eq!(error.code, -32022);
    assert_eq!(error.data, json!({ "supported": ["2026-07-28"], "requested": "2099-01-01" }));
    client.raw_line(r#"{"jsonrpc":"2.0","id":"bare","method":"tools/list"}"#).await.unwrap();
    let capabilities = json!({ "_meta": { "io.modelcontextprotocol/clientCapabilities": null } });
    let error = client.request("tools/list", capabilities).await.unwrap_err();
    assert_eq!(error.code(), Some(-32602));
    let strays = client.strays().join("");
    assert!(strays.contains(r#""id":"bare""#) && strays.contains("-32602"), "{strays}");
}

#[tokio::test]
async fn a_broken_line_is_answered_and_does_no_harm() {
    let client = connect(&[], Era::Legacy("2025-11-25")).await.unwrap();
    for line in ["{", "[]", "7", "", r#"{"jsonrpc":"2.0"}"#, r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#]
    {
        client.raw_line(line).await.unwrap();
    }
    client.request("ping", json!({})).await.unwrap();
    assert_eq!(client.strays().len(), 5, "all but the blank line: {:?}", client.strays());
}

#[tokio::test]
async fn a_listener_gets_a_final_result_when_the_server_leaves() {
    let client = connect(&["--era", "modern"], Era::Modern).await.unwrap();
    let watcher =
        client.watch(Watch { tools: true, resources: vec!["peer://nothing".to_owned()] }).await.unwrap();
    assert_eq!(watcher.acknowledged, json!({ "toolsListChanged": true }), "only what it can honour");
    let status = client.close().await.unwrap().expect("a process has a status");
    assert!(status.success());
    let result = watcher.ended().await.unwrap();
    assert_eq!(result["resultType"], "complete");
    assert!(result["_meta"]["io.modelcontextprotocol/subscriptionId"].is_u64());
}
