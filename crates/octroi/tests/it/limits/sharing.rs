//! One agent cannot use up a server that others share, nor make it rest for them.

use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::json;

use super::OTHER_TOKEN;
use crate::harness::{SOON, connect, octroi, stdio_entry};

async fn gateway(entry: &str) -> TestGateway {
    let other = format!("[[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n");
    TestGateway::start(&octroi(), &format!("{other}{entry}")).await
}

async fn other(gateway: &TestGateway) -> TestClient {
    let transport = Transport::Http { url: gateway.url(), token: Some(OTHER_TOKEN.to_owned()) };
    let client = TestClient::connect(transport, Era::Modern, ClientOptions::default()).await;
    client.expect("the client connects")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_one_agent_delays_another_by_little() {
    let gateway = gateway(&format!("{}max_concurrency = 2\nqueue = 20\n", stdio_entry("bad", &[]))).await;
    let quiet = other(&gateway).await;
    assert_eq!(quiet.call_text("bad_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    let flood = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let calls = (0..22).map(|_| flood.call_text("bad_slow", json!({"steps": 5, "delay_ms": 100})));
    let flooding = futures_util::future::join_all(calls);
    let working = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mut slowest = Duration::ZERO;
        for number in 0..5 {
            let begun = Instant::now();
            let text = number.to_string();
            let answer = quiet.call_text("bad_echo", json!({"text": text})).await;
            assert_eq!(answer.as_deref(), Ok(text.as_str()));
            slowest = slowest.max(begun.elapsed());
        }
        slowest
    };
    let (_, slowest) = tokio::join!(flooding, working);
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timeouts_of_one_agent_make_the_server_rest_for_it_alone() {
    let entry = format!("{}timeout = \"200ms\"\n", stdio_entry("bad", &["--fault", "never"]));
    let gateway = gateway(&entry).await;
    let (quiet, careless) =
        (other(&gateway).await, connect(&gateway, Era::Modern, ClientOptions::default()).await);
    for _ in 0..6 {
        let _ = careless.call_text("bad_never", json!({"text": "x"})).await;
    }
    let refused = careless.call("bad_echo", json!({"text": "x"})).await.expect("a result");
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(refused["_meta"]["octroi/error"]["code"], "server_unavailable", "{refused}");
    assert_eq!(quiet.call_text("bad_echo", json!({"text": "y"})).await.as_deref(), Ok("y"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_told_that_a_call_timed_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let input = directory.path().join("input");
    let script = format!("tee '{}' | '{}' --fault never", input.display(), peer_binary().display());
    let command = json!(["sh", "-c", script]);
    let entry = format!("[[mcp.servers]]\nname = \"bad\"\ncommand = {command}\ntimeout = \"300ms\"\n");
    let gateway = gateway(&entry).await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let _ = client.call_text("bad_never", json!({"text": "x"})).await;
    let begun = Instant::now();
    let told = loop {
        let told = std::fs::read_to_string(&input).unwrap_or_default();
        if told.contains("notifications/cancelled") || begun.elapsed() > SOON {
            break told;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert!(told.contains("the request timed out"), "{told}");
    assert!(!told.contains("the client cancelled"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_list_is_cut() {
    let entry = format!("{}max_list_items = 2\n", stdio_entry("good", &[]));
    let gateway = gateway(&entry).await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let tools = client.list_tools().await.expect("the tools");
    let n_listed = tools
        .iter()
        .filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("good_")))
        .count();
    assert_eq!(n_listed, 2);
}
