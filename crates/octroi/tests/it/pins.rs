//! Changed definitions are quarantined until a person has reviewed the change.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::approvals::recorded;
use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::manage::{command, names, person, run};
async fn offers_echo(client: &TestClient) -> bool {
    names(&client.list_tools().await.expect("a list")).contains(&"peer_echo")
}

/// Makes the server change the definition of `echo`, and waits until the gateway has it.
async fn reword(agent: &TestClient) {
    let mut watcher =
        agent.watch(Watch { tools: true, ..Watch::default() }).await.expect("it can be watched");
    assert_eq!(agent.call_text("peer_reword", json!({})).await.as_deref(), Ok("reworded"));
    for _ in 0..10 {
        if !offers_echo(agent).await {
            return;
        }
        watcher.next(SOON).await;
    }
    panic!("the changed tool is still offered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_changed_tool_is_quarantined_until_accepted() {
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &["--fault", "reword"])).await;
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        assert!(command(&gateway, 0, &["pins"]).await.contains("no quarantined definition waits"));
        reword(&agent).await;

        let error = agent.call("peer_echo", json!({"text": "x"})).await.expect_err("kept back");
        assert_eq!(error.code(), Some(-32951), "{error}");
        let listed = command(&gateway, 0, &["pins"]).await;
        for text in [
            "peer.echo",
            "differs from the accepted one",
            "description (text)",
            "- Returns its text",
            "+ Returns its text, and whatever else it is given",
        ] {
            assert!(listed.contains(text), "{text}: {listed}");
        }
        let output = run(&gateway.directory().join("data"), &["pins", "--json"]).await;
        let held: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
        assert_eq!((held.len(), &held[0]["server"], &held[0]["kind"]), (1, &json!("peer"), &json!("tool")));
        let person = person(&gateway, era).await;
        let read =
            person.request("resources/read", json!({"uri": "resource://pins/held"})).await.expect("contents");
        assert!(read["contents"][0]["text"].as_str().unwrap_or_default().contains("whatever else"), "{read}");

        let output = command(&gateway, 0, &["pins", "show", "peer.echo"]).await;
        assert!(output.contains("accepted by first use") && output.contains("inputSchema"), "{output}");
        command(&gateway, 1, &["pins", "show", "peer.nobody"]).await;
        command(&gateway, 1, &["pins", "accept", "peer.echo", "--kind", "prompt"]).await;
        command(&gateway, 0, &["pins", "keep-out", "peer.echo"]).await;
        assert!(!offers_echo(&agent).await, "it stays out");
        // Accepting applies to the definition that was shown, not to what the server lists by then.
        let arguments = json!({"server": "peer", "name": "echo", "hash": "0".repeat(64)});
        let stale = person.call("pins_accept", arguments).await.expect("a result");
        assert!(
            stale["isError"] == true
                && stale["content"][0]["text"].as_str().unwrap_or_default().contains("again"),
            "{stale}"
        );
        assert!(!offers_echo(&agent).await);

        let accepted = command(&gateway, 0, &["pins", "accept", "peer.echo"]).await;
        assert!(accepted.contains("it can be used now"), "{accepted}");
        assert!(offers_echo(&agent).await);
        assert_eq!(agent.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
        let refused = command(&gateway, 1, &["pins", "accept", "peer.echo"]).await;
        assert!(refused.contains("is quarantined"), "{refused}");
        let (directory, _) = gateway.stop_and_keep().await;
        let log = recorded(directory.path());
        for change in ["definition_kept_out", "definition_accepted"] {
            assert_eq!(log.matches(change).count(), 1, "{change}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_file_stands_above_what_was_accepted() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &["--fault", "reword"])).await;
    let config = gateway.directory().join("octroi.toml").display().to_string();
    let printed = command(&gateway, 0, &["pins", "lock", "--file", "-"]).await;
    assert!(
        printed.contains("[[pins]]\nserver = \"peer\"") && printed.contains("name = \"echo\""),
        "{printed}"
    );
    let written = command(&gateway, 0, &["pins", "lock", "--config", &config]).await;
    assert!(written.contains("octroi.lock holds"), "{written}");
    let file = gateway.directory().join("octroi.lock");
    let before = std::fs::read_to_string(&file).expect("a lock file");
    assert_eq!(before.trim(), printed.trim());
    command(&gateway, 0, &["reload"]).await;

    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert!(offers_echo(&agent).await);
    reword(&agent).await;
    let accepted = command(&gateway, 0, &["pins", "accept", "peer.echo"]).await;
    assert!(accepted.contains("octroi pins lock"), "{accepted}");
    assert!(!offers_echo(&agent).await);
    command(&gateway, 0, &["pins", "lock", "--config", &config]).await;
    assert_ne!(std::fs::read_to_string(&file).expect("a lock file"), before);
    command(&gateway, 0, &["reload"]).await;
    assert!(offers_echo(&agent).await);
    gateway.stop().await;
}

/// Waits until `echo` is quarantined or not.
async fn until_offered(agent: &TestClient, is_offered: bool) {
    let mut watcher = agent.watch(Watch::tools()).await.expect("it can be watched");
    for _ in 0..10 {
        if offers_echo(agent).await == is_offered {
            return;
        }
        watcher.next(SOON).await;
    }
    panic!("echo is not as it should be: {is_offered}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_definition_stays_rejected_and_needs_no_review_again() {
    let config = stdio_entry("peer", &["--fault", "reword"]);
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    reword(&agent).await;
    let person = person(&gateway, Era::Modern).await;
    let mut watcher = person.watch(Watch::resource("resource://pins/held")).await.expect("it can be watched");
    let output = command(&gateway, 0, &["pins", "keep-out", "peer.echo"]).await;
    assert!(output.contains("is rejected") && output.contains("octroi pins accept peer.echo"), "{output}");
    assert!(watcher.next(SOON).await.is_some(), "subscribers are notified");
    let listed = command(&gateway, 0, &["pins"]).await;
    assert!(listed.contains("no quarantined definition waits") && !listed.contains("peer.echo"), "{listed}");
    let all = command(&gateway, 0, &["pins", "--all"]).await;
    assert!(all.contains("rejected:") && all.contains("admin rejected it"), "{all}");
    let stale = json!({"server": "peer", "name": "echo", "hash": "0".repeat(64)});
    let stale = person.call("pins_reject", stale).await.expect("a result");
    assert_eq!(stale["isError"], true, "{stale}");

    // The rejection survives a restart: the definition does not wait for review again.
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    until_offered(&agent, true).await;
    reword(&agent).await;
    assert!(!command(&gateway, 0, &["pins"]).await.contains("peer.echo"));
    let output = command(&gateway, 0, &["pins", "show", "peer.echo"]).await;
    assert!(output.contains("admin rejected it"), "{output}");
    // Forgetting accepted definitions does not accept a rejected one, though the mode is `trust_first`.
    command(&gateway, 0, &["pins", "forget", "peer.echo"]).await;
    assert!(!offers_echo(&agent).await);
    let accepted = command(&gateway, 0, &["pins", "accept", "peer.echo"]).await;
    assert!(accepted.contains("it can be used now"), "{accepted}");
    assert!(offers_echo(&agent).await);
    assert!(!command(&gateway, 0, &["pins", "--all"]).await.contains("peer.echo"));
    let (directory, log) = gateway.stop_and_keep().await;
    assert!(!log.contains("quarantined"), "nobody was asked again: {log}");
    let log = recorded(directory.path());
    assert_eq!(log.matches("definition_kept_out").count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_definition_than_the_rejected_one_needs_review() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &["--fault", "reword"])).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    reword(&agent).await;
    command(&gateway, 0, &["pins", "keep-out", "peer.echo"]).await;
    let (directory, _) = gateway.stop_and_keep().await;
    // Another program under the name of the old one: its `echo` is neither the accepted nor the rejected one.
    let config =
        format!("[[mcp.servers]]\nname = \"peer\"\ncommand = {}\n", json!([octroi(), "demo-server"]));
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    // Until it has answered, the list of the old one is used.
    let mut watcher = agent.watch(Watch::tools()).await.expect("it can be watched");
    while !names(&agent.list_tools().await.expect("a list")).contains(&"peer_write_note") {
        assert!(watcher.next(SOON).await.is_some(), "the other program did not list its tools");
    }
    assert!(!offers_echo(&agent).await);
    let listed = command(&gateway, 0, &["pins"]).await;
    assert!(listed.contains("peer.echo") && listed.contains("differs from the accepted one"), "{listed}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forgotten_counts_as_never_seen() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &["--fault", "reword"])).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    reword(&agent).await;
    let output = run(&gateway.directory().join("data"), &["pins", "forget", "peer.echo", "--json"]).await;
    let forgotten: Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(
        (&forgotten["forgotten"], &forgotten["mode"], &forgotten["waiting"]),
        (&json!(1), &json!("trust_first"), &json!(0))
    );
    assert!(offers_echo(&agent).await, "the changed one was seen for the first time and accepted");
    let gone = command(&gateway, 1, &["pins", "forget", "peer.nobody"]).await;
    assert!(gone.contains("nothing of `peer.nobody` was accepted"), "{gone}");
    command(&gateway, 1, &["pins", "forget", "nobody"]).await;
    let refused = agent.call("pins_forget", json!({"server": "peer"})).await;
    assert!(refused.is_err(), "not for agents: {refused:?}");

    gateway
        .rewrite_config(&format!("{}[pins]\nmode = \"ask\"\n", stdio_entry("peer", &["--fault", "reword"])));
    command(&gateway, 0, &["reload"]).await;
    assert!(offers_echo(&agent).await, "what was accepted stays so");
    let output = command(&gateway, 0, &["pins", "forget", "peer"]).await;
    for text in [
        "accepted definitions of peer forgotten",
        "waits for a person before it can be used",
        "waiting for review now",
    ] {
        assert!(output.contains(text), "{text}: {output}");
    }
    assert!(!offers_echo(&agent).await);
    assert!(command(&gateway, 0, &["pins"]).await.contains("peer.echo"));
    let (directory, _) = gateway.stop_and_keep().await;
    assert_eq!(recorded(directory.path()).matches("definitions_forgotten").count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_comes_back_is_not_new() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert!(offers_echo(&agent).await);
    gateway.rewrite_config("");
    command(&gateway, 0, &["reload"]).await;
    assert!(!offers_echo(&agent).await);
    let other = format!("[[mcp.servers]]\nname = \"peer\"\ncommand = {}\n", json!([octroi(), "demo-server"]));
    gateway.rewrite_config(&other);
    command(&gateway, 0, &["reload"]).await;
    gateway.wait_until_settled().await;
    let tools = agent.list_tools().await.expect("a list");
    assert!(names(&tools).contains(&"peer_write_note"), "a tool that was never seen is accepted: {tools:?}");
    assert!(!names(&tools).contains(&"peer_echo"), "another `echo` than the accepted one is kept back");
    assert!(command(&gateway, 0, &["pins"]).await.contains("peer.echo"));
    gateway.stop().await;
}
