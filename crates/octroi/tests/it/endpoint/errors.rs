//! Every error says its code and a hint, and a refused request has the HTTP status that the table of errors gives the
//! code.

use octroi_api::ErrorCode;
use octroi_testkit::gateway::AGENT_TOKEN;

use super::*;

/// Checks an error for an agent; returns its code.
fn code_of(error: &Value, what: &str) -> ErrorCode {
    let data = &error["data"];
    let code = data["code"].as_str().and_then(ErrorCode::parse);
    let code = code.unwrap_or_else(|| panic!("{what}: no code of the table in {error}"));
    let hint = data["hint"].as_str().unwrap_or_default();
    assert!(!hint.is_empty(), "{what}: no hint in {error}");
    // An agent runs no commands and changes no configuration: a hint that names one says that a person does.
    let is_for_people = hint.contains("`octroi ") || hint.contains("under [");
    assert!(!is_for_people || hint.contains("a person "), "{what}: {hint}");
    code
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_has_the_status_of_its_code() {
    let settings = "[server]\nmax_body_bytes = 20000\nmax_sessions = 2\nmax_client_info_bytes = 1024\n";
    let gateway = gateway_with(&format!("{settings}{}", stdio_entry("peer", &[]))).await;
    let token = bearer(AGENT_TOKEN);
    let known = ("authorization", token.as_str());
    let ping = request("1", "ping", &json!({}));
    let large = request("1", "ping", &json!({"x": "x".repeat(30_000)}));
    let (mcp, single) = (gateway.url(), gateway.server_url("nobody"));
    let elsewhere = format!("{}/nothing", gateway.base);
    let over = ("mcp-session-id", "over");
    let mut refusals = Vec::new();
    for (what, method, url, headers, body, expected) in [
        ("no token", "POST", &mcp, vec![JSON, BOTH], &ping, "unauthenticated"),
        (
            "wrong token",
            "POST",
            &mcp,
            vec![JSON, BOTH, ("authorization", "Bearer x")],
            &ping,
            "unauthenticated",
        ),
        (
            "origin",
            "POST",
            &mcp,
            vec![known, JSON, BOTH, ("origin", "https://evil.example")],
            &ping,
            "forbidden",
        ),
        ("host", "POST", &mcp, vec![known, JSON, BOTH, ("host", "evil.example")], &ping, "forbidden"),
        ("path", "POST", &elsewhere, vec![known, JSON, BOTH], &ping, "path_not_found"),
        ("server", "POST", &single, vec![known, JSON, BOTH], &ping, "path_not_found"),
        (
            "type",
            "POST",
            &mcp,
            vec![known, BOTH, ("content-type", "text/plain")],
            &ping,
            "unsupported_media_type",
        ),
        ("size", "POST", &mcp, vec![known, JSON, BOTH], &large, "request_too_large"),
        ("no JSON", "POST", &mcp, vec![known, JSON, BOTH], &"{".to_owned(), "parse_error"),
        ("no message", "POST", &mcp, vec![known, JSON, BOTH], &"[]".to_owned(), "invalid_request"),
        ("no session", "POST", &mcp, vec![known, JSON, BOTH], &ping, "invalid_request"),
        ("ended session", "POST", &mcp, vec![known, JSON, BOTH, over], &ping, "session_not_found"),
        ("ended session", "DELETE", &mcp, vec![known, over], &ping, "session_not_found"),
    ] {
        refusals.push((what, fetch(method, url, &headers, body).await, expected));
    }
    let mut other = Modern::call("1", "peer_echo", &json!({"text": "x"}));
    other.headers.retain(|(name, _)| *name != "mcp-name");
    refusals.push(("header", other.send(&gateway).await, "header_mismatch"));
    refusals.push(("method", Modern::new("1", "ping", json!({})).send(&gateway).await, "method_not_found"));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = [("mcp-protocol-version", "2099-01-01"), ("mcp-method", "tools/list")];
    let future = request("1", "tools/list", &json!({ "_meta": meta }));
    refusals.push(("version", post(&gateway, &headers, &future).await, "unsupported_protocol_version"));
    let info = json!({"name": "x".repeat(2000), "version": "0"});
    let initialize = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let too_much = post(&gateway, &[], &request("1", "initialize", &initialize)).await;
    refusals.push(("client info", too_much, "limit_exceeded"));
    for (what, response, expected) in refusals {
        let code = code_of(&response.json()["error"], what);
        assert_eq!(code.as_str(), expected, "{what}");
        assert_eq!(response.status, code.spec().http, "{what}: {expected}");
        assert_eq!(response.json()["error"]["code"], code.spec().rpc, "{what}: {expected}");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_cannot_find_says_what_it_can_do() {
    let gateway = gateway(&[]).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    for (method, params, expected) in [
        ("tools/call", json!({"name": "peer_ecko", "arguments": {}}), "tool_not_found"),
        ("tools/call", json!({"name": "servers_list", "arguments": {}}), "tool_not_found"),
        ("tools/call", json!({"arguments": {}}), "invalid_params"),
        ("prompts/get", json!({"name": "peer_nothing"}), "prompt_not_found"),
        ("resources/read", json!({"uri": "octroi://nowhere"}), "resource_not_found"),
        ("resources/subscribe", json!({"uri": "octroi://nowhere"}), "resource_not_found"),
        (
            "completion/complete",
            json!({"argument": {"name": "a", "value": ""},
            "ref": {"type": "ref/prompt", "name": "peer_nothing"}}),
            "prompt_not_found",
        ),
        ("tools/list", json!({"cursor": "nowhere"}), "invalid_params"),
        ("nonsense/method", json!({}), "method_not_found"),
        ("logging/setLevel", json!({"level": "loud"}), "invalid_params"),
    ] {
        let what = format!("{method} {params}");
        let legacy = session.post(&request("7", method, &params)).await;
        assert_eq!(legacy.status, 200, "an answer to a request, not a refusal of it: {what}");
        assert_eq!(code_of(&legacy.json()["error"], &what).as_str(), expected, "{what}");
        if params.get("name").or(params.get("uri")).is_some() && method != "resources/subscribe" {
            let modern = Modern::new("8", method, params).send(&gateway).await;
            assert_eq!(
                (modern.status, code_of(&modern.json()["error"], &what).as_str()),
                (200, expected),
                "{what}"
            );
        }
    }
    gateway.stop().await;
}
