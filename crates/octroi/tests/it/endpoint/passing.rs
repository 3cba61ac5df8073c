//! Unknown members and methods pass unchanged.

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::peer::process::PeerProcess;
use serde_json::json;

use super::scribe::Scribe;
use super::{Modern, RawSession, gateway, gateway_with};
use crate::harness::{connect, remote_entry, stdio_entry};

/// Arguments that a careless gateway would change: order, digits, escapes, depth.
const ARGUMENTS: &str = r#"{"z":1,"a":123456789012345678901234567890,"t":1.10,"m":-0.0,"s":"\u00e9\/\ud83d\ude00","deep":[[{"":[null,{}]}]]}"#;
const UNKNOWN: &str = r#""x-unknown":{"n":[0.1e-9999,2]}"#;
const RESULT: &str = r#"{"x-first":100000000000000000000.00,"content":[{"type":"x-new","b":1E+2}],"structuredContent":{"z":1,"a":[1.0]},"_meta":{"vendor/x":-0}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_knows_passes_both_ways_untouched() {
    for server in ["legacy", "modern"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let answer = match server {
            "legacy" => RESULT.to_owned(),
            _ => RESULT.replacen('{', r#"{"resultType":"complete","#, 1),
        };
        let scribe = Scribe::new(directory.path(), server, &answer);
        let gateway = gateway_with(&scribe.entry).await;
        let session = RawSession::open(&gateway, "2025-11-25").await;
        let params = format!(
            r#"{{{UNKNOWN},"name":"scribe_write","arguments":{ARGUMENTS},"_meta":{{"vendor/y":7e777}}}}"#
        );
        let legacy = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{params}}}"#);
        let response = session.post(&legacy).await;
        assert!(response.json()["error"].is_null(), "{:?}", response.body);
        check(&scribe, &response.body, &format!("legacy client, {server} server"));
        assert!(!String::from_utf8_lossy(&response.body).contains("resultType"), "not in this era");

        let declared = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"#;
        let call = Modern {
            body: legacy.replacen(r#""_meta":{"#, declared, 1),
            ..Modern::call("9", "scribe_write", &json!({}))
        };
        let response = call.send(&gateway).await;
        check(&scribe, &response.body, &format!("modern client, {server} server"));

        let listed = session.post(&super::request("1", "tools/list", &json!({}))).await;
        let listed = String::from_utf8_lossy(&listed.body).into_owned();
        assert!(listed.contains(r#""x-unknown":[123456789012345678901234567890,1e400]"#), "{listed}");
    }
}

fn check(scribe: &Scribe, answer: &[u8], what: &str) {
    let sent = scribe.last_call();
    for part in [
        format!(r#""arguments":{ARGUMENTS}"#),
        UNKNOWN.to_owned(),
        r#""vendor/y":7e777"#.to_owned(),
        r#""name":"write""#.to_owned(),
    ] {
        assert!(sent.contains(&part), "{what}: {part} in {sent}");
    }
    let answer = String::from_utf8_lossy(answer);
    for part in [
        r#""x-first":100000000000000000000.00"#,
        r#""content":[{"type":"x-new","b":1E+2}]"#,
        r#""structuredContent":{"z":1,"a":[1.0]}"#,
        r#""vendor/x":-0"#,
    ] {
        assert!(answer.contains(part), "{what}: {part} in {answer}");
    }
}

#[tokio::test]
async fn ids_come_back_as_they_were_written() {
    let gateway = gateway(&[]).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    for id in [
        "0",
        "-1",
        "1.50",
        "1e3",
        "123456789012345678901234567890",
        r#""a""#,
        r#""\u00e9\/""#,
        r#""""#,
        "null",
        "true",
        "[1, 2]",
        r#"{"a": 1}"#,
    ] {
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
        let body = super::call(id, "peer_echo", &json!({ "text": "x" }));
        let legacy = session.post(&body).await;
        assert!(legacy.body.starts_with(expected.as_bytes()), "{id}: {:?}", legacy.body);
        assert_eq!(legacy.json()["result"]["content"][0]["text"], "x", "{id}");
        let modern = Modern::call(id, "peer_echo", &json!({ "text": "x" })).send(&gateway).await;
        assert!(modern.body.starts_with(expected.as_bytes()), "{id}: {:?}", modern.body);
        let error = session.post(&super::call(id, "peer_nothing", &json!({}))).await;
        assert!(error.body.starts_with(expected.as_bytes()), "{id}: {:?}", error.body);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_many_pages_is_whole() {
    let mut entries = String::new();
    let mut peers = Vec::new();
    for era in ["legacy", "modern"] {
        let flags = ["--era", era, "--tools", "1000"];
        entries.push_str(&stdio_entry(&format!("{era}_stdio"), &flags));
        let flags: Vec<&str> = flags.into_iter().chain(["--transport", "http"]).collect();
        let peer = PeerProcess::start(&flags).await.expect("the peer should start");
        entries.push_str(&remote_entry(&format!("{era}_http"), "http", &peer.url));
        peers.push(peer);
    }
    let gateway = gateway_with(&entries).await;
    for era in [Era::Legacy("2025-06-18"), Era::Modern] {
        let client = connect(&gateway, era, ClientOptions::default()).await;
        let tools = client.list_tools().await.expect("a list");
        for server in ["legacy_stdio", "legacy_http", "modern_stdio", "modern_http"] {
            let prefix = format!("{server}_t");
            let numbered = tools.iter().filter_map(|tool| tool["name"].as_str()?.strip_prefix(&prefix));
            let numbers: Vec<u32> = numbered.filter_map(|number| number.parse().ok()).collect();
            assert_eq!(numbers, (1..=1000).collect::<Vec<_>>(), "{server}");
        }
        assert_eq!(client.call_text("modern_http_t1000", json!({})).await.as_deref(), Ok("t1000"));
        assert_eq!(client.call_text("legacy_stdio_t0777", json!({})).await.as_deref(), Ok("t0777"));
    }
}

/// Arguments that the server might parse differently than the gates are not forwarded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_can_be_read_in_two_ways_are_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let scribe = Scribe::new(directory.path(), "legacy", RESULT);
    let gateway = gateway_with(&scribe.entry).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    for arguments in [r#"{"path":"/tmp","path":"/etc"}"#, r#"{"a":{"b":1,"\u0062":2}}"#, r#"{"a":1e400}"#] {
        let params = format!(r#"{{"name":"scribe_write","arguments":{arguments}}}"#);
        let call = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{params}}}"#);
        let result = session.post(&call).await.json()["result"].clone();
        assert_eq!(result["isError"], true, "{arguments}: {result}");
        assert_eq!(result["_meta"]["octroi/error"]["code"], "invalid_arguments", "{result}");
    }
    assert!(!scribe.was_called(), "nothing reached the server");
}
