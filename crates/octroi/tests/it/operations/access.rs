//! Every operation and every resource, requested by an administrator, the owner of the agent concerned, another
//! member, that agent, another agent, with a revoked token, and without a token.

use std::collections::BTreeSet;

use octroi_api::{Face, RESOURCES, operations};
use octroi_mcp::{Id, Method, envelope};
use octroi_testkit::client::watch::Watch;

use super::*;

/// Who succeeds with an operation, or reads a resource, about an object of the agent `tester`.
#[derive(Clone, Copy, Debug)]
enum For {
    /// Every person: it is about everybody's, or a list of what each may see.
    People,
    /// Administrators and the owner.
    Owner,
    /// Administrators.
    Admins,
    /// Administrators; for members it does not exist.
    AdminsAlone,
    /// The agent itself; other agents succeed with what is their own.
    Agents,
    /// The agent itself, and no other.
    OwnAgent,
    /// Every person, and agents about themselves.
    PeopleAndAgents,
}

/// An operation that is missing here fails the test.
fn who_may(name: &str, face: Face) -> For {
    match (name, face) {
        (
            "servers_list"
            | "servers_get"
            | "servers_refresh"
            | "health_check_all"
            | "tools_list_catalog"
            | "tools_get"
            | "approvals_list"
            | "pins_list"
            | "agents_list"
            | "agents_create"
            | "users_list"
            | "tokens_list"
            | "secrets_list"
            | "policy_test"
            | "policy_explain"
            | "policy_schema"
            | "policy_proposals"
            | "templates_list"
            | "templates_get"
            | "presets_list"
            | "attention_list"
            | "clients_list"
            | "approvals_decide_many"
            | "pins_history"
            | "tokens_sign_in_code"
            | "calls_stats"
            | "servers_add"
            | "servers_toggle"
            | "servers_switch_many"
            | "sessions_list",
            _,
        ) => For::People,
        (
            "servers_restart" | "servers_test" | "servers_logs" | "config_reload" | "pins_accept"
            | "pins_reject" | "pins_forget" | "pins_lock" | "users_add" | "users_invite" | "users_update"
            | "users_remove" | "policy_set_global" | "policy_set_floor" | "audit_verify" | "audit_purge"
            | "audit_report" | "audit_prove" | "audit_export" | "gateway_status" | "quotas_list"
            | "config_show",
            _,
        ) => For::Admins,
        (
            "tools_call"
            | "agents_decide_request"
            | "agents_approve_request"
            | "agents_deny_request"
            | "approvals_get"
            | "approvals_reveal"
            | "approvals_context"
            | "approvals_check_arguments"
            | "approvals_forget_rule"
            | "agents_get"
            | "agents_update"
            | "agents_stop"
            | "agents_boot"
            | "agents_abort"
            | "agents_delete"
            | "specs_freeze"
            | "agents_set_policy"
            | "policy_show"
            | "policy_history"
            | "policy_rollback"
            | "policy_why"
            | "policy_replay"
            | "policy_proposal"
            | "agents_approve_proposal"
            | "agents_reject_proposal"
            | "audit_query"
            | "calls_list"
            | "calls_get"
            | "tokens_create"
            | "tokens_rotate"
            | "tokens_revoke"
            | "secrets_set"
            | "secrets_remove"
            | "servers_update"
            | "servers_delete"
            | "servers_history"
            | "servers_rollback"
            | "agents_get_mcp_config"
            | "agents_attach_server"
            | "agents_detach_server"
            | "agents_update_mcp_config"
            | "sessions_get"
            | "sessions_create"
            | "sessions_close"
            | "sessions_get_mcp_config"
            | "sessions_set_mcp_config",
            _,
        ) => For::Owner,
        ("audit_show", _) => For::AdminsAlone,
        ("policy_check", _) => For::PeopleAndAgents,
        ("policy_propose", _) => For::Agents,
        ("policy_withdraw", _) => For::OwnAgent,
        (name, face) => panic!("{name} ({face:?}) is not asked for by anybody here"),
    }
}

