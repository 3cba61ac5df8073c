//! People hear of calls that wait and of definitions that are quarantined, and clients of what people said.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::approvals::{asked, pending};
use crate::harness::{SOON, connect, octroi, stdio_entry};
use crate::manage::command;

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];

/// Calls of `echo` need approval.
fn guarded(wait: &str, more: &str) -> String {
    let entry = stdio_entry("peer", &[]);
    format!(
        "{entry}risk_overrides = {{ echo = \"high\" }}\n[policy]\nprofile = \"guarded\"\n[approvals]\nwait = \"{wait}\"\n{more}"
    )
}

/// Waits until this is there.
async fn soon<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + SOON;
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The notices that a program got, one per line.
fn notices(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a notice")).collect()
}

/// A receiver of notices that answers each request with the next of these statuses, then with the last.
async fn receiver(statuses: &'static [u16]) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/hooks/secret-path", listener.local_addr().expect("an address"));
    let got = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&got);
    tokio::spawn(async move {
        for number in 0.. {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let mut text = Vec::new();
            let mut chunk = [0; 4096];
            while !is_whole(&text) {
                match stream.read(&mut chunk).await {
                    Ok(0) | Err(_) => break,
                    Ok(n_bytes) => text.extend_from_slice(&chunk[..n_bytes]),
                }
            }
            kept.lock().push(String::from_utf8_lossy(&text).into_owned());
            let status = statuses.get(number).or(statuses.last()).copied().unwrap_or(200);
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, got)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0_usize)
}

