//! A server with low trust that nobody has accepted stays off until an admin has said yes once.

use octroi_testkit::gateway::TestGateway;
use serde_json::Value;

use crate::harness::{octroi, stdio_entry};
use crate::manage::{command, run};

/// Nothing answers there, which is another state than switched off.
fn remote(name: &str, more: &str) -> String {
    format!(
        "[[mcp.servers]]\nname = \"{name}\"\nurl = \"http://192.0.2.1:9/mcp\"\nconnect_timeout = \"1s\"\n{more}\n"
    )
}

fn config(reload: &str, servers: &[String]) -> String {
    format!("[mcp]\nauto_reload = {reload}\n{}{}", stdio_entry("peer", &[]), servers.concat())
}

async fn server(gateway: &TestGateway, name: &str) -> Option<Value> {
    let output = run(&gateway.directory().join("data"), &["list", "--json"]).await;
    let servers: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    servers.into_iter().find(|server| server["name"] == name)
}

/// Waits until there is this server; returns whether it is on.
async fn is_on(gateway: &TestGateway, name: &str) -> bool {
    for _ in 0..200 {
        if let Some(found) = server(gateway, name).await {
            return found["state"] != "disabled";
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("there is no server {name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_nobody_accepted_waits_for_a_yes() {
    let first = [remote("tracker", "")];
    let gateway = TestGateway::launch(&octroi(), &config("true", &first), &[]).await;
    assert!(is_on(&gateway, "tracker").await, "a first start accepts what it finds");

    let all = [
        remote("tracker", ""),
        remote("added", ""),
        remote("insisting", "enabled = true"),
        remote("vouched", "trust = \"medium\""),
    ];
    gateway.rewrite_config(&config("true", &all));
    for (name, expected) in [("added", false), ("insisting", false), ("vouched", true), ("tracker", true)] {
        assert_eq!(is_on(&gateway, name).await, expected, "{name}");
    }
    let waits = server(&gateway, "added").await.expect("it is there");
    assert_eq!(waits["error"], "waits for a first yes: octroi enable added");
    let status = run(&gateway.directory().join("data"), &["status"]).await;
    assert!(String::from_utf8_lossy(&status.stdout).contains("waits for a first yes"), "{status:?}");

    // A restart is no yes, not even one that accepts nothing new.
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config("true", &all), &[]).await;
    assert!(!is_on(&gateway, "added").await);
    assert!(is_on(&gateway, "tracker").await, "it ran before");

    command(&gateway, 0, &["enable", "added"]).await;
    assert!(is_on(&gateway, "added").await);
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config("true", &all), &[]).await;
    for (name, expected) in [("added", true), ("insisting", false), ("tracker", true)] {
        assert_eq!(is_on(&gateway, name).await, expected, "{name}");
    }
    // Who accepts all of the configuration says yes to all that is in it.
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway =
        TestGateway::launch_in(directory, &octroi(), &config("true", &all), &["--accept-config"]).await;
    assert!(is_on(&gateway, "insisting").await);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_accepts_the_difference_says_yes() {
    let gateway = TestGateway::launch(&octroi(), &config("\"ask\"", &[]), &[]).await;
    let low = remote("cautious", "trust = \"low\"");
    gateway.rewrite_config(&config("\"ask\"", &[remote("tracker", ""), low]));
    command(&gateway, 0, &["reload", "--yes"]).await;
    assert!(is_on(&gateway, "tracker").await);
    assert!(!is_on(&gateway, "cautious").await, "it is off by default, which is what was accepted");
    let (directory, _) = gateway.stop_and_keep().await;
    gateway_again(directory).await;
}

/// What was accepted stays accepted.
async fn gateway_again(directory: tempfile::TempDir) {
    let low = remote("cautious", "trust = \"low\"");
    let config = config("\"ask\"", &[remote("tracker", ""), low]);
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    assert!(is_on(&gateway, "tracker").await);
    assert!(!is_on(&gateway, "cautious").await);
    command(&gateway, 0, &["enable", "cautious"]).await;
    assert!(is_on(&gateway, "cautious").await);
    gateway.stop().await;
}