/// Arguments that change nothing relevant here. `who` makes names that may be used once.
pub(super) fn arguments(world: &Objects<'_>, name: &str, who: &str) -> Value {
    let (nothing, peer) = (json!({}), json!({"name": "peer"}));
    let approval = world.approval;
    match name {
        "servers_list"
        | "health_check_all"
        | "config_reload"
        | "tools_list_catalog"
        | "approvals_list"
        | "pins_list"
        | "pins_lock"
        | "agents_list"
        | "users_list"
        | "tokens_list"
        | "secrets_list"
        | "policy_schema"
        | "policy_proposals"
        | "audit_verify"
        | "audit_report"
        | "policy_test"
        | "policy_explain"
        | "attention_list"
        | "clients_list"
        | "gateway_status"
        | "quotas_list"
        | "config_show"
        | "calls_stats"
        | "sessions_list"
        | "templates_list"
        | "presets_list"
        | "tokens_sign_in_code" => nothing,
        "servers_add" => json!({"name": format!("new-{who}"), "entry": {"url": "https://new.example/mcp"}}),
        "servers_update" => json!({"name": SERVER, "entry": {"title": format!("by {who}")}}),
        "servers_history" => json!({"name": SERVER}),
        "servers_rollback" => json!({"name": SERVER, "revision": 1}),
        "servers_delete" => json!({"name": SPARE_SERVER}),
        "servers_switch_many" => json!({"names": ["peer"], "enabled": true}),
        "agents_attach_server" | "agents_detach_server" => json!({"agent_id": "spare", "server": "peer"}),
        "agents_update_mcp_config" => json!({"agent_id": "spare", "servers": null}),
        "sessions_get" | "sessions_get_mcp_config" | "sessions_close" => json!({"session_id": world.session}),
        "sessions_set_mcp_config" => json!({"session_id": world.session, "enabled_servers": ["peer"]}),
        "templates_get" => json!({"id": "github"}),
        "servers_get" | "servers_test" | "servers_refresh" | "servers_logs" | "servers_restart" => peer,
        "servers_toggle" => json!({"name": "peer", "enabled": true}),
        "tools_get" => json!({"tool_id": "peer.echo"}),
        "tools_call" => json!({"agent": "tester", "tool": "peer.echo", "arguments": {"text": "x"}}),
        "agents_decide_request" => {
            json!({"call_id": approval, "decision": "approve", "remember": "exact", "preview": true})
        }
        "agents_approve_request" | "agents_deny_request" => {
            json!({"call_id": approval, "remember": "tool", "preview": true})
        }
        "approvals_get" | "approvals_context" | "approvals_forget_rule" | "calls_get" => {
            json!({"id": approval})
        }
        "approvals_check_arguments" => json!({"id": approval, "arguments": {"a": 1, "b": 2}}),
        "approvals_decide_many" => json!({"ids": [], "decision": "deny_continue"}),
        "approvals_reveal" => json!({"id": world.masked, "path": "/token"}),
        "pins_accept" => json!({"server": "peer", "name": "echo", "hash": "0".repeat(64)}),
        "pins_reject" | "pins_history" => json!({"server": "peer", "name": "echo"}),
        "audit_export" => json!({"format": "csv"}),
        "policy_rollback" => json!({"level": "agent", "agent_id": "tester", "version": 1}),
        "pins_forget" => json!({"server": "peer", "name": "nothing"}),
        "agents_get" | "tokens_create" | "sessions_create" => json!({"agent_id": "tester"}),
        "agents_create" => json!({"agent_id": format!("new-{who}")}),
        "agents_stop" | "agents_abort" => json!({"agent_id": "spare", "reason": "a test"}),
        "agents_boot" | "agents_delete" | "agents_get_mcp_config" => json!({"agent_id": "spare"}),
        "agents_update" => json!({"agent_id": "tester", "mode": "execution"}),
        "specs_freeze" => json!({"agent_id": "tester", "spec_hash": "h"}),
        "agents_set_policy" => json!({"agent_id": "tester", "source": ""}),
        "users_invite" => json!({"name": format!("invited-{who}")}),
        "users_add" => json!({"name": format!("new-{who}")}),
        "users_update" => json!({"name": "temp", "disabled": false}),
        "users_remove" => json!({"name": "temp"}),
        "tokens_rotate" | "tokens_revoke" => json!({"id": world.token}),
        "secrets_set" => json!({"name": "kept", "value": "a-value-of-this-test", "user": "ana"}),
        "secrets_remove" => json!({"name": "spare", "user": "ana"}),
        "policy_set_global" | "policy_set_floor" | "policy_check" => json!({"source": ""}),
        "policy_show" | "policy_history" => json!({"level": "agent", "agent_id": "tester"}),
        "policy_why" => json!({"tool": "peer.echo", "agent_id": "tester"}),
        "policy_replay" => json!({"source": "", "level": "agent", "agent_id": "tester"}),
        "policy_proposal" | "agents_approve_proposal" | "policy_withdraw" => json!({"id": world.proposal}),
        "agents_reject_proposal" => json!({"id": world.proposal, "reason": "no"}),
        "policy_propose" => json!({"source": "", "rationale": "none"}),
        "audit_query" | "calls_list" => json!({"agent": "tester"}),
        "audit_show" | "audit_prove" => json!({"seq": 1}),
        "audit_purge" => json!({"before_ms": 0}),
        name => panic!("{name} has no arguments here"),
    }
}

