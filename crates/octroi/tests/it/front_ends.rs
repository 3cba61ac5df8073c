//! Every transport leads through the gates: what reaches a server was decided and recorded, as it was sent.

use std::path::Path;
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway, stdio_transport};
use octroi_testkit::peer_binary;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::approvals::{asked, pending};
use crate::audit::{of_kind, records};
use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::manage::command;

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];
const SECOND_TOKEN: &str = "the-token-of-the-second-agent-which-is-long-enough";

fn guarded(wait: &str) -> String {
    let risks = "risk_overrides = { echo = \"high\", calls_count = \"low\" }";
    let entry = stdio_entry("peer", &[]);
    format!("{entry}{risks}\n[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"{wait}\"\n")
}

fn code_of(outcome: &Result<Value, ClientError>) -> Option<i64> {
    match outcome {
        Err(ClientError::Rpc(error)) => Some(error.code),
        _ => None,
    }
}

/// The records, once this is so: some are written asynchronously.
async fn recorded(gateway: &TestGateway, is_there: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let deadline = std::time::Instant::now() + SOON;
    loop {
        let all = records(&gateway.directory().join("data"), &[]).await;
        if is_there(&all) {
            return all;
        }
        assert!(std::time::Instant::now() < deadline, "it is not recorded: {all:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// A tool call as these bytes.
async fn send(client: &TestClient, params: &str) -> Value {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{},"example.com/try":"first"}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"peer_echo",{params},{meta}}}}}"#
    );
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "peer_echo"),
    ];
    client.raw_post(&headers, body).await.expect("an answer").json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_method_that_is_not_on_the_list_reaches_no_server() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    for era in ERAS {
        let alone = Transport::Http { url: gateway.server_url("peer"), token: Some(AGENT_TOKEN.to_owned()) };
        for transport in [gateway.transport(), alone] {
            let client =
                TestClient::connect(transport, era, ClientOptions::default()).await.expect("a client");
            for method in ["admin/drop", "tasks/list", "sampling/createMessage", "Tools/Call", "roots/list"] {
                let outcome = client.request(method, json!({"name": "echo"})).await;
                assert_eq!(code_of(&outcome), Some(-32601), "{era:?} {method}: {outcome:?}");
            }
            // Its client has not declared that it understands tasks, or the task is not there.
            let expected = if era == Era::Modern { -32021 } else { -32602 };
            let unknown = client.request("tasks/get", json!({"taskId": "peer:x"})).await;
            assert_eq!(code_of(&unknown), Some(expected), "{era:?}: {unknown:?}");
        }
    }
    let is_method = |record: &Value| record["context"]["gate"] == "method";
    let all = recorded(&gateway, |all| all.iter().filter(|record| is_method(record)).count() >= 20).await;
    let refused: Vec<&Value> =
        of_kind(&all, "policy_violation").into_iter().filter(|r| is_method(r)).collect();
    assert_eq!(refused.len(), 20);
    assert!(refused.iter().all(|record| record["agent"] == "tester"), "{refused:#?}");
    assert_eq!(refused.iter().filter(|record| record["server"] == "peer").count(), 10);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_is_for_every_parameter_and_every_digit() {
    let gateway = TestGateway::start(&octroi(), &guarded("100ms")).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let pending_id = |answer: &Value| pending(&answer["result"]);
    let first = r#""arguments":{"text":"x","account":12345678901234567890123},"task":{"ttl":1}"#;
    let id = pending_id(&send(&agent, first).await);
    let shown = command(&gateway, 0, &["approvals", "show", &id]).await;
    for text in ["12345678901234567890123", "ttl", "example.com/try"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    command(&gateway, 0, &["approve", &id]).await;
    for other in [
        r#""arguments":{"text":"x","account":12345678901234567890124},"task":{"ttl":1}"#,
        r#""arguments":{"text":"x","account":1.2345678901234568e22},"task":{"ttl":1}"#,
        r#""arguments":{"text":"x","account":12345678901234567890123},"task":{"ttl":2}"#,
        r#""arguments":{"text":"x","account":12345678901234567890123}"#,
    ] {
        assert_ne!(pending_id(&send(&agent, other).await), id, "{other}");
    }
    for (what, params) in [
        ("a name in other letters", r#""arguments":{"text":"x"},"Arguments":{"text":"y"}"#),
        ("a name as Python spells it", r#""arguments":{"text":"x"},"request_state":"y""#),
        ("a name with a NUL", r#""arguments":{"text":"x"},"arguments\u0000":{}"#),
    ] {
        let answer = send(&agent, params).await;
        assert_eq!(answer["error"]["code"], -32602, "{what}: {answer}");
    }
    let made = send(&agent, first).await;
    assert_eq!(made["result"]["content"][0]["text"], "x", "{made}");
    let all = recorded(&gateway, |all| !of_kind(all, "tool_invocation_end").is_empty()).await;
    let context = &of_kind(&all, "tool_invocation_start")[0]["context"];
    assert_eq!(context["params"], json!({"task": {"ttl": 1}}), "{context}");
    assert_eq!(context["_meta"], json!({"example.com/try": "first"}), "{context}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_nested_too_deep_is_not_forwarded() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let answer = send(&agent, &format!(r#""arguments":{{"text":"x","deep":{}}}"#, nested(61))).await;
    assert_eq!(answer["result"]["content"][0]["text"], "x", "{answer}");
    for n in [62, 500, 100_000] {
        let answer = send(&agent, &format!(r#""arguments":{{"text":"x","deep":{}}}"#, nested(n))).await;
        assert_eq!(answer["error"]["code"], -32600, "{n}: {answer:.200}");
    }
    gateway.stop().await;
}

/// A person approves a call after the token of its agent was taken away.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_call_ends_with_its_token() {
    let token =
        |token: &str| format!("[[tokens]]\ntoken = \"{token}\"\nrole = \"agent\"\nagent_id = \"second\"\n");
    let tasks = || ClientOptions {
        capabilities: json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}),
        ..ClientOptions::default()
    };
    // Taken away, or replaced by another one of the same agent.
    for instead in [String::new(), token("another-token-of-the-second-agent-long-enough")] {
        for options in [ClientOptions::default as fn() -> ClientOptions, tasks] {
            let config = guarded("20s");
            let gateway = TestGateway::start(&octroi(), &format!("{config}{}", token(SECOND_TOKEN))).await;
            let transport = Transport::Http { url: gateway.url(), token: Some(SECOND_TOKEN.to_owned()) };
            let second = TestClient::connect(transport, Era::Modern, options()).await.expect("a client");
            let call = second.start("tools/call", json!({"name": "peer_echo", "arguments": {"text": "x"}}));
            let id = asked(&gateway).await;
            gateway.rewrite_config(&format!("{config}{instead}"));
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            let late = command(&gateway, 1, &["approve", &id]).await;
            assert!(late.contains("the approval was cancelled"), "{late}");
            let outcome = call.finish().await;
            if let Ok(result) = &outcome {
                assert_eq!(result["resultType"], "task", "{result}");
            }
            let is_token = |record: &Value| record["context"]["gate"] == "token";
            recorded(&gateway, |all| all.iter().any(is_token)).await;
            let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
            let count = agent.call_text("peer_calls_count", json!({})).await;
            assert_eq!(count.as_deref(), Ok("0"), "the call was not made");
            gateway.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_end_with_their_token() {
    let token = format!("[[tokens]]\ntoken = \"{SECOND_TOKEN}\"\nrole = \"agent\"\nagent_id = \"second\"\n");
    let config = stdio_entry("peer", &[]);
    let gateway = TestGateway::start(&octroi(), &format!("{config}{token}")).await;
    let transport = || Transport::Http { url: gateway.url(), token: Some(SECOND_TOKEN.to_owned()) };
    let modern =
        TestClient::connect(transport(), Era::Modern, ClientOptions::default()).await.expect("a client");
    let listening =
        modern.start("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
    let legacy = TestClient::connect(transport(), Era::Legacy("2025-11-25"), ClientOptions::default());
    let legacy = legacy.await.expect("a client");
    let address = gateway.base.trim_start_matches("http://");
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("a connection");
    let session = legacy.session_id().expect("a session");
    let head = format!(
        "GET /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\
         Authorization: Bearer {SECOND_TOKEN}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut began = [0; 12];
    stream.read_exact(&mut began).await.expect("an answer");
    assert_eq!(&began, b"HTTP/1.1 200");

    gateway.rewrite_config(&config);
    let ended = tokio::time::timeout(SOON, stream.read_to_end(&mut Vec::new())).await;
    assert!(ended.is_ok(), "the stream of the session goes on");
    assert!(tokio::time::timeout(SOON, listening.finish()).await.is_ok(), "the subscription goes on");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_is_recorded() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let client = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    client
        .request("resources/subscribe", json!({"uri": "peer://peer/static"}))
        .await
        .expect("a subscription");
    let is_watch = |record: &&Value| record["context"]["method"] == "resources/subscribe";
    let all = recorded(&gateway, |all| all.iter().filter(is_watch).count() >= 2).await;
    let starts = of_kind(&all, "request_start");
    assert_eq!(starts.len(), 1);
    assert_eq!(
        (&starts[0]["server"], &starts[0]["context"]["uri"]),
        (&json!("peer"), &json!("peer://static"))
    );
    gateway.stop().await;
}

/// A known server adds a tool.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_tool_of_a_known_server_is_shown_to_a_person() {
    // The setting, and whether the tool is offered, waits for a person, and is mentioned in the status.
    for (setting, expected) in
        [("notice", (true, false, true)), ("review", (false, true, false)), ("allow", (true, false, false))]
    {
        let config =
            |flags: &[&str]| format!("{}[pins]\nnew_tools = \"{setting}\"\n", stdio_entry("peer", flags));
        let gateway = TestGateway::start(&octroi(), &config(&[])).await;
        let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
        let n_before = agent.list_tools().await.expect("a list").len();
        let (kept, _) = gateway.stop_and_keep().await;
        let gateway =
            TestGateway::launch_in(kept, &octroi(), &config(&["--tools", "1"]), &["--accept-config"]).await;
        let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
        let mut seen = (false, false, false);
        // Until the server has answered, its remembered tools are listed.
        for _ in 0..100 {
            let n_after = agent.list_tools().await.expect("a list").len();
            let pins = command(&gateway, 0, &["pins"]).await;
            let status = command(&gateway, 0, &["status"]).await;
            seen = (
                n_after > n_before,
                pins.contains("has not been accepted yet"),
                status.contains("the server added"),
            );
            if seen == expected {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(seen, expected, "{setting}");
        gateway.stop().await;
    }
}

/// A peer of this era whose input is copied into a file; calls of `echo` need approval.
fn overheard(file: &Path, era: &str) -> String {
    let script = format!("tee -a '{}' | '{}' --era {era}", file.display(), peer_binary().display());
    let command = json!(["sh", "-c", script]);
    let risks = "risk_overrides = { echo = \"high\", calls_count = \"low\" }";
    format!(
        "[[mcp.servers]]\nname = \"peer\"\ncommand = {command}\n{risks}\n\
         [policy]\nprofile = \"guarded\"\n[approvals]\nwait = false\n"
    )
}

/// What the server has read, once this text is part of it.
async fn heard(file: &Path, text: &str) -> String {
    for _ in 0..400 {
        let heard = std::fs::read_to_string(file).unwrap_or_default();
        if heard.contains(text) {
            return heard;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("the server never read {text}");
}

/// A call with members beside those of JSON-RPC.
fn with_more_members(mark: &str) -> String {
    let meta = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}"#;
    let meta = if mark.contains("modern") { format!(r#","_meta":{meta}"#) } else { String::new() };
    format!(
        r#"{{"args":{{"to":"MALLORY"}},"jsonrpc":"2.0","id":77,"method":"tools/call","tool_args":{{"x":"MALLORY"}},"params":{{"name":"peer_calls_count","arguments":{{"mark":"{mark}"}}{meta}}},"_meta":{{"x":"MALLORY"}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_members_of_json_rpc_reach_a_server() {
    for server_era in ["legacy", "modern"] {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("heard");
        let config = overheard(&file, server_era);
        let gateway = TestGateway::start(&octroi(), &config).await;
        for (era, mark) in ERAS.into_iter().zip(["http-modern", "http-legacy"]) {
            let client = connect(&gateway, era, ClientOptions::default()).await;
            let session = client.session_id().unwrap_or_default();
            let mut headers =
                vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
            headers.extend(match era {
                Era::Modern => [
                    ("mcp-protocol-version", "2026-07-28"),
                    ("mcp-method", "tools/call"),
                    ("mcp-name", "peer_calls_count"),
                ]
                .to_vec(),
                Era::Legacy(version) => {
                    [("mcp-protocol-version", version), ("mcp-session-id", &session)].to_vec()
                }
            });
            let answer = client.raw_post(&headers, with_more_members(mark)).await.expect("an answer");
            assert_eq!(answer.status, 200, "{mark}: {answer:?}");
            heard(&file, mark).await;
        }
        for (era, mark) in ERAS.into_iter().zip(["relay-modern", "relay-legacy"]) {
            let relay = TestClient::connect(gateway.relay(&octroi()), era, ClientOptions::default()).await;
            let relay = relay.expect("a client");
            relay.raw_line(&with_more_members(mark)).await.expect("a line");
            heard(&file, mark).await;
        }
        gateway.stop().await;
        for (era, mark) in ERAS.into_iter().zip(["stdio-modern", "stdio-legacy"]) {
            let own = tempfile::tempdir().expect("a directory");
            let transport = stdio_transport(&octroi(), own.path(), &config);
            let client = TestClient::connect(transport, era, ClientOptions::default()).await;
            let client = client.expect("a client");
            client.raw_line(&with_more_members(mark)).await.expect("a line");
            heard(&file, mark).await;
            client.close().await.expect("it ends");
        }
        let heard = heard(&file, "stdio-legacy").await;
        assert!(!heard.contains("MALLORY"), "{server_era}: {heard}");
    }
}

/// Answers without a question of a server are no part of the call, so a person need not see them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_asked_for_reach_no_server() {
    for server_era in ["legacy", "modern"] {
        for era in ERAS {
            let what = format!("{era:?} {server_era}");
            let directory = tempfile::tempdir().expect("a directory");
            let file = directory.path().join("heard");
            let gateway = TestGateway::start(&octroi(), &overheard(&file, server_era)).await;
            let agent = connect(&gateway, era, ClientOptions::default()).await;
            let call = json!({"name": "peer_echo", "arguments": {"text": "x"}});
            let mut more = call.clone();
            more["inputResponses"] = json!({"confirm": {"content": {"to": "MALLORY"}}});
            // Neither is a state that is no text.
            let mut state = more.clone();
            state["requestState"] = json!({"to": "MALLORY"});
            for (first, second) in [(&call, &more), (&more, &call), (&more, &more), (&call, &state)] {
                let id = pending(&agent.request("tools/call", first.clone()).await.expect("a result"));
                command(&gateway, 0, &["approve", &id]).await;
                let made = agent.request("tools/call", second.clone()).await.expect("a result");
                assert_eq!(made["content"][0]["text"], "x", "{what}");
            }
            let heard = heard(&file, "echo").await;
            assert!(!heard.contains("MALLORY"), "{what}: {heard}");
            gateway.stop().await;
        }
    }
}
