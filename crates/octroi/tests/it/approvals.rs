//! People decide about calls: by the command line and as any MCP client, while the agent waits or retries.

use std::path::Path;
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{SOON, answering, connect, octroi, stdio_entry};
use crate::manage::{command, person, run};

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];

/// Calls of `echo` need approval, and the caller waits for this long.
fn guarded(wait: &str) -> String {
    let entry = stdio_entry("peer", &[]);
    format!(
        "{entry}risk_overrides = {{ echo = \"high\", ask = \"high\" }}\n[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"{wait}\"\n"
    )
}

/// The approval that a pending call waits for.
pub(crate) fn pending(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    let id = result["_meta"]["octroi/error"]["approval"].as_str().expect("an approval").to_owned();
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(id.starts_with("ap_") && text.contains(&format!("octroi approve {id}")), "{text}");
    id
}

async fn echo(agent: &TestClient, text: &str) -> Value {
    agent.call("peer_echo", json!({ "text": text })).await.expect("a result")
}

/// Everything that was recorded.
pub(crate) fn recorded(directory: &Path) -> String {
    let files = std::fs::read_dir(directory.join("data/audit")).expect("a log");
    let logs = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension() == Some("log".as_ref()));
    logs.map(|path| String::from_utf8_lossy(&std::fs::read(path).expect("a segment")).into_owned()).collect()
}

