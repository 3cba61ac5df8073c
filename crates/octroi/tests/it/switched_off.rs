//! A call to what is switched off says which switch said no, and is recorded.

use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::audit::records;
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::command;

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];

fn off(name: &str, more: &str) -> String {
    format!("{}{more}\n", stdio_entry(name, &[]))
}

/// The error of a call that must be refused with the code for what is switched off.
async fn refused(gateway: &TestGateway, era: Era, tool: &str) -> (String, Value) {
    let agent = connect(gateway, era, ClientOptions::default()).await;
    match agent.call(tool, json!({})).await {
        Err(ClientError::Rpc(error)) => {
            assert_eq!(error.code, -32951, "{tool} {era:?}: {}", error.message);
            (error.message, error.data)
        }
        other => panic!("{tool} {era:?}: {other:?}"),
    }
}

/// The reasons of the refusals on record, for one server.
async fn recorded(gateway: &TestGateway, server: &str, n_expected: usize) -> Vec<String> {
    let data = gateway.directory().join("data");
    for _ in 0..100 {
        let found = records(&data, &["--kind", "policy_violation"]).await;
        let of_server = found.iter().filter(|record| record["server"] == server);
        let reasons = of_server.filter_map(|record| record["context"]["reason"].as_str().map(str::to_owned));
        let reasons: Vec<String> = reasons.collect();
        if reasons.len() >= n_expected {
            return reasons;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the calls to {server} are not recorded: {:?}", records(&data, &[]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_says_which_switch_said_no() {
    let config = [
        off("entry", "enabled = false"),
        off("low", "trust = \"low\""),
        off("peer", "[mcp.servers.tools_override.roots]\nenabled = false\nreason = \"nobody needs it\""),
        off("disabled", ""),
    ]
    .concat();
    let gateway = TestGateway::start(&octroi(), &config).await;
    command(&gateway, 0, &["disable", "disabled"]).await;
    for (server, tool, switch, reason, hint) in [
        (
            "entry",
            "entry_anything",
            "entry",
            "`enabled = false` in its entry of the configuration",
            "octroi enable entry",
        ),
        ("low", "low_anything", "trust", "it has low trust and waits for a first yes", "octroi enable low"),
        (
            "disabled",
            "disabled_echo",
            "operator",
            "admin switched it off with `octroi disable`",
            "octroi enable disabled",
        ),
    ] {
        for era in ERAS {
            let (message, data) = refused(&gateway, era, tool).await;
            let expected = format!(
                "tool_disabled: `{tool}` was not called: server `{server}` is switched off: {reason}"
            );
            assert_eq!(message, expected, "{era:?}");
            assert_eq!(
                (&data["gate"], &data["switch"]),
                (&json!("scope"), &json!(switch)),
                "{era:?}: {data}"
            );
            assert!(data["hint"].as_str().is_some_and(|text| text.contains(hint)), "{era:?}: {data}");
        }
        let reasons = recorded(&gateway, server, ERAS.len()).await;
        assert!(reasons.iter().all(|found| found.contains(reason)), "{reasons:?}");
        let text = command(&gateway, 6, &["call", &format!("{server}.anything")]).await;
        assert!(text.contains(reason) && text.contains(hint), "{text}");
    }
    for era in ERAS {
        let (message, data) = refused(&gateway, era, "peer_roots").await;
        assert!(message.contains("switched off in the configuration: nobody needs it"), "{era:?}: {message}");
        assert_eq!(data["gate"], "disabled", "{era:?}: {data}");
        assert!(data["hint"].as_str().is_some_and(|text| text.contains("tools_override")), "{era:?}: {data}");
    }
    let reasons = recorded(&gateway, "peer", ERAS.len()).await;
    assert!(reasons.iter().all(|found| found.contains("nobody needs it")), "{reasons:?}");
    // A server that is on has no such tool, and that is all.
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let unknown = agent.call("peer_nothing", json!({})).await.expect_err("there is none");
    assert_eq!(unknown.code(), Some(-32602), "{unknown}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_switch_of_all_servers_comes_first() {
    let config = format!("[mcp]\nenabled = false\n{}", off("peer", "enabled = false"));
    let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
    command(&gateway, 0, &["disable", "peer"]).await;
    for era in ERAS {
        let (message, data) = refused(&gateway, era, "peer_echo").await;
        assert!(
            message.contains("`enabled = false` under [mcp] keeps every server off"),
            "{era:?}: {message}"
        );
        assert_eq!(data["switch"], "global", "{era:?}: {data}");
        let hint = data["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("[mcp]") && !hint.contains("octroi enable"), "{era:?}: {hint}");
    }
    recorded(&gateway, "peer", ERAS.len()).await;
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_are_off_are_skipped_with_a_line_in_the_log() {
    let config = [off("entry", "enabled = false"), off("low", "trust = \"low\""), off("peer", "")].concat();
    let gateway = TestGateway::launch(&octroi(), &config, &["-v"]).await;
    gateway.wait_until_settled().await;
    let log = gateway.stop().await;
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("disabled, skipped")).collect();
    for (server, switch) in [("entry", "entry"), ("low", "trust")] {
        let is_about = |line: &&&str| {
            line.contains(&format!("server.name={server}")) && line.contains(&format!("switch=\"{switch}\""))
        };
        assert_eq!(lines.iter().filter(is_about).count(), 1, "{server}: {log}");
    }
    assert_eq!(lines.len(), 2, "{log}");
}
