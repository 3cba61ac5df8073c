//! A proxy that ends TLS in front of Octroi: whose headers are believed, and what follows from them.

use octroi_testkit::client::raw::{self, RawResponse};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use serde_json::json;

use super::run;
use crate::harness::{octroi, stdio_entry};

const TRUSTED: &str = "[server]\ntrusted_proxies = [\"127.0.0.0/8\"]\nallowed_hosts = [\"gate.example\"]\n\
    max_wrong_tokens_per_address = 3\n";

/// Calls a tool that needs approval, as a client that can show a page.
async fn asks(gateway: &TestGateway, headers: &[(&str, &str)]) -> String {
    let params = json!({
        "name": "peer_touch",
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}},
        },
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let token = format!("Bearer {AGENT_TOKEN}");
    let mut all = vec![
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "peer_touch"),
    ];
    all.extend_from_slice(headers);
    let answer = raw::fetch(hyper::Method::POST, &gateway.url(), &all, body).await.expect("an answer");
    String::from_utf8_lossy(&answer.body).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_sent_to_where_their_proxy_is() {
    let config =
        |server: &str| format!("{server}\n[policy]\nprofile = \"guarded\"\n{}", stdio_entry("peer", &[]));
    let https = [("x-forwarded-proto", "https"), ("x-forwarded-host", "gate.example")];
    let gateway = TestGateway::start(&octroi(), &config(TRUSTED)).await;
    let own = format!("{}/approvals/ap_", gateway.base);
    for (headers, expected) in [
        (&https[..], "https://gate.example/approvals/ap_"),
        (
            &[("forwarded", "for=203.0.113.5;proto=https;host=gate.example")],
            "https://gate.example/approvals/ap_",
        ),
        (&[("x-forwarded-proto", "https"), ("x-forwarded-host", "evil.example")], &own),
        (&[], &own),
    ] {
        let asked = asks(&gateway, headers).await;
        assert!(asked.contains(expected), "{headers:?} {asked}");
    }
    gateway.stop().await;

    // Anybody could write these headers.
    let gateway =
        TestGateway::start(&octroi(), &config("[server]\nallowed_hosts = [\"gate.example\"]")).await;
    let asked = asks(&gateway, &https).await;
    assert!(asked.contains(&format!("{}/approvals/ap_", gateway.base)), "{asked}");
    gateway.stop().await;

    // What the configuration says stands.
    let fixed = format!("{TRUSTED}[approvals]\nurl = \"https://approve.example\"");
    let gateway = TestGateway::start(&octroi(), &config(&fixed)).await;
    let asked = asks(&gateway, &https).await;
    assert!(asked.contains("https://approve.example/approvals/ap_"), "{asked}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_tokens_are_counted_for_the_client_and_not_for_its_proxy() {
    let gateway = TestGateway::launch(&octroi(), TRUSTED, &[]).await;
    let ping = async |client: &str, token: &str| -> RawResponse {
        let token = format!("Bearer {token}");
        let headers = [("authorization", token.as_str()), ("x-forwarded-for", client)];
        raw::fetch(hyper::Method::GET, &gateway.url(), &headers, "").await.expect("an answer")
    };
    let mut statuses = Vec::new();
    for n in 0..5 {
        // What a client writes itself stands to the left of what the proxy adds.
        statuses.push(ping(&format!("198.51.100.{n}, 203.0.113.5"), "wrong").await.status);
    }
    assert_eq!(statuses, [401, 401, 429, 429, 429]);
    let refused = ping("203.0.113.5", AGENT_TOKEN).await;
    assert_eq!(refused.status, 429, "it could go on guessing otherwise");
    let wait = refused.headers["retry-after"].to_str().ok().and_then(|wait| wait.parse::<u64>().ok());
    assert!(wait.is_some_and(|wait| (1..=60).contains(&wait)), "{wait:?}");
    for other in ["203.0.113.6", "2001:db8::5"] {
        assert_eq!(ping(other, "wrong").await.status, 401, "{other}");
        assert_ne!(ping(other, AGENT_TOKEN).await.status, 429, "{other}");
    }
    let data = gateway.directory().join("data");
    let (_, records) = run(&data, &["audit", "list", "--json"], &[]).await;
    let limits: Vec<&str> =
        records.lines().filter(|line| line.contains("too many wrong tokens from one address")).collect();
    assert!(limits.len() == 1 && limits[0].contains("203.0.113.5"), "{records}");
    assert!(!records.contains("198.51.100"), "{records}");
    gateway.stop().await;
}