/// The approval that waits, as soon as there is one.
pub(crate) async fn asked(gateway: &TestGateway) -> String {
    for _ in 0..200 {
        let output = run(&gateway.directory().join("data"), &["approvals", "--json"]).await;
        let listed: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
        if let Some(id) = listed.first().and_then(|approval| approval["id"].as_str()) {
            return id.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody asks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_call_is_made_once_and_no_other() {
    let gateway = TestGateway::start(&octroi(), &guarded("200ms")).await;
    for (n_before, era) in ERAS.into_iter().enumerate() {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let id = pending(&echo(&agent, "x").await);
        assert_eq!(pending(&echo(&agent, "x").await), id, "{era:?}: an identical call asks nobody twice");
        let other = pending(&echo(&agent, "y").await);
        assert_ne!(other, id);
        let listed = command(&gateway, 0, &["approvals"]).await;
        for text in
            [&*id, "tester", "peer.echo", "high", "{\"text\":\"x\"}", "expires in", "profile `guarded`"]
        {
            assert!(listed.contains(text), "{text}: {listed}");
        }
        let output = command(&gateway, 0, &["approvals", "show", &id]).await;
        assert!(output.contains("pending") && output.contains("mcp:peer:echo"), "{output}");

        let approved = command(&gateway, 0, &["approve", &id, "--reason", "fine"]).await;
        assert!(approved.contains("peer.echo may be called once, within"), "{approved}");
        // Other arguments are another call.
        assert_eq!(pending(&echo(&agent, "y").await), other);
        assert_eq!(echo(&agent, "x").await["content"][0]["text"], "x", "{era:?}");
        assert_eq!(
            agent.call_text("peer_calls_count", json!({})).await.expect("a count"),
            (n_before + 1).to_string(),
            "{era:?}: once"
        );
        let again = pending(&echo(&agent, "x").await);
        assert_ne!(again, id, "{era:?}: the grant is used up");

        let late = command(&gateway, 1, &["deny", &id]).await;
        assert!(late.contains("admin approved it at"), "{late}");
        command(&gateway, 0, &["deny", &again]).await;
        command(&gateway, 0, &["deny", &other, "--reason", "no"]).await;
        let late = command(&gateway, 1, &["approve", &other]).await;
        assert!(late.contains("admin denied it at"), "{late}");
        let history = command(&gateway, 0, &["approvals", "--history"]).await;
        assert!(history.contains(&id) && history.contains("denied_continue by admin"), "{history}");
        assert!(command(&gateway, 0, &["approvals"]).await.contains("no call waits"));
    }
    for (code, arguments) in [
        (1, &["approve", "ap_nobody"][..]),
        (1, &["approvals", "show", "ap_nobody"]),
        (2, &["approve", "ap_nobody", "--args", "{"]),
        (2, &["approve", "ap_nobody", "--until", "8h"]),
        (3, &["approve", "ap_nobody", "--token", "wrong"]),
        (4, &["approvals", "--url", "http://127.0.0.1:1/mcp"]),
    ] {
        command(&gateway, code, arguments).await;
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_callers_get_the_decision_immediately() {
    let gateway = TestGateway::start(&octroi(), &guarded("50s")).await;
    for (n_era, era) in ERAS.into_iter().enumerate() {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        // Clients show the message and nothing else, so it has the code and the reason.
        let cases: [(&[&str], Result<&str, &str>); 6] = [
            (
                &["deny", "--reason", "not today"],
                Err("-32951: policy_denied_continue: admin said no: not today"),
            ),
            (&["deny", "--abort"], Err("-32950: policy_denied: admin said no")),
            (&["approve"], Ok("x")),
            (&["approve", "--args", "{\"text\":\"edited\"}"], Ok("edited")),
            // Remembered while it waits: the rule is newer than the approval.
            (&["approve", "--remember", "exact", "--yes"], Ok("x")),
            (&["approve", "--remember", "exact", "--yes", "--args", "{\"text\":\"y\"}"], Ok("y")),
        ];
        for (n_case, (arguments, expected)) in cases.into_iter().enumerate() {
            // A remembered call needs no approval again.
            let number = n_era * 10 + n_case;
            let call = agent.call("peer_echo", json!({ "text": "x", "number": number }));
            let decide = async {
                let id = asked(&gateway).await;
                let arguments = [&arguments[..1], &[id.as_str()], &arguments[1..]].concat();
                command(&gateway, 0, &arguments).await
            };
            let (answer, _) = tokio::join!(call, decide);
            match (answer, expected) {
                (Ok(result), Ok(text)) => assert_eq!(result["content"][0]["text"], text, "{arguments:?}"),
                (Err(error), Err(expected)) => {
                    assert_eq!(error.to_string(), format!("the server answered {expected}"), "{arguments:?}");
                }
                (answer, _) => panic!("{era:?} {arguments:?}: {answer:?}"),
            }
        }
        // The two rules apply to exactly these calls.
        let remembered = json!({ "text": "x", "number": n_era * 10 + 4 });
        assert_eq!(agent.call_text("peer_echo", remembered).await.as_deref(), Ok("x"));
        if n_era == 0 {
            assert_eq!(agent.call_text("peer_echo", json!({ "text": "y" })).await.as_deref(), Ok("y"));
        }
    }
    // The start of a call is recorded when it is made, not when it was first requested.
    let exported = command(&gateway, 0, &["audit", "export"]).await;
    let records = exported.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let (mut decided_ms, mut n_approved) = (0, 0);
    for record in records {
        let at_ms = record["at_ms"].as_u64().unwrap_or_default();
        if record["kind"] == "approval_resolved" {
            decided_ms = at_ms;
        } else if record["kind"] == "tool_invocation_start" && record["context"]["approval"].is_string() {
            n_approved += 1;
            assert!(at_ms >= decided_ms, "{record}");
        }
    }
    assert_eq!(n_approved, 4 * ERAS.len());
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_without_a_person_has_its_reason_in_the_message_too() {
    let config = format!("{}expires = \"2500ms\"\n", guarded("1s"));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let policy = "[[deny]]\nid = \"no-add\"\ntool = \"peer.add\"\nreason = \"sums are secret\"\n";
    std::fs::write(gateway.directory().join("p.toml"), policy).expect("a file");
    let file = gateway.directory().join("p.toml").display().to_string();
    command(&gateway, 0, &["policy", "apply", &file, "--yes"]).await;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        // The third call waits for the same decision when its time is up.
        let expired = async {
            loop {
                if let Err(expired) = agent.call("peer_echo", json!({ "text": "x" })).await {
                    break expired;
                }
            }
        };
        let expired = tokio::time::timeout(SOON, expired).await.expect("nobody decides");
        assert_eq!(
            expired.to_string(),
            "the server answered -32955: approval_expired: nobody decided in time",
            "{era:?}"
        );
        let denied = agent.call("peer_add", json!({ "a": 1, "b": 2 })).await.expect_err("a rule denies it");
        let denied = denied.to_string();
        assert!(denied.starts_with("the server answered -32951: policy_denied_continue: "), "{denied}");
        assert!(denied.contains("sums are secret"), "{era:?}: {denied}");
    }
    gateway.stop().await;
}

/// The server asks a question during an approved call, and the client retries with the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_call_may_take_several_rounds() {
    for era in ERAS {
        let gateway = TestGateway::start(&octroi(), &guarded("50s")).await;
        let user = answering(json!({"action": "accept", "content": {"name": "ann"}}));
        let agent = connect(&gateway, era, user).await;
        let decisions: [&[&str]; 3] = [
            &[],
            &["--args", "{\"changed\":true}"],
            // The rule is in effect by the time the client retries.
            &["--args", "{\"changed\":true}", "--remember", "tool", "--yes"],
        ];
        for options in decisions {
            let call = agent.call_text("peer_ask", json!({}));
            let decide = async {
                let id = asked(&gateway).await;
                command(&gateway, 0, &[&["approve", &id], options].concat()).await;
                id
            };
            let (answer, id) = tokio::join!(call, decide);
            assert_eq!(answer.as_deref(), Ok("hello ann"), "{era:?} {options:?}");
            let output = command(&gateway, 0, &["approvals", "show", &id]).await;
            assert!(output.contains("done") && output.contains("completed"), "{era:?} {options:?}: {output}");
        }
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_are_remembered_as_narrowly_as_requested() {
    let gateway = TestGateway::start(&octroi(), &guarded("200ms")).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;

    let id = pending(&echo(&agent, "x*").await);
    let refused = command(&gateway, 2, &["approve", &id, "--remember", "exact"]).await;
    assert!(refused.contains("[[allow]]") && refused.contains("--yes"), "{refused}");
    assert_eq!(asked(&gateway).await, id, "nothing was decided");
    for edited in ["{\"text\":1}", "{}"] {
        let refused = command(&gateway, 1, &["approve", &id, "--args", edited]).await;
        assert!(refused.contains("cannot be made with these arguments"), "{refused}");
    }
    let rule = command(&gateway, 0, &["approve", &id, "--remember", "exact", "--until", "1h", "--yes"]).await;
    assert!(rule.contains("exact_args = '{\"text\":\"x*\"}'") && rule.contains("until = "), "{rule}");
    for _ in 0..2 {
        assert_eq!(echo(&agent, "x*").await["content"][0]["text"], "x*");
    }
    // Neither the star nor one more argument widens it.
    pending(&echo(&agent, "xy").await);
    pending(&agent.call("peer_echo", json!({"text": "x*", "more": 1})).await.expect("a result"));

    // A secret is never shown, and is in no rule.
    let secret = "hunter2-hunter2";
    let id =
        pending(&agent.call("peer_echo", json!({"text": "z", "password": secret})).await.expect("a result"));
    for arguments in [&["approvals"][..], &["approvals", "--json"], &["approvals", "show", &id]] {
        assert!(!command(&gateway, 0, arguments).await.contains(secret));
    }
    let refused = command(&gateway, 1, &["approve", &id, "--remember", "exact", "--yes"]).await;
    assert!(refused.contains("contain a secret") && !refused.contains(secret), "{refused}");

    let denied = command(&gateway, 0, &["deny", &id, "--remember", "tool", "--yes"]).await;
    assert!(denied.contains("[[deny]]") && denied.contains("continues without it"), "{denied}");
    let error = agent.call("peer_echo", json!({"text": "x*"})).await.expect_err("denied from now on");
    assert_eq!(error.code(), Some(-32951), "{error}");
    let (directory, _) = gateway.stop_and_keep().await;
    let log = recorded(directory.path());
    for words in ["approval_requested", "approval_resolved", "[[deny]]"] {
        assert!(log.contains(words), "{words} is not recorded");
    }
    assert!(!log.contains(secret));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_in_a_file_is_left_to_its_owner() {
    let config = format!("{}[[agents]]\nid = \"tester\"\npolicy = \"tester.toml\"\n", guarded("200ms"));
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("tester.toml"), "").expect("a file");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let id = pending(&echo(&agent, "x").await);
    let refused = command(&gateway, 1, &["approve", &id, "--remember", "tool", "--yes"]).await;
    assert!(refused.contains("tester.toml") && refused.contains("tool = \"peer.echo\""), "{refused}");
    // It can still be decided without remembering.
    command(&gateway, 0, &["approve", &id]).await;
    assert_eq!(echo(&agent, "x").await["content"][0]["text"], "x");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_people_see_and_decide_and_agents_do_not() {
    let gateway = TestGateway::start(&octroi(), &guarded("200ms")).await;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let person = person(&gateway, era).await;
        let uri = "resource://approvals/pending";
        let mut watcher = person.watch(Watch::resource(uri)).await.expect("it can be watched");
        let ids = [pending(&echo(&agent, "x").await), pending(&echo(&agent, "y").await)];
        assert!(watcher.next(SOON).await.is_some(), "{era:?}");
        for uri in [uri, "resource://agents/tester/approvals/pending"] {
            let read = person.request("resources/read", json!({ "uri": uri })).await.expect("contents");
            let contents = read["contents"].as_array().expect("a list");
            // The newest first, each under its own address.
            for (content, id) in contents.iter().zip(ids.iter().rev()) {
                let own = format!("resource://agents/tester/approvals/{id}");
                assert_eq!(
                    (&content["uri"], &content["mimeType"]),
                    (&json!(own), &json!("application/json"))
                );
                let approval: Value =
                    serde_json::from_str(content["text"].as_str().expect("a text")).expect("JSON");
                for (name, value) in [
                    ("id", json!(id)),
                    ("call_id", json!(id)),
                    ("agent_id", json!("tester")),
                    ("tool", json!("mcp:peer:echo")),
                    ("risk", json!("high")),
                    ("state", json!("pending")),
                ] {
                    assert_eq!(approval[name], value, "{name}");
                }
                assert!(approval["requested_at"].as_str() < approval["expires_at"].as_str(), "{approval}");
                assert!(person.request("resources/read", json!({ "uri": own })).await.is_ok());
            }
            assert_eq!(contents.len(), 2);
        }
        for uri in ["resource://agents/other/approvals/", "resource://agents/tester/approvals/ap_"] {
            let uri = format!("{uri}{}", if uri.ends_with('_') { "nobody" } else { &ids[0] });
            assert!(person.request("resources/read", json!({ "uri": uri })).await.is_err(), "{uri}");
        }

        for (tool, arguments) in [
            ("approvals_list", json!({})),
            ("agents_approve_request", json!({ "call_id": ids[0] })),
            ("pins_list", json!({})),
            ("agents_update", json!({"agent_id": "tester", "profile": "open"})),
        ] {
            let denied = agent.call(tool, arguments).await.expect_err("not for agents").to_string();
            assert!(denied.contains("unknown tool"), "{tool}: {denied}");
        }
        assert!(agent.request("resources/read", json!({ "uri": uri })).await.is_err());

        for (arguments, message) in [
            (json!({"call_id": ids[0], "decision": "maybe"}), "must be approve"),
            (json!({"call_id": ids[0], "decision": "approve", "agent_id": "other"}), "no approval"),
            (json!({"call_id": ids[0], "decision": "approve", "remember": "all"}), "must be exact or tool"),
            (json!({"call_id": ids[0], "decision": "approve", "until": "1h"}), "needs `remember`"),
            (
                json!({"call_id": ids[0], "decision": "deny_abort", "arguments": {"text": "z"}}),
                "no use for them",
            ),
        ] {
            let result = person.call("agents_decide_request", arguments).await.expect("a result");
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            assert!(result["isError"] == true && text.contains(message), "{result}");
        }
        let arguments = json!({"agent_id": "tester", "call_id": ids[0], "decision": "approve"});
        let result = person.call("agents_decide_request", arguments).await.expect("a result");
        assert_eq!(result["structuredContent"]["state"], "approved", "{result}");
        let arguments = json!({"call_id": ids[1], "mode": "abort"});
        let result = person.call("agents_deny_request", arguments).await.expect("a result");
        assert_eq!(result["structuredContent"]["state"], "denied_abort", "{result}");
        assert_eq!(echo(&agent, "x").await["content"][0]["text"], "x");
        let uri = "resource://agents/tester/approvals/history";
        let read = person.request("resources/read", json!({ "uri": uri })).await.expect("contents");
        let past: Value =
            serde_json::from_str(read["contents"][0]["text"].as_str().expect("a text")).expect("JSON");
        let states: Vec<&str> = past["timeline"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["state"].as_str())
            .collect();
        assert_eq!(states[..2], ["denied_abort", "done"], "{past}");
        assert_eq!(past["count"], states.len());
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_outlives_a_restart() {
    let config = guarded("200ms");
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let id = pending(&echo(&agent, "x").await);
    command(&gateway, 0, &["approve", &id]).await;
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert_eq!(echo(&agent, "x").await["content"][0]["text"], "x");
    assert_ne!(pending(&echo(&agent, "x").await), id);
    gateway.stop().await;
}
