//! Rules of HTTP only: sessions, headers, statuses.

use hyper::Method;
use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::client::raw::{self, RawResponse};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

const JSON: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

type Headers = [(&'static str, &'static str)];

async fn peer(flags: &[&str]) -> PeerProcess {
    let mut all = vec!["--transport", "http"];
    all.extend_from_slice(flags);
    PeerProcess::start(&all).await.expect("the peer starts")
}

async fn connect(server: &PeerProcess, era: Era) -> Result<TestClient, ClientError> {
    TestClient::connect(Transport::http(&server.url), era, ClientOptions::default()).await
}

async fn post(server: &PeerProcess, headers: &[(&str, &str)], body: &Value) -> RawResponse {
    let mut all = JSON.to_vec();
    all.extend_from_slice(headers);
    raw::fetch(Method::POST, &server.url, &all, body.to_string()).await.expect("the peer answers")
}

fn modern_call(name: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": name,
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    } })
}

#[tokio::test]
async fn modern_headers_must_say_what_the_body_says() {
    let server = peer(&["--era", "modern"]).await;
    let body = modern_call("echo", &json!({ "text": "x" }));
    let version = ("mcp-protocol-version", "2026-07-28");
    let method = ("mcp-method", "tools/call");
    let cases: [(&Headers, u16, i64); 7] = [
        (&[version, method, ("mcp-name", "echo")], 200, 0),
        (&[version, method, ("mcp-name", "=?base64?ZWNobw==?=")], 200, 0),
        (&[method, ("mcp-name", "echo")], 400, -32020),
        (&[version, ("mcp-name", "echo")], 400, -32020),
        (&[version, method], 400, -32020),
        (&[version, method, ("mcp-name", "add")], 400, -32020),
        (&[("mcp-protocol-version", "2025-11-25"), method, ("mcp-name", "echo")], 400, -32020),
    ];
    for (headers, status, code) in cases {
        let response = post(&server, headers, &body).await;
        assert_eq!(response.status, status, "{headers:?}");
        assert_eq!(response.json()["error"]["code"].as_i64().unwrap_or_default(), code, "{headers:?}");
    }
}

#[tokio::test]
async fn modern_errors_have_the_status_of_the_specification() {
    let server = peer(&["--era", "modern"]).await;
    let client = connect(&server, Era::Modern).await.unwrap();
    let version = |version: &str| json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": version } });
    let error = client.request("tools/list", version("1900-01-01")).await.unwrap_err();
    assert_eq!((error.code(), error.http_status()), (Some(-32022), Some(400)));
    let error = client.request("ping", json!({})).await.unwrap_err();
    assert_eq!((error.code(), error.http_status()), (Some(-32601), Some(404)));
    let error = client.call("ask", json!({})).await.unwrap_err();
    assert_eq!((error.code(), error.http_status()), (Some(-32021), Some(400)));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let bare = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let response = post(&server, &headers, &bare).await;
    assert_eq!((response.status, response.json()["error"]["code"].as_i64()), (400, Some(-32602)));
    for method in [Method::GET, Method::DELETE] {
        let response = raw::fetch(method, &server.url, &[("accept", "text/event-stream")], "").await.unwrap();
        assert_eq!(response.status, 405);
    }
}

#[tokio::test]
async fn an_altered_request_state_is_refused() {
    let server = peer(&["--era", "modern"]).await;
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "ask")];
    let mut body = modern_call("ask", &json!({}));
    body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "elicitation": { "form": {} } });
    let first = post(&server, &headers, &body).await.json();
    assert_eq!(first["result"]["resultType"], "input_required");
    let (key, request) = first["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    let state = first["result"]["requestState"].as_str().unwrap();
    body["params"]["inputResponses"] = json!({ key: { "action": "accept", "content": { "name": "Ada" } } });
    assert_eq!(post(&server, &headers, &body).await.json()["error"]["code"], -32602, "no state");
    body["params"]["requestState"] = json!(format!("{state}x"));
    assert_eq!(post(&server, &headers, &body).await.json()["error"]["code"], -32602, "an altered state");
    body["params"]["requestState"] = json!(state);
    assert_eq!(post(&server, &headers, &body).await.json()["result"]["content"][0]["text"], "hello Ada");
    body["params"]["arguments"] = json!({ "other": true });
    assert_eq!(
        post(&server, &headers, &body).await.json()["error"]["code"],
        -32602,
        "the state of another call"
    );
}

