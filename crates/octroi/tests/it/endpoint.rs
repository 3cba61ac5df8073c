//! The HTTP endpoint: who is admitted, what is forwarded, and how it shuts down.

mod admission;
mod closing;
mod errors;
mod headers;
mod old_sse;
mod passing;
mod restored;
mod scribe;
mod sessions;
mod state;
mod streams;

use octroi_testkit::client::raw::{self, RawResponse};
use octroi_testkit::client::sse::{SseEvent, SseReader};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use serde_json::{Value, json};

use crate::harness::{SOON, octroi, stdio_entry};

/// The token of a second agent.
const OTHER_TOKEN: &str = "oct_agt_other";

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

/// A gateway in front of one server called `peer`, with two agents.
async fn gateway(flags: &[&str]) -> TestGateway {
    gateway_with(&stdio_entry("peer", flags)).await
}

async fn gateway_with(config: &str) -> TestGateway {
    TestGateway::start(&octroi(), &config_with_other(config)).await
}

/// A configuration with the second agent.
fn config_with_other(config: &str) -> String {
    format!("{config}\n[[tokens]]\ntoken = \"{OTHER_TOKEN}\"\nrole = \"agent\"\nagent_id = \"other\"\n")
}

/// Exactly these headers and this body.
async fn fetch(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> RawResponse {
    let method = method.parse().expect("a method");
    raw::fetch(method, url, headers, body.to_owned()).await.expect("the gateway answers")
}

/// POSTs as the agent.
async fn post(gateway: &TestGateway, headers: &[(&str, &str)], body: &str) -> RawResponse {
    let token = bearer(AGENT_TOKEN);
    let mut all = vec![("authorization", token.as_str()), JSON, BOTH];
    all.extend_from_slice(headers);
    fetch("POST", &gateway.url(), &all, body).await
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// The HTTP status and the error code of a response.
fn refusal(response: &RawResponse) -> (u16, i64) {
    let error = &response.json()["error"];
    assert!(
        !error["message"].as_str().unwrap_or_default().is_empty(),
        "an error says what is wrong: {response:?}"
    );
    for member in ["code", "hint"] {
        assert!(error["data"][member].is_string(), "every error has a {member}: {response:?}");
    }
    (response.status, error["code"].as_i64().unwrap_or_default())
}

fn request(id: &str, method: &str, params: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

fn call(id: &str, tool: &str, arguments: &Value) -> String {
    request(id, "tools/call", &json!({ "name": tool, "arguments": arguments }))
}

/// A modern request and the headers that it needs.
struct Modern {
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Modern {
    fn new(id: &str, method: &str, mut params: Value) -> Self {
        let mut headers =
            vec![("mcp-protocol-version", "2026-07-28".to_owned()), ("mcp-method", method.to_owned())];
        if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
            headers.push(("mcp-name", name.to_owned()));
        }
        let declared = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        match params["_meta"].as_object_mut() {
            Some(meta) => meta.extend(declared.as_object().cloned().unwrap_or_default()),
            None => params["_meta"] = declared,
        }
        Self { headers, body: request(id, method, &params) }
    }

    fn call(id: &str, tool: &str, arguments: &Value) -> Self {
        Self::new(id, "tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    async fn send(&self, gateway: &TestGateway) -> RawResponse {
        post(gateway, &self.headers(), &self.body).await
    }

    async fn send_as(&self, gateway: &TestGateway, token: &str) -> RawResponse {
        let token = bearer(token);
        let mut headers = vec![("authorization", token.as_str()), JSON, BOTH];
        headers.extend(self.headers());
        fetch("POST", &gateway.url(), &headers, &self.body).await
    }

    async fn stream(&self, gateway: &TestGateway) -> SseReader {
        let token = bearer(AGENT_TOKEN);
        let mut headers = vec![("authorization", token.as_str()), JSON, BOTH];
        headers.extend(self.headers());
        open("POST", &gateway.url(), &headers, &self.body).await
    }
}

/// A legacy session without a client library.
struct RawSession {
    id: String,
    token: String,
    version: &'static str,
    url: String,
}

impl RawSession {
    async fn open(gateway: &TestGateway, version: &'static str) -> Self {
        Self::open_as(gateway, AGENT_TOKEN, version).await
    }

    async fn open_as(gateway: &TestGateway, token: &str, version: &'static str) -> Self {
        let token = bearer(token);
        let params = json!({
            "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "by hand", "version": "0" },
        });
        let headers = [("authorization", token.as_str()), JSON, BOTH];
        let response = fetch("POST", &gateway.url(), &headers, &request("0", "initialize", &params)).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.json()["result"]["protocolVersion"], version);
        let id =
            response.headers.get("mcp-session-id").expect("a session").to_str().expect("text").to_owned();
        Self { id, token, version, url: gateway.url() }
    }

    fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers =
            vec![("authorization", self.token.as_str()), ("mcp-session-id", self.id.as_str()), JSON, BOTH];
        if self.version >= "2025-06-18" {
            headers.push(("mcp-protocol-version", self.version));
        }
        headers
    }

    async fn post(&self, body: &str) -> RawResponse {
        fetch("POST", &self.url, &self.headers(), body).await
    }

    /// Sends a request whose answer may never come.
    async fn try_post(&self, body: &str) -> Option<RawResponse> {
        let method = "POST".parse().expect("a method");
        raw::fetch(method, &self.url, &self.headers(), body.to_owned()).await.ok()
    }

    async fn delete(&self) -> RawResponse {
        fetch("DELETE", &self.url, &self.headers(), "").await
    }

    async fn post_stream(&self, body: &str) -> SseReader {
        open("POST", &self.url, &self.headers(), body).await
    }

    async fn stream(&self, last_event: Option<&str>) -> SseReader {
        let mut headers = self.headers();
        headers.extend(last_event.map(|id| ("last-event-id", id)));
        open("GET", &self.url, &headers, "").await
    }
}

/// A response that is a stream.
async fn open(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> SseReader {
    let method = method.parse().expect("a method");
    let response = raw::send(method, url, headers, body.to_owned()).await.expect("the gateway answers");
    assert_eq!(response.status(), 200, "{response:?}");
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    SseReader::new(response.into_body())
}

/// The next event; `None` when the stream has ended normally.
async fn next(events: &mut SseReader) -> Option<SseEvent> {
    tokio::time::timeout(SOON, events.next()).await.expect("an event or the end").expect("no broken stream")
}

/// The next message, skipping events without one.
async fn next_message(events: &mut SseReader) -> Option<(Option<String>, Value)> {
    loop {
        let event = next(events).await?;
        if !event.data.is_empty() {
            return Some((event.id, serde_json::from_str(&event.data).expect("a message")));
        }
    }
}
