//! Tables have headings, the keys of the JSON output, and fit the terminal.

use std::path::Path;

use expect_test::expect;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::{command, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_have_the_keys_as_headings_and_fit_the_terminal() {
    let long = "a-server-with-a-name-of-many-l";
    let config = format!(
        "{}{}[[mcp.servers]]\nname = \"gone\"\nreconnect = false\nurl = \"http://127.0.0.1:1/a/very/long/path/to/a/server\"\n\
         [policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"200ms\"\n",
        stdio_entry("peer", &[]),
        stdio_entry(long, &[]),
    );
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let asked = agent.call("peer_write", json!({"path": "/tmp/x".repeat(40)})).await;
    drop(asked);
    let asked = agent.call("peer_add", json!({"a": 1, "b": 2})).await;
    drop(asked);
    let policy = gateway.directory().join("policy.toml");
    std::fs::write(&policy, "deny = [{ tool = \"peer.fail\" }]\n").expect("a file");
    command(&gateway, 0, &["policy", "apply", &policy.display().to_string(), "--yes"]).await;
    for (arguments, code) in [
        (&["list"][..], 0),
        (&["status"], 1),
        (&["tools"], 0),
        (&["agents"], 0),
        (&["approvals"], 0),
        (&["policy", "show", "--history"], 0),
    ] {
        let data = gateway.directory().join("data");
        let text = at_terminal(&data, 80, arguments).await;
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{arguments:?}: {text}");
        let output = run(&data, arguments).await;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let mut lines = text.lines();
        let first = lines.next().expect("a line");
        // The status begins with a line about the gateway.
        let heading = if first.starts_with("http://") { lines.next().expect("a heading") } else { first };
        let json = run(&data, &[arguments, &["--json"]].concat()).await;
        let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
        let list = ["servers", "versions"].iter().find_map(|key| json.get(key)).unwrap_or(&json);
        let keys: Vec<String> = list.as_array().expect("a list").iter().flat_map(keys_of).collect();
        for word in heading.split("  ").map(str::trim).filter(|word| !word.is_empty()) {
            let key = word.to_lowercase().replace(' ', "_");
            assert!(keys.iter().any(|known| known.starts_with(&key)), "{arguments:?}: {word} in {keys:?}");
        }
    }
    let records = at_terminal(&gateway.directory().join("data"), 80, &["audit", "list", "-n", "20"]).await;
    assert!(records.lines().all(|line| line.chars().count() <= 80), "{records}");
    let heading: Vec<&str> = records.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(heading, ["SEQ", "AT", "AGENT", "DECISION", "TOOL", "REASON"], "{records}");
    // Programs that read a pipe get the whole texts.
    let piped = command(&gateway, 0, &["audit", "list", "-n", "20"]).await;
    assert!(records.contains('…') && !piped.contains('…'), "{piped}");
    gateway.stop().await;
}

/// What a command prints in a terminal of this width, as `script` makes one.
async fn at_terminal(data: &Path, width: u16, arguments: &[&str]) -> String {
    let command = format!(
        "stty rows 24 cols {width}; '{}' {} --data '{}' 2>/dev/null",
        octroi().display(),
        arguments.join(" "),
        data.display()
    );
    let output = tokio::process::Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null())
        .output()
        .await
        .expect("`script` of util-linux is there");
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}

fn keys_of(item: &Value) -> Vec<String> {
    item.as_object().expect("an object").keys().cloned().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wider_terminal_shows_more() {
    let config = "[[mcp.servers]]\nname = \"gone\"\nreconnect = false\ncommand = [\"/there/is/no/such/program/as/this/one/anywhere\"]\n";
    let gateway = TestGateway::start(&octroi(), config).await;
    let mut shown = String::new();
    for width in [60, 80, 120] {
        shown.push_str(&at_terminal(&gateway.directory().join("data"), width, &["list"]).await);
    }
    expect![[r#"
        NAME  STATE   HEALTH     TRANSPORT  TOOLS  ERROR
        gone  failed  unhealthy  stdio          0  cannot run `/the…
        NAME  STATE   HEALTH     TRANSPORT  TOOLS  ERROR
        gone  failed  unhealthy  stdio          0  cannot run `/there/is/no/such/progra…
        NAME  STATE   HEALTH     TRANSPORT  TOOLS  ERROR
        gone  failed  unhealthy  stdio          0  cannot run `/there/is/no/such/program/as/this/one/anywhere`: there is no suc…
    "#]]
    .assert_eq(&shown);
    gateway.stop().await;
}