#[tokio::test]
async fn annotated_arguments_are_mirrored_into_headers() {
    let server = peer(&["--era", "modern"]).await;
    let client = connect(&server, Era::Modern).await.unwrap();
    let error = client.call("route", json!({ "region": "eu" })).await.unwrap_err();
    assert_eq!(error.code(), Some(-32020), "the client has not seen the definition yet");
    client.list_tools().await.unwrap();
    for region in ["eu", " zürich "] {
        assert_eq!(client.call_text("route", json!({ "region": region })).await.unwrap(), region);
    }
}

#[tokio::test]
async fn a_legacy_server_answers_a_modern_request_as_sdks_do() {
    let server = peer(&["--era", "legacy"]).await;
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "echo")];
    let response = post(&server, &headers, &modern_call("echo", &json!({ "text": "x" }))).await;
    let body = response.json();
    assert_eq!((response.status, &body["error"]["code"], &body["id"]), (400, &json!(-32000), &Value::Null));
}

#[tokio::test]
async fn a_modern_server_refuses_initialize_and_says_why() {
    let server = peer(&["--era", "modern"]).await;
    let error = connect(&server, Era::Legacy("2025-11-25")).await.expect_err("no legacy server");
    assert_eq!(error.http_status(), Some(400));
    assert!(error.to_string().contains("2026-07-28"), "{error}");
}

#[tokio::test]
async fn a_server_of_both_eras_serves_both_at_once() {
    let server = peer(&["--era", "both"]).await;
    let modern = connect(&server, Era::Modern).await.unwrap();
    let legacy = connect(&server, Era::Legacy("2025-06-18")).await.unwrap();
    let mut watcher = legacy.watch(Watch::tools()).await.unwrap();
    assert_eq!(modern.call_text("grow", json!({})).await.unwrap(), "grown_1");
    assert!(watcher.next(crate::harness::SOON).await.is_some());
    assert_eq!(legacy.call_text("grown_1", json!({})).await.unwrap(), "grown_1");
}

#[tokio::test]
async fn a_session_is_needed_and_ends() {
    let server = peer(&["--era", "legacy"]).await;
    let client = connect(&server, Era::Legacy("2025-06-18")).await.unwrap();
    let session = client.session_id().expect("the server gives a session");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(post(&server, &[], &list).await.status, 400);
    assert_eq!(post(&server, &[("mcp-session-id", "unknown")], &list).await.status, 404);
    assert_eq!(post(&server, &[("mcp-session-id", &session)], &list).await.status, 200);
    let strange = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "1900-01-01")];
    assert_eq!(post(&server, &strange, &list).await.status, 400);
    client.close().await.unwrap();
    assert_eq!(post(&server, &[("mcp-session-id", &session)], &list).await.status, 404);
}

#[tokio::test]
async fn a_lost_connection_does_not_cancel_in_the_legacy_era() {
    let server = peer(&["--era", "both"]).await;
    let client = connect(&server, Era::Legacy("2025-06-18")).await.unwrap();
    let session = client.session_id().expect("the server gives a session");
    let call = json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/call",
        "params": { "name": "slow", "arguments": { "steps": 10, "delay_ms": 10 } } });
    let headers = [JSON.as_slice(), &[("mcp-session-id", &session)]].concat();
    let dropped = raw::send(Method::POST, &server.url, &headers, call.to_string());
    tokio::time::timeout(std::time::Duration::from_millis(50), dropped).await.expect_err("it takes 100 ms");
    crate::harness::wait_for_count(&client, "calls_count", 1).await;
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert_eq!(client.call_text("cancelled_count", json!({})).await.unwrap(), "0");
}

#[tokio::test]
async fn foreign_pages_and_wrong_types_are_refused() {
    let server = peer(&["--era", "both"]).await;
    let body = modern_call("echo", &json!({ "text": "x" }));
    assert_eq!(post(&server, &[("origin", "https://evil.example")], &body).await.status, 403);
    let send = async |headers: &[(&str, &str)], body: &str| {
        raw::fetch(Method::POST, &server.url, headers, body.to_owned()).await.unwrap()
    };
    assert_eq!(send(&[("accept", JSON[1].1)], "{}").await.status, 415);
    assert_eq!(send(&[JSON[0], ("accept", "application/json")], "{}").await.status, 406);
    let broken = send(&JSON, "{").await;
    assert_eq!((broken.status, broken.json()["error"]["code"].as_i64()), (400, Some(-32700)));
}

#[tokio::test]
async fn a_listener_gets_a_final_result_when_the_server_leaves() {
    let mut server = peer(&["--era", "modern"]).await;
    let client = connect(&server, Era::Modern).await.unwrap();
    let watcher = client.watch(Watch::tools()).await.unwrap();
    server.stop().await.unwrap();
    assert_eq!(watcher.ended().await.unwrap()["resultType"], "complete");
}
