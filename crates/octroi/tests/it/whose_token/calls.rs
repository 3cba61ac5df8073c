//! A person calls tools as an agent: through its gates, and recorded with both names.

use super::*;
use crate::manage::{exit_and_output, run};

/// Reads are allowed, writes need approval, and one tool is denied.
fn guarded() -> String {
    let rules = "risk_overrides = { add = \"high\", fail = \"low\", protocol_error = \"low\" }\n[mcp.servers.tools_override]\n\
        roots = { enabled = false, reason = \"nobody needs it\" }\n";
    format!(
        "{}{rules}[[mcp.servers]]\nname = \"broken\"\nstart = \"lazy\"\ncommand = [\"false\"]\n\
         [policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"30s\"\n",
        stdio_entry("peer", &[])
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_says_what_became_of_a_call() {
    let gateway = TestGateway::launch(&octroi(), &guarded(), &[]).await;
    command(&gateway, 0, &["test", "peer"]).await;
    let expected: [(&[&str], i32, &[&str]); 14] = [
        (&["peer.echo", "text=hello"], 0, &["hello"]),
        (&["peer_echo", "text=3"], 0, &["3"]),
        (&["mcp:peer:echo", "--json-args", "{\"text\":\"x\"}", "--agent", "tester"], 0, &["x"]),
        (&["peer.echo", "text=x", "--json"], 0, &["\"outcome\":\"completed\"", "\"agent\":\"default\""]),
        (&["peer.fail"], 5, &["this tool always fails"]),
        (&["peer.protocol_error"], 5, &["error:"]),
        (&["peer.roots"], 6, &["denied: ", "nobody needs it", "hint:"]),
        (&["peer.add", "a=1", "b=2"], 7, &["waits for approval ap_", "octroi approve ap_", "--wait"]),
        (&["peer.add", "a=1", "b=2", "--json"], 7, &["\"outcome\":\"waiting\"", "\"approval\":\"ap_"]),
        (&["peer.echo", "text=x", "--agent", "nobody"], 1, &["there is no agent `nobody`"]),
        (&["peer.nothing"], 1, &["unknown tool `peer.nothing`"]),
        (&["peer.add", "a=one", "b=2"], 2, &["`a` must be", "not `one`"]),
        (&["peer.echo", "text"], 2, &["`text` is not KEY=VALUE"]),
        (&["peer.echo", "--json-args", "[1]"], 2, &["--json-args must be a JSON object"]),
    ];
    for (arguments, code, texts) in expected {
        let arguments = [&["call"], arguments].concat();
        let text = command(&gateway, code, &arguments).await;
        for words in texts {
            assert!(text.contains(words), "{arguments:?} does not say {words:?}: {text}");
        }
    }
    for (code, arguments) in [
        (3, &["--token", "wrong"][..]),
        // An agent that calls as another agent would have the other's rights.
        (3, &["--token", AGENT_TOKEN]),
        (4, &["--url", "http://127.0.0.1:1/mcp"]),
    ] {
        command(
            &gateway,
            code,
            &[&["call", "peer.echo", "--json-args", "{\"text\":\"x\"}"], arguments].concat(),
        )
        .await;
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approved_call_is_made_by_the_same_command() {
    let gateway = TestGateway::launch(&octroi(), &guarded(), &[]).await;
    command(&gateway, 0, &["test", "peer"]).await;
    let data = gateway.directory().join("data");
    let add = ["call", "peer.add", "a=1", "b=2"];
    let asked = |text: &str| {
        let id = text.split_whitespace().find(|word| word.starts_with("ap_")).expect("an approval");
        id.trim_end_matches(':').to_owned()
    };
    let id = asked(&command(&gateway, 7, &add).await);
    assert_eq!(asked(&command(&gateway, 7, &add).await), id, "nobody is asked twice");
    let output = command(&gateway, 0, &["approvals", "show", &id]).await;
    for words in ["agent id          default", "principal         admin as agent:default"] {
        assert!(output.contains(words), "{output}");
    }
    command(&gateway, 0, &["approve", &id]).await;
    assert_eq!(command(&gateway, 0, &add).await.trim(), "3");
    assert_ne!(asked(&command(&gateway, 7, &add).await), id, "the grant is used up");

    for (decision, code, expected) in [("approve", 0, "3"), ("deny", 6, "admin said no: too late")] {
        let waiting = [&add[..], &["--wait"]].concat();
        let decide = async {
            let id = crate::approvals::asked(&gateway).await;
            // A decision that comes with the question itself leaves nothing to wait for.
            tokio::time::sleep(std::time::Duration::from_millis(400)).await;
            let reason: &[&str] = if decision == "deny" { &["--reason", "too late"] } else { &[] };
            command(&gateway, 0, &[&[decision, &*id], reason].concat()).await;
        };
        let (output, ()) = tokio::join!(run(&data, &waiting), decide);
        let (status, text) = exit_and_output(&output);
        assert_eq!(status, Some(code), "{decision}: {text}");
        assert!(text.contains("waiting for approval ap_") && text.contains(expected), "{decision}: {text}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_longer_than_a_question_is_open() {
    let config = format!(
        "{}risk_overrides = {{ add = \"high\" }}\n[policy]\nprofile = \"guarded\"\n[approvals]\nwait = false\nexpires = \"1s\"\n",
        stdio_entry("peer", &[])
    );
    let gateway = TestGateway::start(&octroi(), &config).await;
    let text = command(&gateway, 7, &["call", "peer.add", "a=1", "b=2", "--wait"]).await;
    assert!(text.contains("nobody decided in time"), "{text}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gates_of_the_agent_decide_and_both_are_recorded() {
    let gateway = TestGateway::launch(&octroi(), &guarded(), &[]).await;
    command(&gateway, 0, &["test", "peer"]).await;
    for era in ERAS {
        let person = person(&gateway, era).await;
        let attempt = async |agent: &str, tool: &str, arguments: Value| {
            let arguments = json!({"agent": agent, "tool": tool, "arguments": arguments});
            person.call("tools_call", arguments).await.expect("a result")
        };
        let sum = json!({"a": 1, "b": 2});
        let unknown = attempt("nobody", "peer.add", sum.clone()).await;
        assert_eq!(unknown["isError"], true, "{era:?}: {unknown}");
        for (setting, outcome, gate) in [
            (json!({"profile": "open", "mode": "execution"}), "completed", Value::Null),
            (json!({"profile": "guarded"}), "waiting", Value::Null),
            (json!({"mode": "planning"}), "denied", json!("mode")),
        ] {
            let mut change = setting.clone();
            change["agent_id"] = json!("default");
            person.call("agents_update", change).await.expect("a result");
            let tried = attempt("default", "peer.add", sum.clone()).await["structuredContent"].clone();
            assert_eq!(
                (&tried["outcome"], &tried["error"]["gate"]),
                (&json!(outcome), &gate),
                "{setting} {tried}"
            );
        }
        // The settings of one agent do not affect another.
        let other = attempt("tester", "peer.add", sum.clone()).await;
        assert_eq!(other["structuredContent"]["outcome"], "waiting", "{era:?}: {other}");
        let policy = "[[deny]]\nid = \"no-sums\"\ntool = \"peer.add\"\n";
        let set = json!({"agent_id": "tester", "source": policy});
        let set = person.call("agents_set_policy", set).await.expect("a result");
        assert_ne!(set["isError"], true, "{set}");
        let denied = attempt("tester", "peer.add", sum.clone()).await["structuredContent"].clone();
        assert_eq!(denied["outcome"], "denied", "{era:?}: {denied}");
        person
            .call("agents_set_policy", json!({"agent_id": "tester", "source": ""}))
            .await
            .expect("a result");
        for waiting in listed(&gateway, "pending").await {
            command(&gateway, 0, &["deny", &waiting]).await;
        }
        let invalid = attempt("tester", "peer.echo", json!({"text": 1})).await["structuredContent"].clone();
        assert_eq!(invalid["outcome"], "failed", "{era:?}: {invalid}");
    }
    let admin = json!({"kind": "user", "id": "admin"});
    for (kind, agent) in [
        ("tool_invocation_start", "default"),
        ("tool_invocation_end", "default"),
        ("policy_violation", "default"),
        ("policy_violation", "tester"),
    ] {
        let options = ["--kind", kind, "--agent", agent, "--tool", "mcp:peer:add"];
        let actors = actors(&gateway, &options, ERAS.len()).await;
        assert_eq!(actors, vec![admin.clone(); ERAS.len()], "{kind} of {agent}");
    }
    let ends = ["audit", "list", "--agent", "default", "--kind", "tool_invocation_end"];
    let output = command(&gateway, 0, &ends).await;
    assert!(output.contains("admin as default"), "{output}");
    gateway.stop().await;
}

/// A person's call as an agent is decided like the agent's own, also where policies distinguish roles.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn to_policies_it_is_the_agent_who_calls() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let policy = "cedar = '''\n@id(\"people\") forbid(principal, action, resource) when { principal.role == \"agent\" };\n'''\n";
    let person = person(&gateway, Era::Modern).await;
    let set = json!({"agent_id": "tester", "source": policy});
    let set = person.call("agents_set_policy", set).await.expect("a result");
    assert_ne!(set["isError"], true, "{set}");
    let tried = json!({"agent": "tester", "tool": "peer.echo", "arguments": {"text": "x"}});
    let tried = person.call("tools_call", tried).await.expect("a result");
    assert_eq!(tried["structuredContent"]["outcome"], "denied", "{tried}");
    gateway.stop().await;
}
