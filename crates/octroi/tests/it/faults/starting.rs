//! Servers that start late, not at all, or in an unusable state.

use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use super::{bad, stop};
use crate::harness::{SOON, connect, octroi, stdio_entry};

async fn launch(flags: &[&str]) -> TestGateway {
    let config = format!("{}{}", bad(&stdio_entry("bad", flags)), stdio_entry("good", &[]));
    TestGateway::launch(&octroi(), &config, &[]).await
}

/// A client of one server.
async fn alone(gateway: &TestGateway, server: &str, era: Era) -> TestClient {
    let token = Some(octroi_testkit::gateway::AGENT_TOKEN.to_owned());
    let http = Transport::Http { url: gateway.server_url(server), token };
    TestClient::connect(http, era, ClientOptions::default()).await.expect("the server can be reached")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_a_server_that_starts_late() {
    for era in ["legacy", "modern"] {
        // Longer than the gateway waits for the answer to its first request, so that it tries the other era
        // too.
        let gateway = launch(&["--era", era, "--fault", "slow-start", "--delay-ms", "6000"]).await;
        let since = Instant::now();
        let alone = alone(&gateway, "good", Era::Modern).await;
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

/// A configuration with the default of how long lists wait.
fn with_default_wait(flags: &[&str]) -> String {
    format!("[mcp]\nauto_reload = true\n{}{}", bad(&stdio_entry("bad", flags)), stdio_entry("good", &[]))
}

fn names_begin(tools: &[serde_json::Value], prefix: &str) -> bool {
    tools.iter().any(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with(prefix)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_waits_a_moment_for_a_new_server_and_the_rest_is_announced() {
    let config = with_default_wait(&["--fault", "slow-start", "--delay-ms", "5000"]);
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    let client = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let mut news = client.watch(Watch::tools()).await.expect("a stream");
    let since = Instant::now();
    let tools = client.list_tools().await.expect("a list");
    assert!(since.elapsed() < Duration::from_millis(2500), "{:?}", since.elapsed());
    assert!(names_begin(&tools, "good_") && !names_begin(&tools, "bad_"), "{tools:?}");
    // The time counts once for each server, not once for each list.
    let again = Instant::now();
    client.list_tools().await.expect("a list");
    assert!(again.elapsed() < Duration::from_millis(500), "{:?}", again.elapsed());
    let announced = async {
        while !names_begin(&client.list_tools().await.expect("a list"), "bad_") {
            assert!(news.next(SOON * 2).await.is_some(), "the rest is announced");
        }
    };
    tokio::time::timeout(SOON * 2, announced).await.expect("the rest comes");

    // What is remembered is there at once.
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let since = Instant::now();
    let tools = client.list_tools().await.expect("a list");
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    assert!(names_begin(&tools, "good_") && names_begin(&tools, "bad_"), "{tools:?}");
    gateway.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_a_new_server_alone_waits_a_moment_too_and_its_calls_wait_longer() {
    for era in [Era::Legacy("2025-11-25"), Era::Modern] {
        let config = with_default_wait(&["--fault", "slow-start", "--delay-ms", "5000"]);
        let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
        let since = Instant::now();
        let client = alone(&gateway, "bad", era).await;
        let tools = client.list_tools().await.expect("a list");
        assert!(since.elapsed() < Duration::from_millis(2500), "{:?}", since.elapsed());
        assert!(tools.is_empty(), "{tools:?}");
        let mut news = client.watch(Watch::tools()).await.expect("a stream");
        assert_eq!(client.call_text("echo", json!({ "text": "x" })).await.as_deref(), Ok("x"));
        assert!(news.next(SOON).await.is_some(), "the rest is announced");
        assert!(names_begin(&client.list_tools().await.expect("a list"), "echo"));
        gateway.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_list_that_fails_is_fetched_again_soon_and_says_why() {
    for era in ["legacy", "modern"] {
        let config = with_default_wait(&["--era", era, "--fault", "late-tools"]);
        let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
        let bad = async || {
            let health = gateway.health().await;
            let list = health["servers"]["list"].as_array().cloned().unwrap_or_default();
            list.into_iter().find(|server| server["name"] == "bad").expect("the server")
        };
        let mut reasons = Vec::new();
        let since = Instant::now();
        let there = async {
            loop {
                let status = bad().await;
                if status["tools"].as_u64() > Some(0) {
                    return status;
                }
                reasons.extend(status["error"].as_str().map(str::to_owned));
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let status = tokio::time::timeout(SOON * 2, there).await.expect("the tools come");
        println!("{era}: after {:?}", since.elapsed());
        assert!(
            reasons.iter().any(|reason| {
                reason.contains("tools/list failed") && reason.contains("the tools are not there yet")
            }),
            "{era}: {reasons:?}"
        );
        assert_eq!(status["error"], json!(null), "{status}");
        let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
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
