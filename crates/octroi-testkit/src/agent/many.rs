//! As many of everything as the gateway lets an agent have.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::attack::{Attack, repeat};
use super::wire::Line;

const HELD: Duration = Duration::from_secs(3);
const TASKS: &str = "io.modelcontextprotocol/tasks";

pub(crate) async fn run(attack: &Attack) {
    let numbers = AtomicU64::new(0);
    let (none, tasks) = (json!({}), json!({ "extensions": { TASKS: {} } }));
    let wrong = Attack::with_token(attack, "oct_agt_nobody");
    let discover = attack.modern("server/discover", "", json!({}));
    let refused = wrong.modern("server/discover", "", json!({}));
    let echo = attack.call("good_echo", "{\"text\":\"x\"}");
    let slow = attack.call("good_slow", &json!({ "steps": 5, "delay_ms": 200 }).to_string());
    let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["peer://good/counter", "peer://good/static"] });
    let listen = attack.modern("subscriptions/listen", "", json!({ "notifications": filter }));
    let stuck = [attack.call("liar_slow", "{\"ms\":60000}"), attack.call("hang_add", "{\"a\":1,\"b\":2}")];
    tokio::join!(
        repeat(280, || hold_connection(attack, "connection", &discover)),
        repeat(100, || hold_connection(attack, "silent connection", b"")),
        repeat(16, || one_request(attack, "wrong token", &refused)),
        attack.send_all("call", 48, std::slice::from_ref(&echo)),
        attack.send_all("slow call", 60, std::slice::from_ref(&slow)),
        attack.send_all("stuck call", 20, &stuck),
        repeat(16, || cancel(attack, &slow)),
        repeat(8, || cancel(attack, &listen)),
        repeat(30, || hold_connection(attack, "subscription", &listen)),
        repeat(4, || sessions(attack)),
        repeat(4, || ask(attack, "approval", &none, &numbers)),
        repeat(4, || ask(attack, "task", &tasks, &numbers)),
    );
}

impl Attack {
    /// The same with another token; its counts are not reported.
    fn with_token(other: &Self, token: &str) -> Self {
        Self::new(&super::AgentOptions {
            gateway: other.address.clone(),
            token: token.to_owned(),
            behaviour: Vec::new(),
            foreign_session: String::new(),
        })
    }
}

async fn hold_connection(attack: &Attack, name: &str, request: &[u8]) {
    let Ok(mut stream) = TcpStream::connect(&attack.address).await else {
        return attack.count(name, None).await;
    };
    let _ = stream.write_all(request).await;
    tokio::time::sleep(HELD).await;
    attack.count(name, None).await;
}

async fn one_request(attack: &Attack, name: &str, request: &[u8]) {
    let answer = Line::new(&attack.address).ask(request).await;
    attack.count(name, answer.as_ref()).await;
}

/// Sends a request and disconnects at once.
async fn cancel(attack: &Attack, request: &[u8]) {
    if let Ok(mut stream) = TcpStream::connect(&attack.address).await {
        let _ = stream.write_all(request).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    attack.count("cancelled", None).await;
}

/// Opens sessions, subscribes in them, and cancels calls.
async fn sessions(attack: &Attack) {
    let mut line = Line::new(&attack.address);
    let Some(session) = attack.open_session(&mut line).await else { return };
    for (id, method, params) in [
        (2, "resources/subscribe", json!({ "uri": "peer://good/counter" })),
        (3, "resources/subscribe", json!({ "uri": "peer://liar/r0000001" })),
        (4, "tools/call", json!({ "name": "good_echo", "arguments": { "text": "x" } })),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = line.ask(&attack.legacy(&session, &body.to_string())).await;
        attack.count("session request", answer.as_ref()).await;
    }
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 4 } });
    let answer = line.ask(&attack.legacy(&session, &cancelled.to_string())).await;
    attack.count("session request", answer.as_ref()).await;
}

/// A call that a person must approve, each with other arguments.
async fn ask(attack: &Attack, name: &str, capabilities: &Value, numbers: &AtomicU64) {
    let text = format!("{} {}", numbers.fetch_add(1, Ordering::Relaxed), "x".repeat(1_000));
    let meta = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
    let params = json!({ "name": "asks_echo", "arguments": { "text": text }, "_meta": meta });
    let mut line = Line::new(&attack.address);
    let answer = line.ask(&attack.modern("tools/call", "asks_echo", params)).await;
    attack.count(name, answer.as_ref()).await;
    let task = answer.and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
    if let Some(task) = task.as_ref().and_then(|task| task["result"]["taskId"].as_str()) {
        let answer = line.ask(&attack.modern("tasks/get", task, json!({ "taskId": task }))).await;
        attack.count("task state", answer.as_ref()).await;
    }
}
