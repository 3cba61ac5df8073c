//! A tool under another name is a new tool: the mode decides whether it can be used.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use super::pins;
use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::manage::{exit_and_output, names, person, run};

const NUMBERS: [(&str, i64); 2] = [("a", 1), ("b", 2)];

async fn sum(agent: &TestClient, name: &str) -> Result<String, (i64, String)> {
    let arguments: Value =
        NUMBERS.into_iter().map(|(name, number)| (name.to_owned(), json!(number))).collect();
    match agent.call_text(name, arguments).await {
        Ok(text) => Ok(text),
        Err(ClientError::Rpc(error)) => {
            let reason = error.data["reason"].as_str().unwrap_or(&error.message).to_owned();
            Err((error.code, reason))
        }
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Has the server rename its tool, and waits until the old name is gone.
async fn rename(agent: &TestClient) {
    let mut watcher = agent.watch(Watch::tools()).await.expect("it can be watched");
    assert_eq!(agent.call_text("peer_reword", json!({})).await.as_deref(), Ok("reworded"));
    for _ in 0..10 {
        if !names(&agent.list_tools().await.expect("a list")).contains(&"peer_add") {
            return;
        }
        watcher.next(SOON).await;
    }
    panic!("the old name is still offered");
}

/// Waits until the server has listed its tools, whether they may be used or not.
async fn wait_until_seen(gateway: &TestGateway, mode: &str) {
    if mode == "trust_first" {
        return gateway.wait_until_settled().await;
    }
    for _ in 0..400 {
        if pins(gateway).await.contains("peer.add") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("{mode}: nothing is kept back");
}

/// Accepts everything that is quarantined, like a person who has reviewed it.
async fn accept_all(gateway: &TestGateway, era: Era) {
    let person = person(gateway, era).await;
    let held = person.call("pins_list", json!({})).await.expect("a list");
    for pin in held["structuredContent"]["held"].as_array().expect("a list") {
        let arguments =
            json!({"server": pin["server"], "kind": pin["kind"], "name": pin["name"], "hash": pin["hash"]});
        let accepted = person.call("pins_accept", arguments).await.expect("a result");
        assert_ne!(accepted["isError"], true, "{accepted}");
    }
    assert!(pins(gateway).await.contains("no quarantined definition waits"));
}

async fn lock(gateway: &TestGateway) {
    let config = gateway.directory().join("octroi.toml").display().to_string();
    for arguments in [&["pins", "lock", "--config", &config][..], &["reload"]] {
        let (status, text) = exit_and_output(&run(&gateway.directory().join("data"), arguments).await);
        assert_eq!(status, Some(0), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renamed_tool_is_a_new_one() {
    // How the first definitions are accepted, and the reason that is given for a later one.
    let modes = [
        ("trust_first", None),
        ("ask", Some("has not been accepted yet")),
        ("strict", Some("is not in the lock file")),
    ];
    for (mode, kept_back) in modes {
        for era in [Era::Modern, Era::Legacy("2025-11-25")] {
            let entry = stdio_entry("peer", &["--lie", "renamed"]);
            let config = format!("{entry}[pins]\nmode = \"{mode}\"\n");
            let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
            wait_until_seen(&gateway, mode).await;
            let agent = connect(&gateway, era, ClientOptions::default()).await;
            if mode != "trust_first" {
                assert_eq!(agent.list_tools().await.expect("a list"), Vec::<Value>::new(), "{mode}");
                assert_eq!(sum(&agent, "peer_add").await.expect_err("quarantined").0, -32951, "{mode}");
            }
            match mode {
                "ask" => accept_all(&gateway, era).await,
                "strict" => {
                    gateway.rewrite_config(&entry);
                    // Accepted on first use, and required to stay the same from then on.
                    assert_eq!(
                        exit_and_output(&run(&gateway.directory().join("data"), &["reload"]).await).0,
                        Some(0)
                    );
                    lock(&gateway).await;
                    gateway.rewrite_config(&config);
                    assert_eq!(
                        exit_and_output(&run(&gateway.directory().join("data"), &["reload"]).await).0,
                        Some(0)
                    );
                }
                _ => {}
            }
            assert_eq!(sum(&agent, "peer_add").await.as_deref(), Ok("3"), "{mode}");
            rename(&agent).await;

            let (code, gone) = sum(&agent, "peer_add").await.expect_err("it is gone");
            assert!(code == -32602 && gone.contains("unknown tool"), "{mode}: {gone}");
            let is_offered = names(&agent.list_tools().await.expect("a list")).contains(&"peer_sum");
            assert_eq!(is_offered, kept_back.is_none(), "{mode}");
            let (outcome, output) = (sum(&agent, "peer_sum").await, pins(&gateway).await);
            match kept_back {
                None => {
                    assert_eq!(outcome.as_deref(), Ok("3"), "{mode}");
                    assert!(output.contains("no quarantined definition waits"), "{mode}: {output}");
                }
                Some(reason) => {
                    let (code, message) = outcome.expect_err("quarantined");
                    assert!(code == -32951 && message.contains(reason), "{mode}: {message}");
                    assert!(output.contains("peer.sum") && output.contains(reason), "{mode}: {output}");
                }
            }
            assert_eq!(
                agent.call_text("peer_echo", json!({"text": "x"})).await.as_deref(),
                Ok("x"),
                "{mode}"
            );
            gateway.stop().await;
        }
    }
}
