//! An administrator's overrides of single tools take precedence over everything that Octroi infers.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::approvals::recorded;
use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::manage::{exit_and_output, names, run};

const REASON: &str = "nobody may echo during the audit";

fn config(overrides: &str) -> String {
    format!("{}{overrides}[policy]\nprofile = \"guarded\"\n", stdio_entry("peer", &[]))
}

/// The same with a server that is started on first use.
fn lazy(overrides: &str) -> String {
    config(&format!("start = \"lazy\"\n{overrides}"))
}

fn echo_is_off() -> String {
    config(&format!("[mcp.servers.tools_override.echo]\nenabled = false\nreason = \"{REASON}\"\n"))
}

async fn lists_echo(client: &TestClient) -> bool {
    names(&client.list_tools().await.expect("a list")).contains(&"peer_echo")
}

async fn why(gateway: &TestGateway, tool: &str) -> Value {
    let arguments = if tool == "peer.echo" { r#"{"text":"x"}"# } else { "{}" };
    let command = ["policy", "why", tool, arguments, "--agent", "tester", "--json"];
    let output = run(&gateway.directory().join("data"), &command).await;
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_is_switched_off_is_neither_listed_nor_called() {
    let gateway = TestGateway::start(&octroi(), &echo_is_off()).await;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        assert!(!lists_echo(&agent).await, "{era:?}");
        let refused = agent.call("peer_echo", json!({"text": "x"})).await.expect_err("it is off");
        assert_eq!(refused.code(), Some(-32951), "{refused}");
        assert!(refused.to_string().contains("tool_disabled"), "{refused}");
        let own = octroi_testkit::client::options::Transport::Http {
            url: gateway.server_url("peer"),
            token: Some(octroi_testkit::gateway::AGENT_TOKEN.to_owned()),
        };
        let alone = TestClient::connect(own, era, ClientOptions::default()).await.expect("it connects");
        assert!(!names(&alone.list_tools().await.expect("a list")).contains(&"echo"), "{era:?}");
        let refused = alone.call("echo", json!({"text": "x"})).await.expect_err("it is off there too");
        assert_eq!(refused.code(), Some(-32951), "{refused}");
    }
    let explanation = why(&gateway, "peer.echo").await;
    assert_eq!(
        (&explanation["decision"], &explanation["tool"]["enabled"]),
        (&json!("deny_continue"), &json!(false)),
        "{explanation}"
    );
    let reason = format!("`peer.echo` is switched off in the configuration: {REASON}");
    assert_eq!(explanation["reason"], reason, "{explanation}");
    let denied =
        explanation["trace"].as_array().into_iter().flatten().find(|verdict| verdict["outcome"] == "deny");
    assert_eq!(denied.map(|verdict| &verdict["gate"]), Some(&json!("disabled")), "{explanation}");
    let (directory, _) = gateway.stop_and_keep().await;
    let log = recorded(directory.path());
    assert_eq!(log.matches(&format!("\"gate\":\"disabled\",\"reason\":\"{reason}\"")).count(), 4, "{log}");
    assert!(!log.contains("tool_invocation_start"), "nothing was called");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_word_about_a_tool_counts_at_once() {
    let gateway = TestGateway::launch(&octroi(), &lazy(""), &[]).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert!(lists_echo(&agent).await);
    assert_eq!(agent.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    let mut watcher = agent.watch(Watch::tools()).await.expect("it can be watched");
    let reload = async |config: &str| {
        gateway.rewrite_config(config);
        let (code, text) = exit_and_output(&run(&gateway.directory().join("data"), &["reload"]).await);
        assert_eq!(code, Some(0), "{text}");
    };
    // The server is lazy: it has not listed its tools again when the answer to the reload comes.
    reload(&lazy("tools_override = { echo = { enabled = false } }\n")).await;
    assert!(agent.call("peer_echo", json!({"text": "x"})).await.is_err());
    assert!(watcher.next(SOON).await.is_some(), "the list became shorter");
    assert!(!lists_echo(&agent).await);
    reload(&lazy(
        "[mcp.servers.tools_override]\necho = { risk = \"high\", side_effects = [\"fs.write\"] }\n\
         touch = { risk = \"low\", side_effects = [] }\n",
    ))
    .await;
    let raised = why(&gateway, "peer.echo").await;
    assert_eq!((&raised["decision"], &raised["tool"]["risk"]), (&json!("ask"), &json!("high")), "{raised}");
    assert_eq!(raised["tool"]["side_effects"], json!(["fs.write"]));
    let lowered = why(&gateway, "peer.touch").await;
    assert_eq!(
        (&lowered["decision"], &lowered["tool"]["risk"]),
        (&json!("allow"), &json!("low")),
        "{lowered}"
    );
    reload(&lazy("[mcp.servers.tools_override]\necho = { requires_admin_token = true }\n")).await;
    let guarded = why(&gateway, "peer.echo").await;
    assert_eq!((&guarded["tool"]["requires_admin"], &guarded["tool"]["risk"]), (&json!(true), &json!("low")));
    reload(&lazy("")).await;
    let plain = why(&gateway, "peer.echo").await;
    assert_eq!((&plain["decision"], &plain["tool"]["risk"]), (&json!("allow"), &json!("low")), "{plain}");
    assert_eq!(agent.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_the_server_does_not_have_is_warned_of() {
    let misspelt = config("[mcp.servers.tools_override.ehco]\nenabled = false\n");
    let gateway = TestGateway::start(&octroi(), &misspelt).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert!(lists_echo(&agent).await);
    let warning = "`tools_override` names `ehco`, which server `peer` does not have; did you mean `echo`?";
    let (_, status) = exit_and_output(&run(&gateway.directory().join("data"), &["status"]).await);
    assert!(status.contains(warning), "{status}");
    let (_, one) = exit_and_output(&run(&gateway.directory().join("data"), &["get", "peer"]).await);
    assert!(one.contains(warning), "{one}");
    let (_, log) = gateway.stop_and_keep().await;
    assert_eq!(log.matches(warning).count(), 1, "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_people_know_about_tools_counts_when_it_is_read_again() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let knowledge = format!("{}[[inference]]\ntools = \"peer.echo\"\nrisk = \"critical\"\n", config(""));
    for (config, risk) in [(config(""), "low"), (knowledge, "critical"), (config(""), "low")] {
        gateway.rewrite_config(&config);
        let (code, text) = exit_and_output(&run(&gateway.directory().join("data"), &["reload"]).await);
        assert_eq!(code, Some(0), "{text}");
        assert_eq!(why(&gateway, "peer.echo").await["tool"]["risk"], risk);
    }
    gateway.stop().await;
}
