//! A client on standard streams has the limits of the configuration.

use super::*;

const LIMITS: &str = "[server]\nmax_body_bytes = 100000\nmax_held_bytes = 262144\n";

/// The answers of a gateway that is the process itself to these lines.
async fn answers_within_limits(lines: &[Value]) -> Vec<Value> {
    let directory = tempfile::tempdir().expect("a directory");
    let config = format!("{LIMITS}{}", stdio_entry("peer", &[]));
    let file = directory.path().join("octroi.toml");
    std::fs::write(&file, format!("{config}[policy]\nprofile = \"open\"\n")).expect("a file");
    let file = file.display().to_string();
    let output = answers(&directory.path().join("data"), &["--config", &file], lines).await;
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a message")).collect()
}

fn call(id: usize, tool: &str, arguments: &Value) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        } },
    })
}

fn of_id(answers: &[Value], id: usize) -> &Value {
    answers.iter().find(|answer| answer["id"] == id).expect("an answer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_is_too_long_ends_the_connection() {
    let long = json!({ "text": "x".repeat(100_000) });
    let all = answers_within_limits(&[
        call(1, "peer_echo", &json!({ "text": "x" })),
        call(3, "peer_echo", &long),
        call(4, "peer_echo", &json!({ "text": "y" })),
    ])
    .await;
    let refused = all.iter().find(|answer| answer["error"]["data"]["code"] == "limit_exceeded");
    let refused = refused.expect("a refusal").to_string();
    assert!(refused.contains("max_body_bytes"), "{refused}");
    assert!(all.iter().all(|answer| answer["id"] != 3 && answer["id"] != 4), "{all:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_in_progress_are_limited() {
    let slow = json!({ "steps": 1, "delay_ms": 1_500 });
    let lines: Vec<Value> = (1..=10).map(|id| call(id, "peer_slow", &slow)).collect();
    let all = answers_within_limits(&lines).await;
    let is_refused = |id: &usize| of_id(&all, *id)["error"]["data"]["code"] == "limit_exceeded";
    let refused: Vec<usize> = (1..=10).filter(is_refused).collect();
    // Each counts as 64 KiB.
    assert_eq!(refused, [5, 6, 7, 8, 9, 10], "{all:#?}");
}
