//! What the audit log and the program's log say about calls: decisions, sessions, quotas, and lines for operators.

use std::path::Path;
use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::audit::{of_kind, records, run};
use crate::harness::{SOON, connect, octroi, stdio_entry};

const LEGACY: Era = Era::Legacy("2025-11-25");

fn entry() -> String {
    format!("{}deny_tools = [\"fail\"]\n", stdio_entry("peer", &[]))
}

/// Records of this kind, as soon as there are so many.
async fn so_many(data: &Path, kind: &str, n: usize) -> Vec<Value> {
    let deadline = Instant::now() + SOON;
    loop {
        let found = records(data, &["--kind", kind]).await;
        if found.len() >= n {
            return found;
        }
        assert!(Instant::now() < deadline, "{kind}: {found:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_decision_about_a_call_is_found_as_an_event() {
    let gateway = TestGateway::start(&octroi(), &entry()).await;
    let data = gateway.directory().join("data");
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    agent.call("peer_echo", json!({"text": "x"})).await.expect("a result");
    assert!(agent.call("peer_fail", json!({})).await.is_err());

    let decisions = so_many(&data, "policy_decision", 2).await;
    let [allowed, denied] = decisions.as_slice() else { panic!("{decisions:#?}") };
    for (decision, recorded, expected) in
        [(allowed, "tool_invocation_start", "allow"), (denied, "policy_violation", "deny_continue")]
    {
        let record = records(&data, &["--kind", recorded]).await.remove(0);
        assert_eq!(decision["kind"], "policy_decision");
        for same in ["seq", "at_ms", "actor", "agent", "server", "tool", "source_type", "call", "decision"] {
            assert_eq!(decision[same], record[same], "{same}: {decision}");
        }
        assert_eq!(decision["decision"], expected);
        // It says why, and not about what.
        assert_eq!(decision["context"]["trace"], record["context"]["trace"]);
        assert!(decision["context"]["trace"].is_array() && record["context"]["arguments"].is_object());
        assert_eq!(decision["context"].get("arguments"), None, "{decision}");
    }
    assert_eq!(denied["context"]["gate"], "access", "{denied}");

    // There is no third record, and lists do not repeat what is in one.
    let all = records(&data, &[]).await;
    assert!(of_kind(&all, "policy_decision").is_empty(), "{all:#?}");
    for (arguments, expected) in
        [(&["--decision", "allow"][..], 1), (&["--kind", "policy_violation"], 3), (&["--tool", "fail"], 1)]
    {
        let found = records(&data, &[&["--kind", "policy_decision"], arguments].concat()).await;
        assert_eq!(found.len(), expected, "{arguments:?}: {found:#?}");
    }
    let exported = run(&data, &["audit", "export", "--kind", "policy_decision"]).await;
    let exported = String::from_utf8(exported.stdout).expect("text");
    assert_eq!(exported.lines().count(), 2, "{exported}");

    let person = TestClient::connect(gateway.admin_transport(), LEGACY, ClientOptions::default())
        .await
        .expect("a client");
    let followed = person
        .call("audit_query", json!({"kinds": ["policy_decision"], "after": 0}))
        .await
        .expect("a result");
    let followed = &followed["structuredContent"]["records"];
    assert_eq!(followed.as_array().map(Vec::len), Some(2), "{followed}");
    let recent = person.request("resources/read", json!({"uri": "resource://audit/recent"})).await;
    let recent = recent.expect("a resource")["contents"][0]["text"].as_str().expect("text").to_owned();
    let recent: Value = serde_json::from_str(&recent).expect("JSON");
    let recent = recent["records"].as_array().expect("records");
    assert_eq!(of_kind(recent, "policy_decision").len(), 2, "{recent:#?}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_names_the_session_of_its_call_and_not_its_id() {
    let gateway = TestGateway::start(&octroi(), &entry()).await;
    let data = gateway.directory().join("data");
    let mut ids = Vec::new();
    for era in [Era::Modern, LEGACY, LEGACY] {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        agent.call("peer_echo", json!({"text": "x"})).await.expect("a result");
        agent.call("peer_echo", json!({"text": "y"})).await.expect("a result");
        ids.extend(agent.session_id());
    }
    let calls = so_many(&data, "tool_invocation_end", 6).await;
    let sessions: Vec<Option<&str>> = calls.iter().map(|call| call["session"].as_str()).collect();
    let [None, None, Some(first), Some(again), Some(other), Some(_)] = sessions[..] else {
        panic!("{sessions:?}")
    };
    assert!(first == again && first != other && first.len() == 16, "{sessions:?}");
    let found = records(&data, &["--session", first]).await;
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(found.iter().all(|record| record["session"] == first));
    assert!(records(&data, &["--session", "nobody"]).await.is_empty());
    let call = found[0]["call"].as_str().expect("a call");
    let shown = run(&data, &["audit", "show", call]).await;
    assert!(String::from_utf8_lossy(&shown.stdout).contains(first), "{shown:?}");
    // Whoever reads the log cannot take over the session.
    let all = run(&data, &["audit", "export"]).await;
    let all = String::from_utf8(all.stdout).expect("text");
    assert_eq!(ids.len(), 2);
    assert!(ids.iter().all(|id| !all.contains(&id[..16])), "{ids:?}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_that_refuses_is_recorded_once_a_minute() {
    let quota = "[[quotas]]\nname = \"few\"\nagent = \"*\"\ncalls_per_minute = 2\n";
    let gateway = TestGateway::start(&octroi(), &format!("{}{quota}", entry())).await;
    let data = gateway.directory().join("data");
    let agent = connect(&gateway, LEGACY, ClientOptions::default()).await;
    for n in 0..12 {
        assert_eq!(agent.call("peer_echo", json!({"text": "x"})).await.is_ok(), n < 2, "{n}");
    }
    let denied = so_many(&data, "policy_violation", 10).await;
    assert!(denied.iter().all(|record| record["context"]["gate"] == "quota"), "{denied:#?}");
    let exceeded = so_many(&data, "quota_exceeded", 1).await;
    let [exceeded] = exceeded.as_slice() else { panic!("{exceeded:#?}") };
    assert_eq!(
        exceeded["context"],
        json!({"quota": "`peer.echo` was not called: quota `few` allows 2 calls per minute, which are used up"})
    );
    assert_eq!((&exceeded["agent"], &exceeded["level"]), (&json!("tester"), &json!("warn")));
    gateway.stop().await;
}

/// The lines of the log that contain all of these.
fn lines<'a>(log: &'a str, parts: &[&str]) -> Vec<&'a str> {
    log.lines().filter(|line| parts.iter().all(|part| line.contains(part))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_says_what_an_operator_looks_for() {
    let off = format!("{}enabled = false\n", stdio_entry("unused", &[]));
    let slow = format!("{}timeout = \"300ms\"\n", stdio_entry("slow", &[]));
    let config = format!("{}{slow}{off}", entry());
    let gateway = TestGateway::launch(&octroi(), &config, &["-vv"]).await;
    let agent = connect(&gateway, LEGACY, ClientOptions::default()).await;
    // A list waits for servers that were never seen.
    agent.list_tools().await.expect("a list");
    agent.call("peer_echo", json!({"text": "hunter2-in-an-argument"})).await.expect("a result");
    for _ in 0..40 {
        assert!(agent.call("peer_fail", json!({})).await.is_err());
    }
    let _ = agent.call("slow_slow", json!({"steps": 1, "delay_ms": 5_000})).await;
    assert!(agent.request("nobody/knows", json!({})).await.is_err());
    let log = gateway.stop().await;
    for (parts, n) in [
        // Once to be listed, and once for its first client, which can do less than it was told.
        (&["INFO", "connected", "server.name=peer"][..], 2),
        (&["INFO", "disabled, skipped", "server.name=unused"], 1),
        (
            &[
                "DEBUG",
                "called",
                "call.id=",
                "server.name=\"peer\"",
                "tool=\"mcp:peer:echo\"",
                "success=true",
                "duration_ms=",
            ],
            1,
        ),
        (&["DEBUG", "called", "server.name=\"slow\"", "success=false"], 1),
        (&["WARN", "no answer in time", "server.name=slow", "method=tools/call", "request.id="], 1),
        // A client that is denied all the time does not fill the log.
        (&["WARN", "denied", "tool=\"mcp:peer:fail\"", "gate=\"access\"", "reason="], 30),
        (&["WARN", "request refused", "method=\"nobody/knows\"", "gate=\"method\""], 1),
    ] {
        assert_eq!(lines(&log, parts).len(), n, "{parts:?}:\n{log}");
    }
    assert!(!log.contains("hunter2-in-an-argument"), "{log}");
}
