//! Prompts and resources are recorded like calls.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::audit::{of_kind, records};
use crate::harness::{SOON, answering, connect, octroi, stdio_entry};
use crate::manage::{exit_and_output, run};

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];
const SECRET: &str = "hunter2-is-not-a-password";

async fn read(client: &TestClient, uri: &str) -> Result<Value, String> {
    client.request("resources/read", json!({ "uri": uri })).await.map_err(|error| error.to_string())
}

async fn greet(client: &TestClient, name: &str) -> Result<Value, String> {
    let params = json!({"name": "peer_greet", "arguments": {"name": name}});
    client.request("prompts/get", params).await.map_err(|error| error.to_string())
}

/// The records, once there are this many ends, which are written asynchronously.
async fn recorded(gateway: &TestGateway, n_ends: usize) -> Vec<Value> {
    let data = gateway.directory().join("data");
    let deadline = std::time::Instant::now() + SOON;
    loop {
        let all = records(&data, &[]).await;
        if of_kind(&all, "request_end").len() >= n_ends {
            return all;
        }
        assert!(std::time::Instant::now() < deadline, "the ends are not recorded: {all:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_read_is_recorded_before_and_after() {
    let entry = format!("{}env = {{ PASSWORD = \"{SECRET}\" }}\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &entry).await;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        read(&agent, "peer://peer/static").await.expect("contents");
        greet(&agent, SECRET).await.expect("a prompt");
        assert!(read(&agent, &format!("peer://peer/nothing/{SECRET}")).await.is_err(), "there is none");
        let reference = json!({"type": "ref/prompt", "name": "peer_greet"});
        for value in ["A", "Al", SECRET] {
            let params = json!({"ref": reference, "argument": {"name": "name", "value": value}});
            let completed = agent.request("completion/complete", params).await;
            assert!(completed.is_ok(), "{completed:?}");
        }
        // A completion is no way to send a server more than what somebody types.
        let long = "x".repeat(1_100);
        for (argument, context) in [
            (json!({"name": "name", "value": long}), json!({})),
            (json!({"name": long, "value": "A"}), json!({})),
            (json!({"name": "name", "value": "A"}), json!({"arguments": {"other": long}})),
        ] {
            let params = json!({"ref": reference, "argument": argument, "context": context});
            let refused = agent.request("completion/complete", params).await;
            assert!(refused.is_err_and(|error| error.to_string().contains("the limit is 1024")));
        }
        // What a server does not list would be free text for it.
        for reference in [
            json!({"type": "ref/prompt", "name": "peer_anything at all"}),
            json!({"type": "ref/resource", "uri": "peer://peer/anything"}),
        ] {
            let params = json!({"ref": reference, "argument": {"name": "name", "value": "A"}});
            let unlisted = agent.request("completion/complete", params).await;
            assert!(unlisted.is_err_and(|error| error.code() == Some(-32602)), "{reference}");
        }
    }
    let all = recorded(&gateway, 6).await;
    let (mut starts, ends) = (of_kind(&all, "request_start"), of_kind(&all, "request_end"));
    // Completions of a minute have one start, and their end comes later.
    let completions: Vec<_> = starts
        .extract_if(.., |record| record["context"]["method"] == "completion/complete")
        .map(|record| record["context"].clone())
        .collect();
    assert!(matches!(completions.len(), 1 | 2), "one for each minute: {completions:#?}");
    for context in &completions {
        assert_eq!((&context["name"], &context["argument"]), (&json!("greet"), &json!("name")));
        assert!(context["bytes"].as_u64() > Some(50) && context["digest"].as_str().map(str::len) == Some(64));
    }
    assert_eq!((starts.len(), ends.len()), (6, 6), "{all:#?}");
    for (start, end) in starts.iter().zip(&ends) {
        assert_eq!(start["call"], end["call"]);
        assert_eq!((&start["agent"], &start["server"]), (&json!("tester"), &json!("peer")));
        assert_eq!((&start["decision"], &start["tool"]), (&json!("allow"), &Value::Null));
        for member in ["method", "uri", "name"] {
            assert_eq!(start["context"][member], end["context"][member], "{member}");
        }
    }
    let endings: Vec<_> = ends[..3]
        .iter()
        .map(|end| &end["context"])
        .map(|context| (context["method"].clone(), context["outcome"].clone()))
        .collect();
    assert_eq!(
        endings[..2],
        [(json!("resources/read"), json!("completed")), (json!("prompts/get"), json!("completed")),]
    );
    assert_eq!(endings[2].0, "resources/read");
    assert_ne!(endings[2].1, "completed", "{:#?}", ends[2]);
    assert_eq!(
        (&starts[0]["context"]["uri"], &starts[1]["context"]["name"]),
        (&json!("peer://static"), &json!("greet"))
    );
    assert!(!serde_json::to_string(&all).expect("text").contains(SECRET));
    let (_, listed) = exit_and_output(&run(&gateway.directory().join("data"), &["audit", "list"]).await);
    for text in ["peer resources/read peer://static", "peer prompts/get greet", "completed"] {
        assert!(listed.contains(text), "{text}: {listed}");
    }
    // Those that are still gathered end with the gateway.
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &entry, &[]).await;
    let all = recorded(&gateway, 6 + completions.len()).await;
    let ends = of_kind(&all, "request_end");
    let gathered: Vec<_> =
        ends.iter().filter(|record| record["context"]["method"] == "completion/complete").collect();
    let n_requests: u64 = gathered.iter().filter_map(|end| end["context"]["requests"].as_u64()).sum();
    assert_eq!((gathered.len(), n_requests), (completions.len(), 6), "{ends:#?}");
    for end in gathered {
        let context = &end["context"];
        assert_eq!(context["outcome"], "completed", "{end}");
        assert!(context["bytes"].as_u64() > Some(200) && context["digest"].is_string(), "{end}");
    }
    assert!(!serde_json::to_string(&all).expect("text").contains(SECRET));
    gateway.stop().await;
}

/// Answers to questions of a server go to it, so they are recorded before: with the round that brings them, or by
/// themselves if the client answers during the call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_questions_are_recorded() {
    for (client_era, server_era) in ERAS.iter().flat_map(|era| [(*era, "modern"), (*era, "legacy")]) {
        let entry =
            format!("{}env = {{ PASSWORD = \"{SECRET}\" }}\n", stdio_entry("peer", &["--era", server_era]));
        let gateway = TestGateway::start(&octroi(), &entry).await;
        let answer = json!({"name": "Ada of the record", "password": SECRET});
        let answers = answering(json!({"action": "accept", "content": answer}));
        let agent = connect(&gateway, client_era, answers).await;
        assert_eq!(agent.call_text("peer_ask", json!({})).await.as_deref(), Ok("hello Ada of the record"));
        assert!(
            agent.call_text("peer_roots", json!({})).await.is_ok_and(|roots| roots.contains("file:///b"))
        );
        let all = records(&gateway.directory().join("data"), &[]).await;
        assert!(!serde_json::to_string(&all).expect("text").contains(SECRET));
        for (tool, text) in [("mcp:peer:ask", "Ada of the record"), ("mcp:peer:roots", "file:///b")] {
            let of_tool: Vec<_> =
                all.iter().filter(|record| record["tool"].as_str().is_some_and(|id| id == tool)).collect();
            let answered: Vec<_> = of_tool
                .iter()
                .filter(|record| {
                    let context = &record["context"];
                    [&context["input_responses"], &context["answer"]]
                        .iter()
                        .any(|answer| answer.to_string().contains(text))
                })
                .collect();
            assert_eq!(answered.len(), 1, "{client_era:?} {server_era} {tool}: {all:#?}");
            let call = &answered[0]["call"];
            let of_call: Vec<_> = of_tool.iter().filter(|record| record["call"] == *call).collect();
            let kinds: Vec<_> = of_call.iter().filter_map(|record| record["kind"].as_str()).collect();
            let expected: &[&str] = match client_era {
                Era::Modern => &["tool_invocation_start", "tool_invocation_end"],
                Era::Legacy(_) => &["tool_invocation_start", "question_answered", "tool_invocation_end"],
            };
            assert_eq!(kinds, expected, "{client_era:?} {server_era} {tool}: {of_call:#?}");
        }
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_denied_is_recorded_once() {
    let config = format!("{}[pins]\nmode = \"ask\"\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let denied = greet(&agent, "Ada").await.expect_err("nobody accepted it yet");
        assert!(denied.contains("tool_changed_needs_review"), "{denied}");
        let denied = read(&agent, "peer://peer/item/1").await.expect_err("nobody accepted its template yet");
        assert!(denied.contains("tool_changed_needs_review"), "{denied}");
        let reference = json!({"type": "ref/prompt", "name": "peer_greet"});
        let params = json!({"ref": reference, "argument": {"name": "name", "value": "A"}});
        let denied = agent.request("completion/complete", params).await.expect_err("nobody accepted it yet");
        assert!(denied.to_string().contains("tool_changed_needs_review"), "{denied}");
    }
    let all = recorded(&gateway, 0).await;
    let denials = of_kind(&all, "policy_violation");
    assert_eq!((denials.len(), of_kind(&all, "request_start").len()), (6, 0), "{all:#?}");
    for (denial, (member, what)) in
        denials.iter().zip([("name", "greet"), ("uri", "peer://item/1"), ("name", "greet")].iter().cycle())
    {
        assert_eq!(
            (&denial["context"][member], &denial["context"]["gate"]),
            (&json!(what), &json!("pinning"))
        );
        assert_eq!((&denial["decision"], &denial["server"]), (&json!("deny_continue"), &json!("peer")));
    }
    gateway.stop().await;
}
