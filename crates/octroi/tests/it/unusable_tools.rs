//! A tool whose input schema cannot be used is left out of the lists of clients, and people see why.

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{connect, octroi};
use crate::manage::{command, names, person};

/// A server with one tool that can be called, and one whose schema no reader understands.
const SERVER: &str = r#"while read -r line; do
    id=${line#*\"id\":}
    id=${id%%,*}
    id=${id%%\}*}
    case "$line" in
        *'"method":"initialize"'*)
            result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}' ;;
        *'"method":"tools/list"'*)
            good='{"name":"good","inputSchema":{"type":"object"}}'
            bad='{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"nonsense"}}}}'
            result="{\"tools\":[$good,$bad]}" ;;
        *'"method":"tools/call"'*)
            result='{"content":[{"type":"text","text":"done"}]}' ;;
        *'"method":"ping"'*)
            result='{}' ;;
        *)
            continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done"#;

const REASON: &str = "its input schema is not valid";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_nobody_can_call_is_not_offered() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("server.sh");
    std::fs::write(&script, SERVER).expect("written");
    let config =
        format!("[[mcp.servers]]\nname = \"odd\"\nera = \"legacy\"\ncommand = {}\n", json!(["sh", script]));
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let tools = agent.list_tools().await.expect("a list");
        assert!(names(&tools).contains(&"odd_good"), "{era:?}: {tools:?}");
        assert!(!names(&tools).contains(&"odd_bad"), "{era:?}: {tools:?}");
        assert_eq!(agent.call_text("odd_good", json!({})).await.as_deref(), Ok("done"), "{era:?}");
        let refused =
            agent.call("odd_bad", json!({"a": 1})).await.expect("a result")["content"][0]["text"].clone();
        let text = refused.as_str().unwrap_or_default();
        assert!(text.contains("cannot be called") && text.contains(REASON), "{era:?}: {refused}");
    }
    let person = person(&gateway, Era::Modern).await;
    let catalog = person.call("tools_list_catalog", json!({})).await.expect("a result");
    let tools = catalog["structuredContent"]["tools"].as_array().cloned().unwrap_or_default();
    let of = |name: &str| tools.iter().find(|tool| tool["tool_id"] == name).cloned().expect("it is there");
    assert_eq!(of("mcp:odd:good")["hidden_because"], Value::Null);
    let bad = of("mcp:odd:bad");
    let reason = bad["hidden_because"].as_str().unwrap_or_default();
    assert!(bad["visible"] == false && reason.starts_with(REASON) && reason.contains("nonsense"), "{bad}");
    let shown = command(&gateway, 0, &["tools", "show", "odd.bad"]).await;
    assert!(shown.contains(&format!("no: {REASON}")), "{shown}");
    for _ in 0..2 {
        command(&gateway, 0, &["refresh"]).await;
    }
    let (directory, log) = gateway.stop_and_keep().await;
    assert_eq!(log.matches("tool cannot be called, left out").count(), 1, "{log}");

    // Lists of an earlier run are checked when they are fetched again.
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    command(&gateway, 0, &["refresh"]).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let tools = agent.list_tools().await.expect("a list");
    assert!(names(&tools).contains(&"odd_good") && !names(&tools).contains(&"odd_bad"), "{tools:?}");
    gateway.stop().await;
}
