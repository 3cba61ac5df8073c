//! Sign-in of browsers: a session bound to a key, access tokens for proofs, and what ends them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use octroi_testkit::client::raw::{self, RawResponse};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::harness::octroi;

/// A browser with a key of its own.
struct Browser {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Browser {
    fn new() -> Self {
        let random = SystemRandom::new();
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Self { pair: pair.expect("a key"), random }
    }

    fn proof(&self, url: &str, id: &str, ago_s: i64) -> String {
        let point = self.pair.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|bytes| URL_SAFE_NO_PAD.encode(bytes));
        let header =
            json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": {"kty": "EC", "crv": "P-256", "x": x, "y": y}});
        #[expect(clippy::disallowed_methods, reason = "the clock that the gateway has, too")]
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        #[expect(clippy::cast_precision_loss, reason = "a few seconds")]
        let made = now.as_secs_f64() - ago_s as f64;
        let claims = json!({"htm": "POST", "htu": url, "iat": made, "jti": id});
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = format!("{header}.{claims}");
        let signature = self.pair.sign(&self.random, signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    async fn sign_in(&self, gateway: &TestGateway, credential: &str) -> RawResponse {
        let url = format!("{}/ui/session", gateway.base);
        let proof = self.proof(&url, "sign-in", 0);
        let headers = [("dpop", proof.as_str()), ("origin", &gateway.base)];
        let body = json!({"credential": credential, "label": "browser Test"}).to_string();
        raw::fetch(hyper::Method::POST, &url, &headers, body).await.expect("an answer")
    }

    async fn access(&self, gateway: &TestGateway, id: &str) -> RawResponse {
        let url = format!("{}/ui/token", gateway.base);
        let proof = self.proof(&url, id, 0);
        access_with(gateway, &proof, &gateway.base).await
    }
}

async fn access_with(gateway: &TestGateway, proof: &str, origin: &str) -> RawResponse {
    let url = format!("{}/ui/token", gateway.base);
    let headers = [("dpop", proof), ("origin", origin)];
    raw::fetch(hyper::Method::POST, &url, &headers, "").await.expect("an answer")
}

fn token_of(answer: &RawResponse) -> String {
    answer.json()["access_token"].as_str().expect("a token").to_owned()
}

/// Performs an operation with a token, as a page of this origin; the status and the answer.
async fn perform(
    gateway: &TestGateway,
    token: &str,
    origin: Option<&str>,
    (operation, arguments): (&str, Value),
) -> (u16, Value) {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", operation),
    ];
    headers.extend(origin.map(|origin| ("origin", origin)));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": operation, "arguments": arguments, "_meta": meta},
    });
    let url = format!("{}/mcp", gateway.base);
    let answer = raw::fetch(hyper::Method::POST, &url, &headers, body.to_string()).await.expect("an answer");
    (answer.status, answer.json())
}

