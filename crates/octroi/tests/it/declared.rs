//! The capabilities of its clients that are declared to a shared process.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use crate::harness::{answering, connect, octroi, stdio_entry};
use crate::manage::command;

const UNDECLARED: &str = "the client did not declare elicitation";

async fn ask(client: &TestClient) -> String {
    let result = client.call("peer_ask", json!({})).await.expect("a result");
    result["content"][0]["text"].as_str().expect("a text").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_starts_before_its_first_client_is_told_what_that_client_can_do() {
    let config = format!("{}sharing = \"shared\"\n", stdio_entry("peer", &["--era", "legacy"]));
    let replaced = "its first client can do less than it was told";
    let mut gateway = TestGateway::launch(&octroi(), &config, &["-v"]).await;
    for (run, is_replaced) in [("first", true), ("second", false)] {
        gateway.wait_until_settled().await;
        let unable = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
        // Several calls at once: all of them wait for the process that is told less.
        let asked = (0..4).map(|_| ask(&unable));
        for answer in futures_util::future::join_all(asked).await {
            assert_eq!(answer, UNDECLARED, "{run} run");
        }
        command(&gateway, 0, &["refresh"]).await;
        let (directory, log) = gateway.stop_and_keep().await;
        assert_eq!(log.contains(replaced), is_replaced, "{run} run: {log}");
        gateway = TestGateway::launch_in(directory, &octroi(), &config, &["-v"]).await;
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_asks_is_told_what_all_its_clients_can_do() {
    for unable in [Era::Legacy("2025-11-25"), Era::Modern] {
        let entry = stdio_entry("peer", &["--era", "legacy"]);
        let gateway = TestGateway::start(&octroi(), &format!("{entry}sharing = \"shared\"\n")).await;
        let able = answering(json!({ "action": "accept", "content": { "name": "Ada" } }));
        let able = connect(&gateway, Era::Legacy("2025-11-25"), able).await;
        assert_eq!(ask(&able).await, "hello Ada");
        let unable = connect(&gateway, unable, ClientOptions::default()).await;
        // A client that is not asked changes nothing.
        unable.call_text("peer_echo", json!({ "text": "hello" })).await.expect("it answers");
        assert_eq!(ask(&able).await, "hello Ada");
        // The server learns from the refusal, and can do without the answer from then on.
        assert_ne!(ask(&unable).await, UNDECLARED);
        assert_eq!(ask(&unable).await, UNDECLARED);
        assert_eq!(ask(&able).await, UNDECLARED);
        assert_eq!(
            able.call_text("peer_calls_count", json!({})).await.as_deref(),
            Ok("2"),
            "one new process"
        );
        gateway.stop().await;
    }
}
