//! Who is admitted.

use octroi_testkit::gateway::AGENT_TOKEN;
use serde_json::json;

use super::{BOTH, JSON, RawSession, bearer, fetch, gateway, gateway_with, post, refusal, request};
use crate::harness::stdio_entry;

#[tokio::test]
async fn nobody_comes_in_without_a_known_token() {
    let patient = "[server]\nmax_wrong_tokens_per_address = 1000\n";
    let gateway = gateway_with(&format!("{patient}{}", stdio_entry("peer", &[]))).await;
    let body = request("1", "ping", &json!({}));
    let old =
        ["sse", "messages", "mcp/servers/peer/sse", "mcp/servers/nobody/sse", "mcp/servers/nobody/messages"]
            .map(|path| format!("{}/{path}", gateway.base));
    for url in
        [gateway.url(), gateway.server_url("peer"), gateway.server_url("nobody")].into_iter().chain(old)
    {
        for method in ["POST", "GET", "DELETE", "PUT"] {
            for (token, challenge) in [
                (None, "Bearer realm=\"octroi\""),
                (Some("Basic b2N0cm9p"), "Bearer realm=\"octroi\""),
                (Some("Bearer wrong"), "Bearer realm=\"octroi\", error=\"invalid_token\""),
            ] {
                let headers: Vec<_> =
                    [JSON, BOTH].into_iter().chain(token.map(|token| ("authorization", token))).collect();
                let response = fetch(method, &url, &headers, &body).await;
                assert_eq!(response.status, 401, "{method} {url} {token:?}");
                assert_eq!(response.headers["www-authenticate"], challenge, "{method} {url} {token:?}");
                assert_eq!(response.json()["error"]["data"]["code"], "unauthenticated");
            }
        }
    }
}

#[tokio::test]
async fn web_pages_from_elsewhere_are_kept_out() {
    let gateway = gateway(&[]).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    let body = request("1", "ping", &json!({}));
    for (header, status) in [
        (("origin", "https://evil.example"), 403),
        (("origin", "null"), 403),
        (("origin", "http://127.0.0.1.evil.example"), 403),
        (("origin", "http://localhost:5173"), 200),
        (("host", "evil.example"), 403),
        (("host", "127.0.0.1.evil.example:80"), 403),
        (("host", "localhost:1"), 200),
    ] {
        let old = ["sse", "messages"].map(|path| format!("{}/{path}", gateway.server_url("nobody")));
        let urls = [gateway.url(), gateway.server_url("nobody"), format!("{}/health", gateway.base)];
        for url in urls.into_iter().chain(old) {
            let mut headers = session.headers();
            headers.push(header);
            let method = if url.ends_with("/health") || url.ends_with("/sse") { "GET" } else { "POST" };
            let response = fetch(method, &url, &headers, &body).await;
            let expected = if status == 200 && url.contains("/nobody") { 404 } else { status };
            assert_eq!(response.status, expected, "{header:?} {url}");
        }
    }
}