async fn status(gateway: &TestGateway, token: &str, origin: Option<&str>) -> u16 {
    perform(gateway, token, origin, ("servers_list", json!({}))).await.0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_gets_access_for_proofs_only_and_from_its_own_origin_only() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let (browser, admin) = (Browser::new(), gateway.kept_token("admin.token"));
    assert_eq!(browser.access(&gateway, "before").await.status, 401, "not signed in");
    let signed_in = browser.sign_in(&gateway, &admin).await;
    assert_eq!(signed_in.status, 200, "{}", signed_in.json());
    assert_eq!(signed_in.json()["user"], "admin");
    assert_eq!(browser.sign_in(&gateway, &admin).await.status, 422, "a key opens one session");

    let granted = browser.access(&gateway, "one").await;
    assert_eq!(granted.status, 200);
    let token = token_of(&granted);
    assert_eq!(browser.access(&gateway, "one").await.status, 401, "a proof is used once");
    assert_eq!(Browser::new().access(&gateway, "two").await.status, 401, "another key");
    let url = format!("{}/ui/token", gateway.base);
    let late = access_with(&gateway, &browser.proof(&url, "late", 120), &gateway.base).await;
    assert_eq!(late.status, 401);
    assert!(late.json()["error"]["data"]["now_ms"].is_i64(), "it says the time: {}", late.json());
    for origin in ["http://127.0.0.1:1", "http://localhost", "null", "https://evil.example"] {
        let proof = browser.proof(&url, origin, 0);
        assert_eq!(access_with(&gateway, &proof, origin).await.status, 403, "{origin}");
    }
    let elsewhere = browser.proof(&format!("{}/ui/session", gateway.base), "elsewhere", 0);
    assert_eq!(access_with(&gateway, &elsewhere, &gateway.base).await.status, 401, "for another path");

    assert_eq!(status(&gateway, &token, Some(&gateway.base)).await, 200);
    assert_eq!(status(&gateway, &token, None).await, 403, "no page sent it");
    assert_eq!(status(&gateway, &token, Some("http://127.0.0.1:1")).await, 403, "another page sent it");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_survive_a_restart_and_end_with_their_token() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let admin = gateway.kept_token("admin.token");
    let (_, made) =
        perform(&gateway, &admin, None, ("tokens_create", json!({"user": "admin", "label": "laptop"}))).await;
    let made = &made["result"]["structuredContent"];
    let (laptop, id) = (made["token"].as_str().expect("a token"), made["details"]["id"].clone());
    let (browser, other) = (Browser::new(), Browser::new());
    assert_eq!(browser.sign_in(&gateway, laptop).await.status, 200);
    assert_eq!(other.sign_in(&gateway, &admin).await.status, 200);
    let token = token_of(&browser.access(&gateway, "one").await);
    let early = browser.proof(&format!("{}/ui/token", gateway.base), "early", 0);

    let address = gateway.address();
    let directory = gateway.kill().await;
    let gateway = TestGateway::launch_at(&address, directory, &octroi(), "", &[]).await;
    assert_eq!(status(&gateway, &token, Some(&gateway.base)).await, 401, "access is kept in memory only");
    assert_eq!(access_with(&gateway, &early, &gateway.base).await.status, 401, "made before the start");
    let token = token_of(&browser.access(&gateway, "two").await);
    assert_eq!(status(&gateway, &token, Some(&gateway.base)).await, 200);

    let (_, listed) = perform(&gateway, &admin, None, ("tokens_list", json!({}))).await;
    let listed = listed["result"]["structuredContent"]["tokens"].to_string();
    assert_eq!(listed.matches("browser Test").count(), 2, "{listed}");
    perform(&gateway, &admin, None, ("tokens_revoke", json!({"id": id}))).await;
    assert_eq!(status(&gateway, &token, Some(&gateway.base)).await, 401, "with the token it signed in with");
    assert_eq!(browser.access(&gateway, "three").await.status, 401);
    assert_eq!(other.access(&gateway, "four").await.status, 200, "another session goes on");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_signs_one_browser_in_and_nobody_makes_one_of_an_access_token() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let admin = gateway.kept_token("admin.token");
    let make = |token: String, origin: Option<String>| {
        let gateway = &gateway;
        async move { perform(gateway, &token, origin.as_deref(), ("tokens_sign_in_code", json!({}))).await.1 }
    };
    let answer = make(admin.clone(), None).await;
    let code = answer["result"]["structuredContent"]["code"].as_str().expect("a code").to_owned();
    let browser = Browser::new();
    assert_eq!(browser.sign_in(&gateway, &code).await.status, 200);
    assert_eq!(Browser::new().sign_in(&gateway, &code).await.status, 401, "once");
    assert_eq!(Browser::new().sign_in(&gateway, "oct_web_wrong").await.status, 401);
    assert_eq!(Browser::new().sign_in(&gateway, AGENT_TOKEN).await.status, 403, "only people");
    let token = token_of(&browser.access(&gateway, "one").await);
    assert_eq!(
        Browser::new().sign_in(&gateway, &token).await.status,
        401,
        "an access token is no credential"
    );
    let refused = make(token.clone(), Some(gateway.base.clone())).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_eq!(status(&gateway, &code, None).await, 401, "a code is no token");

    let (_, records) = perform(&gateway, &admin, None, ("audit_query", json!({"limit": 50}))).await;
    let records = records.to_string();
    for change in ["sign_in_code_created", "browser_signed_in"] {
        assert!(records.contains(change), "{change}: {records}");
    }
    assert!(!records.contains(&code) && !records.contains(&token), "no secret is recorded");
    gateway.stop().await;
}
