//! What is held for clients: sessions, subscriptions, large requests, questions to people.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::client::raw;
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use serde_json::{Value, json};

use super::{OTHER_TOKEN, gateway};
use crate::harness::{connect, octroi, stdio_entry};

async fn send(gateway: &TestGateway, token: &str, session: &str, body: &Value) -> raw::RawResponse {
    let token = format!("Bearer {token}");
    let mut headers = vec![
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    if !session.is_empty() {
        headers.push(("mcp-session-id", session));
    }
    raw::fetch(hyper::Method::POST, &gateway.url(), &headers, body.to_string()).await.expect("an answer")
}

fn initialize(capabilities: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": capabilities,
        "clientInfo": {"name": "t", "version": "1"},
    }})
}

async fn session(gateway: &TestGateway, token: &str) -> String {
    let opened = send(gateway, token, "", &initialize(&json!({}))).await;
    let id = opened.headers.get("mcp-session-id").expect("a session");
    id.to_str().expect("text").to_owned()
}

#[tokio::test]
async fn sessions_have_a_limit_and_the_unused_ones_end_first() {
    let gateway = gateway("max_sessions = 3").await;
    let other = session(&gateway, OTHER_TOKEN).await;
    let mut own = Vec::new();
    for _ in 0..5 {
        own.push(session(&gateway, AGENT_TOKEN).await);
    }
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let mut found = Vec::new();
    for id in &own {
        found.push(send(&gateway, AGENT_TOKEN, id, &ping).await.status);
    }
    assert_eq!(found, [404, 404, 200, 200, 200]);
    assert_eq!(send(&gateway, OTHER_TOKEN, &other, &ping).await.status, 200);
}

#[tokio::test]
async fn clients_declare_a_limited_amount_about_themselves() {
    let gateway = gateway("").await;
    let large = json!({"experimental": {"x": "y".repeat(100_000)}});
    let refused = send(&gateway, AGENT_TOKEN, "", &initialize(&large)).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["error"]["data"]["code"], "limit_exceeded");
    assert!(refused.headers.get("mcp-session-id").is_none());
}

#[tokio::test]
async fn subscriptions_have_a_limit() {
    let gateway = gateway("max_subscriptions_per_minute = 5").await;
    let id = session(&gateway, AGENT_TOKEN).await;
    let mut codes = Vec::new();
    for number in 0..8 {
        let subscribe = json!({"jsonrpc": "2.0", "id": number, "method": "resources/unsubscribe",
            "params": {"uri": "good+test://static"}});
        let answer = send(&gateway, AGENT_TOKEN, &id, &subscribe).await.json();
        codes.push(answer["error"]["data"]["code"] == "limit_exceeded");
    }
    assert_eq!(codes, [false, false, false, false, false, true, true, true]);
}

#[tokio::test]
async fn large_requests_of_one_token_are_limited_together() {
    let gateway = gateway("max_held_bytes = 1000000").await;
    let text = "x".repeat(900_000);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "good_slow", "arguments": {"text": text, "steps": 3, "delay_ms": 200},
    }});
    let (own, other) = (session(&gateway, AGENT_TOKEN).await, session(&gateway, OTHER_TOKEN).await);
    let answers = tokio::join!(
        send(&gateway, AGENT_TOKEN, &own, &call),
        send(&gateway, AGENT_TOKEN, &own, &call),
        send(&gateway, AGENT_TOKEN, &own, &call),
        send(&gateway, OTHER_TOKEN, &other, &call),
    );
    let statuses = [answers.0.status, answers.1.status, answers.2.status];
    assert!(statuses.iter().all(|status| matches!(status, 200 | 429)), "{statuses:?}");
    // There is room for one of them; how many follow it depends on when the first is done.
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
    assert_eq!(answers.3.status, 200, "another token is not affected");
}

#[tokio::test]
async fn an_agent_that_asks_too_much_hides_no_question_of_another() {
    let other = format!("[[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n");
    let policy = "[approvals]\nmax_pending = 5\nwait = false\n[policy]\nprofile = \"strict\"\n";
    let config = format!("{policy}{other}{}", stdio_entry("good", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let quiet = Transport::Http { url: gateway.url(), token: Some(OTHER_TOKEN.to_owned()) };
    let quiet = TestClient::connect(quiet, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let quiet = quiet.expect("the client connects");
    let _ = quiet.call_text("good_echo", json!({"text": "quiet"})).await;
    let flood = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let mut refused = 0;
    for number in 0..8 {
        let answer = flood.call_text("good_echo", json!({"text": number.to_string()})).await;
        refused += usize::from(format!("{answer:?}").contains("max_pending"));
    }
    assert_eq!(refused, 3);
    let admin = TestClient::connect(gateway.admin_transport(), Era::Modern, ClientOptions::default()).await;
    let admin = admin.expect("the admin connects");
    let listed = admin.call_text("approvals_list", json!({"limit": 2})).await.expect("the approvals");
    assert!(listed.contains("quiet"), "{listed}");
}
