//! Settings of agents take effect with the next call, and survive a restart.

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::approvals::recorded;
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::{command, person, run};
/// The outcome of a call that writes: `done`, `asked`, or the gate that denies it.
async fn outcome_of_write(gateway: &TestGateway) -> String {
    let agent = connect(gateway, Era::Modern, ClientOptions::default()).await;
    match agent.call("peer_add", json!({"a": 1, "b": 2})).await {
        Ok(result) if result["isError"] == true => "asked".to_owned(),
        Ok(_) => "done".to_owned(),
        Err(octroi_testkit::client::error::ClientError::Rpc(error)) => {
            error.data["gate"].as_str().unwrap_or_default().to_owned()
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_set_what_agents_are_decided_by() {
    let config = format!(
        "{}[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"200ms\"\n[[agents]]\nid = \"idle\"\nproject = \"house\"\n",
        stdio_entry("peer", &[])
    );
    let gateway = TestGateway::start(&octroi(), &config).await;
    assert_eq!(outcome_of_write(&gateway).await, "asked");
    let steps: [(&[&str], &str, &str); 7] = [
        (&["--profile", "open"], "done", "tester  open"),
        (&["--profile", "strict", "--mode", "planning"], "mode", "planning"),
        (&["--mode", "execution"], "spec_frozen", "execution"),
        (&["--freeze", "abc123"], "project_binding", "specification abc123 frozen"),
        (&["--project", "house", "--project-root", "/house"], "asked", "project house  in /house"),
        (&["--blacklist", "data.write,fs.write,database.write"], "blacklist", "never data.write"),
        (&["--unfreeze", "--blacklist", ""], "spec_frozen", "set by admin"),
    ];
    for (options, expected, printed) in steps {
        let arguments = [&["agents", "set", "tester"], options].concat();
        let text = command(&gateway, 0, &arguments).await;
        assert!(text.contains(printed), "{options:?}: {text}");
        assert_eq!(outcome_of_write(&gateway).await, expected, "{options:?}");
    }
    for (code, options) in [
        (2, &[][..]),
        (2, &["--freeze", "a", "--unfreeze"]),
        (2, &["--mode", "sleeping"]),
        (2, &["--profile", "none"]),
        (1, &["--project-root", "house"]),
    ] {
        command(&gateway, code, &[&["agents", "set", "tester"], options].concat()).await;
    }
    command(&gateway, 1, &["agents", "set", "two words", "--mode", "planning"]).await;

    // It survives the restart and takes precedence over the configuration; what was not set comes from there.
    command(&gateway, 0, &["agents", "set", "idle", "--mode", "planning"]).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    assert_eq!(outcome_of_write(&gateway).await, "spec_frozen");
    let output = run(&gateway.directory().join("data"), &["agents", "--json"]).await;
    let agents: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    let listed: Vec<_> =
        agents.iter().map(|agent| (&agent["id"], &agent["mode"], &agent["project"])).collect();
    let expected = [
        (json!("default"), json!("execution"), json!(null)),
        (json!("idle"), json!("planning"), json!("house")),
        (json!("local"), json!("execution"), json!(null)),
        (json!("tester"), json!("execution"), json!("house")),
    ];
    assert_eq!(listed, expected.each_ref().map(|(id, mode, project)| (id, mode, project)));

    let person = person(&gateway, Era::Legacy("2025-11-25")).await;
    let frozen =
        person.call("specs_freeze", json!({"agent_id": "tester", "spec_hash": "h"})).await.expect("a result");
    assert_eq!(frozen["structuredContent"]["spec_frozen"], true, "{frozen}");
    assert_eq!(outcome_of_write(&gateway).await, "asked");
    let one = person.call("agents_get", json!({"agent_id": "idle"})).await.expect("a result");
    assert_eq!(one["structuredContent"]["configured"], true, "{one}");
    let read =
        person.request("resources/read", json!({"uri": "resource://agents/list"})).await.expect("contents");
    assert!(read["contents"][0]["text"].as_str().unwrap_or_default().contains("\"idle\""), "{read}");
    let (directory, _) = gateway.stop_and_keep().await;
    assert_eq!(recorded(directory.path()).matches("agent_set").count(), 9, "each change, and nothing else");
}
