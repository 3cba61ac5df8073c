//! Servers that misbehave: their callers get a clear error, and nobody else is affected.

mod dead;
mod starting;
mod witness;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

use crate::harness::{connect, octroi, remote_entry, stdio_entry};
use crate::processes::{descendants, left_of};
use witness::Witness;

/// The call timeout of every bad server.
const TIMEOUT: Duration = Duration::from_secs(1);
/// How much a loaded machine may add to it.
const SLACK: Duration = Duration::from_secs(2);

const CLIENTS: [Era; 2] = [Era::Legacy("2025-11-25"), Era::Modern];

/// The expected result for the caller of the bad tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultOutcome {
    /// The gateway recovers from the fault.
    Works,
    /// An error with this code.
    Fails(&'static str),
}
use FaultOutcome::{Fails, Works};

struct FaultCase {
    fault: &'static str,
    transport: &'static str,
    eras: &'static [&'static str],
    /// The tool that shows the fault; `echo` where every tool does.
    tool: &'static str,
    outcome: FaultOutcome,
}

const BOTH: &[&str] = &["legacy", "modern"];
const LEGACY: &[&str] = &["legacy"];

const fn case(
    fault: &'static str,
    transport: &'static str,
    eras: &'static [&'static str],
    tool: &'static str,
    outcome: FaultOutcome,
) -> FaultCase {
    FaultCase { fault, transport, eras, tool, outcome }
}

const STDIO: [FaultCase; 9] = [
    case("noise", "stdio", BOTH, "echo", Works),
    case("twice", "stdio", BOTH, "echo", Works),
    case("unknown-id", "stdio", BOTH, "echo", Works),
    case("stderr-flood", "stdio", BOTH, "echo", Works),
    case("ignore-term", "stdio", BOTH, "echo", Works),
    case("huge-line", "stdio", BOTH, "huge", Fails("result_too_large")),
    case("die-mid-call", "stdio", BOTH, "die", Fails("outcome_unknown")),
    case("never", "stdio", BOTH, "never", Fails("call_timeout")),
    case("garbage", "stdio", BOTH, "garbage", Fails("call_timeout")),
];

const HTTP: [FaultCase; 7] = [
    case("http-500", "http", BOTH, "add", Fails("server_unavailable")),
    case("http-html", "http", BOTH, "add", Fails("server_unavailable")),
    case("http-cut", "http", BOTH, "add", Fails("outcome_unknown")),
    case("http-hang", "http", BOTH, "add", Fails("call_timeout")),
    case("never", "http", BOTH, "never", Fails("call_timeout")),
    case("huge-line", "http", BOTH, "huge", Fails("result_too_large")),
    case("session-lost", "http", LEGACY, "echo", Works),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_process_harms_only_its_callers() {
    println!("{}", run(&STDIO).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_remote_server_harms_only_its_callers() {
    println!("{}", run(&HTTP).await);
}

/// Runs every case in each of its eras; returns a table of the errors that callers get.
async fn run(cases: &[FaultCase]) -> String {
    let mut table = String::from("| fault | server | what its caller reads |\n|---|---|---|\n");
    for case in cases {
        for era in case.eras {
            let read = run_one(case, era).await;
            let _ = writeln!(table, "| {} | {era} {} | {read} |", case.fault, case.transport);
        }
    }
    table
}

async fn run_one(case: &FaultCase, era: &str) -> String {
    let what = format!("{} over {} in the {era} era", case.fault, case.transport);
    let flags = ["--era", era, "--fault", case.fault];
    let (entry, _peer) = if case.transport == "stdio" {
        (stdio_entry("bad", &flags), None)
    } else {
        let flags: Vec<&str> = flags.into_iter().chain(["--transport", "http"]).collect();
        let peer = PeerProcess::start(&flags).await.expect("the peer should start");
        (remote_entry("bad", "http", &peer.url), Some(peer))
    };
    let config = format!("{}{}", bad(&entry), stdio_entry("good", &[]));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let witness = Witness::start(&gateway).await;
    let mut read = String::new();
    for era in CLIENTS {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        echo(&client, "before", &what).await;
        read = call_bad_tool(&client, case, &what).await;
        echo(&client, "after", &what).await;
    }
    witness.finish(&what).await;
    stop(gateway, &what).await;
    read
}

/// A bad server's entry: short timeouts and small limits.
fn bad(entry: &str) -> String {
    format!(
        "{entry}timeout = \"{}ms\"\nmax_message_bytes = 1000000\nshutdown_grace = \"300ms\"\n",
        TIMEOUT.as_millis()
    )
}

async fn echo(client: &TestClient, text: &str, what: &str) {
    let answer = client.call_text("bad_echo", json!({ "text": text })).await;
    assert_eq!(answer.as_deref(), Ok(text), "{what}");
}

/// Calls the tool that shows the fault and returns the text that its caller gets.
async fn call_bad_tool(client: &TestClient, case: &FaultCase, what: &str) -> String {
    let arguments = match case.tool {
        "add" => json!({ "a": 1, "b": 2 }),
        "huge" => json!({ "bytes": 2_000_000 }),
        _ => json!({ "text": "hello" }),
    };
    let since = Instant::now();
    let result = client.call(&format!("bad_{}", case.tool), arguments).await;
    let took = since.elapsed();
    let result = result.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(took < TIMEOUT + SLACK, "{what}: {took:?}");
    match case.outcome {
        Works => {
            assert_eq!(result["content"][0]["text"], "hello", "{what}");
            "its answer".to_owned()
        }
        Fails(code) => explained(&result, code, what),
    }
}

/// Checks that a result names the server, the kind of failure and what to do; returns its text.
fn explained(result: &Value, code: &str, what: &str) -> String {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    let error = &result["_meta"]["octroi/error"];
    assert_eq!(result["isError"], true, "{what}: {result}");
    assert_eq!(error["code"], code, "{what}: {result}");
    assert_eq!(error["server"], "bad", "{what}: {result}");
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(!hint.is_empty() && text.contains("`bad`") && text.contains(hint), "{what}: {result}");
    format!("`{code}`: {text}")
}

/// Stops the gateway and checks that it left nothing behind.
async fn stop(mut gateway: TestGateway, what: &str) {
    let id = gateway.child.id().expect("the gateway runs");
    let processes = descendants(id);
    assert!(!processes.is_empty(), "{what}: no process was started");
    signal_term(id).await;
    let status = tokio::time::timeout(Duration::from_secs(15), gateway.child.wait()).await;
    let status =
        status.unwrap_or_else(|_| panic!("{what}: the gateway does not end")).expect("it was waited for");
    assert!(status.success(), "{what}: {status}");
    assert_eq!(left_of(&processes).await, Vec::<u32>::new(), "{what}: processes are left");
}

pub(crate) async fn signal_term(id: u32) {
    let sent = tokio::process::Command::new("kill").args(["-TERM", &id.to_string()]).status().await;
    assert!(sent.is_ok_and(|status| status.success()), "the signal can be sent");
}
