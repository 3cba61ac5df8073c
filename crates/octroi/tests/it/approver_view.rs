//! The person who decides sees the whole call, however it is built; what is stored and told to others is not.

use std::path::Path;
use std::time::Duration;

use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::raw::{RawResponse, fetch};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use crate::approvals::{pending, recorded};
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::{command, person, run};

/// Made up for these tests, and recognized as a secret by its name only.
const TOKEN: &str = "made-up-value-of-a-token";

/// Calls of `echo` need approval, and nobody waits.
fn guarded(approvals: &str) -> String {
    let entry = stdio_entry("peer", &[]);
    format!(
        "{entry}risk_overrides = {{ echo = \"high\" }}\n[policy]\nprofile = \"guarded\"\n\
         [approvals]\nwait = false\n{approvals}"
    )
}

/// Arguments of every kind that redaction hides or shortens.
fn hidden_call() -> Value {
    let mut deep = json!("the-bottom");
    for _ in 0..40 {
        deep = json!([deep]);
    }
    json!({
        "text": "x",
        "script": "-----BEGIN PRIVATE KEY-----\nrm -rf ~/everything\n-----END PRIVATE KEY-----",
        "token": TOKEN,
        "long": format!("{}the-very-end", "y".repeat(20_000)),
        "deep": deep,
        "number": 12_345_678_901_234_567_890_u64,
    })
}

async fn ask(gateway: &TestGateway, arguments: Value) -> String {
    let agent = connect(gateway, Era::Modern, ClientOptions::default()).await;
    pending(&agent.call("peer_echo", arguments).await.expect("a result"))
}

