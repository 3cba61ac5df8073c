//! An approved call is made at most once, whenever the gateway is killed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{connect, octroi};
use crate::soak;

const ROUNDS: u64 = 200;

/// A server that logs every call before it answers.
const SCRIPT: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed 's/^{"jsonrpc":"2.0","id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"notifications/'*) continue ;;
    *'"initialize"'*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"0"}}' ;;
    *'"tools/list"'*)
      result='{"tools":[{"name":"write","inputSchema":{"type":"object","properties":{"note":{"type":"string"}}}}]}' ;;
    *'"tools/call"'*)
      printf '%s\n' "$line" >> "$1"
      result='{"content":[{"type":"text","text":"noted"}]}' ;;
    *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

pub(crate) fn config(directory: &Path) -> (String, PathBuf) {
    let (script, log) = (directory.join("notes.sh"), directory.join("written"));
    std::fs::write(&script, SCRIPT).expect("the script can be written");
    std::fs::write(&log, "").expect("the log can be written");
    let command = json!(["sh", script, log]);
    let text = format!(
        "[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"2s\"\n\
         [[mcp.servers]]\nname = \"notes\"\nera = \"legacy\"\ncommand = {command}\n"
    );
    (text, log)
}

pub(crate) async fn person(gateway: &TestGateway) -> TestClient {
    TestClient::connect(gateway.admin_transport(), Era::Modern, ClientOptions::default())
        .await
        .expect("a person comes in")
}

/// The approvals of calls with this note.
pub(crate) async fn approvals(person: &TestClient, note: &str) -> Vec<Value> {
    let Ok(listed) = person.call("approvals_list", json!({"part": "all", "limit": 50})).await else {
        return Vec::new();
    };
    let all = listed["structuredContent"]["approvals"].as_array().cloned().unwrap_or_default();
    all.into_iter().filter(|approval| approval["args"]["note"] == note).collect()
}

/// Acts like a careful person: approves what waits, unless an identical call was approved already.
pub(crate) async fn approve_once(person: &TestClient, note: &str) {
    for _ in 0..200 {
        let found = approvals(person, note).await;
        let is_decided = found.iter().any(|approval| {
            !["pending", "cancelled", "expired"].contains(&approval["state"].as_str().unwrap_or_default())
        });
        if is_decided {
            return;
        }
        if let Some(waiting) = found.iter().find(|approval| approval["state"] == "pending") {
            let _ = person.call("agents_approve_request", json!({"call_id": waiting["id"]})).await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn n_written(log: &Path, note: &str) -> usize {
    let written = std::fs::read_to_string(log).expect("the log can be read");
    written.lines().filter(|line| line.contains(&format!("\"{note}\""))).count()
}

pub(crate) fn is_noted(result: Option<&Value>) -> bool {
    result.is_some_and(|result| result["content"][0]["text"] == "noted")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_call_is_made_once_whenever_the_gateway_is_killed() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let (config, log) = config(place.path());
    let mut gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let (mut n_cut_off, mut n_completed) = (0, 0);
    for round in soak::rounds(ROUNDS) {
        let note = format!("note-{round}");
        let era = if round % 2 == 0 { Era::Modern } else { Era::Legacy("2025-11-25") };
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let decider = person(&gateway).await;
        // Killed while the call waits, while it is approved, while it is made, or after it.
        let delay = Duration::from_millis(round * 7919 % 60);
        let calling = agent.call("notes_write", json!({"note": note}));
        let (answer, ()) = tokio::select! {
            both = async { tokio::join!(calling, approve_once(&decider, &note)) } => (both.0.ok(), both.1),
            () = tokio::time::sleep(delay) => (None, ()),
        };
        let directory = gateway.kill().await;
        let n_before = n_written(&log, &note);
        assert!(n_before <= 1, "{note} was written {n_before} times");
        assert!(
            !is_noted(answer.as_ref()) || n_before == 1,
            "{note}: the agent got a result of a call that was not made"
        );

        gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
        gateway.wait_until_settled().await;
        let decider = person(&gateway).await;
        let states = approvals(&decider, &note).await;
        let is_over = states
            .iter()
            .any(|one| ["done", "orphaned"].contains(&one["state"].as_str().unwrap_or_default()));
        if is_over {
            n_cut_off += 1;
            continue;
        }
        assert_eq!(n_before, 0, "{note} was made, and its approval can still be used: {states:?}");
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let (answer, ()) =
            tokio::join!(agent.call("notes_write", json!({"note": note})), approve_once(&decider, &note));
        assert!(is_noted(answer.as_ref().ok()), "{note}: {answer:?} {states:?}");
        assert_eq!(n_written(&log, &note), 1, "{note}");
        n_completed += 1;
        let left = approvals(&decider, &note).await;
        assert!(left.iter().all(|one| one["state"] != "approved"), "{note}: a grant was left: {left:?}");
    }
    assert!(n_cut_off > 0 && n_completed > 0, "{n_cut_off} cut off, {n_completed} completed");
    gateway.stop().await;
}
