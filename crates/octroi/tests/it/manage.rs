//! Management, as its clients see it: any MCP client with a person's token, and the command line.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{SOON, connect, octroi, stdio_entry};

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];

pub(crate) async fn person(gateway: &TestGateway, era: Era) -> TestClient {
    TestClient::connect(gateway.admin_transport(), era, ClientOptions::default())
        .await
        .expect("a person comes in")
}

pub(crate) fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

pub(crate) async fn read(client: &TestClient, uri: &str) -> Value {
    let result = client.request("resources/read", json!({ "uri": uri })).await.expect("a resource");
    serde_json::from_str(result["contents"][0]["text"].as_str().expect("a text")).expect("JSON")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_manage_and_agents_do_not_know() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    for era in ERAS {
        let person = person(&gateway, era).await;
        let tools = person.list_tools().await.expect("a list");
        for name in ["servers_list", "health_check_all", "tools_call"] {
            assert!(names(&tools).contains(&name), "{era:?}: {name}");
        }
        assert!(!names(&tools).iter().any(|name| name.starts_with("peer_")), "{era:?}: {:?}", names(&tools));
        let result = person.call("servers_list", json!({})).await.expect("a result");
        assert_eq!(result["structuredContent"]["servers"][0]["name"], "peer");
        assert_eq!(read(&person, "resource://servers/peer").await["state"], "running");
        assert_eq!(read(&person, "resource://servers/list").await["servers"][0]["name"], "peer");
        let checked = person.call("health_check_all", json!({})).await.expect("a result");
        assert_eq!(checked["structuredContent"]["servers"]["peer"]["health"], "healthy");
        let refused = person.call("peer_echo", json!({"text": "x"})).await.expect_err("not for people");
        assert!(refused.to_string().contains("an agent's token"), "{era:?}: {refused}");
        let tried = json!({"agent": "tester", "tool": "peer.echo", "arguments": {"text": "x"}});
        let tried = person.call("tools_call", tried).await.expect("a result");
        assert_eq!(tried["structuredContent"]["result"]["content"][0]["text"], "x", "{era:?}: {tried}");
        for wrong in [json!({}), json!({"name": 1}), json!({"name": "peer", "more": 1})] {
            assert!(person.call("servers_get", wrong.clone()).await.is_err(), "{wrong}");
        }
        let missing = person.call("servers_get", json!({"name": "nobody"})).await.expect("a result");
        assert_eq!(missing["isError"], true);
        assert!(person.request("resources/read", json!({"uri": "resource://servers/nobody"})).await.is_err());

        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let tools = agent.list_tools().await.expect("a list");
        assert!(names(&tools).iter().all(|name| name.starts_with("peer_")), "{:?}", names(&tools));
        let denied = agent.call("servers_list", json!({})).await.expect_err("not for agents").to_string();
        assert!(denied.contains("unknown tool"), "{denied}");
        assert!(agent.request("resources/read", json!({"uri": "resource://servers/list"})).await.is_err());
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_hear_what_becomes_of_servers() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    for era in ERAS {
        let person = person(&gateway, era).await;
        let mut watcher =
            person.watch(Watch::resource("resource://servers/list")).await.expect("it can be watched");
        for (enabled, state, n_tools) in [(false, "disabled", 0), (true, "running", 16)] {
            let arguments = json!({"name": "peer", "enabled": enabled});
            person.call("servers_toggle", arguments).await.expect("a result");
            assert!(watcher.next(SOON).await.is_some(), "{era:?}: {state}");
            for _ in 0..100 {
                let server = read(&person, "resource://servers/peer").await;
                if server["state"] == state && server["tools"] == n_tools {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let server = read(&person, "resource://servers/peer").await;
            assert_eq!((&server["state"], &server["tools"]), (&json!(state), &json!(n_tools)), "{era:?}");
        }
    }
    gateway.stop().await;
}

pub(crate) async fn run(data: &Path, arguments: &[&str]) -> Output {
    let mut command = tokio::process::Command::new(octroi());
    command.args(arguments).env("OCTROI_DATA", data).env("NO_COLOR", "1").env_remove("OCTROI_TOKEN");
    command.output().await.expect("octroi runs")
}

pub(crate) fn exit_and_output(output: &Output) -> (Option<i32>, String) {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), text)
}

/// Runs a command that must exit with this code; returns its output.
pub(crate) async fn command(gateway: &TestGateway, code: i32, arguments: &[&str]) -> String {
    let (status, text) = exit_and_output(&run(&gateway.directory().join("data"), arguments).await);
    assert_eq!(status, Some(code), "{arguments:?}: {text}");
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_says_what_is_running() {
    let script = format!("echo ready >&2; exec '{}'", octroi_testkit::peer_binary().display());
    let talker = format!(
        "[[mcp.servers]]\nname = \"talker\"\nstart = \"lazy\"\ncommand = {}\n",
        json!(["sh", "-c", script])
    );
    let config = format!("{}{talker}", stdio_entry("peer", &[]));
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    let data = gateway.directory().join("data");
    // The first check is made when it has connected, and nobody has to ask for it; its tools are listed
    // at the same time, and may come later.
    for _ in 0..200 {
        let list = command(&gateway, 0, &["list"]).await;
        if list.contains(" healthy ") && list.contains(" 16") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let expected: [(&[&str], i32, &[&str]); 13] = [
        (&["status"], 0, &["1 of 2 servers running", "NAME", "peer", "healthy", "16", "talker", "stopped"]),
        (&["test", "peer"], 0, &["peer answers (running"]),
        (&[], 0, &["1 of 2 servers running"]),
        (&["list", "--json"], 0, &["[{\"name\":\"peer\""]),
        (&["get", "peer"], 0, &["state", "running", "transport", "stdio"]),
        (&["restart", "talker"], 0, &["talker restarted (running"]),
        (&["logs", "talker"], 0, &["ready"]),
        (&["disable", "talker"], 0, &["talker disabled; undo with `octroi enable talker` (disabled)"]),
        (&["test", "talker"], 1, &["error: server `talker` is not available: it is disabled"]),
        (&["get", "nobody"], 1, &["there is no server `nobody`; there are: peer, talker"]),
        (&["reload"], 0, &["unchanged  2"]),
        (&["status", "--token", "wrong"], 3, &["does not know the token", "hint:"]),
        (&["status", "--url", "http://127.0.0.1:1/mcp"], 4, &["cannot reach the gateway", "octroi up"]),
    ];
    for (arguments, code, texts) in expected {
        let (status, text) = exit_and_output(&run(&data, arguments).await);
        assert_eq!(status, Some(code), "{arguments:?}: {text}");
        for expected in texts {
            assert!(text.contains(expected), "{arguments:?} does not say {expected:?}: {text}");
        }
    }
    // A server that a person disabled stays disabled.
    let (directory, _) = gateway.stop_and_keep().await;
    let (status, text) = exit_and_output(&run(&data, &["status"]).await);
    assert_eq!(status, Some(4), "{text}");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    let (_, text) = exit_and_output(&run(&data, &["get", "talker"]).await);
    assert!(text.contains("disabled"), "{text}");
    let (_, text) = exit_and_output(&run(&data, &["enable", "talker"]).await);
    assert!(text.contains("talker enabled"), "{text}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_are_for_people() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert_eq!(agent.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    assert_eq!(agent.call("peer_fail", json!({})).await.expect("a result")["isError"], true);
    let admin = std::fs::read_to_string(gateway.directory().join("data/admin.token")).expect("a token");
    let fetch = async |token: &str| {
        let url = format!("{}/metrics", gateway.base);
        let token = format!("Bearer {token}");
        octroi_testkit::client::raw::fetch(hyper::Method::GET, &url, &[("authorization", &token)], "").await
    };
    let page = fetch(admin.trim()).await.expect("a page");
    let text = String::from_utf8_lossy(&page.body).into_owned();
    for line in [
        "octroi_tool_calls_total{server=\"peer\",tool=\"echo\",outcome=\"done\"} 1",
        "octroi_tool_calls_total{server=\"peer\",tool=\"fail\",outcome=\"tool_error\"} 1",
        "octroi_tool_call_seconds_count{server=\"peer\",tool=\"echo\"} 1",
        "octroi_server_restarts_total{server=\"peer\"} 0",
        "octroi_server_queue{server=\"peer\"} 0",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let memory =
        text.lines().find_map(|line| line.strip_prefix("octroi_server_memory_bytes{server=\"peer\"} "));
    assert!(
        memory.is_some_and(|bytes| bytes.parse::<u64>().is_ok_and(|bytes| bytes > 100_000)),
        "{memory:?}"
    );
    command(&gateway, 0, &["restart", "peer"]).await;
    let page = fetch(admin.trim()).await.expect("a page");
    let restarts = "octroi_server_restarts_total{server=\"peer\"} 1";
    assert!(String::from_utf8_lossy(&page.body).contains(restarts), "{page:?}");
    assert_eq!(fetch(octroi_testkit::gateway::AGENT_TOKEN).await.expect("an answer").status, 403);
    assert_eq!(fetch("wrong").await.expect("an answer").status, 401);
    gateway.stop().await;
}
