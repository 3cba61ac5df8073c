//! The audit log as its commands show it, with the real binary after real calls.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

use crate::harness::{SOON, connect, octroi, remote_entry, stdio_entry};

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];
const SECRET: &str = "hunter2-is-not-a-password";

pub(crate) async fn run(data: &Path, arguments: &[&str]) -> Output {
    let mut command = tokio::process::Command::new(octroi());
    command.args(arguments).env("OCTROI_DATA", data).env("NO_COLOR", "1").env_remove("OCTROI_TOKEN");
    command.stdin(std::process::Stdio::null()).output().await.expect("octroi runs")
}

/// The output of a command, which must end with this code.
async fn output_of(data: &Path, arguments: &[&str], code: i32) -> String {
    let output = run(data, arguments).await;
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

/// Records as `octroi audit list --json` prints them, the oldest first.
pub(crate) async fn records(data: &Path, arguments: &[&str]) -> Vec<Value> {
    let arguments: Vec<&str> =
        ["audit", "list", "--json", "-n", "5000"].iter().chain(arguments).copied().collect();
    let output = run(data, &arguments).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let mut found: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    found.reverse();
    found
}

/// The numbers of all records, with the snapshots that lists leave out.
async fn numbers_of_all(data: &Path) -> Vec<u64> {
    let mut found = records(data, &[]).await;
    found.extend(records(data, &["--kind", "state_snapshot"]).await);
    let mut numbers: Vec<u64> = found.iter().filter_map(|record| record["seq"].as_u64()).collect();
    numbers.sort_unstable();
    numbers
}

/// Records as they are in the files.
async fn exported(data: &Path) -> Vec<Value> {
    let output = run(data, &["audit", "export"]).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

pub(crate) fn of_kind<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["kind"] == kind).collect()
}

