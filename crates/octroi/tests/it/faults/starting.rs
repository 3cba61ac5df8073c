//! Servers that start late, not at all, or in an unusable state.

use std::time::{Duration, Instant};

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use super::{bad, stop};
use crate::harness::{SOON, connect, octroi, stdio_entry};

async fn launch(flags: &[&str]) -> TestGateway {
    let config = format!("{}{}", bad(&stdio_entry("bad", flags)), stdio_entry("good", &[]));
    TestGateway::launch(&octroi(), &config, &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_a_server_that_starts_late() {
    for era in ["legacy", "modern"] {
        // Longer than the gateway waits for the answer to its first request, so that it tries the other era
        // too.
        let gateway = launch(&["--era", era, "--fault", "slow-start", "--delay-ms", "6000"]).await;
        let since = Instant::now();
        let http = octroi_testkit::client::options::Transport::Http {
            url: gateway.server_url("good"),
            token: Some(octroi_testkit::gateway::AGENT_TOKEN.to_owned()),
        };
        let alone = octroi_testkit::client::TestClient::connect(http, Era::Modern, ClientOptions::default());
        let alone = alone.await.expect("the healthy server alone can be reached");
        assert_eq!(alone.call_text("echo", json!({ "text": "x" })).await.as_deref(), Ok("x"));
        assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());

        // The first list waits for the late one, but not forever; later everything is there.
        let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
        let tools = client.list_tools().await.expect("a list");
        assert!(since.elapsed() < Duration::from_secs(12), "{:?}", since.elapsed());
        assert!(tools.iter().any(|tool| tool["name"] == "good_echo"), "{tools:?}");
        gateway.wait_until_settled().await;
        assert_eq!(client.call_text("bad_echo", json!({ "text": "x" })).await.as_deref(), Ok("x"), "{era}");
        stop(gateway, era).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_does_not_wait_for_other_servers_to_start() {
    let gateway = launch(&["--fault", "slow-start", "--delay-ms", "30000"]).await;
    let since = Instant::now();
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    println!("greeted after {:?}, while another server starts", since.elapsed());
    let mut fastest = SOON;
    for _ in 0..5 {
        let since = Instant::now();
        assert_eq!(client.call_text("good_echo", json!({ "text": "x" })).await.as_deref(), Ok("x"));
        fastest = fastest.min(since.elapsed());
    }
    assert!(fastest < Duration::from_millis(400), "{fastest:?}");
    stop(gateway, "slow start").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_cannot_start_says_why() {
    let gateway = launch(&["--fault", "no-start"]).await;
    gateway.wait_until_settled().await;
    for era in super::CLIENTS {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        assert_eq!(client.call_text("good_echo", json!({ "text": "x" })).await.as_deref(), Ok("x"));
        let error = client.call("bad_echo", json!({ "text": "x" })).await.expect_err("the tool is not known");
        assert_eq!(error.code(), Some(-32602));
        let text = error.to_string();
        println!("{text}");
        for part in ["`bad_echo`", "`bad`", "this server never starts", "check the server's entry"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
    stop(gateway, "no start").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_that_cannot_be_read_hides_only_itself() {
    for era in ["legacy", "modern"] {
        let gateway = launch(&["--era", era, "--fault", "wrong-shape"]).await;
        let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
        let since = Instant::now();
        let tools = client.list_tools().await.expect("a list");
        assert!(since.elapsed() < SOON, "{:?}", since.elapsed());
        assert!(tools.iter().any(|tool| tool["name"] == "good_echo"), "{tools:?}");
        assert!(tools.iter().all(|tool| !tool["name"].as_str().unwrap_or_default().starts_with("bad_")));
        let error = client.call("bad_echo", json!({ "text": "x" })).await.expect_err("the tool is not known");
        println!("{error}");
        assert!(error.to_string().contains("server `bad`"), "{error}");
        // The prompt still works: it is listed and can be fetched.
        let prompt = json!({ "name": "bad_greet", "arguments": { "name": "Ada" } });
        let prompt = client.request("prompts/get", prompt).await.expect("the prompt");
        assert!(prompt.to_string().contains("Ada"), "{prompt}");
        stop(gateway, era).await;
    }
}
