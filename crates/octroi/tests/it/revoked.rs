//! A token that is taken away makes no more calls, not even those that were allowed before.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::gateway::{TestGateway, stdio_transport};
use serde_json::json;

use crate::audit::records;
use crate::harness::{SOON, connect, octroi, stdio_entry};

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];
const TOKEN: &str = "the-token-of-an-agent-that-loses-it-and-is-long-enough";

fn token() -> String {
    format!("[[tokens]]\ntoken = \"{TOKEN}\"\nrole = \"agent\"\nagent_id = \"second\"\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_for_its_turn_is_not_made_after_that() {
    let config = format!("{}max_concurrency = 1\nqueue = 10\n", stdio_entry("peer", &[]));
    for era in ERAS {
        let gateway = TestGateway::start(&octroi(), &format!("{config}{}", token())).await;
        let first = connect(&gateway, era, ClientOptions::default()).await;
        let transport = Transport::Http { url: gateway.url(), token: Some(TOKEN.to_owned()) };
        let second = TestClient::connect(transport, era, ClientOptions::default()).await.expect("a client");
        let slow = json!({"name": "peer_slow", "arguments": {"steps": 1, "delay_ms": 6_000}});
        let running = first.start("tools/call", slow);
        tokio::time::sleep(Duration::from_millis(500)).await;
        let waiting = second.start("tools/call", json!({"name": "peer_echo", "arguments": {"text": "x"}}));
        tokio::time::sleep(Duration::from_millis(500)).await;
        gateway.rewrite_config(&config);
        assert!(running.finish().await.is_ok());
        let refused = waiting.finish().await.expect_err("its token is gone").to_string();
        assert!(refused.contains("token") || refused.contains("closed"), "{era:?}: {refused}");
        let count = first.call_text("peer_calls_count", json!({})).await;
        assert_eq!(count.as_deref(), Ok("1"), "{era:?}: only the first call was made");
        let data = gateway.directory().join("data");
        let deadline = std::time::Instant::now() + SOON;
        loop {
            let all = records(&data, &[]).await;
            let is_there = all.iter().any(|record| {
                record["context"]["gate"] == "token"
                    || record["tool"] == "mcp:peer:echo" && record["context"]["outcome"] == "cancelled"
            });
            if is_there {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{era:?}: it is not recorded: {all:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_on_standard_streams_ends_with_the_token_of_its_client() {
    let config = stdio_entry("peer", &[]);
    for era in ERAS {
        let directory = tempfile::tempdir().expect("a directory");
        let transport = stdio_transport(&octroi(), directory.path(), &format!("{config}{}", token()));
        let Transport::Stdio { command, mut args, env } = transport else { panic!("it starts a program") };
        args.extend(["--token".to_owned(), TOKEN.to_owned()]);
        let transport = Transport::Stdio { command, args, env };
        let client = TestClient::connect(transport, era, ClientOptions::default()).await.expect("a client");
        assert_eq!(client.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
        // Written again, without the token.
        stdio_transport(&octroi(), directory.path(), &config);
        let stderr = client.stderr_with("no longer valid", SOON * 2).await;
        assert!(stderr.is_ok(), "{era:?}: {}", client.stderr());
        assert!(client.call("peer_echo", json!({"text": "y"})).await.is_err());
        let status = client.close().await.expect("it ends").expect("a status");
        assert_ne!(status.code(), Some(0), "{era:?}");
    }
}
