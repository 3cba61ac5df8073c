//! The HTTP+SSE transport of 2024-11-05, on the server side: no client of this crate supports it.

use hyper::Method;
use octroi_testkit::client::raw;
use octroi_testkit::client::sse::SseReader;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

async fn next_message(events: &mut SseReader) -> Value {
    let event = events.next().await.expect("the stream lives").expect("an event comes");
    assert_eq!(event.event, "message");
    serde_json::from_str(&event.data).expect("a message is JSON")
}

#[tokio::test]
async fn a_session_over_the_old_transport_works() {
    let server = PeerProcess::start(&["--transport", "sse"]).await.unwrap();
    let origin = server.url.strip_suffix("/sse").expect("the URL ends with /sse").to_owned();
    let accept = [("accept", "text/event-stream")];
    let response = raw::send(Method::GET, &server.url, &accept, "").await.unwrap();
    assert_eq!(response.status(), 200);
    let mut events = SseReader::new(response.into_body());
    let endpoint = events.next().await.unwrap().unwrap();
    assert_eq!(endpoint.event, "endpoint");
    let url = format!("{origin}{}", endpoint.data);
    let post = async |body: Value| {
        let json = [("content-type", "application/json")];
        raw::fetch(Method::POST, &url, &json, body.to_string()).await.unwrap().status
    };

    let initialize = json!({ "protocolVersion": "2024-11-05", "capabilities": { "roots": {} },
        "clientInfo": { "name": "test", "version": "0" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize });
    assert_eq!(post(initialize).await, 202);
    assert_eq!(next_message(&mut events).await["result"]["protocolVersion"], "2024-11-05");
    post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;

    let call = |id: u64, name: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
    post(call(2, "echo", json!({ "text": "old" }))).await;
    assert_eq!(next_message(&mut events).await["result"]["content"][0]["text"], "old");

    post(call(3, "roots", json!({}))).await;
    let question = next_message(&mut events).await;
    assert_eq!(question["method"], "roots/list");
    post(json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "roots": [{ "uri": "file:///a" }] } }))
        .await;
    assert_eq!(next_message(&mut events).await["result"]["content"][0]["text"], "file:///a");

    assert_eq!(post_unknown(&origin).await, 404);
}

async fn post_unknown(origin: &str) -> u16 {
    let url = format!("{origin}/messages?sessionId=unknown");
    raw::fetch(Method::POST, &url, &[], "{}").await.unwrap().status
}
