//! Legacy sessions: whose they are, how they end, and batches.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{Modern, OTHER_TOKEN, RawSession, call, fetch, gateway, next, refusal, request};

#[tokio::test]
async fn a_session_belongs_to_one_principal_and_one_endpoint() {
    let gateway = gateway(&[]).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    assert!(
        session.id.len() >= 32 && session.id.bytes().all(|byte| byte.is_ascii_graphic()),
        "{}",
        session.id
    );
    assert_ne!(session.id, RawSession::open(&gateway, "2025-11-25").await.id);
    let ping = request("1", "ping", &json!({}));

    let stolen = RawSession {
        id: session.id.clone(),
        ..RawSession::open_as(&gateway, OTHER_TOKEN, "2025-11-25").await
    };
    let elsewhere = RawSession {
        id: session.id.clone(),
        token: session.token.clone(),
        version: session.version,
        url: gateway.server_url("peer"),
    };
    let unknown = RawSession {
        id: "0".repeat(48),
        token: session.token.clone(),
        version: session.version,
        url: gateway.url(),
    };
    for wrong in [&stolen, &elsewhere, &unknown] {
        assert_eq!(refusal(&wrong.post(&ping).await), (404, -32600));
        assert_eq!(refusal(&wrong.delete().await), (404, -32600));
        assert_eq!(refusal(&fetch("GET", &wrong.url, &wrong.headers(), "").await), (404, -32600));
    }
    assert_eq!(session.post(&ping).await.json(), json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    let without: Vec<_> =
        session.headers().into_iter().filter(|(name, _)| *name != "mcp-session-id").collect();
    assert_eq!(refusal(&fetch("POST", &session.url, &without, &ping).await), (400, -32600));
    let not_a_stream: Vec<_> = session.headers().into_iter().filter(|(name, _)| *name != "accept").collect();
    assert_eq!(fetch("GET", &session.url, &not_a_stream, "").await.status, 406);
}

#[tokio::test]
async fn a_session_ends_when_its_client_says_so() {
    let gateway = gateway(&[]).await;
    let session = RawSession::open(&gateway, "2025-06-18").await;
    let mut events = session.stream(None).await;
    assert_eq!(session.delete().await.status, 204);
    assert_eq!(next(&mut events).await, None, "its stream ends too");
    assert_eq!(refusal(&session.post(&request("1", "ping", &json!({}))).await), (404, -32600));
    assert_eq!(refusal(&session.delete().await), (404, -32600));
}

#[tokio::test]
async fn batches_are_of_2025_03_26_and_before() {
    let gateway = gateway(&[]).await;
    let batch = format!(
        "[{},{},{},{}]",
        request("1", "ping", &json!({})),
        call("\"b\"", "peer_echo", &json!({ "text": "in a batch" })),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":3}"#,
    );
    for version in ["2024-11-05", "2025-03-26"] {
        let session = RawSession::open(&gateway, version).await;
        let response = session.post(&batch).await;
        assert_eq!(response.status, 200);
        let answers: Vec<Value> = serde_json::from_slice(&response.body).expect("an array");
        assert_eq!(answers.len(), 3, "{answers:?}");
        let of = |id: Value| answers.iter().find(|answer| answer["id"] == id).expect("an answer");
        assert_eq!(of(json!(1))["result"], json!({}));
        assert_eq!(of(json!("b"))["result"]["content"][0]["text"], "in a batch");
        assert_eq!(of(json!(3))["error"]["code"], -32600);
        let only_news = r#"[{"jsonrpc":"2.0","method":"notifications/initialized"}]"#;
        assert_eq!(session.post(only_news).await.status, 202);
        let many: Vec<String> = (0..65).map(|id| request(&id.to_string(), "ping", &json!({}))).collect();
        assert_eq!(refusal(&session.post(&format!("[{}]", many.join(","))).await), (400, -32600));
    }
    for version in ["2025-06-18", "2025-11-25"] {
        let session = RawSession::open(&gateway, version).await;
        assert_eq!(refusal(&session.post(&batch).await), (400, -32600), "{version}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_ids_of_different_clients_do_not_mix() {
    let gateway = gateway(&[]).await;
    let sessions = [
        RawSession::open(&gateway, "2025-11-25").await,
        RawSession::open(&gateway, "2025-11-25").await,
        RawSession::open_as(&gateway, OTHER_TOKEN, "2025-06-18").await,
    ];
    let mut seen = HashSet::new();
    for round in 0..20 {
        let texts = [0, 1, 2].map(|number| format!("client {number} in round {round}"));
        let bodies = texts.clone().map(|text| call("1", "peer_echo", &json!({ "text": text })));
        let (first, second, third) = tokio::join!(
            sessions[0].post(&bodies[0]),
            sessions[1].post(&bodies[1]),
            sessions[2].post(&bodies[2]),
        );
        for (text, response) in texts.into_iter().zip([first, second, third]) {
            let response = response.json();
            assert_eq!(response["result"]["content"][0]["text"], text.as_str(), "{response}");
            assert_eq!(response["id"], 1);
            seen.insert(text);
        }
    }
    assert_eq!(seen.len(), 60);

    let same = ["one", "two"].map(|text| Modern::call("1", "peer_echo", &json!({ "text": text })));
    let (one, two) = tokio::join!(same[0].send(&gateway), same[1].send(&gateway));
    assert_eq!(one.json()["result"]["content"][0]["text"], "one");
    assert_eq!(two.json()["result"]["content"][0]["text"], "two");

    // The same progress token too.
    let slow = |steps: u64| {
        request(
            "7",
            "tools/call",
            &json!({
                "name": "peer_slow", "arguments": { "steps": steps, "delay_ms": 20 }, "_meta": { "progressToken": "p" },
            }),
        )
    };
    let (four, six) = (slow(4), slow(6));
    let (mut first, mut second) = tokio::join!(sessions[0].post_stream(&four), sessions[1].post_stream(&six));
    for (events, steps) in [(&mut first, 4), (&mut second, 6)] {
        for step in 1..=steps {
            let (_, message) = super::next_message(events).await.expect("progress");
            assert_eq!(
                message["params"],
                json!({
                    "progressToken": "p", "progress": step, "total": steps, "message": format!("step {step} of {steps}"),
                })
            );
        }
        let (_, message) = super::next_message(events).await.expect("the result");
        assert_eq!(message["result"]["content"][0]["text"], format!("done after {steps} steps"));
    }
}