#[tokio::test]
async fn pages_of_allowed_origins_can_call_from_a_browser() {
    let settings = "[server]\nallowed_origins = [\"https://app.example\"]\n";
    let gateway = gateway_with(&format!("{settings}{}", stdio_entry("peer", &[]))).await;
    let token = bearer(AGENT_TOKEN);
    for (origin, is_allowed) in
        [("https://app.example", true), ("https://evil.example", false), ("http://localhost:5173", false)]
    {
        let origin = ("origin", origin);
        let asks = [
            origin,
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,mcp-param-region"),
        ];
        for url in [gateway.url(), gateway.server_url("peer"), format!("{}/messages", gateway.base)] {
            // A browser asks without a token.
            let preflight = fetch("OPTIONS", &url, &asks, "").await;
            let header = |name: &str| preflight.headers.get(name).and_then(|value| value.to_str().ok());
            assert_eq!(preflight.status == 204, is_allowed, "{origin:?}: {}", preflight.status);
            assert_eq!(header("access-control-allow-origin"), is_allowed.then_some(origin.1));
            let headers = header("access-control-allow-headers");
            assert_eq!(headers, is_allowed.then_some("authorization,mcp-param-region"));
            for token in [None, Some(("authorization", token.as_str()))] {
                let headers: Vec<_> = [origin, JSON, BOTH].into_iter().chain(token).collect();
                let answer = fetch("POST", &url, &headers, &request("1", "ping", &json!({}))).await;
                let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
                assert_eq!(header("access-control-allow-origin"), is_allowed.then_some(origin.1));
                let exposed = header("access-control-expose-headers").unwrap_or_default();
                assert_eq!(exposed.contains("mcp-session-id"), is_allowed, "{exposed}");
            }
        }
    }
    let health =
        fetch("GET", &format!("{}/health", gateway.base), &[("origin", "https://app.example")], "").await;
    assert!(!health.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn what_cannot_be_a_message_is_refused() {
    let gateway =
        gateway_with(&format!("[server]\nmax_body_bytes = 20000\n{}", stdio_entry("peer", &[]))).await;
    let token = bearer(AGENT_TOKEN);
    let body = request("1", "ping", &json!({}));
    let large = request("1", "ping", &json!({ "x": "x".repeat(30_000) }));
    let with = |kind: &'static str| vec![("authorization", token.as_str()), ("content-type", kind), BOTH];
    for (method, headers, body, expected) in [
        ("POST", with("application/json"), large.as_str(), (413, -32600)),
        ("POST", with("text/plain"), &body, (415, -32600)),
        ("POST", with("application/jsonx"), &body, (415, -32600)),
        ("POST", vec![("authorization", token.as_str()), BOTH], &body, (415, -32600)),
        ("POST", with("application/json; charset=utf-8"), "{", (400, -32700)),
        ("POST", with("application/json"), "", (400, -32700)),
        ("POST", with("application/json"), "\"text\"", (400, -32600)),
        ("POST", with("application/json"), "[]", (400, -32600)),
        ("POST", with("application/json"), r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, (400, -32600)),
        ("POST", with("application/json"), r#"{"jsonrpc":"2.0","id":1,"method":5}"#, (400, -32600)),
        ("POST", with("application/json"), &body, (400, -32600)),
    ] {
        let response = fetch(method, &gateway.url(), &headers, body).await;
        assert_eq!(refusal(&response), expected, "{headers:?} {body:.60}");
    }
    for method in ["PUT", "PATCH", "OPTIONS"] {
        let response = fetch(method, &gateway.url(), &with("application/json"), &body).await;
        assert_eq!(
            (response.status, response.headers["allow"].to_str().ok()),
            (405, Some("POST, GET, DELETE"))
        );
    }
    for path in ["/mcp/servers/nobody", "/mcp/servers/..", "/mcp/servers/a%20b", "/nothing", "/"] {
        let response =
            fetch("POST", &format!("{}{path}", gateway.base), &with("application/json"), &body).await;
        assert_eq!(refusal(&response), (404, -32600), "{path}");
    }
    // After a refused body the gateway still serves its sender.
    RawSession::open(&gateway, "2025-11-25").await;
}

#[tokio::test]
async fn a_name_given_twice_is_refused() {
    let gateway = gateway(&[]).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    for params in [
        r#"{"name":"peer_echo","arguments":{"text":"x"},"name":"peer_fail"}"#,
        r#"{"name":"peer_echo","arguments":{"text":"x"},"n\u0061me":"peer_fail"}"#,
        r#"{"name":"peer_echo","arguments":{"text":"x"},"arguments":{"text":"y"}}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        assert_eq!(refusal(&session.post(&body).await), (400, -32602), "{params}");
        let modern =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "peer_echo")];
        assert_eq!(refusal(&post(&gateway, &modern, &body).await), (400, -32602), "{params}");
    }
    let doubled = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#;
    assert_eq!(refusal(&session.post(doubled).await), (400, -32600));
}
