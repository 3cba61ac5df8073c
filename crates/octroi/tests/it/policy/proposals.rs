//! Policies that agents propose for themselves.

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_propose_for_themselves_and_people_decide() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"\nproposals = true")).await;
    let mut version = 0;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let other = as_holder(&gateway, OTHER_TOKEN, era).await;
        let person = person(&gateway, era).await;
        let tools = agent.list_tools().await.expect("a list");
        let own: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .filter(|name| !name.starts_with("peer_"))
            .collect();
        assert_eq!(own, ["policy_propose", "policy_withdraw", "policy_check"]);

        let state = "resource://agents/tester/policy/state";
        let quiet = "[[deny]]\ntool = \"peer.touch\"\n";
        let faulty = json!({"source": "[[deny]]\ntool = \"peer.tuch\"", "rationale": "a typo"});
        let faulty = done(&agent, "policy_propose", faulty).await;
        assert_eq!((&faulty["status"], &faulty["check"]["ok"]), (&json!("proposed"), &json!(false)));
        let asked = json!({"source": quiet, "rationale": "I never need it"});
        let proposal = done(&agent, "policy_propose", asked).await;
        assert_eq!((&proposal["level"], &proposal["agent"]), (&json!("agent"), &json!("tester")));
        assert_eq!(proposal["check"]["ok"], true);
        agent.call("peer_touch", json!({})).await.expect("nothing has changed yet");

        // Others neither see nor touch it.
        let id = proposal["id"].as_i64().expect("a number");
        let uri = format!("resource://approval-policy/proposals/{id}");
        assert!(read(&agent, &uri).await.is_some_and(|text| text.contains("I never need it")));
        assert_eq!(read(&other, &uri).await, None);
        assert_eq!(read(&other, state).await, None);
        let not_found = other.request("resources/read", json!({ "uri": state })).await.expect_err("hidden");
        assert!(not_found.to_string().contains("unknown resource"), "{not_found}");
        assert!(refused(&other, "policy_withdraw", json!({ "id": id })).await.contains("no such proposal"));
        for tool in ["agents_approve_proposal", "policy_set_floor", "policy_why"] {
            let denied = agent.call(tool, json!({ "id": id })).await.expect_err("not for agents").to_string();
            assert!(denied.contains("unknown tool"), "{denied}");
        }

        let fault = refused(&person, "agents_approve_proposal", json!({"id": faulty["id"]})).await;
        assert!(fault.contains("line 1: deny[1] can never match"), "{fault}");
        done(&agent, "policy_withdraw", json!({"id": faulty["id"]})).await;
        let approved = done(&person, "agents_approve_proposal", json!({ "id": id })).await;
        version += 1;
        assert_eq!((&approved["status"], &approved["version"]), (&json!("active"), &json!(version)));
        assert!(agent.call("peer_touch", json!({})).await.is_err(), "from now on it is denied");
        other.call("peer_touch", json!({})).await.expect("for this agent alone");
        let policy: Value = serde_json::from_str(&read(&agent, state).await.expect("a state")).expect("JSON");
        assert_eq!((&policy["content"], &policy["version"]), (&json!(quiet), &json!(version)));
        assert_eq!(policy["proposals"][0], json!({"id": id, "status": "active"}));
        for uri in ["resource://approval-policy/policy", "resource://approval-policy/policy.py"] {
            assert_eq!(read(&agent, uri).await.as_deref(), Some(quiet), "the agent's own");
            assert_eq!(read(&person, uri).await.as_deref(), Some(""), "everybody's");
        }
        assert!(refused(&person, "agents_approve_proposal", json!({ "id": id })).await.contains("already"));

        let why = done(&agent, "policy_check", json!({"tool": "peer.touch"})).await;
        assert_eq!((&why["decision"], &why["agent"]), (&json!("deny_continue"), &json!("tester")));
        let check = done(&agent, "policy_check", json!({"source": "[[allow]]\ntool = \"peer.no\""})).await;
        assert_eq!(check["ok"], false);
        assert!(refused(&agent, "policy_check", json!({})).await.contains("either `source`"));

        let loose = json!({"source": "[[allow]]\ntool = \"*\"", "rationale": "please"});
        let loose = done(&agent, "policy_propose", loose).await;
        let rejected = json!({"id": loose["id"], "reason": "too much"});
        done(&person, "agents_reject_proposal", rejected).await;
        let uri = format!("resource://approval-policy/proposals/{}", loose["id"]);
        assert!(read(&agent, &uri).await.is_some_and(|text| text.contains("too much")));
        // So that the next era starts from the same state.
        done(&person, "agents_set_policy", json!({"agent_id": "tester", "source": ""})).await;
        version += 1;
    }
    let directory = gateway.stop_and_keep().await.0;
    let mut reader = LogReader::open(&directory.path().join("data/audit")).expect("a log");
    let mut kinds: Vec<(String, String)> = Vec::new();
    for record in reader.records(1).expect("records") {
        let record = record.expect("a record");
        let entry = record.entry().expect("an entry");
        let context: Value = serde_json::from_str(entry.context).unwrap_or_default();
        let status = context["after"]["status"].as_str();
        let what = status.or(entry.tool.as_deref()).or(context["operation"].as_str());
        kinds.push((entry.kind.as_str().to_owned(), what.unwrap_or_default().to_owned()));
    }
    let count =
        |kind: &str, what: &str| kinds.iter().filter(|(known, of)| known == kind && of == what).count();
    assert_eq!(count("proposal_created", "proposed"), 6);
    assert_eq!(count("proposal_resolved", "withdrawn"), 2);
    assert_eq!(count("proposal_resolved", "active"), 2);
    assert_eq!(count("proposal_resolved", "rejected"), 2);
    assert_eq!(count("policy_changed", "agents_set_policy"), 2);
    assert_eq!(count("tool_invocation_start", "builtin:policy_propose"), 6);
    assert_eq!(count("tool_invocation_end", "builtin:policy_check"), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_propose_only_where_they_may() {
    let gateway = TestGateway::start(&octroi(), &two_agents("profile = \"open\"")).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let tools = agent.list_tools().await.expect("a list");
    assert!(tools.iter().all(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("peer_"))));
    let arguments = json!({"source": "", "rationale": ""});
    let denied = agent.call("policy_propose", arguments).await.expect_err("it is off").to_string();
    assert!(denied.contains("unknown tool"), "{denied}");
    // Reading what is its own needs no setting.
    assert!(read(&agent, "resource://agents/tester/policy/state").await.is_some());
    gateway.rewrite_config(&two_agents("profile = \"open\"\nproposals = true"));
    let (code, output) = sh(gateway.directory(), "octroi reload").await;
    assert_eq!(code, Some(0), "{output}");
    // Nobody is asked about a proposal, whatever the profile: a person decides about it anyway.
    for (n, profile) in ["strict", "guarded", "open"].into_iter().enumerate() {
        gateway.rewrite_config(&two_agents(&format!("profile = \"{profile}\"\nproposals = true")));
        let (code, output) = sh(gateway.directory(), "octroi reload --yes").await;
        assert_eq!(code, Some(0), "{profile}: {output}");
        let checked = done(&agent, "policy_check", json!({"tool": "peer.touch"})).await;
        assert_eq!(checked["agent"], "tester", "{profile}");
        let proposal = json!({"source": "", "rationale": profile});
        let proposed = done(&agent, "policy_propose", proposal).await;
        assert_eq!(proposed["status"], "proposed", "{profile}");
        if n > 0 {
            done(&agent, "policy_withdraw", json!({"id": proposed["id"]})).await;
        }
    }
    for n in 1..20 {
        let arguments = json!({"source": "", "rationale": n.to_string()});
        done(&agent, "policy_propose", arguments).await;
    }
    let arguments = json!({"source": "", "rationale": "one more"});
    assert!(refused(&agent, "policy_propose", arguments).await.contains("20 proposals are pending already"));
    let long = json!({"source": "#".repeat(70_000), "rationale": ""});
    assert!(refused(&agent, "policy_propose", long).await.contains("65536 bytes"));
    let (_, output) = sh(gateway.directory(), "octroi policy proposals --agent tester | tail -n 1").await;
    assert!(output.contains("proposed") && output.ends_with("tester  strict"), "{output}");
    // An agent's text cannot send control sequences to a person's terminal.
    let other = as_holder(&gateway, OTHER_TOKEN, Era::Modern).await;
    let sly = json!({"source": "# \u{202e}x\u{1b}[2J", "rationale": "a\u{1b}[2Jb\nc"});
    let sly = done(&other, "policy_propose", sly).await;
    let output = sh(gateway.directory(), "octroi policy proposals --agent other").await.1;
    assert!(output.ends_with("faulty  other  a\\u{1b}[2Jb\\nc"), "{output}");
    let output = sh(gateway.directory(), &format!("octroi policy proposals {}", sly["id"])).await.1;
    assert!(output.contains("# \\u{202e}x\\u{1b}[2J") && !output.contains('\u{1b}'), "{output}");
    gateway.stop().await;
}