fn entry() -> String {
    let entry = stdio_entry("peer", &[]);
    format!("{entry}deny_tools = [\"fail\"]\nenv = {{ PASSWORD = \"{SECRET}\" }}\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_is_recorded_twice_and_every_denial_once() {
    let gateway = TestGateway::start(&octroi(), &entry()).await;
    let data = gateway.directory().join("data");
    for era in ERAS {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        let text = client.call_text("peer_echo", json!({"text": SECRET})).await;
        assert_eq!(text.as_deref(), Ok(SECRET));
        let denied = client.call("peer_fail", json!({})).await;
        assert!(denied.is_err() || denied.is_ok_and(|result| result["isError"] == true));
    }
    // The end of a call is written asynchronously.
    let deadline = std::time::Instant::now() + SOON;
    while records(&data, &["--kind", "tool_invocation_end"]).await.len() < 2 {
        assert!(std::time::Instant::now() < deadline, "the ends of calls are not recorded");
    }
    let all = records(&data, &[]).await;
    let (starts, ends) = (of_kind(&all, "tool_invocation_start"), of_kind(&all, "tool_invocation_end"));
    let denials = of_kind(&all, "policy_violation");
    assert_eq!((starts.len(), ends.len(), denials.len()), (2, 2, 2), "{all:#?}");
    for (start, end) in starts.iter().zip(&ends) {
        assert_eq!(start["call"], end["call"]);
        assert_eq!((&start["decision"], &end["context"]["outcome"]), (&json!("allow"), &json!("completed")));
        assert_eq!((&start["agent"], &start["tool"]), (&json!("tester"), &json!("mcp:peer:echo")));
    }
    assert!(denials.iter().all(|denial| denial["decision"] == "deny_continue"), "{denials:#?}");

    // Searches find exactly what is in the log.
    let own = exported(&data).await;
    let own: Vec<&Value> = own
        .iter()
        .filter(|record| record["seq"].as_u64() <= all.last().and_then(|last| last["seq"].as_u64()))
        .collect();
    assert_eq!(own.len(), all.len());
    for (own, found) in own.iter().zip(&all) {
        assert_eq!(own["seq"], found["seq"]);
        assert_eq!(own["context"], found["context"]);
    }
    for (arguments, expected) in [
        (&["--kind", "policy_violation"][..], 2),
        (&["--tool", "echo"], 4),
        (&["--tool", "mcp:peer:echo", "--decision", "allow"], 2),
        (&["--tool", "*:peer:f*"], 2),
        (&["--tool", "*:nobody:*"], 0),
        (&["--agent", "tester", "--server", "peer"], 6),
        (&["--agent", "nobody"], 0),
        (&["--since", "1h", "--tool", "*"], 6),
        (&["--until", "1h"], 0),
        (&["--call", starts[0]["call"].as_str().expect("a call")], 2),
        (&["--text", "DURATION_ms"], 2),
    ] {
        let found = records(&data, arguments).await;
        assert_eq!(found.len(), expected, "{arguments:?}: {found:#?}");
    }

    let call = starts[0]["call"].as_str().expect("a call");
    let seq = starts[0]["seq"].to_string();
    for what in [call, &seq] {
        let text = output_of(&data, &["audit", "show", what], 0).await;
        for expected in ["tool_invocation_start", "tool_invocation_end", "completed", "\"arguments\""] {
            assert!(text.contains(expected), "{what}: {text}");
        }
    }
    let text = output_of(&data, &["audit", "report"], 0).await;
    for expected in ["2  deny_continue", "2  mcp:peer:echo", "2  tool_invocation_end", "tester"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    for (arguments, code, expected) in [
        (&["audit", "list", "-n", "1"][..], 0, "mcp:peer:"),
        (&["audit", "list", "--kind", "nonsense"], 2, "possible values: tool_invocation_start"),
        (&["audit", "list", "--since", "soon"], 2, "is not a time"),
        (&["audit", "show", "999999"], 1, "there is no record 999999"),
        (&["audit", "show", "nonsense"], 1, "is not the id of a call"),
        (&["audit", "purge", "--before", "1d"], 1, "confirm with --yes"),
        (&["audit", "purge", "--before", "1d", "--yes"], 0, "nothing to remove"),
        (&["audit", "export", "--format", "csv"], 0, "policy_violation"),
        (&["audit", "export", "--format", "ocsf", "--tool", "echo"], 0, "6003"),
    ] {
        let text = output_of(&data, arguments, code).await;
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }

    // The secret of a server is nowhere.
    let directory = gateway.stop_and_keep().await.0;
    let listed: String = all.iter().map(ToString::to_string).collect();
    assert!(!listed.contains(SECRET), "{listed}");
    let mut n_files = 0;
    for file in std::fs::read_dir(data.join("audit")).expect("the log").map(|file| file.expect("a file")) {
        if file.path().is_file() {
            let bytes = std::fs::read(file.path()).expect("a file");
            assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()), "{file:?}");
            n_files += 1;
        }
    }
    assert!(n_files >= 4);
    drop(directory);
}

fn first_segment(data: &Path) -> PathBuf {
    data.join("audit/000001.log")
}

