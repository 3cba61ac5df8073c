//! A client that supports tasks gets one while an approval is pending, and polls for the result.

use std::path::PathBuf;
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::fixture_binary;
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

use crate::approvals::recorded;
use crate::harness::{connect, octroi, remote_entry, stdio_entry};
use crate::manage::command;
use crate::{once, soak};

const OTHER_TOKEN: &str = "oct_agt_other";

fn guarded(entry: &str, approvals: &str, policy: &str) -> String {
    format!(
        "{entry}[policy]\nprofile = \"guarded\"\n{policy}[approvals]\n{approvals}\n\
         [[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n"
    )
}

/// Some tools of a peer need approval.
fn peer(approvals: &str, policy: &str, flags: &[&str]) -> String {
    let risks = r#"risk_overrides = { echo = "high", ask = "high", slow = "high", protocol_error = "high" }"#;
    guarded(&format!("{}{risks}\n", stdio_entry("peer", flags)), approvals, policy)
}

fn knows_tasks() -> ClientOptions {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    ClientOptions { capabilities, ..ClientOptions::default() }
}

/// The task that a call became, and its approval.
fn created(result: &Value) -> (String, String) {
    assert_eq!((&result["resultType"], &result["status"]), (&json!("task"), &json!("working")), "{result}");
    let task = result["taskId"].as_str().expect("an id").to_owned();
    let approval = task.strip_prefix("octroi.").expect("a task of Octroi's own").to_owned();
    let message = result["statusMessage"].as_str().expect("a message");
    assert!(message.contains(&format!("`octroi approve {approval}`")), "{message}");
    assert!(message.contains(&format!("/approvals/{approval}")), "{message}");
    assert!(result["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0), "{result}");
    assert!(result["pollIntervalMs"].is_u64(), "{result}");
    assert!(result["createdAt"].is_string() && result["lastUpdatedAt"].is_string(), "{result}");
    (task, approval)
}

async fn get(agent: &TestClient, task: &str) -> Value {
    let state = agent.request("tasks/get", json!({ "taskId": task })).await.expect("the task");
    assert_eq!((&state["resultType"], &state["taskId"]), (&json!("complete"), &json!(task)), "{state}");
    state
}

/// The task, as soon as its status is another one than this.
async fn after(agent: &TestClient, task: &str, status: &str) -> Value {
    for _ in 0..400 {
        let state = get(agent, task).await;
        if state["status"] != status {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{task} is {status} for ever");
}

async fn call(agent: &TestClient, tool: &str, arguments: Value) -> (String, String) {
    created(&agent.call(tool, arguments).await.expect("a task"))
}

async fn n_calls(agent: &TestClient, name: &str) -> String {
    agent.call_text(name, json!({})).await.expect("a count")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_task_is_made_once_and_its_result_can_be_fetched() {
    let gateway = TestGateway::start(&octroi(), &peer("wait = \"200ms\"", "", &[])).await;
    let agent = connect(&gateway, Era::Modern, knows_tasks()).await;
    assert_eq!(agent.hello()["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"], json!({}));

    let (task, id) = call(&agent, "peer_echo", json!({"text": "x"})).await;
    assert_eq!(
        call(&agent, "peer_echo", json!({"text": "x"})).await.0,
        task,
        "an identical call is the same task"
    );
    assert_ne!(call(&agent, "peer_echo", json!({"text": "y"})).await.0, task);
    assert_eq!(get(&agent, &task).await["status"], "working");
    assert_eq!(n_calls(&agent, "peer_calls_count").await, "0", "nothing is made before it is approved");
    command(&gateway, 0, &["approve", &id]).await;
    for _ in 0..2 {
        let done = after(&agent, &task, "working").await;
        assert_eq!(done["status"], "completed", "{done}");
        assert_eq!(done["result"]["content"][0]["text"], "x", "{done}");
        assert_eq!(done["result"]["resultType"], "complete", "{done}");
        assert_eq!(done["result"]["x-unknown"]["kept"], true, "nothing is lost: {done}");
    }
    assert_eq!(n_calls(&agent, "peer_calls_count").await, "1");
    assert_ne!(call(&agent, "peer_echo", json!({"text": "x"})).await.0, task, "the grant is used up");

    // Also with arguments that a person edited, and with a rule that was remembered for them.
    for (number, options) in [
        &["--args", r#"{"text":"edited"}"#][..],
        &["--args", r#"{"text":"edited"}"#, "--remember", "tool", "--yes"],
    ]
    .into_iter()
    .enumerate()
    {
        let (task, id) = call(&agent, "peer_echo", json!({"text": "mine", "number": number})).await;
        command(&gateway, 0, &[&["approve", &id], options].concat()).await;
        let done = after(&agent, &task, "working").await;
        assert_eq!(done["result"]["content"][0]["text"], "edited", "{done}");
        let output = command(&gateway, 0, &["approvals", "show", &id]).await;
        assert!(output.contains("done") && output.contains("completed"), "{output}");
    }
    assert_eq!(n_calls(&agent, "peer_calls_count").await, "3");

    // A server's error becomes the task's.
    let (task, id) = call(&agent, "peer_protocol_error", json!({})).await;
    command(&gateway, 0, &["approve", &id]).await;
    let failed = after(&agent, &task, "working").await;
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!(-32602)), "{failed}");

    // Under the server's own names.
    let transport = Transport::Http { url: gateway.server_url("peer"), token: Some(AGENT_TOKEN.to_owned()) };
    let single = TestClient::connect(transport, Era::Modern, knows_tasks()).await.expect("a client");
    assert_eq!(single.hello()["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"], json!({}));
    let (task, id) = call(&single, "ask", json!({})).await;
    command(&gateway, 0, &["deny", &id]).await;
    assert_eq!(after(&single, &task, "working").await["status"], "failed");
    let (directory, _) = gateway.stop_and_keep().await;
    let log = recorded(directory.path());
    assert!(log.contains("tool_invocation_start") && log.contains(&format!("\"approval\":\"{id}\"")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_approves_ends_as_a_call_would() {
    let cases: [(&str, &[&str], i64); 3] = [
        ("expires = \"1h\"", &["deny", "--reason", "not today"], -32951),
        ("expires = \"1h\"", &["deny", "--abort"], -32950),
        ("expires = \"1s\"", &[], -32955),
    ];
    for (expires, decision, code) in cases {
        for style in ["rpc", "result"] {
            let policy = format!("errors = \"{style}\"\n");
            let config = peer(&format!("wait = \"200ms\"\n{expires}"), &policy, &[]);
            let gateway = TestGateway::start(&octroi(), &config).await;
            let agent = connect(&gateway, Era::Modern, knows_tasks()).await;
            let (task, id) = call(&agent, "peer_echo", json!({"text": "x"})).await;
            if let [verb, options @ ..] = decision {
                command(&gateway, 0, &[&[*verb, &*id], options].concat()).await;
            }
            let over = after(&agent, &task, "working").await;
            let (status, is_reported) = match style {
                "rpc" => ("failed", over["error"]["code"] == code),
                _ => ("completed", over["result"]["isError"] == true),
            };
            assert!(over["status"] == status && is_reported, "{over}");
            assert_eq!(over.to_string().contains("not today"), decision.contains(&"not today"), "{over}");
            assert_eq!(get(&agent, &task).await, over, "what is over stays as it is");
            assert_eq!(n_calls(&agent, "peer_calls_count").await, "0");
            gateway.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_can_cancel_its_task() {
    let gateway = TestGateway::start(&octroi(), &peer("wait = \"200ms\"", "", &[])).await;
    let agent = connect(&gateway, Era::Modern, knows_tasks()).await;
    let cancel = async |task: &str| {
        let done = agent.request("tasks/cancel", json!({ "taskId": task })).await.expect("an acknowledgment");
        assert_eq!(done, json!({"resultType": "complete"}));
    };

    let (task, id) = call(&agent, "peer_echo", json!({"text": "x"})).await;
    cancel(&task).await;
    assert_eq!(get(&agent, &task).await["status"], "cancelled");
    assert!(command(&gateway, 0, &["approvals"]).await.contains("no call waits"));
    let late = command(&gateway, 1, &["approve", &id]).await;
    assert!(late.contains("cancelled"), "{late}");
    assert_eq!(n_calls(&agent, "peer_calls_count").await, "0");

    let (task, id) = call(&agent, "peer_slow", json!({"steps": 1000, "delay_ms": 50})).await;
    command(&gateway, 0, &["approve", &id]).await;
    for _ in 0..200 {
        if n_calls(&agent, "peer_calls_count").await == "1" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(get(&agent, &task).await["status"], "working");
    cancel(&task).await;
    cancel(&task).await;
    assert_eq!(get(&agent, &task).await["status"], "cancelled");
    for _ in 0..200 {
        if n_calls(&agent, "peer_cancelled_count").await == "1" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    assert_eq!(n_calls(&agent, "peer_cancelled_count").await, "1", "the server is notified");
    let output = command(&gateway, 0, &["approvals", "show", &id]).await;
    assert!(output.contains("done") && output.contains("cancelled"), "{output}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_for_their_owner_and_for_clients_that_know_them() {
    let gateway = TestGateway::start(&octroi(), &peer("wait = \"200ms\"", "", &[])).await;
    let agent = connect(&gateway, Era::Modern, knows_tasks()).await;
    let (task, id) = call(&agent, "peer_echo", json!({"text": "x"})).await;

    let transport = Transport::Http { url: gateway.url(), token: Some(OTHER_TOKEN.to_owned()) };
    let other = TestClient::connect(transport, Era::Modern, knows_tasks()).await.expect("a client");
    let plain = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let legacy = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for (client, id, code) in [
            (&other, &*task, -32602),
            (&agent, "octroi.ap_aaaaaaaaaaaaaaaaaaaa", -32602),
            (&agent, "nobody:7", -32602),
            (&plain, &*task, -32021),
            (&legacy, &*task, -32602),
        ] {
            let params = json!({"taskId": id, "inputResponses": {}});
            let refused = client.request(method, params).await.expect_err("not theirs");
            let expected = if method == "tasks/update" && client.era() != Era::Modern {
                refused.code()
            } else {
                Some(code)
            };
            assert_eq!(refused.code(), expected, "{method} {id} by {client:?}: {refused}");
        }
    }
    assert_eq!(get(&agent, &task).await["status"], "working", "nobody has touched it");
    // A client without support for tasks waits, and is asked to retry.
    for client in [&plain, &legacy] {
        let result = client.call("peer_echo", json!({"text": "x"})).await.expect("a result");
        assert_eq!(result["_meta"]["octroi/error"]["approval"], json!(id), "{result}");
    }

    // A client that can open a page is sent there first, and gets a task when it returns too early.
    let (sender, mut pages) = tokio::sync::mpsc::channel(8);
    let capabilities =
        json!({"elicitation": {"url": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let user = ClientOptions::answering(capabilities, move |_, params| {
        sender.try_send(params["url"].clone()).expect("room for one");
        Ok(json!({"action": "accept"}))
    });
    let client = connect(&gateway, Era::Modern, user).await;
    let (task, id) = call(&client, "peer_echo", json!({"text": "page"})).await;
    assert_eq!(pages.try_recv(), Ok(json!(format!("{}/approvals/{id}", gateway.base))));
    assert!(pages.try_recv().is_err(), "it is sent there once");
    command(&gateway, 0, &["approve", &id]).await;
    assert_eq!(after(&client, &task, "working").await["result"]["content"][0]["text"], "page");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_takes_tasks_and_leaves_approvals() {
    let config = peer("wait = \"200ms\"", "", &[]);
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Modern, knows_tasks()).await;
    let (waiting, id) = call(&agent, "peer_echo", json!({"text": "x"})).await;
    let (running, slow) = call(&agent, "peer_slow", json!({"steps": 1000, "delay_ms": 50})).await;
    let (denied, no) = call(&agent, "peer_echo", json!({"text": "no"})).await;
    command(&gateway, 0, &["approve", &slow]).await;
    command(&gateway, 0, &["deny", &no]).await;
    for _ in 0..200 {
        if n_calls(&agent, "peer_calls_count").await == "1" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let directory = gateway.kill().await;

    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let agent = connect(&gateway, Era::Modern, knows_tasks()).await;
    for (task, text) in [
        (&waiting, "Make the identical call again"),
        (&running, "nobody knows how far it came"),
        (&denied, "policy_denied_continue"),
    ] {
        let lost = get(&agent, task).await;
        assert_eq!(lost["status"], "failed", "{lost}");
        assert!(lost["error"]["message"].as_str().is_some_and(|message| message.contains(text)), "{lost}");
        let transport = Transport::Http { url: gateway.url(), token: Some(OTHER_TOKEN.to_owned()) };
        let other = TestClient::connect(transport, Era::Modern, knows_tasks()).await.expect("a client");
        let refused = other.request("tasks/get", json!({ "taskId": task })).await.expect_err("not theirs");
        assert_eq!(refused.code(), Some(-32602), "{refused}");
    }
    // The identical call uses the grant immediately.
    command(&gateway, 0, &["approve", &id]).await;
    let lost = get(&agent, &waiting).await;
    assert!(lost["error"]["message"].as_str().is_some_and(|text| text.contains("has approved it")), "{lost}");
    let done = agent.call("peer_echo", json!({"text": "x"})).await.expect("a result");
    assert_eq!(done["content"][0]["text"], "x", "{done}");
    // A pending task can be resumed under its old id.
    let (task, id) = call(&agent, "peer_echo", json!({"text": "y"})).await;
    let directory = gateway.kill().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let agent = connect(&gateway, Era::Modern, knows_tasks()).await;
    assert_eq!(call(&agent, "peer_echo", json!({"text": "y"})).await, (task.clone(), id.clone()));
    command(&gateway, 0, &["approve", &id]).await;
    assert_eq!(after(&agent, &task, "working").await["result"]["content"][0]["text"], "y");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_may_ask_in_the_middle_of_a_task() {
    for era in ["legacy", "modern"] {
        let gateway = TestGateway::start(&octroi(), &peer("wait = \"200ms\"", "", &["--era", era])).await;
        let capabilities = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        let options = ClientOptions { capabilities, ..ClientOptions::default() };
        let agent = connect(&gateway, Era::Modern, options).await;
        let (task, id) = call(&agent, "peer_ask", json!({})).await;
        command(&gateway, 0, &["approve", &id]).await;
        let asked = after(&agent, &task, "working").await;
        assert_eq!(asked["status"], "input_required", "{era}: {asked}");
        let questions = asked["inputRequests"].as_object().expect("questions").clone();
        let (key, question) = questions.iter().next().expect("a question");
        assert_eq!(question["method"], "elicitation/create", "{asked}");
        for (key, name) in [("nobody asked", "eve"), (key, "ann"), (key, "bob")] {
            let responses = json!({ key: {"action": "accept", "content": { "name": name }} });
            let params = json!({"taskId": task, "inputResponses": responses});
            let acknowledgment = agent.request("tasks/update", params).await.expect("an acknowledgment");
            assert_eq!(acknowledgment, json!({"resultType": "complete"}));
        }
        let done = match after(&agent, &task, "input_required").await {
            state if state["status"] == "working" => after(&agent, &task, "working").await,
            state => state,
        };
        assert_eq!(done["status"], "completed", "{era}: {done}");
        assert_eq!(done["result"]["content"][0]["text"], "hello ann", "{era}: {done}");
        let output = command(&gateway, 0, &["approvals", "show", &id]).await;
        assert!(output.contains("done") && output.contains("completed"), "{era}: {output}");

        // A question that nobody will answer ends with its task.
        let (task, id) = call(&agent, "peer_ask", json!({"again": true})).await;
        command(&gateway, 0, &["approve", &id]).await;
        assert_eq!(after(&agent, &task, "working").await["status"], "input_required");
        agent.request("tasks/cancel", json!({ "taskId": task })).await.expect("an acknowledgment");
        assert_eq!(get(&agent, &task).await["status"], "cancelled");
        for _ in 0..200 {
            if command(&gateway, 0, &["approvals", "show", &id]).await.contains("done") {
                break;
            }
        }
        let output = command(&gateway, 0, &["approvals", "show", &id]).await;
        assert!(output.contains("done") && output.contains("cancelled"), "{era}: {output}");
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_servers_own_task_goes_on_behind_ours() {
    let program: PathBuf = fixture_binary();
    let fixture = PeerProcess::start_program(&program, &["--listen", "127.0.0.1:0"]).await.expect("a server");
    let risks = "era = \"modern\"\nrisk_overrides = { slow_compute = \"high\", confirm_delete = \"high\", \
                 test_tool_with_task = \"high\", protocol_error_job = \"high\" }\n";
    let entry = format!("{}{risks}", remote_entry("jobs", "http", &fixture.url));
    let gateway = TestGateway::start(&octroi(), &guarded(&entry, "wait = \"200ms\"", "")).await;
    let capabilities = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let options = ClientOptions { capabilities, ..ClientOptions::default() };
    let agent = connect(&gateway, Era::Modern, options).await;
    let answer = async |task: &str, content: Value| {
        let state = after(&agent, task, "working").await;
        assert_eq!(state["status"], "input_required", "{state}");
        let key =
            state["inputRequests"].as_object().and_then(|all| all.keys().next()).expect("a key").clone();
        let responses = json!({ key: {"action": "accept", "content": content} });
        let params = json!({"taskId": task, "inputResponses": responses});
        agent.request("tasks/update", params).await.expect("an acknowledgment");
    };
    let finished = async |task: &str| loop {
        let state = get(&agent, task).await;
        if !["working", "input_required"].contains(&state["status"].as_str().unwrap_or_default()) {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    };

    let (task, id) = call(&agent, "jobs_slow_compute", json!({"seconds": 0.2, "label": "x"})).await;
    command(&gateway, 0, &["approve", &id]).await;
    let done = finished(&task).await;
    assert_eq!((&done["status"], &done["taskId"]), (&json!("completed"), &json!(task)), "{done}");
    assert!(
        done["result"]["content"][0]["text"].as_str().is_some_and(|text| text.contains("Computed x")),
        "{done}"
    );

    let (task, id) = call(&agent, "jobs_confirm_delete", json!({"filename": "f"})).await;
    command(&gateway, 0, &["approve", &id]).await;
    answer(&task, json!({"confirm": true})).await;
    assert_eq!(finished(&task).await["result"]["content"][0]["text"], "f: deleted");

    let (task, id) = call(&agent, "jobs_test_tool_with_task", json!({})).await;
    command(&gateway, 0, &["approve", &id]).await;
    answer(&task, json!({"name": "ann"})).await;
    assert_eq!(finished(&task).await["result"]["content"][0]["text"], "Hello, ann, from a task!");

    let (task, id) = call(&agent, "jobs_protocol_error_job", json!({})).await;
    command(&gateway, 0, &["approve", &id]).await;
    assert_eq!(finished(&task).await["status"], "failed");

    let (task, id) = call(&agent, "jobs_slow_compute", json!({"seconds": 600})).await;
    command(&gateway, 0, &["approve", &id]).await;
    for _ in 0..400 {
        // Once the server has the call, the status message is the server's.
        if !get(&agent, &task).await["statusMessage"].as_str().unwrap_or_default().contains("person") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    agent.request("tasks/cancel", json!({ "taskId": task })).await.expect("an acknowledgment");
    assert_eq!(finished(&task).await["status"], "cancelled");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_and_a_call_that_waits_share_one_approval() {
    let gateway = TestGateway::start(&octroi(), &peer("wait = \"50s\"", "", &[])).await;
    let agent = connect(&gateway, Era::Modern, knows_tasks()).await;
    let plain = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for round in 1..=10 {
        let arguments = json!({"text": "x", "number": round});
        let (task, id) = call(&agent, "peer_echo", arguments.clone()).await;
        let waiting = plain.start("tools/call", json!({"name": "peer_echo", "arguments": arguments}));
        if round % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        command(&gateway, 0, &["approve", &id]).await;
        let over = after(&agent, &task, "working").await;
        if over["status"] == "completed" {
            waiting.finish().await.expect_err("the approval is used up");
        } else {
            let done = waiting.finish().await.expect("a result");
            assert_eq!(done["content"][0]["text"], "x", "{done} {over}");
        }
        assert_eq!(n_calls(&agent, "peer_calls_count").await, round.to_string(), "{over}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_made_once_whenever_the_gateway_is_killed() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let (config, log) = once::config(place.path());
    let mut gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let (mut n_cut_off, mut n_completed) = (0, 0);
    for round in soak::rounds(40) {
        let note = format!("task-{round}");
        let agent = connect(&gateway, Era::Modern, knows_tasks()).await;
        let person = once::person(&gateway).await;
        let (task, _) = call(&agent, "notes_write", json!({ "note": note })).await;
        // Killed while it waits, when it is approved, while it is made, or after it.
        let delay = Duration::from_millis(if round % 10 == 9 { 2_000 } else { round * 7919 % 40 });
        tokio::select! {
            () = async { once::approve_once(&person, &note).await; std::future::pending().await } => {}
            () = tokio::time::sleep(delay) => {}
        }
        let directory = gateway.kill().await;
        let n_before = once::n_written(&log, &note);
        assert!(n_before <= 1, "{note} was written {n_before} times");

        gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
        gateway.wait_until_settled().await;
        let (agent, person) =
            (connect(&gateway, Era::Modern, knows_tasks()).await, once::person(&gateway).await);
        let lost = get(&agent, &task).await;
        assert_eq!(lost["status"], "failed", "{lost}");
        let states = once::approvals(&person, &note).await;
        if states.iter().any(|one| ["done", "orphaned"].contains(&one["state"].as_str().unwrap_or_default()))
        {
            n_cut_off += 1;
            continue;
        }
        assert_eq!(n_before, 0, "{note} was made, and its approval can still be used: {states:?}");
        let result = agent.call("notes_write", json!({ "note": note })).await.expect("a result or a task");
        if result["resultType"] == "task" {
            let (task, _) = created(&result);
            once::approve_once(&person, &note).await;
            let done = after(&agent, &task, "working").await;
            assert!(once::is_noted(done.get("result")), "{note}: {done}");
        } else {
            assert!(once::is_noted(Some(&result)), "{note}: {result}");
        }
        assert_eq!(once::n_written(&log, &note), 1, "{note}");
        n_completed += 1;
    }
    assert!(n_cut_off > 0 && n_completed > 0, "{n_cut_off} cut off, {n_completed} completed");
    gateway.stop().await;
}
