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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_requests_do_not_wait_for_large_ones() {
    let gateway = gateway(&stdio_entry("good", &[])).await;
    // Connections are passed to the worker threads in turn, so each thread has some of these.
    let mut quiet = Vec::new();
    for _ in 0..8 {
        quiet.push(other(&gateway).await);
    }
    let large = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    // Expensive to read: each name is compared with all others.
    let members: serde_json::Map<String, serde_json::Value> =
        (0..150_000).map(|number| (format!("k{number:06}"), json!(1))).collect();
    let arguments = json!({"text": "x", "many": members});
    let calls = futures_util::future::join_all((0..4).map(|_| large.call("good_echo", arguments.clone())));
    let working = async {
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            for client in &quiet {
                let begun = Instant::now();
                assert!(client.list("prompts/list", "prompts").await.is_ok());
                slowest = slowest.max(begun.elapsed());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        slowest
    };
    let begun = Instant::now();
    let (answers, slowest) = tokio::join!(async { (calls.await, begun.elapsed()) }, working);
    println!("large requests took {:?}, the slowest small one {slowest:?}", answers.1);
    assert!(answers.0.iter().all(Result::is_ok), "{:?}", answers.0);
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_cannot_have_a_long_policy_checked() {
    let policy = "[policy]\nprofile = \"open\"\nproposals = true\n";
    let gateway = gateway(&format!("{policy}{}", stdio_entry("good", &[]))).await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let rule = "[[deny]]\ntool = \"good.*\"\n";
    for (n_rules, is_accepted) in [(100, true), (3_000, false)] {
        let checked = client.call("policy_check", json!({"source": rule.repeat(n_rules)})).await;
        let checked = checked.expect("a result");
        assert_eq!(checked["isError"] != true, is_accepted, "{n_rules}: {checked}");
    }
}
