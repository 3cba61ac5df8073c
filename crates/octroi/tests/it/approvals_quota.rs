//! Approved calls that meet a full quota: the approval stays valid, and so does every later round of the call.

use std::time::Duration;

use futures_util::future::join_all;
use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::approvals::{asked, pending};
use crate::audit::records;
use crate::forgery::send_once;
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::command;

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];

/// Calls of `echo` and `ask` need approval, and one call at a time may be made.
fn one_at_a_time() -> String {
    let entry = stdio_entry("peer", &[]);
    format!(
        "{entry}tools_override = {{ slow = {{ risk = \"low\", side_effects = [] }}, add = {{ risk = \"low\", side_effects = [] }} }}\n\
         risk_overrides = {{ echo = \"high\", ask = \"high\" }}\n[policy]\nprofile = \"guarded\"\n\
         [approvals]\nwait = \"200ms\"\n[[quotas]]\nname = \"one\"\nagent = \"*\"\nmax_in_flight = 1\n"
    )
}

/// Waits until the quota is full, or no longer is.
async fn when_full(agent: &TestClient, is_full: bool) {
    for _ in 0..400 {
        let answer = agent.call("peer_add", json!({"a": 1, "b": 2})).await;
        let says_full = answer.err().is_some_and(|error| error.to_string().contains("quota_exceeded"));
        if says_full == is_full {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the quota never becomes full: {is_full}");
}

/// A call of three seconds. While another one is being made, it is tried again.
async fn slow_call(agent: &TestClient) -> Result<String, String> {
    loop {
        match agent.call_text("peer_slow", json!({"steps": 30, "delay_ms": 100})).await {
            Err(error) if error.to_string().contains("quota_exceeded") => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            called => return called.map_err(|error| error.to_string()),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_quota_leaves_the_grant_valid() {
    let gateway = TestGateway::start(&octroi(), &one_at_a_time()).await;
    for (n_before, era) in ERAS.into_iter().enumerate() {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let other = connect(&gateway, era, ClientOptions::default()).await;
        let echo = async || agent.call("peer_echo", json!({"text": "x"})).await;
        let id = pending(&echo().await.expect("a result"));
        command(&gateway, 0, &["approve", &id]).await;
        let slow = slow_call(&other);
        let meanwhile = async {
            when_full(&agent, true).await;
            let denied = echo().await.expect_err("the quota is full").to_string();
            assert!(denied.contains("quota_exceeded"), "{era:?}: {denied}");
            let shown = command(&gateway, 0, &["approvals", "show", &id]).await;
            assert!(shown.contains("approved") && !shown.contains("done"), "{era:?}: {shown}");
        };
        let (slow, ()) = tokio::join!(slow, meanwhile);
        assert_eq!(slow.as_deref(), Ok("done after 30 steps"), "{era:?}");
        when_full(&agent, false).await;
        assert_eq!(echo().await.expect("a result")["content"][0]["text"], "x", "{era:?}");
        let made = ["--tool", "mcp:peer:echo", "--kind", "tool_invocation_start"];
        let made = records(&gateway.directory().join("data"), &made).await;
        assert_eq!(made.len(), n_before + 1, "{era:?}: once");
        let shown = command(&gateway, 0, &["approvals", "show", &id]).await;
        assert!(shown.contains("done") && shown.contains("completed"), "{era:?}: {shown}");
    }
    gateway.stop().await;
}

/// Many calls come back with the answers to a server's questions at the same moment, and one at a time may be
/// made. Those that find the quota full were decided while it was not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_quota_uses_up_no_round() {
    let gateway = TestGateway::start(&octroi(), &one_at_a_time()).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let capabilities = json!({"elicitation": {"form": {}}});
    let send = async |call: &Value| send_once(&agent, "peer_ask", call, &capabilities).await;
    let mut open: Vec<Value> = Vec::new();
    for n in 0..8 {
        let mut call = json!({"arguments": {"n": n}});
        pending(&send(&call).await["result"]);
        let id = asked(&gateway).await;
        command(&gateway, 0, &["approve", &id]).await;
        let result = send(&call).await["result"].take();
        assert_eq!(result["resultType"], "input_required", "{result}");
        let (key, _) = result["inputRequests"].as_object().expect("questions").iter().next().expect("one");
        let accepted = json!({"action": "accept", "content": {"name": "ann"}});
        call["inputResponses"] = json!({ key.as_str(): accepted });
        call["requestState"] = result["requestState"].clone();
        open.push(call);
    }
    for _ in 0..50 {
        let answers = join_all(open.iter().map(&send)).await;
        let mut again = Vec::new();
        for (call, answer) in open.into_iter().zip(answers) {
            if answer["error"]["data"]["code"] == "quota_exceeded" {
                again.push(call);
            } else {
                assert_eq!(answer["result"]["content"][0]["text"], "hello ann", "{answer}");
            }
        }
        open = again;
        if open.is_empty() {
            break;
        }
    }
    assert_eq!(open, [json!(null); 0], "every call is made in the end");
    gateway.stop().await;
}
