//! Calls over standard streams are decided, approved and recorded like calls over HTTP.

use octroi_testkit::client::options::Transport;
use octroi_testkit::gateway::stdio_transport;

use super::*;
use crate::audit::run;
use crate::manage::{exit_and_output, names};

/// Runs a command until its JSON output contains something.
async fn wait_for_output<T>(data: &Path, arguments: &[&str], find: impl Fn(&str) -> Option<T>) -> T {
    let mut last = String::new();
    for _ in 0..200 {
        let output = run(data, arguments).await;
        last =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if let Some(found) = find(&last) {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{arguments:?} does not tell: {last}");
}

/// How many calls of `echo` by this agent are recorded as begun and ended.
fn n_records(text: &str, agent: &str) -> usize {
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    records.filter(|record| record["agent"] == agent && record["tool"] == "mcp:peer:echo").count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_recorded_whoever_has_the_directory() {
    let list = ["audit", "list", "--json", "-n", "500"];
    for era in ERAS {
        let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
        let data = gateway.directory().join("data");
        let relay = client(&gateway.relay(&octroi()), era, ClientOptions::default()).await;
        echo(&relay, "x").await;
        wait_for_output(&data, &list, |text| (n_records(text, "local") == 2).then_some(())).await;
        drop(relay);
        gateway.stop().await;

        let directory = tempfile::tempdir().expect("a directory");
        let data = directory.path().join("data");
        let transport = stdio_transport(&octroi(), directory.path(), &stdio_entry("peer", &[]));
        let owner = client(&transport, era, ClientOptions::default()).await;
        echo(&owner, "x").await;
        assert_eq!(role_of(&owner).await, GatewayRole::Owner);
        let Transport::Stdio { command, mut args, env } = transport else { panic!("it is a program") };
        args.extend(["--token".to_owned(), octroi_testkit::gateway::AGENT_TOKEN.to_owned()]);
        let relay = client(&Transport::Stdio { command, args, env }, era, ClientOptions::default()).await;
        echo(&relay, "y").await;
        assert_eq!(role_of(&relay).await, GatewayRole::Relay);
        relay.stderr_with("its configuration is in effect", SOON).await.expect("a warning");
        wait_for_output(&data, &list, |text| {
            (n_records(text, "local") == 2 && n_records(text, "tester") == 2).then_some(())
        })
        .await;
        let (code, text) = exit_and_output(&run(&data, &["status"]).await);
        assert_eq!(code, Some(0), "{text}");
        relay.close().await.expect("it ends");
        let status = owner.close().await.expect("it ends").expect("a status");
        assert_eq!(status.code(), Some(0));
        let (code, text) = exit_and_output(&run(&data, &["audit", "verify"]).await);
        assert_eq!(code, Some(0), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_asked_while_the_client_waits() {
    let entry = stdio_entry("peer", &[]);
    let config = format!(
        "{entry}risk_overrides = {{ echo = \"high\" }}\n[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"50s\"\n"
    );
    for era in ERAS {
        let gateway = TestGateway::start(&octroi(), &config).await;
        let directory = tempfile::tempdir().expect("a directory");
        let transport = stdio_transport(&octroi(), directory.path(), &config);
        let owner = client(&transport, era, ClientOptions::default()).await;
        let of_owner = client(&transport, era, ClientOptions::default()).await;
        let of_up = client(&gateway.relay(&octroi()), era, ClientOptions::default()).await;
        let own_data = directory.path().join("data");
        let up_data = gateway.directory().join("data");
        for (agent, data, part) in [
            (&owner, &own_data, GatewayRole::Owner),
            (&of_owner, &own_data, GatewayRole::Relay),
            (&of_up, &up_data, GatewayRole::Relay),
        ] {
            assert_eq!(role_of(agent).await, part);
            for (decision, expected) in [("approve", Ok("x")), ("deny", Err(-32951))] {
                let call = agent.call("peer_echo", json!({ "text": "x" }));
                let decide = async {
                    let id = wait_for_output(data, &["approvals", "--json"], |text| {
                        let listed: Vec<Value> = serde_json::from_str(text).ok()?;
                        let first = listed.first()?;
                        assert_eq!(first["agent_id"], "local", "{first}");
                        first["id"].as_str().map(str::to_owned)
                    })
                    .await;
                    let (code, text) = exit_and_output(&run(data, &[decision, &id]).await);
                    assert_eq!(code, Some(0), "{text}");
                };
                let (answer, ()) = tokio::join!(call, decide);
                match (answer, expected) {
                    (Ok(result), Ok(text)) => {
                        assert_eq!(result["content"][0]["text"], text, "{era:?} {part:?}")
                    }
                    (Err(error), Err(code)) => {
                        assert_eq!(error.code(), Some(code), "{era:?} {part:?}: {error}")
                    }
                    (answer, _) => panic!("{era:?} {part:?} {decision}: {answer:?}"),
                }
            }
        }
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_never_manages() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let data = gateway.directory().join("data");
    let (default, local) = (gateway.kept_token("default.token"), gateway.kept_token("stdio.token"));
    let with_default =
        Transport::stdio(octroi(), &["stdio", "--data", &data.display().to_string(), "--token", &default]);
    let ways = [
        ("without a token", gateway.relay(&octroi())),
        ("with the token of the agent `default`", with_default),
        ("over HTTP", Transport::Http { url: gateway.url(), token: Some(local.clone()) }),
    ];
    for era in ERAS {
        for (way, transport) in &ways {
            let agent = client(transport, era, ClientOptions::default()).await;
            let tools = agent.list_tools().await.expect("a list");
            assert!(names(&tools).iter().all(|name| name.starts_with("peer_")), "{way}: {:?}", names(&tools));
            echo(&agent, "x").await;
            for (tool, arguments) in [
                ("servers_list", json!({})),
                ("approvals_list", json!({})),
                ("agents_approve_request", json!({ "call_id": "ap_x" })),
                ("agents_update", json!({ "agent_id": "local", "profile": "open" })),
            ] {
                let denied = agent.call(tool, arguments).await.expect_err("not for agents").to_string();
                assert!(denied.contains("unknown tool"), "{era:?} {way}: {tool}: {denied}");
            }
            for uri in ["resource://servers/list", "resource://approvals/pending"] {
                let read = agent.request("resources/read", json!({ "uri": uri })).await;
                assert!(read.is_err(), "{era:?} {way}: {uri}");
            }
        }
    }
    let bearer = format!("Bearer {local}");
    let metrics = format!("{}/metrics", gateway.base);
    let refused =
        octroi_testkit::client::raw::fetch(hyper::Method::GET, &metrics, &[("authorization", &bearer)], "")
            .await;
    assert_eq!(refused.expect("an answer").status, 403);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_token_opens_nothing() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let config = gateway.directory().join("octroi.toml").display().to_string();
    let flags = ["--token", "oct_agt_wrong", "--config", &config];
    let relayed = answers(&gateway.directory().join("data"), &flags, &[]).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let own = answers(&directory.path().join("data"), &flags, &[]).await;
    for output in [relayed, own] {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains("token") && stderr.contains("hint:") && output.stdout.is_empty(), "{stderr}");
        assert!(!stderr.contains("oct_agt_wrong"), "{stderr}");
    }
}
