//! Handlers of the audit log, and a disk that is full, with the real binary.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::client::raw;
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::audit::run;
use crate::disk::on_a_small_disk;
use crate::harness::{SOON, connect, octroi, stdio_entry};

fn admin(gateway: &TestGateway) -> String {
    let token = std::fs::read_to_string(gateway.directory().join("data/admin.token")).expect("a token");
    token.trim().to_owned()
}

async fn metrics(gateway: &TestGateway) -> String {
    let token = format!("Bearer {}", admin(gateway));
    let url = format!("{}/metrics", gateway.base);
    let page = raw::fetch(hyper::Method::GET, &url, &[("authorization", &token)], "").await;
    String::from_utf8_lossy(&page.expect("a page").body).into_owned()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn file_handler(path: &Path) -> String {
    format!("[[audit.handlers]]\nname = \"file\"\nkind = \"jsonl\"\npath = {}\n", json!(path))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_says_nothing_holds_up_nobody() {
    // It accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/hook", silent.local_addr().expect("an address"));
    let place = tempfile::tempdir().expect("a temporary directory");
    let path = place.path().join("copy.jsonl");
    let hook = format!("[[audit.handlers]]\nname = \"hook\"\nkind = \"webhook\"\nurl = \"{url}\"\n");
    let entry = stdio_entry("peer", &[]);
    let config = format!("{entry}{hook}{}", file_handler(&path));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for number in 0..20 {
        let text = number.to_string();
        assert_eq!(client.call_text("peer_echo", json!({"text": text})).await, Ok(text));
    }
    let deadline = Instant::now() + SOON;
    let of_calls = || lines(&path).iter().filter(|record| record["tool"] == "mcp:peer:echo").count();
    while of_calls() < 40 {
        assert!(Instant::now() < deadline, "{} records came", of_calls());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(of_calls(), 40);
    let text = metrics(&gateway).await;
    assert!(text.contains("octroi_audit_handler_dropped_total{name=\"hook\"} 0"), "{text}");
    assert!(text.contains("octroi_audit_handler_lag{name=\"file\"} 0"), "{text}");
    let lag = text.lines().find_map(|line| line.strip_prefix("octroi_audit_handler_lag{name=\"hook\"} "));
    assert!(lag.is_some_and(|lag| lag.parse::<u64>().is_ok_and(|lag| lag >= 40)), "{text}");

    // A new configuration with other handlers.
    gateway.rewrite_config(&format!("{entry}{}", file_handler(&place.path().join("other.jsonl"))));
    let output = run(&gateway.directory().join("data"), &["reload"]).await;
    assert!(output.status.success(), "{output:?}");
    assert!(!metrics(&gateway).await.contains("name=\"hook\""));
    client.call("peer_add", json!({"a": 1, "b": 2})).await.expect("a result");
    // It has the name of the previous one, so it continues where that one stopped.
    let other = place.path().join("other.jsonl");
    let deadline = Instant::now() + SOON;
    while !lines(&other).iter().any(|record| record["kind"] == "tool_invocation_end") {
        assert!(Instant::now() < deadline, "nothing came");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(lines(&other).iter().all(|record| record["tool"] != "mcp:peer:echo"));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_can_watch_the_newest_records() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let transport = Transport::Http { url: gateway.url(), token: Some(admin(&gateway)) };
        let person = TestClient::connect(transport, era, ClientOptions::default()).await.expect("a client");
        let uri = "resource://audit/recent";
        let mut watcher = person.watch(Watch::resource(uri)).await.expect("it can be watched");
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        agent.call("peer_echo", json!({"text": "x"})).await.expect("a result");
        assert!(watcher.next(SOON).await.is_some(), "{era:?}");
        let deadline = Instant::now() + SOON;
        loop {
            let read = person.request("resources/read", json!({ "uri": uri })).await.expect("a resource");
            let text = read["contents"][0]["text"].as_str().expect("a text");
            let recent: Value = serde_json::from_str(text).expect("JSON");
            // The end of a call is written asynchronously.
            if recent["records"][0]["kind"] == "tool_invocation_end" {
                break;
            }
            assert!(Instant::now() < deadline, "{recent}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(agent.request("resources/read", json!({ "uri": uri })).await.is_err());
        assert!(agent.call("audit_query", json!({})).await.is_err());
        for wrong in [json!({"limit": "x"}), json!({"nonsense": 1}), json!({"kinds": [1]})] {
            assert!(person.call("audit_query", wrong.clone()).await.is_err(), "{wrong}");
        }
        let page = person.call("audit_query", json!({"limit": 1})).await.expect("a result");
        let page = &page["structuredContent"];
        assert_eq!((page["records"].as_array().map(Vec::len), &page["behind"]), (Some(1), &json!(0)));
        let before = json!({"limit": 1, "before": page["next"]});
        let older = person.call("audit_query", before).await.expect("a result");
        assert!(
            older["structuredContent"]["records"][0]["seq"].as_u64() < page["records"][0]["seq"].as_u64()
        );
        let verified = person.call("audit_verify", json!({})).await.expect("a result");
        assert_eq!(verified["structuredContent"]["intact"], true, "{verified}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_cannot_be_recorded_is_not_made() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let binary = on_a_small_disk(place.path());
    let gateway = TestGateway::launch(&binary, &stdio_entry("peer", &[]), &[]).await;
    gateway.wait_until_settled().await;
    let id = gateway.child.id().expect("it runs");
    let seen = PathBuf::from(format!("/proc/{id}/root{}", gateway.directory().join("data").display()));
    assert!(seen.join("audit").is_dir(), "the small disk cannot be reached; are user namespaces allowed?");
    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let filled = std::fs::write(seen.join("fill"), vec![0_u8; 4 << 20]);
    assert!(filled.is_err(), "the disk should be full now");
    // The last block of the log may still have space for a few.
    let (mut n_made, mut n_refused) = (0, 0);
    for _ in 0..60 {
        match client.call_text("peer_echo", json!({"text": "x"})).await {
            Ok(text) => {
                assert_eq!((text.as_str(), n_refused), ("x", 0), "no call is made once one was refused");
                n_made += 1;
            }
            Err(_) => n_refused += 1,
        }
    }
    assert!(n_refused > 40, "{n_made} calls were made with a full disk");
    std::fs::remove_file(seen.join("fill")).expect("room can be made");
    let deadline = Instant::now() + SOON;
    while client.call_text("peer_echo", json!({"text": "x"})).await.is_err() {
        assert!(Instant::now() < deadline, "calls are still refused");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let n_calls = client.call_text("peer_calls_count", json!({})).await.expect("a number");
    assert_eq!(n_calls, (n_made + 1).to_string(), "the server saw other calls than those that were made");
    let output = run(&seen, &["audit", "verify"]).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    gateway.stop().await;
}
