//! The HTTP+SSE transport of 2024-11-05.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::client::raw::RawResponse;
use octroi_testkit::client::sse::SseReader;
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use serde_json::{Value, json};

use super::{
    JSON, Modern, OTHER_TOKEN, bearer, call, fetch, gateway, gateway_with, next, next_message, open, refusal,
    request,
};
use crate::harness::{SOON, octroi, stdio_entry};

const OLD: Era = Era::Legacy("2024-11-05");

/// A stream without a client library.
struct RawStream {
    events: SseReader,
    /// Where messages go.
    messages: String,
}

impl RawStream {
    async fn open(gateway: &TestGateway, path: &str, last_event: Option<&str>) -> Self {
        let token = bearer(AGENT_TOKEN);
        let mut headers = vec![("authorization", token.as_str()), ("accept", "text/event-stream")];
        headers.extend(last_event.map(|id| ("last-event-id", id)));
        let mut events = open("GET", &format!("{}{path}", gateway.base), &headers, "").await;
        let first = next(&mut events).await.expect("a first event");
        assert_eq!(first.event, "endpoint");
        Self { events, messages: format!("{}{}", gateway.base, first.data) }
    }

    async fn post(&self, body: &str) -> RawResponse {
        post_to(&self.messages, AGENT_TOKEN, body).await
    }

    /// Begins the session; returns its id.
    async fn initialize(&mut self) -> String {
        assert_eq!(self.post(&initialize()).await.status, 202);
        let (id, answer) = next_message(&mut self.events).await.expect("an answer");
        assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
        id.expect("the id names the session")
    }
}

async fn post_to(url: &str, token: &str, body: &str) -> RawResponse {
    fetch("POST", url, &[("authorization", &bearer(token)), JSON], body).await
}

fn initialize() -> String {
    let params = json!({
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "by hand", "version": "0" },
    });
    request("0", "initialize", &params)
}

fn ping() -> String {
    request("7", "ping", &json!({}))
}

async fn connect(url: String) -> Result<TestClient, ClientError> {
    let transport = Transport::Sse { url, token: Some(AGENT_TOKEN.to_owned()) };
    TestClient::connect(transport, OLD, ClientOptions::default()).await
}

