//! What operations record: exactly one record for every change, none for reads.

use std::collections::BTreeSet;

use octroi_api::{Effect, Face, OperationEntry, RESOURCES, operations};

use super::*;

/// The audit log, with a position up to which it was read.
struct Log<'a> {
    world: &'a TestSetup,
    last: u64,
}

impl<'a> Log<'a> {
    async fn new(world: &'a TestSetup) -> Self {
        let mut log = Self { world, last: 0 };
        log.news().await;
        log
    }

    /// The records since the last call.
    async fn news(&mut self) -> Vec<Value> {
        let mut found = Vec::new();
        loop {
            let page = self.world.done("audit_query", json!({"after": self.last, "limit": 1000})).await;
            let last = page["last"].as_u64().expect("a number");
            // Snapshots of the state come by themselves.
            let is_news = |record: &&Value| record["kind"] != "state_snapshot";
            found.extend(page["records"].as_array().expect("records").iter().filter(is_news).cloned());
            if last == self.last {
                return found;
            }
            self.last = last;
        }
    }
}

fn declared(name: &str, face: Face) -> (&'static OperationEntry, Kind) {
    let entry = octroi_api::find(face, name).unwrap_or_else(|| panic!("there is no operation {name}"));
    match entry.effect {
        Effect::Changes { audit } => (entry, audit),
        Effect::Reads | Effect::Calls => panic!("{name} changes nothing"),
    }
}

