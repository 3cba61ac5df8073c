//! Templates of servers and presets of agents: who sees which, and files of one's own.

use octroi_testkit::client::options::Era;
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::harness::{SOON, octroi};
use crate::manage::{self, person, read};
use crate::operations::outcome;
use crate::policy::as_holder;

const ANA: &str = "ana-s-token-of-this-test";

const OWN: &str = r#"
id = "tracker"
display_name = "Tracker"
description = "Our issue tracker."
category = "ours"
[provider]
url = "https://tracker.example/mcp"
[[fields]]
name = "token"
label = "Access token"
required = true
secret = true
header = "Authorization"
text = "Bearer {}"
"#;

fn config(more: &str) -> String {
    format!("{more}[[tokens]]\ntoken = \"{ANA}\"\nrole = \"human\"\nuser = \"ana\"\n")
}

async fn listed(client: &octroi_testkit::client::TestClient, operation: &str, arguments: Value) -> Value {
    let result = client.call(operation, arguments).await;
    assert_eq!(outcome(&result), "done", "{operation}: {result:?}");
    result.expect("a result")["structuredContent"].clone()
}

fn find<'a>(list: &'a Value, key: &str, id: &str) -> &'a Value {
    let all = list.as_array().expect("a list").iter();
    all.clone().find(|one| one[key] == id).unwrap_or_else(|| panic!("{id} is not in {list}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_see_what_they_can_add() {
    let gateway = TestGateway::launch(&octroi(), &config(""), &[]).await;
    let admin = person(&gateway, Era::Modern).await;
    let ana = as_holder(&gateway, ANA, Era::Modern).await;
    let of_admin = listed(&admin, "templates_list", json!({})).await;
    let of_ana = listed(&ana, "templates_list", json!({})).await;
    assert_eq!(of_admin["count"], of_ana["count"]);
    for (list, may_run) in [(&of_admin, true), (&of_ana, false)] {
        let files = find(&list["templates"], "id", "filesystem");
        assert_eq!((&files["needs_command"], &files["usable"]), (&json!(true), &json!(may_run)));
        let github = find(&list["templates"], "id", "github");
        assert_eq!((&github["needs_command"], &github["usable"]), (&json!(false), &json!(true)));
        assert_eq!(github["required_fields"], json!(["api_token"]));
        assert_eq!(github["field_labels"]["api_token"], "Personal access token");
        assert_eq!(github["default_config"]["url"], "https://api.githubcopilot.com/mcp/");
    }
    let of_category = listed(&ana, "templates_list", json!({"category": "search"})).await;
    assert!(
        of_category["templates"]
            .as_array()
            .is_some_and(|all| all.iter().all(|one| one["category"] == "search"))
    );
    let postgres = listed(&ana, "templates_get", json!({"id": "postgres"})).await;
    assert_eq!(postgres["fields"][0]["binding"], "env");
    assert_eq!(outcome(&ana.call("templates_get", json!({"id": "gone"})).await), "not_found");
    assert_eq!(read(&ana, "resource://templates/list").await["count"], of_ana["count"]);
    let text = manage::command(&gateway, 0, &["templates", "show", "github"]).await;
    assert!(text.contains("api_token (required, secret)") && text.contains("verified     no"), "{text}");
    let presets = listed(&ana, "presets_list", json!({})).await;
    assert_eq!(presets["presets"][0]["name"], "default");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_ones_own_are_read_and_bad_ones_are_reported() {
    let directory = tempfile::tempdir().expect("a directory");
    for (file, text) in [
        ("templates/tracker.toml", OWN),
        ("templates/bad.toml", "id = \"bad\"\n"),
        ("presets/reviewer.yaml", "system: Be kind.\nprofile: strict\n"),
        ("presets/bad.yaml", "sistem: x\n"),
    ] {
        let path = directory.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    }
    let gateway = TestGateway::launch_in(directory, &octroi(), &config(""), &[]).await;
    let admin = person(&gateway, Era::Modern).await;
    let ana = as_holder(&gateway, ANA, Era::Modern).await;
    let templates = listed(&admin, "templates_list", json!({})).await;
    let own = find(&templates["templates"], "id", "tracker");
    assert_eq!((&own["source"], &own["verified"]), (&json!("file"), &json!(false)));
    assert_eq!(templates["problems"].as_array().map(Vec::len), Some(1), "{templates}");
    assert_eq!(listed(&ana, "templates_list", json!({})).await["problems"], json!([]));
    let presets = listed(&admin, "presets_list", json!({})).await;
    let reviewer = find(&presets["presets"], "name", "reviewer");
    assert_eq!((&reviewer["system_prompt"], &reviewer["profile"]), (&json!("Be kind."), &json!("strict")));
    let of_ana = listed(&ana, "presets_list", json!({})).await;
    assert_eq!(find(&of_ana["presets"], "name", "reviewer")["file"], Value::Null);
    let status = manage::command(&gateway, 0, &["status"]).await;
    assert!(status.contains("templates/bad.toml") && status.contains("presets/bad.yaml"), "{status}");

    // A new file is offered within a second, and who watches hears of it.
    let mut watcher =
        ana.watch(Watch::resource("resource://templates/list")).await.expect("it can be watched");
    let more = OWN.replace("\"tracker\"", "\"board\"");
    std::fs::write(gateway.directory().join("templates/board.toml"), more).expect("it can be written");
    assert!(watcher.next(SOON).await.is_some(), "nobody heard of it");
    let templates = read(&ana, "resource://templates/list").await;
    find(&templates["templates"], "id", "board");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_are_created_from_presets() {
    let directory = tempfile::tempdir().expect("a directory");
    let presets = directory.path().join("presets");
    std::fs::create_dir(&presets).expect("it can be made");
    let reviewer = "system: Be kind.\nprofile: strict\nmode: planning\nproject: web\n\
        policy: |\n  [[ask]]\n  tool = \"*\"\n";
    std::fs::write(presets.join("reviewer.yaml"), reviewer).expect("it can be written");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config(""), &[]).await;
    let ana = as_holder(&gateway, ANA, Era::Modern).await;
    let created =
        listed(&ana, "agents_create", json!({"agent_id": "one", "preset": "reviewer", "mode": "execution"}))
            .await;
    let of = |key: &str| created[key].clone();
    assert_eq!(
        [of("preset"), of("system_prompt"), of("profile"), of("mode"), of("project"), of("owner")],
        ["reviewer", "Be kind.", "strict", "execution", "web", "ana"].map(Value::from)
    );
    let policy = listed(&ana, "policy_show", json!({"level": "agent", "agent_id": "one"})).await;
    assert!(policy["source"].as_str().is_some_and(|source| source.contains("[[ask]]")), "{policy}");
    // Its model is told so, in both eras.
    let token = listed(&ana, "tokens_create", json!({"agent_id": "one"})).await;
    let token = token["token"].as_str().expect("a token");
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let agent = as_holder(&gateway, token, era).await;
        let told = agent.hello()["instructions"].as_str().unwrap_or_default().to_owned();
        assert!(told.starts_with("Be kind."), "{era:?}: {told}");
    }
    let plain = listed(&ana, "agents_create", json!({"agent_id": "two", "preset": "default"})).await;
    assert_eq!((&plain["preset"], &plain["system_prompt"]), (&json!("default"), &Value::Null));
    let unknown = ana.call("agents_create", json!({"agent_id": "three", "preset": "revewer"})).await;
    assert_eq!(outcome(&unknown), "not_found");
    assert!(format!("{unknown:?}").contains("there are: default, reviewer"), "{unknown:?}");
    let agents = manage::command(&gateway, 0, &["agents", "--json"]).await;
    assert!(!agents.contains("\"three\""), "{agents}");

    // What an agent was created with survives a restart and the end of its preset.
    let (directory, _) = gateway.stop_and_keep().await;
    std::fs::remove_file(directory.path().join("presets/reviewer.yaml")).expect("it can be removed");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config(""), &[]).await;
    let ana = as_holder(&gateway, ANA, Era::Modern).await;
    let kept = listed(&ana, "agents_get", json!({"agent_id": "one"})).await;
    assert_eq!(kept["system_prompt"], "Be kind.");
    gateway.stop().await;
}
