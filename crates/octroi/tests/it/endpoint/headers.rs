//! The headers of a modern request must match its body.

use serde_json::json;

use super::{Modern, gateway, post, refusal, request};

const MISMATCH: (u16, i64) = (400, -32020);

#[tokio::test]
async fn modern_headers_must_agree_with_the_body() {
    let gateway = gateway(&["--era", "modern"]).await;
    let call = Modern::call("1", "peer_echo", &json!({ "text": "x" }));
    assert_eq!(call.send(&gateway).await.json()["result"]["content"][0]["text"], "x");
    for (name, value) in [
        ("mcp-method", None),
        ("mcp-method", Some("tools/list")),
        ("mcp-method", Some("TOOLS/CALL")),
        ("mcp-name", None),
        ("mcp-name", Some("peer_add")),
        ("mcp-name", Some("echo")),
        ("mcp-name", Some("=?base64?%%%?=")),
        ("mcp-protocol-version", None),
        ("mcp-protocol-version", Some("2025-11-25")),
        ("mcp-protocol-version", Some("1900-01-01")),
    ] {
        let mut headers: Vec<_> = call.headers().into_iter().filter(|(known, _)| *known != name).collect();
        headers.extend(value.map(|value| (name, value)));
        assert_eq!(refusal(&post(&gateway, &headers, &call.body).await), MISMATCH, "{name}: {value:?}");
    }
    let mut headers: Vec<_> = call.headers().into_iter().filter(|(known, _)| *known != "mcp-name").collect();
    headers.push(("mcp-name", "=?base64?cGVlcl9lY2hv?="));
    assert_eq!(post(&gateway, &headers, &call.body).await.status, 200, "written in the other way");
}

#[tokio::test]
async fn arguments_that_travel_as_headers_must_agree_too() {
    for era in ["legacy", "modern"] {
        let gateway = gateway(&["--era", era]).await;
        let call = Modern::call("1", "peer_route", &json!({ "region": "eu" }));
        for (region, expected) in [
            (Some("eu"), None),
            (Some("=?base64?ZXU=?="), None),
            (None, Some(MISMATCH)),
            (Some("us"), Some(MISMATCH)),
            (Some(""), Some(MISMATCH)),
        ] {
            let mut headers = call.headers();
            headers.extend(region.map(|region| ("mcp-param-region", region)));
            let response = post(&gateway, &headers, &call.body).await;
            match expected {
                Some(expected) => assert_eq!(refusal(&response), expected, "{era} {region:?}"),
                None => assert_eq!(response.json()["result"]["content"][0]["text"], "eu", "{era} {region:?}"),
            }
        }
        let absent = Modern::call("1", "peer_route", &json!({}));
        let mut headers = absent.headers();
        headers.push(("mcp-param-region", "eu"));
        assert_eq!(refusal(&post(&gateway, &headers, &absent.body).await), MISMATCH, "{era}");
    }
}

#[tokio::test]
async fn a_modern_request_must_declare_itself() {
    let gateway = gateway(&[]).await;
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let bare = request("1", "tools/list", &json!({}));
    assert_eq!(refusal(&post(&gateway, &headers, &bare).await), (400, -32602));
    let version = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    let half = request("1", "tools/list", &json!({ "_meta": version }));
    assert_eq!(refusal(&post(&gateway, &headers, &half).await), (400, -32602));
    let future = json!({ "io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {} });
    let headers = [("mcp-protocol-version", "2099-01-01"), ("mcp-method", "tools/list")];
    let response = post(&gateway, &headers, &request("1", "tools/list", &json!({ "_meta": future }))).await;
    assert_eq!(refusal(&response), (400, -32022));
    assert_eq!(response.json()["error"]["data"]["requested"], "2099-01-01");
    let ping = Modern::new("1", "ping", json!({})).send(&gateway).await;
    assert_eq!(refusal(&ping), (404, -32601), "the method is of the other era");
}
