//! Every operation and every resource, requested by a person, an agent, another agent, and without a token.

use std::collections::BTreeSet;

use octroi_api::{Face, RESOURCES, operations};
use octroi_mcp::{Id, Method, envelope};

use super::*;

/// Arguments that change nothing, or nothing relevant here. An operation that is missing here fails the test.
pub(super) fn arguments(name: &str, face: Face, approval: &str, proposal: i64) -> Value {
    let (nothing, peer) = (json!({}), json!({"name": "peer"}));
    match (name, face) {
        (
            "servers_list" | "health_check_all" | "config_reload" | "tools_list_catalog" | "approvals_list"
            | "pins_list" | "pins_lock" | "agents_list" | "policy_schema" | "policy_proposals"
            | "audit_query" | "audit_verify" | "audit_report" | "policy_test" | "policy_explain",
            _,
        ) => nothing,
        ("servers_get" | "servers_test" | "servers_refresh" | "servers_logs" | "servers_restart", _) => peer,
        ("servers_toggle", _) => json!({"name": "peer", "enabled": true}),
        ("tools_get", _) => json!({"tool_id": "peer.echo"}),
        ("tools_call", _) => json!({"agent": "tester", "tool": "peer.echo", "arguments": {"text": "x"}}),
        ("agents_decide_request", _) => {
            json!({"call_id": approval, "decision": "approve", "remember": "exact", "preview": true})
        }
        ("agents_approve_request" | "agents_deny_request", _) => {
            json!({"call_id": approval, "remember": "tool", "preview": true})
        }
        ("approvals_get", _) => json!({"id": approval}),
        ("approvals_reveal", _) => json!({"id": approval, "path": "/nothing"}),
        ("pins_accept", _) => json!({"server": "peer", "name": "echo", "hash": "0".repeat(64)}),
        ("pins_reject", _) => json!({"server": "peer", "name": "echo"}),
        ("pins_forget", _) => json!({"server": "peer", "name": "nothing"}),
        ("agents_get", _) => json!({"agent_id": "tester"}),
        ("agents_update", _) => json!({"agent_id": "tester", "mode": "execution"}),
        ("specs_freeze", _) => json!({"agent_id": "tester", "spec_hash": "h"}),
        ("agents_set_policy", _) => json!({"agent_id": "tester", "source": ""}),
        ("policy_set_global" | "policy_set_floor" | "policy_check", _) => json!({"source": ""}),
        ("policy_show" | "policy_history", _) => json!({"level": "agent", "agent_id": "tester"}),
        ("policy_why", _) => json!({"tool": "peer.echo", "agent_id": "tester"}),
        ("policy_replay", _) => json!({"source": "", "level": "global"}),
        // It is no longer pending when the person approves it.
        ("policy_proposal" | "agents_approve_proposal" | "policy_withdraw", _) => json!({"id": proposal}),
        ("agents_reject_proposal", _) => json!({"id": proposal, "reason": "no"}),
        ("policy_propose", _) => json!({"source": "", "rationale": "none"}),
        ("audit_show", _) => json!({"seq": 1}),
        ("audit_purge", _) => json!({"before_ms": 0}),
        (name, face) => panic!("{name} ({face:?}) is not asked for by anybody here"),
    }
}

/// The error without a token.
async fn without_token(world: &TestSetup, method: &str, params: &Value) -> String {
    let body = envelope::request(&Id::number(1), &Method::parse(method), params.to_string().as_bytes());
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let url = world.gateway.url();
    let answer = octroi_testkit::client::raw::fetch(hyper::Method::POST, &url, &headers, body).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, 401, "{method} {params}");
    answer.json()["error"]["data"]["code"].as_str().unwrap_or_default().to_owned()
}

/// The expected outcome of an operation for a person, for the owning agent, and for another agent.
fn expected_of_operation(name: &str) -> [&'static str; 3] {
    let has = |face| octroi_api::find(face, name).is_some();
    let person = match name {
        _ if !has(Face::Management) => "tool_not_found",
        // Nothing of these names is quarantined or was accepted.
        // Nothing of the call is masked.
        "pins_accept" | "pins_reject" | "pins_forget" | "approvals_reveal" => "not_found",
        _ => "done",
    };
    let other = match name {
        _ if !has(Face::Agent) => "tool_not_found",
        // The proposal is the first agent's, so it does not exist for this one.
        "policy_withdraw" => "not_found",
        _ => "done",
    };
    [person, if has(Face::Agent) { "done" } else { "tool_not_found" }, other]
}

/// The same for a resource.
fn expected_of_resource(entry: &ResourceEntry) -> [&'static str; 3] {
    let person = if entry.kind == ResourceKind::Approval { "resource_not_found" } else { "done" };
    let agent = if entry.has_face(Face::Agent) { "done" } else { "resource_not_found" };
    let is_own = matches!(entry.kind, ResourceKind::ActivePolicy | ResourceKind::ActivePolicyAlias);
    [person, agent, if is_own { "done" } else { "resource_not_found" }]
}

/// Sends the same request as each principal.
async fn everybody_asks(world: &TestSetup, name: &str, method: &str, params: Value, expected: [&str; 3]) {
    // The other agent first, so that the operation was not performed already.
    let other = outcome(&world.other.request(method, params.clone()).await);
    let agent = outcome(&world.agent.request(method, params.clone()).await);
    let person = outcome(&world.person.request(method, params.clone()).await);
    assert_eq!([&*person, &*agent, &*other], expected, "{name}, by a person, the agent, another agent");
    assert_eq!(without_token(world, method, &params).await, "unauthenticated", "{name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_is_answered_what_the_tables_say() {
    let world = TestSetup::new().await;
    let approval = world.asks(1).await;
    let mut seen = BTreeSet::new();
    for entry in operations::all() {
        // Each gets a proposal of its own, because some operations decide it.
        let proposal = world.proposes().await;
        let face = if entry.has_face(Face::Management) { Face::Management } else { Face::Agent };
        let params =
            json!({"name": entry.name, "arguments": arguments(entry.name, face, &approval, proposal)});
        everybody_asks(&world, entry.name, "tools/call", params, expected_of_operation(entry.name)).await;
        seen.insert((entry.name, face));
        // So that the limit on proposals is not reached.
        let _ = world.agent.call("policy_withdraw", json!({"id": proposal})).await;
    }
    assert_eq!(seen.len(), operations::all().count());
    let proposal = world.proposes().await;
    for entry in &RESOURCES {
        let params = json!({"uri": uri(entry, &approval, proposal)});
        everybody_asks(&world, entry.uri, "resources/read", params, expected_of_resource(entry)).await;
    }
    world.gateway.stop().await;
}