/// Waits until the gateway has this many sessions.
async fn wait_for_sessions(gateway: &TestGateway, expected: u64) {
    for _ in 0..400 {
        if gateway.health().await["sessions"] == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("there should be {expected} sessions: {}", gateway.health().await);
}

#[tokio::test]
async fn one_server_is_reached_alone() {
    let gateway = gateway(&[]).await;
    for (path, tool) in [("/sse", "peer_echo"), ("/mcp/servers/peer/sse", "echo")] {
        let client = connect(format!("{}{path}", gateway.base)).await.expect("the client connects");
        let messages = client.messages_url().expect("an address").to_owned();
        assert!(messages.contains(&path.replace("/sse", "/messages?sessionId=")), "{messages}");
        assert_eq!(
            client.call_text(tool, json!({ "text": "hello" })).await.as_deref(),
            Ok("hello"),
            "{path}"
        );
        // The stream of one endpoint does not exist at another, nor for another agent.
        let (_, id) = messages.split_once('?').expect("an id");
        let elsewhere = if path == "/sse" { "/mcp/servers/peer/messages" } else { "/messages" };
        for (url, token) in
            [(format!("{}{elsewhere}?{id}", gateway.base), AGENT_TOKEN), (messages.clone(), OTHER_TOKEN)]
        {
            assert_eq!(refusal(&post_to(&url, token, &ping()).await), (404, -32600), "{url}");
        }
    }
}

#[tokio::test]
async fn what_has_no_place_on_a_stream_is_refused() {
    let settings = "[server]\nmax_body_bytes = 20000\n";
    let gateway = gateway_with(&format!("{settings}{}", stdio_entry("peer", &[]))).await;
    let mut stream = RawStream::open(&gateway, "/sse", None).await;
    assert_eq!(stream.post(&ping()).await.status, 202, "also before `initialize`");
    let (_, answer) = next_message(&mut stream.events).await.expect("an answer");
    assert_eq!((&answer["id"], &answer["result"]), (&json!(7), &json!({})));
    stream.initialize().await;
    let large = request("1", "ping", &json!({ "x": "x".repeat(30_000) }));
    let modern = Modern::call("1", "peer_echo", &json!({ "text": "x" })).body;
    for (body, expected) in [
        (initialize().as_str(), (400, -32600)),
        (&large, (413, -32600)),
        (&modern, (400, -32600)),
        (&format!("[{}]", ping()), (400, -32600)),
        ("{", (400, -32700)),
    ] {
        assert_eq!(refusal(&stream.post(body).await), expected, "{body:.80}");
    }
    let token = bearer(AGENT_TOKEN);
    let untyped = fetch("POST", &stream.messages, &[("authorization", &token)], &ping()).await;
    assert_eq!(refusal(&untyped), (415, -32600));
    for path in ["/messages", "/messages?sessionId=", "/messages?sessionId=guessed", "/messages?session=x"] {
        let response = post_to(&format!("{}{path}", gateway.base), AGENT_TOKEN, &ping()).await;
        assert_eq!(refusal(&response), (404, -32600), "{path}");
    }
    for (method, path, allowed) in [("POST", "/sse", "GET"), ("GET", "/messages", "POST")] {
        let url = format!("{}{path}", gateway.base);
        let response = fetch(method, &url, &[("authorization", &token), JSON], &ping()).await;
        assert_eq!((response.status, response.headers["allow"].to_str().ok()), (405, Some(allowed)));
    }
    // None of it has harmed the session.
    assert_eq!(stream.post(&ping()).await.status, 202);
    let (_, answer) = next_message(&mut stream.events).await.expect("an answer");
    assert_eq!((&answer["id"], &answer["result"]), (&json!(7), &json!({})));
}

#[tokio::test]
async fn a_lost_stream_goes_on_and_a_closed_one_ends_its_session() {
    let gateway = gateway(&[]).await;
    let mut stream = RawStream::open(&gateway, "/sse", None).await;
    let session = stream.initialize().await;
    let slow = call("1", "peer_slow", &json!({ "steps": 5, "delay_ms": 100 }));
    assert_eq!(stream.post(&slow).await.status, 202);
    drop(stream);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut resumed = RawStream::open(&gateway, "/sse", Some(&session)).await;
    let (_, answer) = next_message(&mut resumed.events).await.expect("the answer has waited");
    assert_eq!(answer["id"], 1, "{answer}");
    assert_eq!(resumed.post(&call("2", "peer_echo", &json!({ "text": "again" }))).await.status, 202);
    let (_, answer) = next_message(&mut resumed.events).await.expect("an answer");
    assert_eq!(answer["result"]["content"][0]["text"], "again");
    // Two at once: the later one is the client's.
    let mut later = RawStream::open(&gateway, "/sse", Some(&session)).await;
    assert_eq!(next(&mut resumed.events).await, None);
    assert_eq!(later.post(&ping()).await.status, 202);
    assert_eq!(next_message(&mut later.events).await.expect("an answer").1["id"], 7);
    // Nobody else's session goes on, and none that is unknown.
    let token = bearer(OTHER_TOKEN);
    let headers = [("authorization", token.as_str()), ("last-event-id", session.as_str())];
    let mut foreign = open("GET", &format!("{}/sse", gateway.base), &headers, "").await;
    let first = next(&mut foreign).await.expect("a stream of its own").data;
    let answered = post_to(&format!("{}{first}", gateway.base), OTHER_TOKEN, &initialize()).await;
    assert_eq!(answered.status, 202, "it has no session yet");
    drop(foreign);
    wait_for_sessions(&gateway, 1).await;
    drop(later);
    wait_for_sessions(&gateway, 0).await;
}

#[tokio::test]
async fn a_client_that_goes_on_without_initialize_after_a_restart_has_a_new_session() {
    let gateway = gateway(&[]).await;
    let mut stream = RawStream::open(&gateway, "/sse", None).await;
    // What it still has to say to its last session concerns nobody.
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(stream.post(cancel).await.status, 202);
    assert_eq!(gateway.health().await["sessions"], 0);
    let ask = call("1", "peer_ask", &json!({}));
    assert_eq!(stream.post(&ask).await.status, 202);
    let (mut changed, mut session) = (0, None);
    while session.is_none() || changed < 3 {
        let (id, message) = next_message(&mut stream.events).await.expect("a message");
        if message["method"].as_str().is_some_and(|method| method.ends_with("/list_changed")) {
            changed += 1;
        } else {
            assert_eq!(
                (&message["id"], &message["result"]["isError"]),
                (&json!(1), &json!(true)),
                "{message}"
            );
            session = Some(id.expect("the id names the session"));
        }
    }
    assert_eq!(refusal(&stream.post(&initialize()).await), (400, -32600), "it has begun already");
    drop(stream);
    let mut resumed = RawStream::open(&gateway, "/sse", session.as_deref()).await;
    assert_eq!(resumed.post(&call("2", "peer_echo", &json!({ "text": "x" }))).await.status, 202);
    let (id, answer) = next_message(&mut resumed.events).await.expect("an answer");
    assert_eq!((id, &answer["result"]["content"][0]["text"]), (None, &json!("x")), "{answer}");
    wait_for_sessions(&gateway, 1).await;
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let entry = stdio_entry("peer", &[]);
    let other = format!("[[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n");
    let gateway = TestGateway::start(&octroi(), &format!("{entry}{other}")).await;
    let token = bearer(OTHER_TOKEN);
    let url = format!("{}/sse", gateway.base);
    let mut events = open("GET", &url, &[("authorization", &token)], "").await;
    let first = next(&mut events).await.expect("a first event").data;
    let messages = format!("{}{first}", gateway.base);
    assert_eq!(post_to(&messages, OTHER_TOKEN, &initialize()).await.status, 202);
    next_message(&mut events).await.expect("an answer");
    gateway.rewrite_config(&entry);
    let ended = tokio::time::timeout(SOON * 2, async { while next(&mut events).await.is_some() {} }).await;
    assert!(ended.is_ok(), "the stream outlives its token");
    assert_eq!(post_to(&messages, OTHER_TOKEN, &ping()).await.status, 401);
    wait_for_sessions(&gateway, 0).await;
}

#[tokio::test]
async fn requests_in_progress_are_limited() {
    let settings = "[server]\nmax_held_bytes = 1000000\n";
    let gateway = gateway_with(&format!("{settings}{}", stdio_entry("peer", &[]))).await;
    let mut stream = RawStream::open(&gateway, "/sse", None).await;
    stream.initialize().await;
    let mut statuses = Vec::new();
    for number in 1..=20 {
        let slow = call(&number.to_string(), "peer_slow", &json!({ "steps": 10, "delay_ms": 200 }));
        statuses.push(stream.post(&slow).await.status);
    }
    let n_accepted = statuses.iter().filter(|status| **status == 202).count();
    assert!((10..=15).contains(&n_accepted), "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 202 | 429)), "{statuses:?}");
    for _ in 0..n_accepted {
        let (_, answer) = next_message(&mut stream.events).await.expect("an answer");
        assert!(answer["result"].is_object(), "{answer}");
    }
    assert_eq!(stream.post(&ping()).await.status, 202, "they are over");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_is_lost_among_notifications() {
    let gateway = gateway(&[]).await;
    let client = connect(format!("{}/sse", gateway.base)).await.expect("the client connects");
    let calls = (0..16).map(|number| {
        let params: Value = json!({
            "name": "peer_slow", "arguments": { "steps": 200, "delay_ms": 1 },
            "_meta": { "progressToken": number },
        });
        client.request("tools/call", params)
    });
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_finish_when_the_gateway_stops() {
    let gateway = gateway(&[]).await;
    let mut stream = RawStream::open(&gateway, "/sse", None).await;
    stream.initialize().await;
    let slow = call("1", "peer_slow", &json!({ "steps": 10, "delay_ms": 100 }));
    assert_eq!(stream.post(&slow).await.status, 202);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (_, answer) = tokio::join!(gateway.stop(), next_message(&mut stream.events));
    let (_, answer) = answer.expect("an answer");
    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!(next(&mut stream.events).await, None);
}
