//! `octroi stdio`: a relay to the running gateway, or the gateway itself, and governed either way.

mod endings;
mod governed;
mod limits;
mod starting;

use std::path::Path;
use std::process::{Output, Stdio};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::grid::{FEATURES, attempt};
use crate::harness::{SOON, answering, octroi, stdio_entry};
use crate::processes::descendants;

const ERAS: [Era; 2] = [Era::Modern, Era::Legacy("2025-11-25")];

/// Whether a process is the gateway of its data directory, or relays to it.
#[derive(Debug, PartialEq, Eq)]
enum GatewayRole {
    Owner,
    Relay,
}

/// Only the owner starts servers.
async fn role_of(client: &TestClient) -> GatewayRole {
    let process = client.process_id().await.expect("it runs");
    if descendants(process).is_empty() { GatewayRole::Relay } else { GatewayRole::Owner }
}

async fn client(transport: &Transport, era: Era, options: ClientOptions) -> TestClient {
    TestClient::connect(transport.clone(), era, options).await.expect("a client")
}

async fn echo(client: &TestClient, text: &str) {
    assert_eq!(client.call_text("peer_echo", json!({ "text": text })).await.as_deref(), Ok(text));
}

/// Runs the program with these lines as input, all written at once.
async fn answers(data: &Path, flags: &[&str], lines: &[Value]) -> Output {
    let mut child = tokio::process::Command::new(octroi())
        .args(["stdio", "--data"])
        .arg(data)
        .args(flags)
        .env("NO_COLOR", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("octroi runs");
    let mut input = child.stdin.take().expect("standard input");
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    // A program that ended before it read anything has printed why.
    let _ = input.write_all(text.as_bytes()).await;
    drop(input);
    child.wait_with_output().await.expect("it ends")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_passes_everything_on() {
    for server in ["legacy", "modern"] {
        let entry = stdio_entry("peer", &["--era", server]);
        let gateway = TestGateway::start(&octroi(), &entry).await;
        let relay = gateway.relay(&octroi());
        for era in [Era::Legacy("2025-06-18"), Era::Legacy("2025-11-25"), Era::Modern] {
            let accepting = answering(json!({ "action": "accept", "content": { "name": "Ada" } }));
            let accepting = client(&relay, era, accepting).await;
            let declining = client(&relay, era, answering(json!({ "action": "decline" }))).await;
            // A server that has asked has a process for each client, and its lists are those of another one.
            for feature in FEATURES.into_iter().filter(|feature| *feature != "list change") {
                let who = if feature == "decline" { &declining } else { &accepting };
                let outcome = tokio::time::timeout(SOON * 2, attempt(feature, who)).await;
                assert_eq!(outcome.expect("in time"), Ok(()), "{era:?} to {server}: {feature}");
            }
            // An argument that also has to be sent as a header, which the client does not know.
            for region in ["eu", "städte", "eu"] {
                let text = accepting.call_text("peer_route", json!({ "region": region })).await;
                assert_eq!(text.as_deref(), Ok(region), "{era:?} to {server}");
            }
            for client in [accepting, declining] {
                assert_eq!(role_of(&client).await, GatewayRole::Relay);
                assert_eq!((client.strays(), client.stderr()), (Vec::new(), String::new()));
                let status = client.close().await.expect("it ends").expect("a status");
                assert_eq!(status.code(), Some(0), "{era:?} to {server}");
            }
        }
        gateway.stop().await;
        let shared = TestGateway::start(&octroi(), &format!("{entry}sharing = \"shared\"\n")).await;
        let one = client(&shared.relay(&octroi()), Era::Modern, ClientOptions::default()).await;
        assert_eq!(attempt("list change", &one).await, Ok(()), "{server}");
        shared.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_requests_of_a_client_run_at_once() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    for era in ERAS {
        let client = client(&gateway.relay(&octroi()), era, ClientOptions::default()).await;
        let slow = json!({ "steps": 1, "delay_ms": 60_000 });
        let waiting = client.start("tools/call", json!({ "name": "peer_slow", "arguments": slow }));
        let texts: Vec<String> = (0..50).map(|number| format!("{era:?} {number}")).collect();
        let calls = texts.iter().map(|text| {
            client.start("tools/call", json!({ "name": "peer_echo", "arguments": { "text": text } }))
        });
        let calls: Vec<_> = calls.collect();
        for (call, text) in calls.into_iter().zip(&texts) {
            assert_eq!(call.finish().await.expect("a result")["content"][0]["text"], text.as_str());
        }
        drop(waiting);
        assert_eq!(client.strays(), Vec::<String>::new());
    }
    gateway.stop().await;
}

/// A client that writes everything and closes its end gets every answer, whatever it is connected to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_does_not_wait_is_answered_too() {
    let request = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "0" } });
    let lines = [
        request(json!(1), "initialize", hello),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        request(json!(2), "tools/call", json!({ "name": "peer_echo", "arguments": { "text": "x" } })),
        request(
            json!("m"),
            "tools/call",
            json!({ "name": "peer_route", "arguments": { "region": "r" }, "_meta": meta }),
        ),
        request(json!(3), "no/such", json!({})),
        request(json!(4), "server/discover", json!({})),
        json!({ "jsonrpc": "1.0", "id": 5 }),
        json!("no message"),
    ];
    let unopened = [request(json!("a"), "tools/list", json!({}))];
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let data = gateway.directory().join("data");
    let config = gateway.directory().join("octroi.toml").display().to_string();
    let relayed = (answers(&data, &[], &lines).await, answers(&data, &[], &unopened).await);
    let (directory, _) = gateway.stop_and_keep().await;
    let data = directory.path().join("data");
    let flags = ["--config", &config];
    let own = (answers(&data, &flags, &lines).await, answers(&data, &flags, &unopened).await);
    for (all, one) in [relayed, own] {
        let expected = [
            ("\"m\"", "\"r\""),
            ("1", "null"),
            ("2", "\"x\""),
            ("3", "-32601"),
            ("4", "-32602"),
            ("5", "-32600"),
            ("null", "-32600"),
        ];
        let expected = expected.map(|(id, answer)| (id.to_owned(), answer.to_owned()));
        assert_eq!(answers_by_id(&all), expected);
        assert_eq!(answers_by_id(&one), [("\"a\"".to_owned(), "-32600".to_owned())]);
    }
}

/// The answer to each request: the code of an error, or the text of a result.
fn answers_by_id(output: &Output) -> Vec<(String, String)> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    let mut answers: Vec<(String, String)> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a message"))
        .filter(|message| message.get("id").is_some())
        .map(|message| {
            let answer = match &message["error"]["code"] {
                Value::Null => message["result"]["content"][0]["text"].clone(),
                code => code.clone(),
            };
            (message["id"].to_string(), answer.to_string())
        })
        .collect();
    answers.sort();
    answers
}