/// Which files below a directory hold this text.
fn files_with(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if std::fs::read(&path)
            .unwrap_or_default()
            .windows(text.len())
            .any(|window| window == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_approver_sees_everything_and_looks_are_recorded() {
    let gateway = TestGateway::start(&octroi(), &guarded("")).await;
    let id = ask(&gateway, hidden_call()).await;
    let admin = person(&gateway, Era::Modern).await;
    let uri = format!("resource://agents/tester/approvals/{id}");
    let read = admin.request("resources/read", json!({ "uri": uri })).await.expect("a resource");
    let resource: Value =
        serde_json::from_str(read["contents"][0]["text"].as_str().expect("a text")).expect("JSON");
    let got = admin.call("approvals_get", json!({ "id": id })).await.expect("a result");
    let got = got["structuredContent"].clone();
    for seen in [&resource, &got] {
        let arguments = seen["arguments"].as_str().unwrap_or_else(|| panic!("{seen}"));
        for part in ["the-bottom", "the-very-end", "12345678901234567890"] {
            assert!(arguments.contains(part), "{part}: {arguments}");
        }
        for part in [TOKEN, "rm -rf"] {
            assert!(!arguments.contains(part), "{part}: {arguments}");
        }
        let paths: Vec<&str> = seen["masked"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|one| one["path"].as_str())
            .collect();
        assert!(paths.contains(&"/script") && paths.contains(&"/token") && paths.len() == 2, "{paths:?}");
    }

    let folded = command(&gateway, 0, &["approvals", "show", &id]).await;
    assert!(folded.contains("show them with --all") && folded.contains("/token  credential"), "{folded}");
    let whole = command(&gateway, 0, &["approvals", "show", &id, "--all"]).await;
    assert!(whole.contains("the-very-end") && whole.contains("the-bottom"), "{whole}");
    let listed = command(&gateway, 0, &["approvals"]).await;
    assert!(listed.contains("octroi approvals show ID"), "{listed}");

    assert!(!recorded(gateway.directory()).contains("argument_revealed"), "nobody has looked yet");
    let revealed = command(&gateway, 0, &["approvals", "show", &id, "--reveal", "/script"]).await;
    assert!(revealed.contains("rm -rf ~/everything") && !revealed.contains(TOKEN), "{revealed}");
    let records = recorded(gateway.directory());
    assert!(records.contains("argument_revealed") && records.contains("\"path\":\"/script\""));
    assert!(!records.contains("rm -rf") && !records.contains(TOKEN), "the record stays redacted");
    command(&gateway, 1, &["approvals", "show", &id, "--reveal", "/text"]).await;
    // An agent cannot look.
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    assert!(agent.call("approvals_reveal", json!({"id": id, "path": "/token"})).await.is_err());
    gateway.stop().await;
}

/// A call whose point is beside its arguments.
async fn ask_with_options(gateway: &TestGateway, options: Value) -> Result<Value, ClientError> {
    let agent = connect(gateway, Era::Modern, ClientOptions::default()).await;
    let call = json!({"name": "peer_echo", "arguments": {"text": "x"}, "options": options});
    agent.request("tools/call", call).await
}

/// Other params that redaction would hide or shorten.
fn hidden_options() -> Value {
    json!({
        "note": format!("{}the-very-end", "y".repeat(20_000)),
        "token": "rm -rf ~/everything",
        "number": 12_345_678_901_234_567_890_u64,
    })
}

const HIDDEN: &str = "other_params/params/options/token";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_params_are_shown_like_arguments() {
    let gateway = TestGateway::start(&octroi(), &guarded("")).await;
    let id = pending(&ask_with_options(&gateway, hidden_options()).await.expect("a result"));
    let admin = person(&gateway, Era::Modern).await;
    let got = admin.call("approvals_get", json!({ "id": id })).await.expect("a result");
    let got = &got["structuredContent"];
    let options = &got["other_params"]["params"]["options"];
    assert!(options["note"].as_str().is_some_and(|note| note.ends_with("the-very-end")), "{got}");
    assert_eq!((&got["masked"][0]["path"], &got["masked"][1]), (&json!(HIDDEN), &Value::Null), "{got}");
    let folded = command(&gateway, 0, &["approvals", "show", &id]).await;
    assert!(folded.contains("show them with --all") && folded.contains(HIDDEN), "{folded}");
    let whole = command(&gateway, 0, &["approvals", "show", &id, "--all"]).await;
    for part in ["the-very-end", "12345678901234567890"] {
        assert!(whole.contains(part), "{part}: {whole}");
    }
    assert!(!whole.contains("rm -rf"), "{whole}");
    for nothing in ["/token", "other_params", "other_params/params/options/note"] {
        command(&gateway, 1, &["approvals", "show", &id, "--reveal", nothing]).await;
    }
    assert!(!recorded(gateway.directory()).contains("argument_revealed"));
    let revealed = command(&gateway, 0, &["approvals", "show", &id, "--reveal", HIDDEN]).await;
    assert!(revealed.contains("rm -rf ~/everything"), "{revealed}");
    let records = recorded(gateway.directory());
    assert!(records.contains("argument_revealed") && records.contains(HIDDEN), "{records}");

    let token = gateway.kept_token("admin.token");
    let text = |reply: &RawResponse| String::from_utf8_lossy(&reply.body).into_owned();
    let page = text(&post(&gateway, &id, &format!("token={token}")).await);
    let (_, also_sent) = page.split_once("Also sent").unwrap_or_else(|| panic!("{page}"));
    for part in ["the-very-end", "Show all", HIDDEN] {
        assert!(also_sent.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("rm -rf"), "{page}");
    let ticket = after(&page, "name=\"ticket\" value=\"");
    let reveal = format!("ticket={ticket}&reveal={}", hex(HIDDEN));
    let page = text(&post(&gateway, &id, &reveal).await);
    assert!(page.contains("rm -rf ~/everything"), "{page}");

    let (directory, _) = gateway.stop_and_keep().await;
    for text in ["rm -rf", "the-very-end"] {
        assert_eq!(files_with(&directory.path().join("data"), text), Vec::<String>::new());
    }
}

/// As the buttons of the page write a path.
fn hex(path: &str) -> String {
    path.bytes()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Sends a form of the page as a browser does.
async fn post(gateway: &TestGateway, id: &str, body: &str) -> RawResponse {
    let url = format!("{}/approvals/{id}", gateway.base);
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", &*gateway.base),
        ("sec-fetch-site", "same-origin"),
    ];
    fetch(hyper::Method::POST, &url, &headers, body.to_owned()).await.expect("an answer")
}

fn after<'a>(page: &'a str, mark: &str) -> &'a str {
    page.split_once(mark).and_then(|(_, rest)| rest.split_once('"')).map_or("", |(value, _)| value)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_all_and_reveals_one_by_one() {
    let gateway = TestGateway::start(&octroi(), &guarded("")).await;
    let id = ask(&gateway, hidden_call()).await;
    let token = gateway.kept_token("admin.token");
    let text = |reply: &RawResponse| String::from_utf8_lossy(&reply.body).into_owned();
    let page = text(&post(&gateway, &id, &format!("token={token}")).await);
    for part in ["the-bottom", "the-very-end", "<details>", "Show all", "/script", "/token"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains(TOKEN) && !page.contains("rm -rf"), "{page}");
    // `/script` and `/token`, as the buttons write them.
    let (script, secret) = ("2f736372697074", "2f746f6b656e");
    assert!(page.contains(&format!("name=\"reveal\" value=\"{script}\"")), "{page}");
    let ticket = after(&page, "name=\"ticket\" value=\"");
    let revealed = text(&post(&gateway, &id, &format!("ticket={ticket}&reveal={script}")).await);
    assert!(revealed.contains("rm -rf ~/everything") && !revealed.contains(TOKEN), "{revealed}");
    assert_eq!(post(&gateway, &id, &format!("ticket={ticket}&reveal={secret}")).await.status, 403, "once");
    // What was revealed stays so, with the next ticket.
    let ticket = after(&revealed, "name=\"ticket\" value=\"");
    let both = text(&post(&gateway, &id, &format!("ticket={ticket}&reveal={secret}")).await);
    assert!(both.contains("rm -rf ~/everything") && both.contains(TOKEN), "{both}");
    assert_eq!(recorded(gateway.directory()).matches("argument_revealed").count(), 2);
    let ticket = after(&both, "name=\"ticket\" value=\"");
    let decided = text(&post(&gateway, &id, &format!("ticket={ticket}&choice=approve&reason=")).await);
    assert!(decided.contains("The call is approved") && !decided.contains(TOKEN), "{decided}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_shown_is_not_asked_about() {
    let gateway = TestGateway::start(&octroi(), &guarded("max_argument_bytes = 1000\n")).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let refused = agent.call("peer_echo", json!({"text": "x".repeat(2_000)})).await;
    let refused = format!("{refused:?}");
    assert!(refused.contains("too large to show") && refused.contains("max_argument_bytes"), "{refused}");
    assert!(command(&gateway, 0, &["approvals"]).await.contains("no call waits"));
    assert!(recorded(gateway.directory()).contains("too large to show"), "the refusal is recorded");
    ask(&gateway, json!({"text": "short enough"})).await;
    // Other params count as well, and so does what they hold.
    let refused = format!("{:?}", ask_with_options(&gateway, json!("x".repeat(990))).await);
    assert!(refused.contains("arguments and other params are too large to show"), "{refused}");
    pending(&ask_with_options(&gateway, json!("x".repeat(900))).await.expect("a result"));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_arguments_are_on_the_disk_under_a_key_only() {
    let config = guarded("");
    let gateway = TestGateway::start(&octroi(), &config).await;
    let id = ask(&gateway, json!({"text": "plain-words-of-a-call", "token": TOKEN})).await;
    let edited = json!({"text": "x", "token": "made-up-edited-token"}).to_string();
    let other = ask(&gateway, json!({"text": "another"})).await;
    command(&gateway, 0, &["approve", &other, "--args", &edited]).await;
    let data = gateway.directory().join("data");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(data.join("master.key")).expect("a key").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    let (directory, _) = gateway.stop_and_keep().await;
    let data = directory.path().join("data");
    for text in [TOKEN, "made-up-edited-token"] {
        assert_eq!(files_with(&data, text), Vec::<String>::new());
    }

    // The key is gone: the gateway starts, says what cannot be read, and lets nobody approve it.
    std::fs::remove_file(data.join("master.key")).expect("the key");
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    let listed = command(&gateway, 0, &["approvals"]).await;
    assert!(listed.contains(&id) && listed.contains("unreadable"), "{listed}");
    let refused = command(&gateway, 1, &["approve", &id]).await;
    assert!(refused.contains("encrypted with another key") && refused.contains("master.key"), "{refused}");
    command(&gateway, 0, &["deny", &id]).await;
    // The arguments that a person wrote are lost, and those of the agent are not used in their place.
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let answer = agent.call("peer_echo", json!({"text": "another"})).await;
    assert!(!format!("{answer:?}").contains("\"text\": \"another\""), "{answer:?}");
    assert_eq!(agent.call_text("peer_calls_count", json!({})).await.as_deref(), Ok("0"));
    ask(&gateway, json!({"text": "asked under the new key"})).await;
    let (_directory, log) = gateway.stop_and_keep().await;
    assert!(log.contains("waiting approvals cannot be read"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_of_what_is_over_are_removed() {
    let config = guarded("keep_arguments = \"1ms\"\n");
    let gateway = TestGateway::start(&octroi(), &config).await;
    let id = ask(&gateway, json!({"text": "x", "token": TOKEN})).await;
    command(&gateway, 0, &["deny", &id]).await;
    let (directory, _) = gateway.stop_and_keep().await;
    // The sweep runs at the start.
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    for _ in 0..100 {
        let output = run(&gateway.directory().join("data"), &["approvals", "show", &id, "--json"]).await;
        let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        if shown["arguments_kept"] == "removed" {
            assert_eq!(shown["arguments"], Value::Null, "{shown}");
            assert_eq!(shown["args"]["text"], "x", "a short version stays: {shown}");
            let refused = command(&gateway, 1, &["approvals", "show", &id, "--reveal", "/token"]).await;
            assert!(refused.contains("were removed"), "{refused}");
            gateway.stop().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the arguments are still there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_server_writes_is_redacted_and_not_for_agents() {
    let script = "echo 'my own words, password=hunter2hunter2' >&2; exit 3";
    let config = format!(
        "[[mcp.servers]]\nname = \"broken\"\ncommand = {}\n[policy]\nprofile = \"open\"\n",
        json!(["sh", "-c", script])
    );
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let answer = agent.request("resources/read", json!({"uri": "broken://x"})).await;
    assert!(!format!("{answer:?}").contains("own words"), "{answer:?}");
    let alone = octroi_testkit::client::options::Transport::Http {
        url: gateway.server_url("broken"),
        token: agent_token(&gateway),
    };
    if let Ok(client) =
        octroi_testkit::client::TestClient::connect(alone, Era::Modern, ClientOptions::default()).await
    {
        let answer = client.call("anything", json!({})).await;
        assert!(!format!("{answer:?}").contains("own words"), "{answer:?}");
    }
    for arguments in [&["logs", "broken"][..], &["status"], &["get", "broken"], &["test", "broken"]] {
        let output = run(&gateway.directory().join("data"), arguments).await;
        let shown =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!shown.contains("hunter2"), "{arguments:?}: {shown}");
    }
    let output = run(&gateway.directory().join("data"), &["logs", "broken"]).await;
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(lines.contains("my own words, password=[redacted: password]"), "{lines}");
    gateway.stop().await;
}

fn agent_token(gateway: &TestGateway) -> Option<String> {
    match gateway.transport() {
        octroi_testkit::client::options::Transport::Http { token, .. } => token,
        other @ (octroi_testkit::client::options::Transport::Sse { .. }
        | octroi_testkit::client::options::Transport::Stdio { .. }) => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_tells_servers_only_to_people() {
    let gateway = TestGateway::start(&octroi(), &guarded("")).await;
    let url = format!("{}/health", gateway.base);
    let agent = format!("Bearer {}", agent_token(&gateway).expect("a token"));
    for headers in [&[][..], &[("authorization", agent.as_str())], &[("authorization", "Bearer wrong")]] {
        let answer = fetch(hyper::Method::GET, &url, headers, "").await.expect("an answer");
        assert_eq!((answer.status, answer.json()), (200, json!({"status": "ok"})), "{headers:?}");
    }
    let health = gateway.health().await;
    assert_eq!(health["servers"]["list"][0]["name"], "peer", "{health}");
    gateway.stop().await;
}
