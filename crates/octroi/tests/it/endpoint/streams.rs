//! Legacy streams: what is kept for them, and how a broken one is resumed.

use std::time::Duration;

use octroi_testkit::client::raw::RawResponse;
use octroi_testkit::fixture_binary;
use octroi_testkit::gateway::AGENT_TOKEN;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

use super::{
    BOTH, Modern, RawSession, bearer, call, fetch, gateway, gateway_with, next, next_message, open, request,
};
use crate::harness::{SOON, remote_entry};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_answer_is_resumed_where_it_broke() {
    let gateway = gateway(&[]).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let session = RawSession::open(&gateway, version).await;
        let slow = request(
            "\"slow\"",
            "tools/call",
            &json!({
                "name": "peer_slow", "arguments": { "steps": 8, "delay_ms": 100 }, "_meta": { "progressToken": 5 },
            }),
        );
        let mut events = session.post_stream(&slow).await;
        if version == "2025-11-25" {
            let priming = next(&mut events).await.expect("an event to resume from");
            assert!(priming.data.is_empty() && priming.id.is_some(), "{priming:?}");
        }
        let mut last = None;
        for step in 1..=3 {
            let (id, message) = next_message(&mut events).await.expect("progress");
            assert_eq!(message["params"]["progress"], step, "{version}");
            last = id;
        }
        drop(events);
        let last = last.expect("events have ids");
        let rest = rest(&session, &last).await;
        let steps: Vec<&Value> = rest.iter().map(|message| &message["params"]["progress"]).collect();
        assert_eq!(json!(steps[..5]), json!([4, 5, 6, 7, 8]), "{version}: {rest:?}");
        assert_eq!(rest.len(), 6, "{version}: {rest:?}");
        assert_eq!(rest[5]["id"], "slow");
        assert_eq!(rest[5]["result"]["content"][0]["text"], "done after 8 steps");
        assert_eq!(self::rest(&session, &last).await, rest, "{version}: it can be had again");
        let count = session.post(&call("1", "peer_cancelled_count", &json!({}))).await.json();
        assert_eq!(count["result"]["content"][0]["text"], "0", "hanging up is not cancelling");
    }
}

/// Everything after an event, to the end.
async fn rest(session: &RawSession, last: &str) -> Vec<Value> {
    let mut events = session.stream(Some(last)).await;
    let mut rest = Vec::new();
    while let Some((_, message)) = next_message(&mut events).await {
        rest.push(message);
    }
    rest
}

/// As some clients accept answers, for example those made with the Rust SDK.
const STREAM_FIRST: (&str, &str) = ("accept", "text/event-stream, application/json");

/// These headers, with streams first.
fn stream_first<'a>(headers: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    headers.iter().map(|header| if *header == BOTH { STREAM_FIRST } else { *header }).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_names_streams_first_is_answered_by_one() {
    let gateway = gateway(&[]).await;
    let echo = call("7", "peer_echo", &json!({ "text": "hello" }));
    for version in ["2025-06-18", "2025-11-25"] {
        let session = RawSession::open(&gateway, version).await;
        assert_eq!(session.post(&echo).await.json()["id"], 7, "JSON for all others");
        let mut events = open("POST", &session.url, &stream_first(&session.headers()), &echo).await;
        let mut last = None;
        if version == "2025-11-25" {
            let priming = next(&mut events).await.expect("an event to resume from");
            assert!(priming.data.is_empty(), "{priming:?}");
            last = priming.id;
        }
        let (_, answer) = next_message(&mut events).await.expect("the answer");
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(7), &json!("hello")));
        assert!(next(&mut events).await.is_none());
        if let Some(last) = last {
            assert_eq!(rest(&session, &last).await, [answer], "a lost answer can be had again");
        }
    }
    let modern = Modern::call("8", "peer_echo", &json!({ "text": "hello" }));
    let token = bearer(AGENT_TOKEN);
    let mut headers =
        vec![("authorization", token.as_str()), ("content-type", "application/json"), STREAM_FIRST];
    headers.extend(modern.headers());
    let mut events = open("POST", &gateway.url(), &headers, &modern.body).await;
    let (_, answer) = next_message(&mut events).await.expect("the answer");
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(8), &json!("hello")));
    assert!(next(&mut events).await.is_none());

    // A refusal keeps its status.
    let unknown = Modern::new("9", "no/such/method", json!({}));
    headers.truncate(3);
    headers.extend(unknown.headers());
    let refused = fetch("POST", &gateway.url(), &headers, &unknown.body).await;
    assert_eq!((refused.status, &refused.json()["id"]), (404, &json!(9)));
}