/// Performs an operation, and checks that it left one record of the declared kind with the change.
async fn one_record(
    world: &TestSetup,
    log: &mut Log<'_>,
    (face, name): (Face, &'static str),
    arguments: Value,
) -> Value {
    let (_, kind) = declared(name, face);
    let before = log.news().await;
    assert!(of_kind(&before, kind).is_empty(), "before {name}: {before:#?}");
    let who = if face == Face::Agent { &world.agent } else { &world.person };
    let answer = who.call(name, arguments.clone()).await;
    assert_eq!(outcome(&answer), "done", "{name} {arguments}: {answer:?}");
    let answer = answer.expect("a result")["structuredContent"].clone();
    let records = log.news().await;
    let found = of_kind(&records, kind);
    if name == "audit_purge" {
        // The log records the purge itself, once for each segment, and nothing else is recorded.
        assert!(answer["segments"].as_u64().is_some_and(|n_segments| n_segments > 0), "{answer}");
        assert_eq!(json!(found.len()), answer["segments"], "{records:#?}");
        return answer;
    }
    let [record] = found[..] else { panic!("{name}: {records:#?}") };
    // Nothing else is recorded beside it, except that an agent's tool is recorded as a call, too. At any moment Octroi
    // may notice by itself what a server offers now, after it was forgotten or the server started again.
    let is_noticed =
        |record: &&Value| record["kind"] == "tool_definition_changed" && record["actor"]["kind"] == "system";
    let others: Vec<&str> = records
        .iter()
        .filter(|record| !is_noticed(record))
        .filter_map(|record| record["kind"].as_str())
        .filter(|kind_word| *kind_word != kind.as_str())
        .collect();
    let expected: &[&str] = match face {
        Face::Management => &[],
        Face::Agent => &["tool_invocation_start", "tool_invocation_end"],
    };
    assert_eq!(others, expected, "{name}: {records:#?}");
    let context = &record["context"];
    assert_eq!(context["operation"], name, "{record}");
    for member in ["before", "after"] {
        assert!(context.get(member).is_some(), "{name} does not say {member}: {record}");
    }
    // What starts a server leaves a record although it is running before and after.
    let may_be_running = ["servers_restart", "servers_test", "servers_refresh"].contains(&name);
    assert!(context["before"] != context["after"] || may_be_running, "{record}");
    let actor = if face == Face::Agent { "agent:tester" } else { "admin" };
    assert_eq!(record["actor"]["id"], actor, "{record}");
    answer
}

fn of_kind(records: &[Value], kind: Kind) -> Vec<&Value> {
    records.iter().filter(|record| record["kind"] == kind.as_str()).collect()
}

/// What people decide about calls that wait, and about proposals.
async fn decisions(world: &TestSetup) -> Vec<(&'static str, Value)> {
    let mut of_people = Vec::new();
    for (n, name) in
        ["agents_approve_request", "agents_deny_request", "agents_decide_request"].into_iter().enumerate()
    {
        let mut arguments = json!({"call_id": world.asks(i64::try_from(n).expect("small")).await});
        if name == "agents_decide_request" {
            arguments["decision"] = json!("deny_abort");
        }
        of_people.push((name, arguments));
    }
    of_people
        .push(("approvals_decide_many", json!({"ids": [world.asks(10).await], "decision": "deny_continue"})));
    let remembered = world.asks(11).await;
    world.done("agents_approve_request", json!({"call_id": remembered, "remember": "exact"})).await;
    of_people.push(("approvals_forget_rule", json!({"id": remembered})));
    let masked = world.asks_with_secret().await;
    of_people.push(("approvals_reveal", json!({"id": masked, "path": "/token"})));
    of_people.push(("agents_approve_proposal", json!({"id": world.proposes().await})));
    of_people.push(("agents_reject_proposal", json!({"id": world.proposes().await, "reason": "no"})));
    of_people
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_leaves_one_record() {
    let world = TestSetup::new().await;
    let mut log = Log::new(&world).await;
    let policy = "[[deny]]\ntool = \"peer.touch\"\n";
    let mut seen = BTreeSet::new();
    let mut of_people = Vec::new();
    let token = world.done("tokens_create", json!({"agent_id": "tester"})).await;
    let token = token["details"]["id"].clone();
    let session = world.done("sessions_create", json!({"agent_id": "tester"})).await["id"].clone();
    for (name, arguments) in [
        (
            "servers_add",
            json!({"name": "stored", "entry": {"url": "https://new.example/mcp", "start": "manual"}}),
        ),
        ("servers_update", json!({"name": "stored", "entry": {"title": "Stored"}})),
        ("servers_rollback", json!({"name": "stored", "revision": 1})),
        ("servers_switch_many", json!({"names": ["stored"], "enabled": false})),
        ("servers_delete", json!({"name": "stored"})),
        ("agents_attach_server", json!({"agent_id": "other", "server": "peer"})),
        ("agents_detach_server", json!({"agent_id": "other", "server": "peer"})),
        ("agents_update_mcp_config", json!({"agent_id": "other", "servers": null})),
        ("sessions_create", json!({"agent_id": "other"})),
        ("sessions_set_mcp_config", json!({"session_id": session, "enabled_servers": ["peer"]})),
        ("sessions_close", json!({"session_id": session})),
        ("tokens_sign_in_code", json!({})),
        ("servers_toggle", json!({"name": "broken", "enabled": false})),
        ("servers_test", json!({"name": "peer"})),
        ("servers_refresh", json!({"name": "peer", "start": true})),
        ("servers_refresh", json!({"start": true})),
        ("agents_update", json!({"agent_id": "tester", "project": "house"})),
        ("agents_create", json!({"agent_id": "short-lived", "owner": "ana"})),
        ("agents_stop", json!({"agent_id": "short-lived", "reason": "it loops"})),
        ("agents_boot", json!({"agent_id": "short-lived"})),
        ("agents_abort", json!({"agent_id": "short-lived"})),
        ("agents_delete", json!({"agent_id": "short-lived"})),
        ("specs_freeze", json!({"agent_id": "tester", "spec_hash": "h"})),
        ("agents_set_policy", json!({"agent_id": "other", "source": policy})),
        ("policy_rollback", json!({"level": "agent", "agent_id": "other", "version": 1})),
        ("policy_set_global", json!({"source": policy})),
        ("policy_set_floor", json!({"source": policy})),
        ("users_add", json!({"name": "eve"})),
        ("users_invite", json!({"name": "eve"})),
        ("users_invite", json!({"name": "mia", "role": "admin"})),
        ("users_update", json!({"name": "eve", "disabled": true})),
        ("users_update", json!({"name": "eve", "disabled": false})),
        ("users_remove", json!({"name": "eve"})),
        ("tokens_create", json!({"agent_id": "brand-new"})),
        ("tokens_rotate", json!({"id": token})),
        ("tokens_revoke", json!({"id": token})),
        ("secrets_set", json!({"name": "hub", "value": "a-value-of-this-test"})),
        ("secrets_set", json!({"name": "hub", "value": "another-value-of-this-test", "user": "ana"})),
        ("secrets_remove", json!({"name": "hub"})),
        // Everything but the segment in use: a time long after this test.
        ("audit_purge", json!({"before_ms": 4_102_444_800_000_u64})),
    ] {
        of_people.push((name, arguments));
    }
    of_people.extend(decisions(&world).await);
    let hash = world.quarantined().await;
    for (name, arguments) in [
        ("pins_reject", json!({"server": "peer", "name": "echo", "hash": hash})),
        ("pins_accept", json!({"server": "peer", "name": "echo", "hash": hash})),
        ("pins_forget", json!({"server": "peer", "name": "echo"})),
        // Last, because the server starts again with the accepted definitions.
        ("servers_restart", json!({"name": "peer"})),
    ] {
        of_people.push((name, arguments));
    }
    log.news().await;
    for (name, arguments) in of_people {
        one_record(&world, &mut log, (Face::Management, name), arguments).await;
        seen.insert((Face::Management, name));
    }
    world.gateway.rewrite_config(&config().replace("name = \"broken\"", "name = \"other\""));
    one_record(&world, &mut log, (Face::Management, "config_reload"), json!({})).await;
    seen.insert((Face::Management, "config_reload"));
    let arguments = json!({"source": policy, "rationale": "I never need it"});
    let proposed = one_record(&world, &mut log, (Face::Agent, "policy_propose"), arguments).await;
    one_record(&world, &mut log, (Face::Agent, "policy_withdraw"), json!({"id": proposed["id"]})).await;
    seen.extend([(Face::Agent, "policy_propose"), (Face::Agent, "policy_withdraw")]);

    let all = operations::all().filter(|entry| matches!(entry.effect, Effect::Changes { .. }));
    let of_face = |entry: &OperationEntry| {
        if entry.has_face(Face::Management) { Face::Management } else { Face::Agent }
    };
    let all: BTreeSet<_> = all.map(|entry| (of_face(entry), entry.name)).collect();
    assert_eq!(seen, all, "every operation that changes something is done here");
    world.gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_fails_leaves_a_second_record() {
    let world = TestSetup::new().await;
    let mut log = Log::new(&world).await;
    for (name, arguments, code, reason) in [
        (
            "servers_restart",
            json!({"name": "broken"}),
            "server_unavailable",
            "server `broken` is not available",
        ),
        (
            "agents_set_policy",
            json!({"agent_id": "tester", "source": "", "expected_version": 7}),
            "conflict",
            "the policy has changed meanwhile",
        ),
    ] {
        let answer = world.person.call(name, arguments).await;
        assert_eq!(outcome(&answer), code, "{answer:?}");
        let (entry, kind) = declared(name, Face::Management);
        assert!(entry.all_errors().iter().any(|error| error.as_str() == code), "{name} declares {code}");
        let records = log.news().await;
        let [planned, failed] = of_kind(&records, kind)[..] else { panic!("{name}: {records:#?}") };
        assert_eq!(planned["context"]["operation"], name, "{planned}");
        assert_eq!(planned["context"]["failed"], Value::Null, "{planned}");
        assert_eq!((&failed["context"]["failed"], &failed["level"]), (&json!(true), &json!("warn")));
        let recorded = failed["context"]["reason"].as_str().unwrap_or_default();
        assert!(recorded.contains(reason), "{failed}");
    }
    // A change that cannot be planned changes nothing and leaves no record.
    for (name, arguments) in [
        ("servers_toggle", json!({"name": "nobody", "enabled": true})),
        ("agents_update", json!({"agent_id": "tester"})),
        ("policy_set_global", json!({"source": "[[deny]]\ntool = 1"})),
        ("agents_approve_request", json!({"call_id": "ap_nothing"})),
        ("agents_approve_proposal", json!({"id": 999})),
        ("pins_accept", json!({"server": "peer", "name": "echo", "hash": "0".repeat(64)})),
        ("servers_restart", json!({"name": 1})),
        ("secrets_set", json!({"name": "hub", "value": "short"})),
        ("secrets_set", json!({"name": "h u b", "value": "a-value-of-this-test"})),
        ("secrets_remove", json!({"name": "nothing"})),
    ] {
        let answer = world.person.call(name, arguments).await;
        assert_ne!(outcome(&answer), "done", "{answer:?}");
        assert_eq!(log.news().await, Vec::<Value>::new(), "{name}");
    }
    world.gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_leaves_no_record() {
    let world = TestSetup::new().await;
    let (approval, masked) = (world.asks(1).await, world.asks_with_secret().await);
    let objects = super::access::fresh(&world, &approval, &masked).await;
    let proposal = objects.proposal;
    let session = super::access::session(&world).await;
    let mut log = Log::new(&world).await;
    for entry in operations::all().filter(|entry| entry.is_read_only() && entry.has_face(Face::Management)) {
        let arguments = super::access::arguments(&objects, entry.name, "admin");
        let answer = world.person.call(entry.name, arguments).await;
        assert_eq!(outcome(&answer), "done", "{}: {answer:?}", entry.name);
        assert_eq!(log.news().await, Vec::<Value>::new(), "{}", entry.name);
    }
    let previews =
        ["agents_decide_request", "agents_approve_request", "agents_deny_request", "servers_refresh"];
    for name in previews {
        let arguments = super::access::arguments(&objects, name, "admin");
        let answer = world.person.call(name, arguments).await;
        assert_eq!(outcome(&answer), "done", "{name}: {answer:?}");
        assert_eq!(log.news().await, Vec::<Value>::new(), "{name}, where it only reads");
    }
    for entry in &RESOURCES {
        let _ = world
            .person
            .request("resources/read", json!({"uri": uri(entry, &approval, proposal, &session)}))
            .await;
        assert_eq!(log.news().await, Vec::<Value>::new(), "{}", entry.uri);
    }
    // An agent's read is a call, and recorded only as that.
    let checked = world.agent.call("policy_check", json!({"source": ""})).await;
    assert_eq!(outcome(&checked), "done", "{checked:?}");
    let kinds: Vec<Value> = log.news().await.iter().map(|record| record["kind"].clone()).collect();
    assert_eq!(kinds, ["tool_invocation_start", "tool_invocation_end"]);
    // So is a person's call as an agent.
    let tried = json!({"agent": "tester", "tool": "peer.echo", "arguments": {"text": "x"}});
    world.done("tools_call", tried).await;
    let kinds: Vec<Value> = log.news().await.iter().map(|record| record["kind"].clone()).collect();
    assert_eq!(kinds, ["tool_invocation_start", "tool_invocation_end"]);
    world.gateway.stop().await;
}
