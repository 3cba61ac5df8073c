//! Agents belong to users: who creates, sees, hands over and removes them, and what the configuration keeps.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::approvals::pending;
use crate::harness::{octroi, stdio_entry};
use crate::manage::{command, person, read};
use crate::policy::{as_holder, done, refused};

const ERA: Era = Era::Legacy("2025-11-25");
const ANA: &str = "ana-s-token-of-this-test";
const BOB: &str = "bob-s-token-of-this-test";

/// Calls of `echo` need approval; Ana and Bob are members.
fn config(more: &str) -> String {
    format!(
        "{}risk_overrides = {{ echo = \"high\" }}\n[policy]\nprofile = \"guarded\"\n[approvals]\nwait = false\n\
         [[tokens]]\ntoken = \"{ANA}\"\nrole = \"human\"\nuser = \"ana\"\n\
         [[tokens]]\ntoken = \"{BOB}\"\nrole = \"human\"\nuser = \"bob\"\n{more}",
        stdio_entry("peer", &[])
    )
}

/// The outcome of an operation in one word: `done`, or the code of the error.
async fn outcome(client: &TestClient, operation: &str, arguments: Value) -> String {
    let result = client.call(operation, arguments).await;
    crate::operations::outcome(&result)
}

async fn agents_of(client: &TestClient) -> Vec<String> {
    let listed = done(client, "agents_list", json!({})).await;
    let agents = listed["agents"].as_array().expect("agents").iter();
    agents.filter_map(|agent| agent["id"].as_str().map(str::to_owned)).collect()
}