/// What a request is about: each of the agent `tester`, but for the user.
pub(super) struct Objects<'a> {
    approval: &'a str,
    masked: &'a str,
    pub(super) proposal: i64,
    token: String,
    session: String,
}

/// A server of ana's own.
const SERVER: &str = "ana/mine";
/// One that is deleted again and again.
const SPARE_SERVER: &str = "ana/spare";

/// An open session of the agent `tester`.
pub(super) async fn session(world: &TestSetup) -> String {
    let open = world.done("sessions_list", json!({"agent_id": "tester"})).await;
    let session = match open["sessions"].as_array().and_then(|all| all.first()) {
        Some(session) => session.clone(),
        None => world.done("sessions_create", json!({"agent_id": "tester"})).await,
    };
    session["id"].as_str().expect("an id").to_owned()
}

/// Objects that nobody has used yet.
pub(super) async fn fresh<'a>(world: &TestSetup, approval: &'a str, masked: &'a str) -> Objects<'a> {
    let token = world.done("tokens_create", json!({"agent_id": "tester"})).await;
    let _ = world.person.call("users_add", json!({"name": "temp"})).await;
    // Another agent of the same owner, to be paused and removed.
    let _ = world.person.call("agents_create", json!({"agent_id": "spare", "owner": "ana"})).await;
    let token = token["details"]["id"].as_str().expect("an id").to_owned();
    let spare = json!({"name": "spare", "value": "another-value-of-this-test", "user": "ana"});
    world.done("secrets_set", spare).await;
    for name in ["mine", "spare"] {
        let new = json!({"name": name, "entry": {"url": "https://mine.example/mcp", "enabled": false}});
        let _ = world.owner.call("servers_add", new).await;
    }
    let (proposal, session) = (world.proposes().await, session(world).await);
    Objects { approval, masked, proposal, token, session }
}

/// The error with this token, or without one.
async fn refused(world: &TestSetup, token: Option<&str>, method: &str, params: &Value) -> String {
    let body = envelope::request(&Id::number(1), &Method::parse(method), params.to_string().as_bytes());
    let bearer = token.map(|token| format!("Bearer {token}"));
    let mut headers =
        vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    let url = world.gateway.url();
    let answer = octroi_testkit::client::raw::fetch(hyper::Method::POST, &url, &headers, body).await;
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, 401, "{method} {params}");
    answer.json()["error"]["data"]["code"].as_str().unwrap_or_default().to_owned()
}

/// A token that was valid once.
async fn revoked_token(world: &TestSetup) -> String {
    let created = world.done("tokens_create", json!({"user": "ana"})).await;
    world.done("tokens_revoke", json!({"id": created["details"]["id"]})).await;
    created["token"].as_str().expect("a token").to_owned()
}

