//! Calls over REST and on the command line, and what is counted of them.

use octroi_testkit::client::options::Era;

use super::*;
use crate::manage::command;
use crate::policy::as_holder;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_pass_all_gates_and_are_told() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let (ana, bob) = (RestClient::new(&gateway, ANA), RestClient::new(&gateway, BOB));
    let agent = RestClient::new(&gateway, AGENT_TOKEN);
    let echo = json!({"tool": "peer.echo", "arguments": {"text": "x"}});
    let as_tester = |mut call: Value| {
        call["agent"] = json!("tester");
        call
    };
    // A person as an agent of theirs, and the agent itself.
    for (client, call) in
        [(&ana, as_tester(echo.clone())), (&agent, echo.clone()), (&agent, as_tester(echo.clone()))]
    {
        let (status, told) = client.call(&call).await;
        assert_eq!((status, &told["success"], &told["text"]), (200, &json!(true), &json!("x")), "{told}");
        assert_eq!(
            (&told["payload"], &told["tool_id"]),
            (&json!({"text": "x"}), &json!("mcp:peer:echo")),
            "{told}"
        );
        assert_eq!((&told["outcome"], &told["agent"]), (&json!("completed"), &json!("tester")), "{told}");
        assert!(told["completed_at_ms"].as_u64() >= told["started_at_ms"].as_u64(), "{told}");
        assert!(told["duration_ms"].is_u64(), "{told}");
        // The id is that of the records.
        let admin = RestClient::admin(&gateway);
        let call = told["invocation_id"].as_str().expect("an id");
        let records = admin.get(&format!("/api/audit?call={call}")).await.json();
        let kinds: Vec<&Value> =
            records["records"].as_array().expect("records").iter().map(|record| &record["kind"]).collect();
        assert!(kinds.contains(&&json!("tool_invocation_start")), "{records}");
    }
    // Another's agent does not exist.
    let (status, refused) = bob.call(&as_tester(echo.clone())).await;
    assert_eq!((status, &refused["code"]), (404, &json!("not_found")), "{refused}");
    let mut as_other = echo.clone();
    as_other["agent"] = json!("other");
    let (status, refused) = agent.call(&as_other).await;
    assert_eq!((status, &refused["code"]), (404, &json!("not_found")), "{refused}");
    // A person says as whom.
    let (status, refused) = ana.call(&echo).await;
    assert_eq!((status, &refused["code"]), (422, &json!("invalid_params")), "{refused}");
    // Whatever the tool answers is an answer.
    for (tool, success, text) in [
        ("peer.fail", false, "this tool always fails"),
        ("peer.image", true, "[image image/png, "),
        ("peer.protocol_error", false, ""),
    ] {
        let (status, told) = agent.call(&json!({"tool": tool, "arguments": {}})).await;
        assert_eq!((status, &told["success"]), (200, &json!(success)), "{tool}: {told}");
        assert!(
            told["text"].as_str().is_some_and(|told| told.starts_with(text) && !told.is_empty()),
            "{told}"
        );
        assert!(!told["payload"].is_null(), "{told}");
        assert_eq!(told["error"].is_object(), !success, "{told}");
    }
    let (status, refused) = agent.call(&json!({"tool": "peer.nothing"})).await;
    assert_eq!((status, &refused["code"]), (404, &json!("not_found")), "{refused}");
    let (status, refused) = agent.call(&json!({"tool": "peer.echo", "arguments": {"text": 1}})).await;
    assert_eq!((status, &refused["code"]), (422, &json!("invalid_arguments")), "{refused}");
    // Nothing is done before a person has decided.
    let add = json!({"tool": "peer.add", "arguments": {"a": 1, "b": 2}});
    let (status, waiting) = agent.call(&add).await;
    assert_eq!((status, &waiting["outcome"]), (202, &json!("waiting")), "{waiting}");
    let id = waiting["approval"].as_str().expect("an approval");
    assert!(waiting["hint"].as_str().is_some_and(|hint| hint.contains(id)), "{waiting}");
    assert_eq!((&waiting["success"], &waiting["payload"]), (&json!(false), &Value::Null), "{waiting}");
    command(&gateway, 0, &["approve", id]).await;
    let (status, told) = agent.call(&add).await;
    assert_eq!((status, &told["text"]), (200, &json!("3")), "{told}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn denied_calls_are_problems_and_are_counted() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let policy = gateway.directory().join("policy.toml");
    std::fs::write(&policy, "deny = [{ tool = \"peer.fail\" }]\n").expect("a file");
    command(&gateway, 0, &["policy", "apply", &policy.display().to_string(), "--yes"]).await;
    let agent = RestClient::new(&gateway, AGENT_TOKEN);
    let other = RestClient::new(&gateway, OTHER_TOKEN);
    let (status, denied) = agent.call(&json!({"tool": "peer.fail"})).await;
    assert_eq!(status, 403, "{denied}");
    assert!(denied["code"].as_str().is_some_and(|code| code.starts_with("policy_denied")), "{denied}");
    assert!(denied["reason"].is_string() && denied["invocation_id"].is_string(), "{denied}");
    for _ in 0..3 {
        agent.call(&json!({"tool": "peer.echo", "arguments": {"text": "x"}})).await;
    }
    other.call(&json!({"tool": "peer.echo", "arguments": {"text": "x"}})).await;
    let member = as_holder(&gateway, ANA, Era::Modern).await;
    for step in ["minute", "ten_minutes"] {
        let ask = |arguments: Value| {
            let member = &member;
            async move {
                let found = member.call("calls_stats", arguments).await.expect("a result");
                found["structuredContent"].clone()
            }
        };
        let found = ask(json!({"step": step, "by": "tool"})).await;
        // A member does not see the calls of another's agents.
        let total = &found["total"];
        assert_eq!(
            (&total["calls"], &total["errors"], &total["denials"]),
            (&json!(3), &json!(0), &json!(1)),
            "{found}"
        );
        assert!(total["p50_ms"].is_u64() && total["p99_ms"].as_u64() >= total["p50_ms"].as_u64(), "{found}");
        let rows: Vec<(&str, u64)> = found["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| (row["name"].as_str().unwrap_or_default(), row["calls"].as_u64().unwrap_or_default()))
            .collect();
        assert_eq!(rows, [("mcp:peer:echo", 3), ("mcp:peer:fail", 0)], "{found}");
        let series: u64 = found["series"]
            .as_array()
            .expect("a series")
            .iter()
            .filter_map(|point| point["calls"].as_u64())
            .sum();
        assert_eq!(series, 3, "{found}");
        for (arguments, calls) in [
            (json!({"step": step, "agent": "tester", "server": "peer"}), 3),
            (json!({"step": step, "server": "nobody"}), 0),
            (json!({"step": step, "tool": "mcp:peer:fail"}), 0),
        ] {
            assert_eq!(ask(arguments.clone()).await["total"]["calls"], calls, "{arguments}");
        }
    }
    let refused = member.call("calls_stats", json!({"agent": "other"})).await.expect("a result");
    assert_eq!(refused["isError"], true, "{refused}");
    let text = command(&gateway, 0, &["stats", "--by", "agent", "--over", "minute", "--since", "1h"]).await;
    assert!(text.starts_with("4 calls, 0 errors, 1 denial since "), "{text}");
    assert!(text.contains("tester") && text.contains("other") && text.contains("P95 MS"), "{text}");
    let json = command(&gateway, 0, &["stats", "--json"]).await;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["total"]["calls"], 4, "{json}");
    // What was counted is still there after a restart.
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config(), &[]).await;
    let json = command(&gateway, 0, &["stats", "--json", "--by", "server"]).await;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["total"]["calls"], &json["rows"][0]["name"]), (&json!(4), &json!("peer")), "{json}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_tells_what_a_tool_answered() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let text = command(&gateway, 0, &["call", "peer.echo", "text=x", "--agent", "tester", "--json"]).await;
    let told: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&told["success"], &told["text"]), (&json!(true), &json!("x")));
    assert_eq!(told["payload"], json!({"text": "x"}));
    assert!(told["invocation_id"].is_string() && told["duration_ms"].is_u64(), "{told}");
    let text = command(&gateway, 5, &["call", "peer.fail", "--agent", "tester", "--json"]).await;
    assert!(text.contains("\"success\": false") || text.contains("\"success\":false"), "{text}");
    let text = command(&gateway, 0, &["call", "peer.image", "--agent", "tester"]).await;
    assert!(text.starts_with("[image image/png, "), "{text}");
    gateway.stop().await;
}
