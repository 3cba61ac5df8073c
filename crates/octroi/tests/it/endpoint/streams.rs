//! Legacy streams: what is kept for them, and how a broken one is resumed.

use std::time::Duration;

use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

use super::{RawSession, call, gateway, gateway_with, next, next_message, request};
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
