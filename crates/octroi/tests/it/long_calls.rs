//! Calls that take longer than the timeout: whoever reports is alive.

use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

use crate::harness::{connect, octroi, remote_entry, stdio_entry};
use crate::roots::script;

const TIMEOUTS: &str = "timeout = \"800ms\"\nmax_call_timeout = \"4s\"\n";

/// A gateway before a peer of this era over this transport.
async fn gateway(era: &str, transport: &str) -> (TestGateway, Option<PeerProcess>) {
    let (entry, peer) = if transport == "stdio" {
        (stdio_entry("peer", &["--era", era]), None)
    } else {
        let flags = ["--era", era, "--transport", transport];
        let peer = PeerProcess::start(&flags).await.expect("the peer should start");
        (remote_entry("peer", transport, &peer.url), Some(peer))
    };
    (TestGateway::start(&octroi(), &format!("{entry}{TIMEOUTS}")).await, peer)
}

/// The answer of a call of `slow`, the notifications before it, and how long it took.
async fn slow(client: &TestClient, steps: u64, delay_ms: u64) -> (Value, Vec<Value>, Duration) {
    let begun = Instant::now();
    let params = json!({ "name": "peer_slow", "arguments": { "steps": steps, "delay_ms": delay_ms } });
    let (outcome, notifications) = client.start("tools/call", params).finish_with_notifications().await;
    (outcome.expect("a result"), notifications, begun.elapsed())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_reports_may_take_longer_also_when_its_client_did_not_ask() {
    for era in ["legacy", "modern"] {
        for transport in ["stdio", "http"] {
            let (gateway, _peer) = gateway(era, transport).await;
            for client_era in [Era::Legacy("2025-11-25"), Era::Modern] {
                let case = format!("{client_era:?} to {era} over {transport}");
                let client = connect(&gateway, client_era, ClientOptions::default()).await;
                let (result, notifications, took) = slow(&client, 10, 200).await;
                assert_eq!(result["content"][0]["text"], "done after 10 steps", "{case}: {result}");
                assert!(took > Duration::from_millis(1_900), "{case}: {took:?}");
                assert_eq!(notifications, Vec::<Value>::new(), "{case}: it did not ask for progress");
                let asked = json!({ "name": "peer_slow", "arguments": { "steps": 3, "delay_ms": 10 } });
                let (_, progress) = client.request_with_progress("tools/call", asked).await;
                assert_eq!(progress.len(), 3, "{case}: {progress:?}");
            }
            gateway.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_server_may_take_longer_than_the_timeout_while_it_reports() {
    let script = script("server-everything/dist/index.js");
    let command = json!(["node", script, "stdio"]);
    let entry = format!("[[mcp.servers]]\nname = \"all\"\ncommand = {command}\ntimeout = \"1s\"\n");
    let gateway = TestGateway::start(&octroi(), &entry).await;
    for era in [Era::Legacy("2025-11-25"), Era::Modern] {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        let tool = "all_trigger-long-running-operation";
        let reported = client.call_text(tool, json!({ "duration": 3, "steps": 6 })).await;
        assert!(reported.as_deref().is_ok_and(|text| text.contains("completed")), "{era:?}: {reported:?}");
        let silent = client.call_text(tool, json!({ "duration": 3, "steps": 1 })).await;
        assert!(format!("{silent:?}").contains("no answer within 1000 ms"), "{era:?}: {silent:?}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_and_endless_reports_have_an_end() {
    let (gateway, _peer) = gateway("legacy", "stdio").await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for (steps, delay_ms, limit, expected_ms) in [(1, 5_000, "800 ms", 800), (100, 100, "4000 ms", 4_000)] {
        let (result, _, took) = slow(&client, steps, delay_ms).await;
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(limit), "{limit}: {text}");
        let expected = Duration::from_millis(expected_ms);
        assert!(took >= expected && took < expected + Duration::from_secs(3), "{limit}: {took:?}");
    }
    gateway.stop().await;
}