/// A client with the token, if it is accepted.
async fn holder(gateway: &TestGateway, token: &str) -> Option<TestClient> {
    let transport = Transport::Http { url: gateway.url(), token: Some(token.to_owned()) };
    TestClient::connect(transport, ERA, ClientOptions::default()).await.ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_belongs_to_the_member_who_created_it() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let (ana, bob) = (as_holder(&gateway, ANA, ERA).await, as_holder(&gateway, BOB, ERA).await);
    let admin = person(&gateway, ERA).await;
    let created = done(&ana, "agents_create", json!({"agent_id": "coder", "title": "My coder"})).await;
    for (member, expected) in
        [("owner", "ana"), ("name", "My coder"), ("created_by", "ana"), ("state", "idle")]
    {
        assert_eq!(created[member], expected, "{member}: {created}");
    }
    // For another member it does not exist, but its id is taken.
    assert_eq!(agents_of(&ana).await, ["coder"]);
    assert_eq!(agents_of(&bob).await, Vec::<String>::new());
    for (operation, arguments) in [
        ("agents_get", json!({"agent_id": "coder"})),
        ("agents_update", json!({"agent_id": "coder", "mode": "planning"})),
        ("agents_stop", json!({"agent_id": "coder"})),
        ("agents_boot", json!({"agent_id": "coder"})),
        ("agents_abort", json!({"agent_id": "coder"})),
        ("agents_delete", json!({"agent_id": "coder"})),
    ] {
        let unknown = arguments.to_string().replace("coder", "nobody");
        let unknown = serde_json::from_str(&unknown).expect("JSON");
        let (foreign, unknown) =
            (refused(&bob, operation, arguments).await, refused(&bob, operation, unknown).await);
        assert_eq!(
            foreign.replace("coder", "nobody"),
            unknown,
            "{operation}: foreign and unknown are one answer"
        );
    }
    for suffix in ["info", "state", "snapshot", "session/state", "approvals/history", "policy/state"] {
        let uri = format!("resource://agents/coder/{suffix}");
        assert!(bob.request("resources/read", json!({ "uri": uri })).await.is_err(), "{uri}");
        assert!(ana.request("resources/read", json!({ "uri": uri })).await.is_ok(), "{uri}");
    }
    let shown = read(&bob, "resource://agents/list").await;
    assert_eq!(shown, json!([]));
    assert_eq!(outcome(&bob, "agents_create", json!({"agent_id": "coder"})).await, "conflict");
    assert_eq!(outcome(&ana, "agents_create", json!({"agent_id": "coder"})).await, "conflict");
    assert_eq!(outcome(&ana, "agents_create", json!({"agent_id": "two words"})).await, "invalid_arguments");
    // Only administrators hand agents over, and only to users.
    let to = |owner: &str| json!({"agent_id": "coder", "owner": owner});
    assert_eq!(outcome(&ana, "agents_update", to("bob")).await, "admins_only");
    let for_bob = json!({"agent_id": "gift", "owner": "bob"});
    assert_eq!(outcome(&ana, "agents_create", for_bob.clone()).await, "admins_only");
    assert_eq!(outcome(&admin, "agents_update", to("nobody")).await, "not_found");
    done(&admin, "agents_create", for_bob).await;
    assert_eq!(agents_of(&bob).await, ["gift"]);
    done(&admin, "agents_update", to("bob")).await;
    assert_eq!((agents_of(&bob).await.len(), agents_of(&ana).await.len()), (2, 0));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_agent_leaves_its_id_and_its_past_to_its_owner() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let (ana, bob) = (as_holder(&gateway, ANA, ERA).await, as_holder(&gateway, BOB, ERA).await);
    let admin = person(&gateway, ERA).await;
    done(&ana, "agents_create", json!({"agent_id": "coder"})).await;
    let created = done(&ana, "tokens_create", json!({"agent_id": "coder"})).await;
    let token = created["token"].as_str().expect("a token");
    let policy = json!({"agent_id": "coder", "source": "[[deny]]\ntool = \"peer.touch\"\n"});
    done(&ana, "agents_set_policy", policy).await;
    let agent = as_holder(&gateway, token, ERA).await;
    let id = pending(&agent.call("peer_echo", json!({"text": "x"})).await.expect("a result"));

    let removed = command(&gateway, 0, &["agents", "delete", "coder", "--token", ANA]).await;
    assert!(removed.contains("`octroi agents create coder` makes it anew"), "{removed}");
    assert!(holder(&gateway, token).await.is_none(), "its token is not accepted any more");
    assert_eq!(agents_of(&admin).await.iter().filter(|agent| *agent == "coder").count(), 0);
    assert_eq!(outcome(&ana, "agents_get", json!({"agent_id": "coder"})).await, "not_found");
    // What was decided about it stays, for its former owner and administrators.
    for (client, expected) in [(&admin, "done"), (&ana, "done"), (&bob, "not_found")] {
        assert_eq!(outcome(client, "approvals_get", json!({"id": id})).await, expected);
        assert_eq!(outcome(client, "audit_query", json!({"agent": "coder"})).await, expected);
    }
    let cancelled = done(&ana, "approvals_get", json!({"id": id})).await;
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
    // The id is theirs too.
    assert_eq!(outcome(&bob, "agents_create", json!({"agent_id": "coder"})).await, "conflict");
    assert_eq!(outcome(&bob, "tokens_create", json!({"agent_id": "coder"})).await, "conflict");
    let again = done(&ana, "agents_create", json!({"agent_id": "coder"})).await;
    assert_eq!((&again["owner"], &again["title"]), (&json!("ana"), &json!(null)));
    assert!(holder(&gateway, token).await.is_none(), "old tokens stay revoked");
    let policy = read(&ana, "resource://agents/coder/policy/state").await;
    assert_eq!((&policy["content"], &policy["version"]), (&json!(""), &json!(0)), "its policy is retired");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_of_a_removed_user_are_nobodys() {
    let gateway = TestGateway::start(&octroi(), &config("")).await;
    let (admin, bob) = (person(&gateway, ERA).await, as_holder(&gateway, BOB, ERA).await);
    done(&admin, "users_add", json!({"name": "eve"})).await;
    let eve = done(&admin, "tokens_create", json!({"user": "eve"})).await;
    let eve = as_holder(&gateway, eve["token"].as_str().expect("a token"), ERA).await;
    done(&eve, "agents_create", json!({"agent_id": "spy"})).await;
    let token = done(&eve, "tokens_create", json!({"agent_id": "spy"})).await;
    let token = token["token"].as_str().expect("a token").to_owned();
    let agent = as_holder(&gateway, &token, ERA).await;
    let id = pending(&agent.call("peer_echo", json!({"text": "x"})).await.expect("a result"));
    command(&gateway, 0, &["user", "remove", "eve"]).await;
    assert!(holder(&gateway, &token).await.is_none());
    assert_eq!(done(&admin, "approvals_get", json!({"id": id})).await["state"], "cancelled");
    assert_eq!(outcome(&bob, "agents_create", json!({"agent_id": "spy"})).await, "conflict");
    assert_eq!(outcome(&bob, "approvals_get", json!({"id": id})).await, "not_found");
    done(&admin, "agents_create", json!({"agent_id": "spy", "owner": "bob"})).await;
    assert_eq!(agents_of(&bob).await, ["spy"]);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_configuration_writes_of_an_agent_is_changed_there() {
    let entry = "[[agents]]\nid = \"fixed\"\nmode = \"planning\"\n";
    let gateway = TestGateway::start(&octroi(), &config(entry)).await;
    let admin = person(&gateway, ERA).await;
    let refused = command(&gateway, 1, &["agents", "set", "fixed", "--mode", "execution"]).await;
    for text in ["the configuration sets `mode` of agent `fixed`", "change `mode` in", "octroi.toml:"] {
        assert!(refused.contains(text), "{text}: {refused}");
    }
    let set = json!({"agent_id": "fixed", "mode": "execution"});
    assert_eq!(outcome(&admin, "agents_update", set).await, "managed_by_file");
    for delete in ["fixed", "tester"] {
        let arguments = json!({"agent_id": delete});
        assert_eq!(outcome(&admin, "agents_delete", arguments).await, "managed_by_file", "{delete}");
    }
    // What it does not write can be set, and so can a pause.
    command(&gateway, 0, &["agents", "set", "fixed", "--profile", "open", "--project", "house"]).await;
    command(&gateway, 0, &["agents", "stop", "fixed"]).await;
    command(&gateway, 0, &["agents", "boot", "fixed"]).await;
    assert!(!command(&gateway, 0, &["status"]).await.contains("is ignored"));

    // Once the file says something else, it counts, and people hear of it.
    let entry = "[[agents]]\nid = \"fixed\"\nmode = \"planning\"\nprofile = \"strict\"\n";
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config(entry), &["--accept-config"]).await;
    gateway.wait_until_settled().await;
    let status = command(&gateway, 0, &["status"]).await;
    let warning = "`profile` of agent `fixed` was set at run time and is ignored";
    assert!(status.contains(warning) && status.contains("octroi.toml:"), "{status}");
    let admin = person(&gateway, ERA).await;
    let fixed = done(&admin, "agents_get", json!({"agent_id": "fixed"})).await;
    for (member, expected) in [("profile", "strict"), ("mode", "planning"), ("project", "house")] {
        assert_eq!(fixed[member], expected, "{member}: {fixed}");
    }
    gateway.stop().await;
}
