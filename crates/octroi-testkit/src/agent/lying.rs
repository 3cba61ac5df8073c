//! Requests that claim what is not so.

use serde_json::{Value, json};

use super::attack::{Attack, repeat};
use super::wire::{Line, initialize, modern_body, modern_headers};

pub(crate) async fn run(attack: &Attack) {
    let forged = forged(attack);
    let foreign = foreign(attack);
    tokio::join!(
        attack.send_all("forged request", 4, &forged),
        attack.send_all("foreign session", 2, &foreign),
        repeat(2, || wrong_ids(attack)),
    );
}

/// Requests whose parts contradict each other.
fn forged(attack: &Attack) -> Vec<Vec<u8>> {
    let body =
        modern_body("tools/call", json!({ "name": "good_echo", "arguments": { "text": "x" } })).to_string();
    let headers = modern_headers("tools/call", "good_echo");
    let as_body = |body: String| attack.post(&headers, body.as_bytes());
    let with = |more: &str| attack.post(&format!("{headers}{more}"), body.as_bytes());
    let length = body.len();
    let mut requests = vec![
        // Names in several spellings.
        as_body(body.replace("\"name\":\"good_echo\"", "\"name\":\"good_echo\",\"Name\":\"asks_echo\"")),
        as_body(
            body.replace("\"name\":\"good_echo\"", "\"name\":\"good_echo\",\"na\\u006de\":\"asks_echo\""),
        ),
        as_body(body.replace("\"text\":\"x\"", "\"text\":\"x\",\"TEXT\":\"y\",\"te\\u0078t\":\"z\"")),
        as_body(body.replace("\"method\"", "\"METHOD\":\"ping\",\"method\"")),
        as_body(body.replace("good_echo", "GOOD_ECHO")),
        // Headers that differ from the body, or come twice.
        attack.post(&modern_headers("tools/list", "good_echo"), body.as_bytes()),
        attack.post(&modern_headers("tools/call", "asks_echo"), body.as_bytes()),
        with("mcp-name: asks_echo\r\n"),
        with("authorization: Bearer oct_agt_test\r\n"),
        with("host: elsewhere.example\r\n"),
        with("origin: https://elsewhere.example\r\n"),
        with("x-forwarded-for: 10.0.0.1\r\nx-forwarded-host: localhost\r\nforwarded: for=127.0.0.1\r\n"),
        with("transfer-encoding: chunked\r\n"),
        with("content-length: 5\r\n"),
        with("mcp-session-id: nobody\r\n"),
        with("expect: 100-continue\r\nupgrade: h2c\r\n"),
    ];
    // Ids that are none.
    for id in ["null", "{}", "[1]", "1.5", "true", "99999999999999999999999", "\"\\u0000\""] {
        requests.push(as_body(body.replace("\"id\":1", &format!("\"id\":{id}"))));
    }
    // State and tasks that nobody gave it.
    for (method, name, params) in [
        (
            "tools/call",
            "good_echo",
            json!({ "name": "good_echo", "arguments": {}, "requestState": "A".repeat(500) }),
        ),
        ("tasks/get", "octroi.ap_1", json!({ "taskId": "octroi.ap_1" })),
        ("tasks/cancel", "octroi.ap_1", json!({ "taskId": "octroi.ap_1" })),
        ("resources/read", "resource://servers/list", json!({ "uri": "resource://servers/list" })),
        ("tools/call", "servers_list", json!({ "name": "servers_list", "arguments": {} })),
        ("tools/list", "", json!({ "cursor": "x".repeat(10_000) })),
    ] {
        requests.push(attack.modern(method, name, params));
    }
    // Not HTTP, and not JSON.
    requests.push(format!("{}content-length: {length}\r\n\r\n", "\0\u{1}\u{2}").into_bytes());
    requests.push(as_body(body[..length - 3].to_owned()));
    requests.push(as_body("\u{feff}{}".to_owned()));
    requests
}

/// Uses and ends sessions of others.
fn foreign(attack: &Attack) -> Vec<Vec<u8>> {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let mut requests = Vec::new();
    for session in [attack.foreign_session.as_str(), "00000000-0000-0000-0000-000000000000", "../../etc"] {
        requests.push(attack.legacy(session, &call));
        let cancelled =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        requests.push(attack.legacy(session, &cancelled.to_string()));
        for method in ["DELETE", "GET"] {
            let headers = format!("mcp-session-id: {session}\r\nlast-event-id: 1\r\n\r\n");
            requests.push(attack.unsized_head(method, &headers).into_bytes());
        }
        requests.push(attack.post(&format!("mcp-session-id: {session}\r\n"), &initialize()));
    }
    requests
}

/// Answers questions that were never asked, and uses one id for many requests.
async fn wrong_ids(attack: &Attack) {
    let mut line = Line::new(&attack.address);
    let Some(session) = attack.open_session(&mut line).await else { return };
    let messages: [Value; 5] = [
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "action": "accept", "content": {} } }),
        json!({ "jsonrpc": "2.0", "id": "octroi-1", "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": -32950, "message": "policy_denied" } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 1, "progress": 5 } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "good_slow", "arguments": { "steps": 1, "delay_ms": 100 } } }),
    ];
    for message in &messages {
        let answer = line.ask(&attack.legacy(&session, &message.to_string())).await;
        attack.count("wrong id", answer.as_ref()).await;
    }
}