/// The expected outcomes for the administrator, the owner, a stranger, the agent and another agent.
fn expected(who: For, absent: &'static str, unknown: &'static str) -> [&'static str; 5] {
    match who {
        For::People => ["done", "done", "done", unknown, unknown],
        For::Owner => ["done", "done", absent, unknown, unknown],
        For::Admins => ["done", "admins_only", "admins_only", unknown, unknown],
        For::AdminsAlone => ["done", absent, absent, unknown, unknown],
        For::Agents => [unknown, unknown, unknown, "done", "done"],
        For::OwnAgent => [unknown, unknown, unknown, "done", absent],
        For::PeopleAndAgents => ["done"; 5],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_is_answered_what_the_tables_say() {
    let world = TestSetup::new().await;
    let (approval, masked) = (world.asks(1).await, world.asks_with_secret().await);
    let revoked = revoked_token(&world).await;
    let mut seen = BTreeSet::new();
    // What is only in REST is tested there.
    for entry in operations::all().filter(|entry| entry.is_tool()) {
        let face = if entry.has_face(Face::Management) { Face::Management } else { Face::Agent };
        let name = entry.name;
        let mut outcomes = Vec::new();
        let callers = [
            ("admin", &world.person),
            ("owner", &world.owner),
            ("stranger", &world.stranger),
            ("agent", &world.agent),
            ("other", &world.other),
        ];
        for (who, client) in callers {
            // Each caller gets objects of its own, because some operations use them up.
            let objects = fresh(&world, &approval, &masked).await;
            let params = json!({"name": name, "arguments": arguments(&objects, name, who)});
            outcomes.push(outcome(&client.request("tools/call", params.clone()).await));
            for token in [Some(revoked.as_str()), None] {
                assert_eq!(refused(&world, token, "tools/call", &params).await, "unauthenticated", "{name}");
            }
            // So that the limit on proposals is not reached.
            let _ = world.agent.call("policy_withdraw", json!({"id": objects.proposal})).await;
        }
        let mut expected = expected(who_may(name, face), "not_found", "tool_not_found");
        match name {
            // Nothing of these names is quarantined or was accepted.
            "pins_accept" | "pins_reject" | "pins_forget" => expected[0] = "not_found",
            // Nothing was remembered with it.
            "approvals_forget_rule" => expected[..2].fill("not_found"),
            // An agent's id is unique, so a stranger learns that it is taken.
            "tokens_create" => expected[2] = "conflict",
            // The first has detached it.
            "agents_detach_server" => expected[1] = "not_found",
            _ => {}
        }
        assert_eq!(
            outcomes, expected,
            "{name}, by an admin, the owner, a stranger, the agent, another agent"
        );
        seen.insert((name, face));
    }
    assert_eq!(seen.len(), operations::all().filter(|entry| entry.is_tool()).count());
    world.gateway.stop().await;
}

/// Who may read a resource about the agent `tester`; one that is missing does not compile.
fn who_may_read(kind: ResourceKind) -> For {
    match kind {
        ResourceKind::Servers
        | ResourceKind::Server
        | ResourceKind::Health
        | ResourceKind::Templates
        | ResourceKind::Tools
        | ResourceKind::PendingApprovals
        | ResourceKind::HeldPins
        | ResourceKind::Agents
        | ResourceKind::Presets
        | ResourceKind::Users
        | ResourceKind::Tokens
        | ResourceKind::RecentCalls
        | ResourceKind::Attention
        | ResourceKind::Clients
        | ResourceKind::Sessions => For::People,
        ResourceKind::CompositorServers | ResourceKind::CompositorState => For::Agents,
        ResourceKind::ActivePolicy | ResourceKind::ActivePolicyAlias => For::PeopleAndAgents,
        ResourceKind::AgentInfo
        | ResourceKind::AgentState
        | ResourceKind::AgentSnapshot
        | ResourceKind::AgentSession
        | ResourceKind::AgentMounts
        | ResourceKind::SessionMcpConfig
        | ResourceKind::AgentPendingApprovals
        | ResourceKind::AgentPastApprovals
        | ResourceKind::AgentApproval
        | ResourceKind::AgentPolicyState
        | ResourceKind::AgentPolicySource
        | ResourceKind::AgentProposals
        | ResourceKind::Proposal => For::Owner,
        ResourceKind::RecentAudit | ResourceKind::ServerLogs | ResourceKind::Gateway => For::AdminsAlone,
    }
}

/// The outcome of subscribing to a resource, as that of reading it.
async fn subscribed(client: &TestClient, uri: &Value) -> String {
    let watch = Watch::resource(uri.as_str().expect("a URI"));
    match (client.era(), client.watch(watch).await) {
        // This era acknowledges what it honours, and does not say why it leaves out the rest.
        (Era::Modern, Ok(watcher)) => {
            let is_honoured = watcher.acknowledged["resourceSubscriptions"] == json!([uri]);
            if is_honoured { "done" } else { "resource_not_found" }.to_owned()
        }
        (_, answered) => outcome(&answered.map(|_| json!({}))),
    }
}

/// The same callers as in the other era, in the same order.
async fn legacy_clients(world: &TestSetup) -> [TestClient; 5] {
    let era = Era::Legacy("2025-11-25");
    [
        person(&world.gateway, era).await,
        as_holder(&world.gateway, ANA, era).await,
        as_holder(&world.gateway, BOB, era).await,
        connect(&world.gateway, era, ClientOptions::default()).await,
        as_holder(&world.gateway, OTHER_TOKEN, era).await,
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_reads_what_the_tables_say() {
    let world = TestSetup::new().await;
    let revoked = revoked_token(&world).await;
    let (approval, proposal) = (world.asks(1).await, world.proposes().await);
    let session = session(&world).await;
    let legacy = legacy_clients(&world).await;
    for entry in &RESOURCES {
        let params = json!({"uri": uri(entry, &approval, proposal, &session)});
        let mut outcomes = Vec::new();
        let clients = [&world.person, &world.owner, &world.stranger, &world.agent, &world.other];
        let (mut listened, mut in_legacy) = (Vec::new(), Vec::new());
        for (client, legacy) in clients.into_iter().zip(&legacy) {
            outcomes.push(outcome(&client.request("resources/read", params.clone()).await));
            listened.push(subscribed(client, &params["uri"]).await);
            in_legacy.push(subscribed(legacy, &params["uri"]).await);
        }
        let absent = "resource_not_found";
        let mut expected = expected(who_may_read(entry.kind), absent, absent);
        // What agents may read of their own.
        expected[3] = if entry.has_face(Face::Agent) { "done" } else { absent };
        assert_eq!(outcomes, expected, "reading {}", entry.uri);
        assert_eq!(listened, expected, "listening to {}", entry.uri);
        assert_eq!(in_legacy, expected, "subscribing to {}", entry.uri);
        for method in ["resources/read", "resources/subscribe", "subscriptions/listen"] {
            for token in [Some(revoked.as_str()), None] {
                let code = refused(&world, token, method, &params).await;
                assert_eq!(code, "unauthenticated", "{method} {}", entry.uri);
            }
        }
    }
    world.gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_see_of_the_servers_what_is_theirs_to_see() {
    let words = "made up by the program";
    let script = json!(["sh", "-c", format!("echo '{words}' >&2; exit 3")]);
    let config = config().replace("command = [\"false\"]", &format!("command = {script}"));
    let unusable = "[[mcp.servers]]\nname = \"Not A Name\"\ncommand = [\"true\"]\n";
    let world = TestSetup::with(&format!("{config}{unusable}")).await;
    let tested = world.person.call("servers_test", json!({"name": "broken"})).await;
    assert!(format!("{tested:?}").contains(words), "{tested:?}");
    // A change that waits for a person.
    let looser = config.replace("profile = \"guarded\"", "profile = \"open\"");
    world.gateway.rewrite_config(&format!("{looser}{unusable}"));
    let _ = world.person.call("config_reload", json!({})).await;

    let read = async |client: &TestClient, uri: &str| {
        let read = client.request("resources/read", json!({"uri": uri})).await.expect("a content");
        let text = read["contents"][0]["text"].as_str().expect("a text").to_owned();
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    for (client, is_admin) in [(&world.person, true), (&world.owner, false)] {
        let listed = client.call("servers_list", json!({})).await.expect("a list");
        let listed = &listed["structuredContent"];
        let resource = read(client, "resource://servers/list").await;
        assert_eq!(listed["problems"], resource["problems"], "{is_admin}");
        assert_eq!(listed["problems"].as_array().is_some_and(|all| !all.is_empty()), is_admin, "{listed}");
        assert_eq!(listed["waiting"].is_array(), is_admin, "{listed}");
        assert_eq!(listed["waiting_digest"].is_string(), is_admin, "{listed}");
        let mut answers = vec![listed.clone(), resource];
        for (operation, arguments) in
            [("servers_get", json!({"name": "broken"})), ("health_check_all", json!({}))]
        {
            let answer = client.call(operation, arguments).await.expect("an answer");
            answers.push(answer["structuredContent"].clone());
        }
        for uri in ["resource://servers/broken", "resource://health/servers"] {
            answers.push(read(client, uri).await);
        }
        for answer in answers {
            let text = answer.to_string();
            assert!(text.contains("exit status: 3"), "the reason is for everybody: {text}");
            assert_eq!(text.contains(words), is_admin, "what the program wrote: {text}");
        }
    }
    let refused = world.owner.call("servers_refresh", json!({"name": "peer", "start": true})).await;
    assert_eq!(outcome(&refused), "admins_only", "a member starts no server");
    let stopped = world.owner.call("servers_refresh", json!({"name": "broken"})).await;
    assert_eq!(outcome(&stopped), "server_unavailable", "and a refresh starts none");
    world.gateway.stop().await;
}