/// The answer in a response: its body, or the last event of its stream.
fn answer_in(response: &RawResponse) -> Value {
    let text = String::from_utf8_lossy(&response.body);
    let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
    serde_json::from_str(last.unwrap_or(&text)).expect("an answer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lets_go_of_its_client_lets_go_of_the_client_behind_octroi() {
    let fixture = PeerProcess::start_program(&fixture_binary(), &["--listen", "127.0.0.1:0"]).await;
    let fixture = fixture.expect("the fixture should start");
    let gateway = gateway_with(&remote_entry("peer", "http", &fixture.url)).await;
    // Closes its stream and answers on the one that the client comes back for.
    let cut = call("1", "peer_test_reconnection", &json!({}));

    let session = RawSession::open(&gateway, "2025-11-25").await;
    let mut events = open("POST", &session.url, &stream_first(&session.headers()), &cut).await;
    let priming = next(&mut events).await.expect("an event to resume from");
    assert!(priming.data.is_empty(), "{priming:?}");
    assert!(next(&mut events).await.is_none(), "it ends without the answer");
    let rest = rest(&session, priming.id.as_deref().expect("an id")).await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(rest[0]["id"] == 1 && rest[0]["result"]["content"].is_array(), "{rest:?}");

    // Older clients do not expect that, and of others only those that prefer streams.
    for version in ["2025-06-18", "2025-11-25"] {
        let session = RawSession::open(&gateway, version).await;
        let answer = answer_in(&session.post(&cut).await);
        assert!(answer["result"]["content"].is_array(), "{version}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_wait_for_the_stream_to_open() {
    let gateway = gateway(&[]).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    let uri = json!({ "uri": "peer://peer/counter" });
    assert_eq!(session.post(&request("1", "resources/subscribe", &uri)).await.json()["result"], json!({}));
    session.post(&call("2", "peer_touch", &json!({}))).await;
    session.post(&call("3", "peer_grow", &json!({}))).await;
    tokio::time::sleep(Duration::from_millis(500)).await;

    let mut events = session.stream(None).await;
    let mut heard = Vec::new();
    let mut last = None;
    for _ in 0..2 {
        let (id, message) = next_message(&mut events).await.expect("news");
        heard.push(message["method"].as_str().unwrap_or_default().to_owned());
        last = id;
    }
    heard.sort();
    assert_eq!(heard, ["notifications/resources/updated", "notifications/tools/list_changed"]);

    // A client that reconnects without an event id gets only new events.
    drop(events);
    session.post(&call("4", "peer_touch", &json!({}))).await;
    let mut events = session.stream(None).await;
    let (_, message) = next_message(&mut events).await.expect("news");
    assert_eq!(message["params"], uri);
    let mut events = session.stream(last.as_deref()).await;
    let (_, message) = next_message(&mut events).await.expect("news");
    assert_eq!(message["params"], uri, "what came after the last event seen");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_missed_while_others_come_and_go() {
    let peer = PeerProcess::start(&["--transport", "http", "--era", "modern"]).await.expect("the peer");
    let gateway = gateway_with(&remote_entry("peer", "http", &peer.url)).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    let mut events = session.stream(None).await;
    let uri = json!({ "uri": "peer://peer/counter" });
    let (subscribe, unsubscribe) =
        (request("1", "resources/subscribe", &uri), request("2", "resources/unsubscribe", &uri));
    let grow = call("3", "peer_grow", &json!({}));
    for round in 0..50 {
        session.post(&subscribe).await;
        // The gateway changes its subscriptions at the server while events arrive.
        let (_, grown) = tokio::join!(session.post(&unsubscribe), session.post(&grow));
        let grown = grown.json()["result"]["content"][0]["text"].clone();
        let listed = async {
            loop {
                next_message(&mut events).await.expect("news");
                let tools = session.post(&request("4", "tools/list", &json!({}))).await.json();
                let name = format!("peer_{}", grown.as_str().unwrap_or_default());
                if tools["result"]["tools"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(|tool| tool["name"] == name.as_str()))
                {
                    return;
                }
            }
        };
        tokio::time::timeout(SOON, listed)
            .await
            .unwrap_or_else(|_| panic!("round {round}: {grown} is not listed"));
    }
}