/// The position of a text in the first segment.
fn place_of(data: &Path, text: &str) -> u64 {
    let bytes = std::fs::read(first_segment(data)).expect("a segment");
    let place = bytes.windows(text.len()).position(|window| window == text.as_bytes());
    place.expect("the text is in the log") as u64
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.join("audit")).expect("a directory");
    for file in std::fs::read_dir(from.join("audit")).expect("the log").map(|file| file.expect("a file")) {
        if file.path().is_file() {
            std::fs::copy(file.path(), to.join("audit").join(file.file_name())).expect("a copy");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tampering_with_the_log_is_detected() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let data = gateway.directory().join("data");
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for number in 0..5 {
        let text = format!("number {number}");
        assert_eq!(client.call_text("peer_echo", json!({"text": text})).await, Ok(text));
    }
    // Also while the gateway writes.
    let text = output_of(&data, &["audit", "verify"], 0).await;
    assert!(text.contains("intact"), "{text}");
    drop(client);
    let (directory, _) = gateway.stop_and_keep().await;
    let text = output_of(&data, &["audit", "verify", "--json"], 0).await;
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&report["intact"], &report["signed_until"]), (&json!(true), &report["last_seq"]));

    // Without a gateway the files are opened here; nothing is old enough.
    let text = output_of(&data, &["audit", "purge", "--before", "1d", "--yes"], 0).await;
    assert!(text.contains("nothing to remove"), "{text}");
    output_of(&data, &["audit", "verify"], 0).await;

    let all = exported(&data).await;
    let victim = all.iter().find(|record| record["context"]["arguments"]["text"] == "number 2");
    let victim = victim.expect("the third call")["seq"].as_u64().expect("a number");
    let key = data.join("audit/key.pub").display().to_string();
    let checkpoints = data.join("audit/checkpoints").display().to_string();

    let proof = directory.path().join("proof.json").display().to_string();
    output_of(&data, &["audit", "prove", &victim.to_string(), "--out", &proof], 0).await;
    let text = output_of(&data, &["audit", "check-proof", &proof, "--key", &key], 0).await;
    assert!(text.contains("number 2"), "{text}");
    let forged = std::fs::read_to_string(&proof).expect("a proof").replace("number 2", "number 7");
    std::fs::write(&proof, forged).expect("a proof");
    output_of(&data, &["audit", "check-proof", &proof, "--key", &key], 1).await;
    output_of(&data, &["audit", "prove", "99999"], 1).await;

    let edited = directory.path().join("edited");
    copy(&data, &edited);
    let file = std::fs::OpenOptions::new().write(true).open(first_segment(&edited)).expect("a segment");
    file.write_all_at(b"number 9", place_of(&edited, "number 2")).expect("it can be changed");
    let text = output_of(&edited, &["audit", "verify"], 1).await;
    assert!(text.contains(&format!("record {victim} was edited")), "{text}");

    let deleted = directory.path().join("deleted");
    copy(&data, &deleted);
    let bytes = std::fs::read(first_segment(&deleted)).expect("a segment");
    // A frame has 44 bytes before its body, which begins with the time.
    let body = |seq: u64| {
        let record = &all[usize::try_from(seq - 1).expect("small")];
        let mut record = record.clone();
        record.as_object_mut().expect("an object").shift_remove("seq");
        let text = record.to_string();
        let start = bytes.windows(text.len()).position(|window| window == text.as_bytes());
        start.expect("the record") - 44..start.expect("the record") + text.len()
    };
    let gone = body(victim);
    let rest = [&bytes[..gone.start], &bytes[gone.end..]].concat();
    std::fs::write(first_segment(&deleted), rest).expect("it can be changed");
    let text = output_of(&deleted, &["audit", "verify"], 1).await;
    assert!(
        text.contains(&format!("records {victim} to {victim} are missing"))
            || text.contains(&format!("record {victim} is missing")),
        "{text}"
    );

    let truncated = directory.path().join("truncated");
    copy(&data, &truncated);
    let end = body(victim).start as u64;
    let file = std::fs::OpenOptions::new().write(true).open(first_segment(&truncated)).expect("a segment");
    file.set_len(end).expect("it can be cut");
    let text = output_of(&truncated, &["audit", "verify", "--key", &key, "--witness", &checkpoints], 1).await;
    let last = victim - 1;
    assert!(text.contains(&format!("the log ends with record {last}")), "{text}");
    output_of(&directory.path().join("nowhere"), &["audit", "verify"], 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_a_server_did_is_in_the_log_after_a_kill() {
    let peer = PeerProcess::start(&["--transport", "http"]).await.expect("the peer should start");
    let config = remote_entry("far", "http", &peer.url);
    let mut gateway = TestGateway::start(&octroi(), &config).await;
    let mut n_seen = 0;
    for _ in 0..2 {
        let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
        let mut calls = Vec::new();
        for _ in 0..5 {
            client.call("far_echo", json!({"text": "x"})).await.expect("a result");
            let params = json!({"name": "far_slow", "arguments": {"steps": 1000, "delay_ms": 100}});
            calls.push(client.start("tools/call", params));
        }
        // All of them have reached the server.
        let deadline = std::time::Instant::now() + SOON;
        loop {
            let n_calls = client.call_text("far_calls_count", json!({})).await.expect("a number");
            let n_calls: usize = n_calls.parse().expect("a number");
            if n_calls >= n_seen + 10 {
                n_seen = n_calls;
                break;
            }
            assert!(std::time::Instant::now() < deadline, "only {n_calls} calls arrived");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        gateway.child.kill().await.expect("it can be killed");
        drop((calls, client));
        let (directory, _) = gateway.stop_and_keep().await;
        gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
        gateway.wait_until_settled().await;
        let all = exported(&gateway.directory().join("data")).await;
        let of = |kind: &str| {
            let found =
                of_kind(&all, kind).into_iter().filter(|record| record["tool"] != "mcp:far:calls_count");
            found.cloned().collect::<Vec<_>>()
        };
        let (starts, ends) = (of("tool_invocation_start"), of("tool_invocation_end"));
        assert!(starts.len() >= n_seen, "{} of {n_seen} calls are recorded", starts.len());
        for start in &starts {
            let of_call = ends.iter().filter(|end| end["call"] == start["call"]).count();
            assert_eq!(of_call, 1, "{start}");
        }
        // The end of a call is written asynchronously, so that of an answered one may be unknown too.
        let slow = ends.iter().filter(|end| end["tool"] == "mcp:far:slow");
        assert!(slow.clone().count() > 0, "{ends:#?}");
        assert!(slow.clone().all(|end| end["context"]["outcome"] == "outcome_unknown"), "{ends:#?}");
    }
    let data = gateway.directory().join("data");
    output_of(&data, &["audit", "verify"], 0).await;
    let found = records(&data, &["--text", "outcome_unknown", "--tool", "slow"]).await;
    assert_eq!(found.len(), 10);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_reads_along_sees_what_happens() {
    use tokio::io::{AsyncBufReadExt as _, BufReader};
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let data = gateway.directory().join("data");
    let mut tail = tokio::process::Command::new(octroi())
        .args(["tail", "--json", "--tool", "echo", "-n", "0"])
        .env("OCTROI_DATA", &data)
        .env_remove("OCTROI_TOKEN")
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("octroi runs");
    let mut lines = BufReader::new(tail.stdout.take().expect("a pipe")).lines();
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let mut seen: Vec<Value> = Vec::new();
    // It may start reading at any time, so calls are made until one is seen.
    let deadline = std::time::Instant::now() + SOON;
    while seen.len() < 6 && std::time::Instant::now() < deadline {
        client.call("peer_add", json!({"a": 1, "b": 2})).await.expect("a result");
        client.call("peer_echo", json!({"text": "x"})).await.expect("a result");
        let waiting = tokio::time::timeout(Duration::from_millis(300), lines.next_line());
        if let Ok(Ok(Some(line))) = waiting.await {
            seen.push(serde_json::from_str(&line).expect("a record"));
        }
    }
    assert!(seen.len() >= 6, "{seen:#?}");
    assert!(seen.iter().all(|record| record["tool"] == "mcp:peer:echo"), "{seen:#?}");
    let numbers: Vec<u64> = seen.iter().filter_map(|record| record["seq"].as_u64()).collect();
    assert!(numbers.is_sorted() && numbers.len() == seen.len(), "{numbers:?}");
    tail.kill().await.expect("it can be ended");

    // Guessing tokens is recorded, without the token.
    for _ in 0..3 {
        let headers = [("authorization", "Bearer guess-guess-guess")];
        let url = format!("{}/mcp", gateway.base);
        let answer = octroi_testkit::client::raw::fetch(hyper::Method::POST, &url, &headers, "{}").await;
        assert_eq!(answer.expect("an answer").status, 401);
    }
    let found = records(&data, &["--kind", "auth_failed"]).await;
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|record| !record.to_string().contains("guess-guess")), "{found:#?}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_searches_use_is_made_again_from_the_log() {
    let config = stdio_entry("peer", &[]);
    let gateway = TestGateway::start(&octroi(), &config).await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for _ in 0..600 {
        client.call("peer_echo", json!({"text": "x"})).await.expect("a result");
    }
    drop(client);
    let (directory, _) = gateway.stop_and_keep().await;
    let data = directory.path().join("data");
    for file in ["octroi.db", "octroi.db-wal", "octroi.db-shm"] {
        let _ = std::fs::remove_file(data.join(file));
    }
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &["--accept-loss"]).await;
    let numbers = numbers_of_all(&data).await;
    assert!(numbers.len() > 1_200, "{}", numbers.len());
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());

    // After an interruption, the next run continues without a gap.
    gateway.wait_until_settled().await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for _ in 0..50 {
        client.call("peer_echo", json!({"text": "x"})).await.expect("a result");
    }
    let mut gateway = gateway;
    gateway.child.kill().await.expect("it can be killed");
    let (directory, _) = gateway.stop_and_keep().await;
    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    let numbers = numbers_of_all(&data).await;
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(numbers.len() > 1_300, "{}", numbers.len());
    gateway.stop().await;
}
