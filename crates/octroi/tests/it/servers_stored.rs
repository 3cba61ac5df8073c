//! Servers that are added at run time: whose they are, what becomes of them, and who uses them.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::Era;
use octroi_testkit::client::raw;
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::{Value, json};

use crate::harness::{octroi, stdio_entry};
use crate::manage::{exit_and_output, names, person, run};
use crate::operations::outcome;
use crate::policy::as_holder;

const ANA: &str = "ana-s-token-of-this-test";
const BOB: &str = "bob-s-token-of-this-test";

/// Two members, and one server in the file.
pub(crate) fn config() -> String {
    let person = |user: &str, token: &str| {
        format!("[[tokens]]\ntoken = \"{token}\"\nrole = \"human\"\nuser = \"{user}\"\n")
    };
    format!("{}{}{}", person("ana", ANA), person("bob", BOB), stdio_entry("peer", &[]))
}

struct World {
    gateway: TestGateway,
    admin: TestClient,
    ana: TestClient,
    bob: TestClient,
}

impl World {
    async fn new() -> Self {
        let gateway = TestGateway::start(&octroi(), &config()).await;
        let (admin, ana) = (person(&gateway, Era::Modern).await, as_holder(&gateway, ANA, Era::Modern).await);
        let bob = as_holder(&gateway, BOB, Era::Modern).await;
        Self { gateway, admin, ana, bob }
    }

    /// A client with a new token of an agent, or of a session.
    async fn agent(&self, owner: &TestClient, request: Value) -> (TestClient, String) {
        let created = done(owner, "tokens_create", request).await;
        let token = created["token"].as_str().expect("a token").to_owned();
        (as_holder(&self.gateway, &token, Era::Modern).await, token)
    }
}

async fn done(client: &TestClient, operation: &str, arguments: Value) -> Value {
    let answer = client.call(operation, arguments.clone()).await;
    assert_eq!(outcome(&answer), "done", "{operation} {arguments}: {answer:?}");
    answer.expect("an answer")["structuredContent"].clone()
}

async fn refused(client: &TestClient, operation: &str, arguments: Value) -> (String, String) {
    let answer = client.call(operation, arguments).await;
    (outcome(&answer), format!("{answer:?}"))
}

async fn servers(client: &TestClient) -> Vec<String> {
    let listed = done(client, "servers_list", json!({})).await;
    let listed = listed["servers"].as_array().expect("servers").clone();
    listed.iter().map(|server| server["name"].as_str().expect("a name").to_owned()).collect()
}

/// The names of the tools whose names begin with a prefix.
async fn tools(agent: &TestClient, prefix: &str) -> usize {
    let tools = agent.list_tools().await.expect("a list");
    names(&tools).iter().filter(|name| name.starts_with(prefix)).count()
}

