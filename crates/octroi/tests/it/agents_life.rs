//! Agents are paused, resumed and aborted, and say what they are doing.

use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::approvals::{asked, pending, recorded};
use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::manage::{command, person, read};
use crate::policy::{OTHER_TOKEN, as_holder, two_agents};

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];
const STATE: &str = "resource://agents/tester/state";

/// Calls of `echo` need approval, and the caller waits for this long.
fn guarded(wait: &str) -> String {
    let entry = stdio_entry("peer", &[]);
    format!(
        "{entry}risk_overrides = {{ echo = \"high\", slow = \"low\" }}\n[policy]\nprofile = \"guarded\"\n\
         [approvals]\nwait = \"{wait}\"\n\
         [[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n"
    )
}

/// The error of a call that is refused.
fn denial(answer: Result<Value, ClientError>) -> (String, Value) {
    match answer {
        Err(ClientError::Rpc(error)) => (error.message, error.data),
        other => panic!("it is not refused: {other:?}"),
    }
}

async fn n_calls(agent: &TestClient) -> String {
    agent.call_text("peer_calls_count", json!({})).await.expect("a count")
}

/// The agent's state, as soon as it is this one.
async fn until(client: &TestClient, state: &str, phase: &str) {
    for _ in 0..200 {
        let now = read(client, STATE).await;
        if now["state"] == state && now["phase"] == phase {
            assert!(now["timestamp"].is_string(), "{now}");
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("it is not {state}, {phase}: {}", read(client, STATE).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_agent_calls_nothing_until_it_is_resumed() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"")).await;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let other = as_holder(&gateway, OTHER_TOKEN, era).await;
        assert_eq!(agent.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
        let paused = command(&gateway, 0, &["agents", "stop", "tester", "--reason", "it loops"]).await;
        assert!(paused.contains("paused; undo with `octroi agents boot tester`"), "{paused}");
        let why = "agent `tester` was paused by admin: it loops";
        let (message, data) = denial(agent.call("peer_echo", json!({"text": "x"})).await);
        assert!(message.contains(why), "{era:?}: {message}");
        assert_eq!((&data["gate"], &data["code"]), (&json!("paused"), &json!("policy_denied_continue")));
        assert!(data["hint"].as_str().unwrap_or_default().contains("octroi agents boot"), "{data}");
        // So is whatever else it asks servers for, and what a person tries in its name.
        let read_at_server = agent.request("resources/read", json!({"uri": "peer://counter"})).await;
        assert!(denial(read_at_server).0.contains(why), "{era:?}");
        let tried = command(&gateway, 6, &["call", "peer.echo", "text=x", "--agent", "tester"]).await;
        assert!(tried.contains(why), "{tried}");
        let explained = command(&gateway, 6, &["policy", "why", "peer.echo", "--agent", "tester"]).await;
        assert!(explained.contains(why) && explained.contains("paused"), "{explained}");
        // It can find out what has happened; others are not concerned.
        let state = read(&agent, STATE).await;
        assert_eq!((&state["state"], &state["phase"]), (&json!("suspended"), &json!("idle")), "{state}");
        assert_eq!(
            (&state["paused"]["by"], &state["paused"]["reason"]),
            (&json!("admin"), &json!("it loops"))
        );
        assert_eq!(other.call_text("peer_echo", json!({"text": "y"})).await.as_deref(), Ok("y"));
        let listed = command(&gateway, 0, &["agents"]).await;
        assert!(listed.contains("paused"), "{listed}");

        command(&gateway, 0, &["agents", "boot", "tester"]).await;
        assert_eq!(agent.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"), "{era:?}");
        assert_eq!(read(&agent, STATE).await["paused"], json!(null));
    }
    command(&gateway, 1, &["agents", "stop", "nobody"]).await;
    // It is written down: it stays paused over a restart.
    command(&gateway, 0, &["agents", "stop", "tester"]).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let config = two_agents("profile = \"open\"");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let (message, _) = denial(agent.call("peer_echo", json!({"text": "x"})).await);
    assert!(message.contains("agent `tester` was paused by admin"), "{message}");
    let (directory, _) = gateway.stop_and_keep().await;
    let log = recorded(directory.path());
    assert!(log.contains(r#""gate":"paused""#) && log.contains("agent_resumed"), "denials are recorded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_approved_while_its_agent_is_paused_waits_until_it_is_resumed() {
    let gateway = TestGateway::start(&octroi(), &guarded("50s")).await;
    let other = as_holder(&gateway, OTHER_TOKEN, Era::Modern).await;
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for (n_before, (era, capabilities)) in
        [(ERAS[0], json!({})), (ERAS[1], json!({})), (Era::Modern, tasks)].into_iter().enumerate()
    {
        let is_task = capabilities != json!({});
        let options = ClientOptions { capabilities, ..ClientOptions::default() };
        let agent = connect(&gateway, era, options).await;
        let waiting = agent.call("peer_echo", json!({"text": "x"}));
        let deciding = async {
            let id = asked(&gateway).await;
            command(&gateway, 0, &["agents", "stop", "tester", "--reason", "wait"]).await;
            command(&gateway, 0, &["approve", &id]).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(n_calls(&other).await, n_before.to_string(), "{era:?}: it is not made yet");
            command(&gateway, 0, &["agents", "boot", "tester"]).await;
        };
        let answered = tokio::time::timeout(SOON, async { tokio::join!(waiting, deciding) }).await;
        let (answer, ()) = answered.expect("it goes on");
        let answer = answer.expect("a result");
        if is_task {
            let task = json!({"taskId": answer["taskId"]});
            let mut ended = Value::Null;
            for _ in 0..200 {
                ended = agent.request("tasks/get", task.clone()).await.expect("the task");
                if ended["status"] != "working" {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(25)).await;
            }
            assert_eq!(ended["result"]["content"][0]["text"], "x", "{ended}");
        } else {
            assert_eq!(answer["content"][0]["text"], "x", "{era:?}: {answer}");
        }
        assert_eq!(n_calls(&other).await, (n_before + 1).to_string(), "{era:?}: once");
    }
    gateway.stop().await;
}

/// A client that does not wait comes back for its grant, which a pause does not use up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_outlives_a_pause() {
    let gateway = TestGateway::start(&octroi(), &guarded("200ms")).await;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let id = pending(&agent.call("peer_echo", json!({"text": "x"})).await.expect("a result"));
        command(&gateway, 0, &["approve", &id]).await;
        command(&gateway, 0, &["agents", "stop", "tester"]).await;
        let (message, _) = denial(agent.call("peer_echo", json!({"text": "x"})).await);
        assert!(message.contains("was paused by admin"), "{era:?}: {message}");
        command(&gateway, 0, &["agents", "boot", "tester"]).await;
        assert_eq!(agent.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"), "{era:?}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborting_cancels_what_one_agent_does_and_nothing_else() {
    let gateway = TestGateway::start(&octroi(), &guarded("50s")).await;
    let person = person(&gateway, Era::Modern).await;
    for (n_before, era) in ERAS.into_iter().enumerate() {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let second = connect(&gateway, era, ClientOptions::default()).await;
        let other = as_holder(&gateway, OTHER_TOKEN, era).await;
        let long = agent.call("peer_slow", json!({"steps": 300, "delay_ms": 100}));
        let waiting = second.call("peer_echo", json!({"text": "x"}));
        let spared = other.call_text("peer_slow", json!({"steps": 30, "delay_ms": 100}));
        let aborting = async {
            asked(&gateway).await;
            until(&person, "running", "waiting_tool").await;
            let session = read(&person, "resource://agents/tester/session/state").await;
            assert_eq!(
                (&session["status"], &session["run"]["status"]),
                (&json!("connected"), &json!("running"))
            );
            let aborted = command(&gateway, 0, &["agents", "abort", "tester", "--reason", "it loops"]).await;
            for text in ["1 call,", "1 call that waited", "octroi agents stop tester"] {
                assert!(aborted.contains(text), "{text}: {aborted}");
            }
        };
        let all = async { tokio::join!(long, waiting, spared, aborting) };
        let (long, waiting, spared, ()) = tokio::time::timeout(SOON, all).await.expect("it ends");
        let long = long.expect("a result");
        assert_eq!(long["isError"], true, "{long}");
        assert_eq!(long["_meta"]["octroi/error"]["code"], "outcome_unknown", "{long}");
        let text = long["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("aborted by admin: it loops"), "{era:?}: {text}");
        assert!(denial(waiting).0.contains("aborted by admin: it loops"), "{era:?}");
        assert_eq!(spared.as_deref(), Ok("done after 30 steps"), "{era:?}: another agent");
        let cancelled = other.call_text("peer_cancelled_count", json!({})).await;
        assert_eq!(cancelled, Ok((n_before + 1).to_string()), "{era:?}: the server was told");
        until(&person, "idle", "idle").await;
        assert!(command(&gateway, 0, &["approvals"]).await.contains("no call waits"));
        // It is not paused.
        assert!(agent.call_text("peer_slow", json!({"steps": 1, "delay_ms": 1})).await.is_ok());
    }
    let (directory, _) = gateway.stop_and_keep().await;
    let log = recorded(directory.path());
    assert!(log.contains("agent_aborted") && log.contains(r#""outcome":"aborted""#), "it is recorded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_says_what_it_is_doing() {
    let gateway = TestGateway::start(&octroi(), &guarded("200ms")).await;
    let person = person(&gateway, Era::Modern).await;
    let agent = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let state = read(&agent, STATE).await;
    assert_eq!((&state["state"], &state["timestamp"]), (&json!("idle"), &json!(null)), "{state}");

    let mut watcher = agent.watch(Watch::resource(STATE)).await.expect("its own can be watched");
    let running = agent.call("peer_slow", json!({"steps": 10, "delay_ms": 50}));
    let looking = async {
        until(&person, "running", "waiting_tool").await;
        let info = read(&person, "resource://agents/tester/info").await;
        for (member, expected) in [
            ("live", json!(true)),
            ("run_phase", json!("waiting_tool")),
            ("active_run_id", json!("tester-1")),
            ("pending_approvals", json!(0)),
            ("capabilities", json!({"chat": false, "agent_loop": false})),
            ("agent_mode", json!("bridge")),
            ("owner", json!("admin")),
            ("name", json!("tester")),
        ] {
            assert_eq!(info[member], expected, "{member}: {info}");
        }
        let session = read(&person, "resource://agents/tester/session/state").await;
        assert_eq!((&session["run_counter"], &session["clients"]), (&json!(1), &json!(1)), "{session}");
    };
    let (ran, ()) = tokio::join!(running, looking);
    ran.expect("a result");
    assert!(watcher.next(SOON).await.is_some(), "it began");
    until(&person, "idle", "idle").await;

    let id = pending(&agent.call("peer_echo", json!({"text": "x"})).await.expect("a result"));
    until(&person, "suspended", "waiting_approval").await;
    let snapshot = read(&agent, "resource://agents/tester/snapshot").await;
    assert_eq!(snapshot["pending_approvals"][0]["id"], json!(id), "{snapshot}");
    assert_eq!(snapshot["state"]["phase"], "waiting_approval", "{snapshot}");
    assert_eq!(snapshot["agent"]["pending_approvals"], 1, "{snapshot}");
    assert_eq!(
        (&snapshot["mcp"][0]["name"], &snapshot["mcp"][0]["state"]),
        (&json!("peer"), &json!("running"))
    );
    let waiting = read(&agent, "resource://agents/tester/approvals/pending").await;
    assert_eq!(waiting["id"], json!(id), "an agent sees its own");
    command(&gateway, 0, &["deny", &id]).await;
    until(&person, "idle", "idle").await;
    let past = read(&agent, "resource://agents/tester/approvals/history").await;
    assert_eq!(
        (&past["timeline"][0]["id"], &past["pending"], &past["count"]),
        (&json!(id), &json!([]), &json!(1))
    );
    let agents = read(&person, "resource://agents/list").await;
    assert!(
        agents.as_array().is_some_and(|agents| agents.iter().any(|one| one["id"] == "tester")),
        "{agents}"
    );

    // A busy agent does not flood its subscribers.
    while watcher.next(Duration::from_millis(300)).await.is_some() {}
    let (begun, mut n_heard) = (Instant::now(), 0);
    for _ in 0..200 {
        agent.call("peer_calls_count", json!({})).await.expect("a result");
    }
    let busy_ms = begun.elapsed().as_millis();
    while watcher.next(Duration::from_millis(300)).await.is_some() {
        n_heard += 1;
    }
    assert!(n_heard >= 1 && n_heard <= busy_ms / 50 + 2, "{n_heard} in {busy_ms} ms");
    gateway.stop().await;
}