/// The configuration of a program that appends each notice to a file, with a line break.
fn appending(path: &Path) -> String {
    json!(["sh", "-c", format!("cat >> {0}; echo >> {0}", path.display())]).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_call_is_told_everywhere() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = place.path().join("notices");
    // The first two tries fail.
    let (url, posted) = receiver(&[503, 503, 204]).await;
    let hook = format!("[notify]\nevery = \"1s\"\ncommand = {}\nwebhook = \"{url}\"\n", appending(&file));
    let gateway = TestGateway::start(&octroi(), &guarded("200ms", &hook)).await;
    let base = gateway.base.clone();
    for (n_era, era) in ERAS.into_iter().enumerate() {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let arguments = json!({"text": "x", "password": "hunter2-is-secret"});
        let result = agent.call("peer_echo", arguments).await.expect("a result");
        let id = pending(&result);
        let page = format!("{base}/approvals/{id}");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(&page) && text.contains("Tell your user"), "{era:?}: {text}");
        assert_eq!(result["_meta"]["octroi/error"]["page"], json!(page));

        let status = command(&gateway, 0, &["status"]).await;
        for words in ["1 call waits for approval:", "tester: `peer.echo`", &page, "octroi approve ID"] {
            assert!(status.contains(words), "{words}: {status}");
        }
        let listed: Value =
            serde_json::from_str(&command(&gateway, 0, &["status", "--json"]).await).expect("JSON");
        assert_eq!(listed["calls_waiting"][0]["page"], json!(page), "{listed}");
        assert!(command(&gateway, 0, &["approvals"]).await.contains(&page));

        let told = soon("a notice", || notices(&file).into_iter().nth(n_era)).await;
        assert_eq!((&told["about"], &told["count"]), (&json!("approvals"), &json!(1)));
        let call = &told["calls"][0];
        assert_eq!(
            (&call["id"], &call["agent"], &call["tool"], &call["page"]),
            (&json!(id), &json!("tester"), &json!("peer.echo"), &json!(page))
        );
        assert!(told["text"].as_str().is_some_and(|text| text.contains(&page)), "{told}");
        assert!(!told.to_string().contains("hunter2"), "{told}");
        let n_tries = if n_era == 0 { 3 } else { 4 };
        soon("a post", || (posted.lock().len() >= n_tries).then_some(())).await;
        let posts = posted.lock().concat();
        assert!(posts.contains(&page) && !posts.contains("hunter2"), "{posts}");

        command(&gateway, 0, &["deny", &id, "--reason", "not today"]).await;
    }
    let problems = command(&gateway, 0, &["status"]).await;
    assert!(!problems.contains("[notify]"), "{problems}");
    let terminal = gateway.stop().await;
    for words in
        ["waits tester: `peer.echo`", "octroi approve ap_", "denied by admin peer.echo of tester: not today"]
    {
        assert!(terminal.contains(words), "{words}: {terminal}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_are_one_notice_and_nobody_waits_for_it() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = place.path().join("notices");
    let rare = format!("[notify]\nevery = \"30s\"\ncommand = {}\n", appending(&file));
    let gateway = TestGateway::start(&octroi(), &guarded("false", &rare).replace("\"false\"", "false")).await;
    let agent = connect(&gateway, Era::Legacy("2025-11-25"), ClientOptions::default()).await;
    let begun = Instant::now();
    for number in 0..60 {
        pending(&agent.call("peer_echo", json!({"text": number.to_string()})).await.expect("a result"));
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let told = soon("a notice", || notices(&file).into_iter().next()).await;
    assert!(told["count"].as_u64().is_some_and(|count| count >= 1), "{told}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(notices(&file).len(), 1, "the rest is told together, later");
    let terminal = gateway.stop().await;
    assert!(
        terminal.contains("more calls wait for approval") || terminal.matches("waits tester").count() <= 60
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_fails_is_reported() {
    let hook = "[notify]\nevery = \"1s\"\ntimeout = \"500ms\"\ncommand = [\"sh\", \"-c\", \"echo broken >&2; exit 3\"]\n";
    let gateway = TestGateway::start(&octroi(), &guarded("false", hook).replace("\"false\"", "false")).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    pending(&agent.call("peer_echo", json!({"text": "x"})).await.expect("a result"));
    let deadline = Instant::now() + SOON;
    loop {
        let status = command(&gateway, 0, &["status"]).await;
        if status.contains("`command` of [notify] failed: it ended with exit status: 3") {
            assert!(status.contains("broken"), "{status}");
            break;
        }
        assert!(Instant::now() < deadline, "{status}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    gateway.stop().await;
}

/// `octroi approvals --watch --json` of this gateway.
fn watching(data: &Path) -> (Child, tokio::io::Lines<BufReader<tokio::process::ChildStdout>>) {
    let mut child = Command::new(octroi())
        .args(["approvals", "--watch", "--json"])
        .env("OCTROI_DATA", data)
        .env_remove("OCTROI_TOKEN")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("octroi runs");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    (child, lines)
}

async fn next(lines: &mut tokio::io::Lines<BufReader<tokio::process::ChildStdout>>) -> Value {
    let line = tokio::time::timeout(SOON, lines.next_line()).await.expect("a line in time");
    serde_json::from_str(&line.expect("a line").expect("not the end")).expect("JSON")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approvals_are_followed_through_a_restart() {
    let config = guarded("false", "").replace("\"false\"", "false");
    let gateway = TestGateway::start(&octroi(), &config).await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let call = async |text: &str| {
        pending(&agent.call("peer_echo", json!({ "text": text })).await.expect("a result"))
    };
    let first = call("1").await;
    let (child, mut lines) = watching(&gateway.directory().join("data"));
    let waiting = next(&mut lines).await;
    assert_eq!((&waiting["event"], &waiting["approval"]["id"]), (&json!("waiting"), &json!(first)));
    let second = call("2").await;
    let waiting = next(&mut lines).await;
    assert_eq!(waiting["approval"]["page"], json!(format!("{}/approvals/{second}", gateway.base)));
    command(&gateway, 0, &["deny", &first, "--reason", "not today"]).await;
    let settled = next(&mut lines).await;
    assert_eq!(
        (&settled["event"], &settled["approval"]["state"], &settled["approval"]["reason"]),
        (&json!("settled"), &json!("denied_continue"), &json!("not today"))
    );
    let address = gateway.address();
    drop(agent);
    let directory = gateway.kill().await;
    assert_eq!(next(&mut lines).await, json!({"event": "gateway_gone"}));
    let gateway = TestGateway::launch_at(&address, directory, &octroi(), &config, &[]).await;
    assert_eq!(next(&mut lines).await, json!({"event": "gateway_back"}));
    command(&gateway, 0, &["approve", &second]).await;
    let settled = next(&mut lines).await;
    assert_eq!(
        (&settled["approval"]["id"], &settled["approval"]["state"]),
        (&json!(second), &json!("approved"))
    );
    let id = child.id().expect("it runs");
    let interrupted = Command::new("kill").args(["-INT", &id.to_string()]).status().await.expect("kill runs");
    assert!(interrupted.success());
    let output =
        tokio::time::timeout(SOON, child.wait_with_output()).await.expect("it ends").expect("an end");
    assert_eq!(output.status.code(), Some(0));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_is_told_what_the_person_said_and_changed() {
    let gateway = TestGateway::start(&octroi(), &guarded("30s", "")).await;
    for era in ERAS {
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        let edited: &[&str] = &["--args", "{\"text\":\"smaller\"}", "--reason", "too much"];
        for (text, options, expected) in [
            (
                "a",
                edited,
                vec![
                    "smaller",
                    "Note from Octroi: admin changed the arguments of this call and approved it: too much",
                ],
            ),
            (
                "b",
                &["--reason", "just once"],
                vec!["b", "Note from Octroi: admin approved this call: just once"],
            ),
            ("c", &[], vec!["c"]),
        ] {
            let call = agent.start("tools/call", json!({"name": "peer_echo", "arguments": {"text": text}}));
            let id = asked(&gateway).await;
            command(&gateway, 0, &[&["approve", &id], options].concat()).await;
            let result = call.finish().await.expect("a result");
            let texts: Vec<&str> = result["content"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|one| one["text"].as_str())
                .collect();
            assert_eq!(texts, expected, "{era:?}: {result}");
            let word = &result["_meta"]["octroi/approval"];
            assert_eq!(word["edited"] == json!(true), options == edited, "{era:?}: {result}");
        }
        let call = agent.start("tools/call", json!({"name": "peer_echo", "arguments": {"text": "d"}}));
        let id = asked(&gateway).await;
        command(&gateway, 0, &["deny", &id, "--reason", "not today"]).await;
        let error = call.finish().await.expect_err("it is denied");
        assert!(
            format!("{error:?}").contains("policy_denied_continue: admin said no: not today"),
            "{error:?}"
        );
    }
    let log = command(&gateway, 0, &["audit", "list"]).await;
    for words in [
        "waits ",
        "denied ",
        "by admin: not today",
        "by admin with other arguments: too much",
        "approved by admin: just once",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tools_says_why() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = place.path().join("notices");
    let config = format!(
        "{}[pins]\nmode = \"ask\"\n[notify]\nabout = [\"quarantine\"]\nevery = \"1s\"\ncommand = {}\n",
        stdio_entry("peer", &[]),
        appending(&file)
    );
    let gateway = TestGateway::start(&octroi(), &config).await;
    let told = soon("a notice", || notices(&file).into_iter().next()).await;
    assert_eq!((&told["about"], &told["definitions"][0]["server"]), (&json!("quarantine"), &json!("peer")));
    let status = command(&gateway, 0, &["status"]).await;
    let held: Value = serde_json::from_str(&command(&gateway, 0, &["status", "--json"]).await).expect("JSON");
    let n_held = held["servers"][0]["quarantined"].as_u64().expect("a number");
    assert!(status.contains(&format!("0 tools: {n_held} quarantined, see `octroi pins`")), "{status}");
    let terminal = gateway.stop().await;
    assert!(terminal.contains("quarantined tool `peer.") && terminal.contains("octroi pins"), "{terminal}");
}