/// Waits until a client sees tools of a server, or sees them no more.
async fn sees(agent: &TestClient, prefix: &str, expected: bool) {
    for _ in 0..100 {
        if (tools(agent, prefix).await > 0) == expected {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("tools of {prefix} should be there: {expected}");
}

fn peer() -> Value {
    json!({"command": [peer_binary().display().to_string()]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrators_server_is_used_by_a_member_in_a_session() {
    let world = World::new().await;
    let added = json!({"name": "shared", "entry": peer(), "scope": "system"});
    let added = done(&world.admin, "servers_add", added).await;
    assert_eq!(
        (&added["scope"], &added["managed_by"], &added["revision"]),
        (&json!("system"), &json!("db"), &json!(1))
    );
    assert_eq!(servers(&world.ana).await, ["peer", "shared"]);
    done(&world.ana, "agents_create", json!({"agent_id": "helper"})).await;
    let session = json!({"agent_id": "helper", "title": "one piece of work", "enabled_servers": ["shared"]});
    let session = done(&world.ana, "sessions_create", session).await;
    assert_eq!(session["enabled_servers"], json!(["shared"]));
    let token = json!({"agent_id": "helper", "session_id": session["id"]});
    let (client, token) = world.agent(&world.ana, token).await;
    sees(&client, "shared_", true).await;
    assert_eq!(tools(&client, "peer_").await, 0, "only what the session uses");
    let answer = client.call_text("shared_echo", json!({"text": "in the session"})).await;
    assert_eq!(answer.as_deref(), Ok("in the session"));

    // By id as well as by name, and only what the owner has.
    let id = added["id"].as_str().expect("an id");
    let set = |servers: Value| json!({"session_id": session["id"], "enabled_servers": servers});
    let config = done(&world.ana, "sessions_set_mcp_config", set(json!([id, "peer"]))).await;
    assert_eq!(config["enabled_servers"], json!(["peer", "shared"]));
    sees(&client, "peer_", true).await;
    for other in ["nothing", "bob/own", "00000000-03e9-7000-8000-000000000000"] {
        let (code, _) = refused(&world.ana, "sessions_set_mcp_config", set(json!([other]))).await;
        assert_eq!(code, "not_found", "{other}");
    }
    // One in use stays, unless it is taken from whoever uses it.
    let (code, text) = refused(&world.admin, "servers_delete", json!({"name": "shared"})).await;
    assert!(code == "server_in_use" && text.contains("session"), "{text}");
    let (code, _) = refused(&world.ana, "servers_delete", json!({"name": "shared", "force": true})).await;
    assert_eq!(code, "admins_only");
    done(&world.admin, "servers_delete", json!({"name": "shared", "force": true})).await;
    sees(&client, "shared_", false).await;
    let left = done(&world.ana, "sessions_get", json!({"session_id": session["id"]})).await;
    assert_eq!(left["enabled_servers"], json!(["peer"]), "a list does not become all servers");
    // Its tokens end with the session.
    done(&world.ana, "sessions_close", json!({"session_id": session["id"]})).await;
    let bearer = format!("Bearer {token}");
    let answer =
        raw::fetch(hyper::Method::POST, &world.gateway.url(), &[("authorization", &bearer)], "").await;
    assert_eq!(answer.expect("an answer").status, 401);
    world.gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_members_own_server_is_nobody_elses_business() {
    let world = World::new().await;
    let entry = json!({"url": "https://notes.example/mcp", "start": "manual",
        "headers": {"Authorization": "Bearer a-token-that-is-hers"}});
    let added = done(&world.ana, "servers_add", json!({"name": "notes", "entry": entry})).await;
    assert_eq!((&added["scope"], &added["owner"]), (&json!("user"), &json!("ana")));
    assert!(!added.to_string().contains("that-is-hers"), "{added}");
    assert_eq!(servers(&world.ana).await, ["ana/notes", "peer"]);
    assert_eq!(servers(&world.bob).await, ["peer"]);
    let id = added["id"].as_str().expect("an id");
    for name in ["ana/notes", id] {
        let (code, text) = refused(&world.bob, "servers_get", json!({"name": name})).await;
        let (_, nothing) = refused(&world.bob, "servers_get", json!({"name": "bob/nothing"})).await;
        assert_eq!(code, "not_found", "{text}");
        assert_eq!(
            text.replace(name, "NAME"),
            nothing.replace("bob/nothing", "NAME"),
            "as one that is not there"
        );
        for operation in ["servers_update", "servers_delete", "servers_history", "servers_toggle"] {
            let mut arguments = json!({"name": name});
            if operation == "servers_toggle" {
                arguments["enabled"] = json!(true);
            }
            assert_eq!(refused(&world.bob, operation, arguments).await.0, "not_found", "{operation}");
        }
    }
    // The name is free for others, and taken for her.
    let entry = json!({"url": "https://bob.example/mcp", "start": "manual"});
    done(&world.bob, "servers_add", json!({"name": "notes", "entry": entry})).await;
    let (code, _) = refused(&world.ana, "servers_add", json!({"name": "notes", "entry": entry})).await;
    assert_eq!(code, "server_name_exists");
    let (code, _) = refused(&world.ana, "servers_add", json!({"name": "peer", "entry": entry})).await;
    assert_eq!(code, "server_name_exists", "everybody shares one");
    world.gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_reach_nothing_of_the_host() {
    let world = World::new().await;
    for (entry, expected) in [
        (peer(), "only administrators add servers that run a command"),
        (json!({"url": "https://a.example", "headers": {"A": "${PATH}"}}), "stored secrets only"),
        (json!({"url": "https://a.example", "headers": {"A": "${file:/etc/passwd}"}}), "stored secrets only"),
        (json!({"url": "https://a.example", "api_key_env": "PATH"}), "variables of Octroi"),
        (json!({"url": "https://a.example", "trust": "high"}), "only administrators set"),
        (json!({"url": "https://a.example", "nonsense": 1}), "unknown key"),
    ] {
        let request = json!({"name": "mine", "entry": entry});
        let (code, text) = refused(&world.ana, "servers_add", request).await;
        assert!(code == "invalid_arguments" && text.contains(expected), "{entry}: {text}");
    }
    for field in ["id", "user_id", "scope"] {
        let mut entry = json!({"url": "https://a.example"});
        entry[field] = json!("x");
        let (code, _) = refused(&world.ana, "servers_add", json!({"name": "mine", "entry": entry})).await;
        assert_eq!(code, "protected_field", "{field}");
    }
    let system = json!({"name": "mine", "entry": {"url": "https://a.example"}, "scope": "system"});
    assert_eq!(refused(&world.ana, "servers_add", system).await.0, "admins_only");
    assert_eq!(servers(&world.ana).await, ["peer"]);
    // A secret of the owner is one that only the owner's entries refer to.
    let entry = json!({"url": "https://a.example/mcp", "start": "manual", "headers": {"A": "${secret:hub}"}});
    let added = done(&world.ana, "servers_add", json!({"name": "mine", "entry": entry})).await;
    assert!(added["error"].as_str().is_some_and(|error| error.contains("`hub` is not set")), "{added}");
    let secret = |user: Value| json!({"name": "hub", "value": "a-value-of-somebody", "user": user});
    done(&world.admin, "secrets_set", secret(Value::Null)).await;
    done(&world.bob, "secrets_set", secret(json!("bob"))).await;
    let shown = done(&world.ana, "servers_get", json!({"name": "mine"})).await;
    assert!(shown["error"].is_string(), "neither is hers: {shown}");
    done(&world.ana, "secrets_set", secret(json!("ana"))).await;
    let shown = done(&world.ana, "servers_get", json!({"name": "mine"})).await;
    assert!(shown["error"].is_null(), "{shown}");
    assert_eq!(shown["entry"]["headers"], json!({"A": "${secret:hub}"}));
    world.gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_wins_and_is_changed_there_only() {
    let world = World::new().await;
    done(&world.admin, "servers_add", json!({"name": "twice", "entry": peer(), "scope": "system"})).await;
    for operation in ["servers_update", "servers_delete", "servers_history"] {
        let (code, text) = refused(&world.admin, operation, json!({"name": "peer"})).await;
        assert!(code == "managed_by_file" && text.contains("change its entry there"), "{operation}: {text}");
    }
    world.gateway.rewrite_config(&format!("{}{}", config(), stdio_entry("twice", &["--modern"])));
    done(&world.admin, "config_reload", json!({})).await;
    let waiting = done(&world.admin, "servers_list", json!({})).await["waiting_digest"].clone();
    if waiting.is_string() {
        done(&world.admin, "config_reload", json!({"digest": waiting})).await;
    }
    let shown = done(&world.admin, "servers_get", json!({"name": "twice"})).await;
    assert_eq!(shown["managed_by"], "file", "{shown}");
    assert!(shown["warnings"].to_string().contains("also stored, and not used"), "{shown}");
    world.gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preference_is_ones_own() {
    let world = World::new().await;
    let (anas, _) = world.agent(&world.ana, json!({"agent_id": "anas"})).await;
    let (bobs, _) = world.agent(&world.bob, json!({"agent_id": "bobs"})).await;
    sees(&anas, "peer_", true).await;
    done(&world.ana, "servers_toggle", json!({"name": "peer", "enabled": false})).await;
    sees(&anas, "peer_", false).await;
    assert!(tools(&bobs, "peer_").await > 0, "nobody else notices");
    let state = async |client: &TestClient| {
        let shown = done(client, "servers_get", json!({"name": "peer"})).await;
        (shown["enabled"].clone(), shown["enabled_for_me"].clone(), shown["status"].clone())
    };
    assert_eq!(state(&world.ana).await, (json!(true), json!(false), json!("disabled")));
    assert_eq!(state(&world.bob).await, (json!(true), json!(true), json!("connected")));
    let answer = anas.call("peer_echo", json!({"text": "x"})).await;
    assert_ne!(outcome(&answer), "done", "{answer:?}");
    // For all of a prefix, and back.
    let many = json!({"prefix": "pe", "enabled": true});
    assert_eq!(done(&world.ana, "servers_switch_many", many).await["switched"], json!(["peer"]));
    sees(&anas, "peer_", true).await;
    world.gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_has_what_is_attached_to_it() {
    let world = World::new().await;
    done(&world.admin, "servers_add", json!({"name": "shared", "entry": peer(), "scope": "system"})).await;
    let (agent, _) = world.agent(&world.ana, json!({"agent_id": "helper"})).await;
    sees(&agent, "shared_", true).await;
    let attach = json!({"agent_id": "helper", "server": "peer", "pinned": true});
    let mounts = done(&world.ana, "agents_attach_server", attach).await;
    assert_eq!((&mounts["is_list"], &mounts["mounts"][0]["server"]), (&json!(true), &json!("peer")));
    sees(&agent, "shared_", false).await;
    assert!(tools(&agent, "peer_").await > 0);
    let detach = json!({"agent_id": "helper", "server": "peer"});
    let (code, text) = refused(&world.ana, "agents_detach_server", detach).await;
    assert!(code == "conflict" && text.contains("pinned"), "{text}");
    let read = agent.request("resources/read", json!({"uri": "resource://agents/helper/mcp/state"})).await;
    let text = read.expect("a resource")["contents"][0]["text"].as_str().expect("a text").to_owned();
    let state: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (&state["mounts"][0]["state"], &state["mounts"][0]["pinned"]),
        (&json!("running"), &json!(true))
    );
    let uri = json!({"uri": "resource://compositor_meta/state/peer"});
    assert!(agent.request("resources/read", uri).await.is_ok());
    let (code, _) = refused(&world.bob, "agents_get_mcp_config", json!({"agent_id": "helper"})).await;
    assert_eq!(code, "not_found");
    world.gateway.stop().await;
}

/// The command line, with what it says about going back, word for word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_says_how_to_undo_it() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let data = gateway.directory().join("data");
    let octroi = async |arguments: &[&str]| {
        let (code, text) = exit_and_output(&run(&data, arguments).await);
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
        text
    };
    let add = ["add", "notes", "https://notes.example/mcp", "-H", "X-Key: a-secret-value", "--system"];
    let text = octroi(&add).await;
    assert!(text.contains("undo with `octroi remove notes`"), "{text}");
    let shown = octroi(&["get", "notes", "--json"]).await;
    assert!(!shown.contains("a-secret-value") && shown.contains("\"X-Key\":\"***\""), "{shown}");
    let text = octroi(&["remove", "notes"]).await;
    assert!(text.contains("undo with `octroi servers rollback notes 1`"), "{text}");
    let text = octroi(&["servers", "rollback", "notes", "1"]).await;
    assert!(text.contains("undo with `octroi remove notes`"), "{text}");
    let history = octroi(&["servers", "history", "notes"]).await;
    for word in ["added", "deleted", "rolled_back"] {
        assert!(history.contains(word), "{history}");
    }
    gateway.stop().await;
}

/// Nothing that was acknowledged is lost by a kill, and no secret is on the disk as plain text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_outlives_a_kill() {
    let rounds: u32 = std::env::var("OCTROI_KILL_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    let mut gateway = TestGateway::start(&octroi(), &config()).await;
    let mut kept: Vec<String> = Vec::new();
    for round in 0..rounds {
        let ana = as_holder(&gateway, ANA, Era::Modern).await;
        let token = format!("a-token-of-round-{round}");
        let mut sessions = Vec::new();
        let name = format!("own-{}", round % 40);
        let old = ana.call("servers_delete", json!({"name": name, "force": true})).await;
        let _ = outcome(&old);
        let entry = json!({"url": "https://own.example/mcp", "start": "manual", "headers": {"A": token}});
        done(&ana, "servers_add", json!({"name": name, "entry": entry})).await;
        let writing = async {
            for number in 0.. {
                let enabled = json!(number % 2 == 0);
                let toggled = ana.call("servers_toggle", json!({"name": "peer", "enabled": enabled})).await;
                let session = ana.call("sessions_create", json!({"enabled_servers": [name]})).await;
                let title = json!({"name": name, "entry": {"title": format!("title {round} {number}")}});
                let updated = ana.call("servers_update", title).await;
                if let Ok(session) = session {
                    sessions.push(session["structuredContent"]["id"].clone());
                }
                if toggled.is_err() || updated.is_err() {
                    break;
                }
            }
        };
        let pause = std::time::Duration::from_millis(u64::from(40 + (round * 37) % 200));
        let _ = tokio::time::timeout(pause, writing).await;
        let directory = gateway.kill().await;
        if !kept.contains(&name) {
            kept.push(name.clone());
        }
        for file in std::fs::read_dir(directory.path().join("data")).expect("files") {
            let content = std::fs::read(file.expect("a file").path()).unwrap_or_default();
            let is_there = content.windows(token.len()).any(|window| window == token.as_bytes());
            assert!(!is_there, "a token of an entry is on the disk");
        }
        gateway = TestGateway::launch_in(directory, &octroi(), &config(), &[]).await;
        let ana = as_holder(&gateway, ANA, Era::Modern).await;
        let listed = servers(&ana).await;
        for name in &kept {
            assert!(listed.contains(&format!("ana/{name}")), "{name} was lost in round {round}: {listed:?}");
        }
        let open = done(&ana, "sessions_list", json!({})).await;
        for id in &sessions {
            let found = open["sessions"].as_array().expect("sessions").iter().any(|one| one["id"] == *id);
            assert!(found, "a session was lost in round {round}");
        }
        for id in sessions {
            done(&ana, "sessions_close", json!({"session_id": id})).await;
        }
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_user_everything_goes() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let admin = person(&gateway, Era::Modern).await;
    done(&admin, "users_add", json!({"name": "eve"})).await;
    let created = done(&admin, "tokens_create", json!({"user": "eve"})).await;
    let eve = as_holder(&gateway, created["token"].as_str().expect("a token"), Era::Modern).await;
    let entry = json!({"url": "https://eve.example/mcp", "start": "manual"});
    done(&eve, "servers_add", json!({"name": "hers", "entry": entry})).await;
    done(&eve, "sessions_create", json!({"enabled_servers": ["hers"]})).await;
    assert!(servers(&admin).await.contains(&"eve/hers".to_owned()), "administrators see all");
    done(&admin, "users_remove", json!({"name": "eve"})).await;
    assert_eq!(servers(&admin).await, Vec::<String>::new());
    assert_eq!(done(&admin, "sessions_list", json!({"closed": true})).await["count"], 0);
    let records = done(&admin, "audit_query", json!({"text": "eve"})).await;
    assert!(records.to_string().contains("eve/hers"), "the audit log keeps the name");
    gateway.stop().await;
}
