//! The approval page: what it shows to whom, and what its buttons do.

use std::sync::Arc;
use std::time::Duration;

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::raw::{self, RawResponse};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};
use serde_json::{Value, json};

use crate::approvals::recorded;
use crate::harness::{connect, octroi, stdio_entry};
use crate::manage::{command, exit_and_output, run};

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
/// A text that only the page of a call contains.
const HOSTILE: &str = "<script>alert('x')</script>\u{202e}\u{200b}&\"";

fn guarded(approvals: &str) -> String {
    let entry = stdio_entry("peer", &[]);
    format!(
        "{entry}risk_overrides = {{ echo = \"high\" }}\n[policy]\nprofile = \"guarded\"\n[approvals]\n{approvals}\n\
         [[tokens]]\ntoken = \"oct_hum_ann\"\nrole = \"human\"\n"
    )
}

async fn fetch(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> RawResponse {
    let method = method.parse().expect("a method");
    raw::fetch(method, url, headers, body.to_owned()).await.expect("the gateway answers")
}

fn text(reply: &RawResponse) -> String {
    String::from_utf8_lossy(&reply.body).into_owned()
}

/// The page of one approval, as a browser that follows the rules sees it.
struct Page {
    url: String,
    origin: String,
}

impl Page {
    fn of(gateway: &TestGateway, id: &str) -> Self {
        Self { url: format!("{}/approvals/{id}", gateway.base), origin: gateway.base.clone() }
    }

    async fn get(&self) -> RawResponse {
        checked(fetch("GET", &self.url, &[], "").await)
    }

    async fn post(&self, body: &str) -> RawResponse {
        let headers = [FORM, ("origin", &*self.origin), ("sec-fetch-site", "same-origin")];
        checked(fetch("POST", &self.url, &headers, body).await)
    }

    /// The ticket that a person with this token gets.
    async fn ticket(&self, token: &str) -> String {
        let reply = self.post(&format!("token={token}")).await;
        assert_eq!(reply.status, 200, "{}", text(&reply));
        ticket_in(&text(&reply)).expect("a ticket")
    }
}

fn ticket_in(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("name=\"ticket\" value=\"")?;
    rest.split_once('"').map(|(ticket, _)| ticket.to_owned())
}

/// Checks what every page must have.
fn checked(reply: RawResponse) -> RawResponse {
    let header =
        |name: &str| reply.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let policy = header("content-security-policy");
    for part in [
        "default-src 'none'",
        "style-src 'nonce-",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(part), "{part}: {policy}");
    }
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
    ] {
        assert_eq!(header(name), value, "{name}");
    }
    assert!(reply.headers.get("set-cookie").is_none());
    let page = text(&reply);
    let nonce = policy.split("nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce");
    assert!(page.contains(&format!("<style nonce=\"{nonce}\">")), "{page}");
    for foreign in ["<script", "src=", "href=", "http://", "https://", "url("] {
        assert!(!page.contains(foreign), "{foreign}: {page}");
    }
    reply
}
/// Makes a call that needs approval; returns the approval.
async fn pending(gateway: &TestGateway, text: &str) -> String {
    let agent = connect(gateway, Era::Modern, ClientOptions::default()).await;
    let result = agent.call("peer_echo", json!({ "text": text })).await.expect("a result");
    result["_meta"]["octroi/error"]["approval"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

fn admin(gateway: &TestGateway) -> String {
    std::fs::read_to_string(gateway.directory().join("data/admin.token")).expect("a token").trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_a_call_to_people_only() {
    let gateway = TestGateway::start(&octroi(), &guarded("wait = \"200ms\"")).await;
    let id = pending(&gateway, HOSTILE).await;
    let page = Page::of(&gateway, &id);
    let reveals_call =
        |html: &str| html.contains("alert(") || html.contains("peer") || html.contains("tester");

    // Without a token, an address that exists and one that does not look the same.
    let unknown = Page::of(&gateway, "ap_aaaaaaaaaaaaaaaaaaaa");
    for page in [&page, &unknown] {
        let reply = page.get().await;
        let html = text(&reply);
        assert!(reply.status == 200 && !reveals_call(&html) && ticket_in(&html).is_none(), "{html}");
        assert!(html.contains("type=\"password\"") && html.contains("octroi approve ap_"), "{html}");
    }
    assert_eq!(Page::of(&gateway, "nonsense").get().await.status, 404);
    for (body, status) in [
        (format!("token={AGENT_TOKEN}"), 403),
        ("token=wrong".to_owned(), 401),
        ("token=".to_owned(), 401),
        ("ticket=0000&choice=approve".to_owned(), 403),
        (format!("ticket={AGENT_TOKEN}&choice=approve"), 403),
        ("choice=approve".to_owned(), 400),
        (String::new(), 400),
        (format!("token={}", "x".repeat(20_000)), 400),
    ] {
        let reply = page.post(&body).await;
        let html = text(&reply);
        assert_eq!(reply.status, status, "{body}: {html}");
        assert!(!reveals_call(&html) && ticket_in(&html).is_none(), "{body}: {html}");
    }
    // A token in a header does not sign in.
    let bearer = format!("Bearer {}", admin(&gateway));
    let reply = fetch("GET", &page.url, &[("authorization", &bearer)], "").await;
    assert!(!reveals_call(&text(&reply)));

    for token in [admin(&gateway), "oct_hum_ann".to_owned()] {
        let reply = page.post(&format!("token={token}")).await;
        let html = text(&reply);
        assert_eq!(reply.status, 200, "{html}");
        for part in [
            "tester",
            "<code>echo</code>",
            "<code>peer</code>",
            "high",
            "profile `guarded`",
            "Expires",
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;",
            "U+202E",
            "U+200B",
            "&amp;",
            "Approve once",
            "deny_continue",
            "deny_abort",
            &format!("octroi approve {id}"),
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains(['\u{202e}', '\u{200b}']) && !html.contains(&token), "{html}");
        assert_eq!(unknown.post(&format!("token={token}")).await.status, 404);
    }
    assert!(command(&gateway, 0, &["approvals"]).await.contains(&id), "looking decides nothing");
    let (directory, _) = gateway.stop_and_keep().await;
    assert!(recorded(directory.path()).contains("a program's token was used on the approval page"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_from_elsewhere_do_nothing() {
    let gateway = TestGateway::start(&octroi(), &guarded("wait = \"200ms\"")).await;
    let id = pending(&gateway, "x").await;
    let page = Page::of(&gateway, &id);
    let token = admin(&gateway);
    let ticket = page.ticket(&token).await;
    let own = gateway.base.clone();
    for headers in [
        vec![],
        vec![("origin", "https://evil.example")],
        vec![("origin", "null")],
        // Another program on this machine.
        vec![("origin", "http://127.0.0.1:1")],
        vec![("origin", "http://localhost:1"), ("sec-fetch-site", "same-site")],
        vec![("origin", own.as_str()), ("sec-fetch-site", "cross-site")],
        vec![("origin", own.as_str()), ("host", "evil.example")],
    ] {
        for body in [format!("ticket={ticket}&choice=approve"), format!("token={token}")] {
            let reply = fetch("POST", &page.url, &[&[FORM], &headers[..]].concat(), &body).await;
            assert_eq!(reply.status, 403, "{headers:?} {body}: {}", text(&reply));
            assert!(!text(&reply).contains("peer"), "{headers:?}");
        }
    }
    for headers in [vec![("origin", "https://evil.example")], vec![("host", "evil.example")]] {
        assert_eq!(fetch("GET", &page.url, &headers, "").await.status, 403, "{headers:?}");
    }
    let json = [("content-type", "application/json"), ("origin", own.as_str())];
    assert_eq!(fetch("POST", &page.url, &json, &format!("token={token}")).await.status, 400);
    assert_eq!(fetch("PUT", &page.url, &[FORM], "").await.status, 405);
    assert!(command(&gateway, 0, &["approvals"]).await.contains(&id), "nothing was decided");
    // A ticket is for its own approval, and is still valid there without the newer header.
    let other = Page::of(&gateway, &pending(&gateway, "y").await);
    assert_eq!(other.post(&format!("ticket={ticket}&choice=approve")).await.status, 403);
    let headers = [FORM, ("origin", own.as_str())];
    let reply = fetch("POST", &page.url, &headers, &format!("ticket={ticket}&choice=approve")).await;
    assert_eq!(reply.status, 200, "{}", text(&reply));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_button_lets_the_waiting_call_run() {
    let gateway = TestGateway::start(&octroi(), &guarded("wait = \"50s\"")).await;
    let token = admin(&gateway);
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        for (choice, expected) in
            [("approve", Ok("x")), ("deny_continue", Err(-32951)), ("deny_abort", Err(-32950))]
        {
            let agent = connect(&gateway, era, ClientOptions::default()).await;
            let call = agent.call("peer_echo", json!({"text": "x"}));
            let decide = async {
                let id = loop {
                    let output = run(&gateway.directory().join("data"), &["approvals", "--json"]).await;
                    let listed: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
                    if let Some(id) = listed.first().and_then(|approval| approval["id"].as_str()) {
                        break id.to_owned();
                    }
                };
                let page = Page::of(&gateway, &id);
                let (ticket, late) = (page.ticket(&token).await, page.ticket(&token).await);
                let decided =
                    page.post(&format!("ticket={ticket}&choice={choice}&reason=%3Cb%3Ebecause")).await;
                let html = text(&decided);
                assert_eq!(decided.status, 200, "{html}");
                for part in ["You can close this page", "admin", "&lt;b&gt;because"] {
                    assert!(html.contains(part), "{part}: {html}");
                }
                // The first decision stands, and a ticket is valid once.
                let reply = page.post(&format!("ticket={late}&choice=approve")).await;
                assert_eq!(reply.status, 409, "{}", text(&reply));
                assert!(text(&reply).contains("decided already"), "{}", text(&reply));
                assert_eq!(page.post(&format!("ticket={ticket}&choice=approve")).await.status, 403);
                let again = page.post(&format!("token={token}")).await;
                assert!(again.status == 200 && ticket_in(&text(&again)).is_none(), "{}", text(&again));
            };
            let (answer, ()) = tokio::join!(call, decide);
            match (answer, expected) {
                (Ok(result), Ok(echoed)) => assert_eq!(result["content"][0]["text"], echoed, "{era:?}"),
                (Err(error), Err(code)) => assert_eq!(error.code(), Some(code), "{era:?}: {error}"),
                (answer, _) => panic!("{era:?} {choice}: {answer:?}"),
            }
        }
    }
    gateway.stop().await;
}

/// A client that can show a page is sent to this one, and its call is made once it comes back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_sends_its_user_here() {
    let gateway = TestGateway::start(&octroi(), &guarded("wait = \"50s\"")).await;
    let (token, origin) = (admin(&gateway), gateway.base.clone());
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let (token, origin) = (token.clone(), origin.clone());
        let options = ClientOptions {
            capabilities: json!({"elicitation": {"url": {}}}),
            on_request: Arc::new(move |_, params| {
                let (token, origin) = (token.clone(), origin.clone());
                Box::pin(async move {
                    let page = Page { url: params["url"].as_str().unwrap_or_default().to_owned(), origin };
                    assert_eq!(page.get().await.status, 200, "{params}");
                    let ticket = page.ticket(&token).await;
                    assert_eq!(page.post(&format!("ticket={ticket}&choice=approve")).await.status, 200);
                    Ok(json!({"action": "accept"}))
                })
            }),
            ..ClientOptions::default()
        };
        let agent = connect(&gateway, era, options).await;
        let echoed = agent.call_text("peer_echo", json!({"text": "hello"})).await;
        assert_eq!(echoed.as_deref(), Ok("hello"), "{era:?}");
    }
    gateway.stop().await;
}

/// While the client's user denies a call, a rule takes effect that would allow it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_stands_though_a_rule_would_allow_the_call_by_now() {
    let gateway = TestGateway::start(&octroi(), &guarded("wait = \"200ms\"")).await;
    let other = pending(&gateway, "other").await;
    let (token, origin, data) = (admin(&gateway), gateway.base.clone(), gateway.directory().join("data"));
    let options = ClientOptions {
        capabilities: json!({"elicitation": {"url": {}}}),
        on_request: Arc::new(move |_, params| {
            let (token, origin, data, other) = (token.clone(), origin.clone(), data.clone(), other.clone());
            Box::pin(async move {
                let page = Page { url: params["url"].as_str().unwrap_or_default().to_owned(), origin };
                let ticket = page.ticket(&token).await;
                assert_eq!(page.post(&format!("ticket={ticket}&choice=deny_continue")).await.status, 200);
                let allowed = run(&data, &["approve", &other, "--remember", "tool", "--yes"]).await;
                assert_eq!(exit_and_output(&allowed).0, Some(0), "{allowed:?}");
                Ok(json!({"action": "accept"}))
            })
        }),
        ..ClientOptions::default()
    };
    let agent = connect(&gateway, Era::Modern, options).await;
    let refused = agent.call("peer_echo", json!({"text": "x"})).await.expect_err("a person said no");
    assert_eq!(refused.code(), Some(-32951), "{refused}");
    // The rule applies to a call that nobody has decided.
    assert_eq!(agent.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
    assert_eq!(agent.call_text("peer_calls_count", json!({})).await.as_deref(), Ok("1"));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closed_approvals_are_shown_as_closed() {
    let gateway = TestGateway::start(&octroi(), &guarded("wait = \"200ms\"\nexpires = \"8s\"")).await;
    let token = admin(&gateway);
    let id = pending(&gateway, "x").await;
    let page = Page::of(&gateway, &id);
    let ticket = page.ticket(&token).await;
    let over = loop {
        let reply = page.post(&format!("token={token}")).await;
        if reply.status != 200 {
            break reply;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert_eq!(over.status, 410, "{}", text(&over));
    assert!(text(&over).contains("Nobody decided in time") && ticket_in(&text(&over)).is_none());
    let reply = page.post(&format!("ticket={ticket}&choice=approve")).await;
    assert_eq!(reply.status, 410, "{}", text(&reply));

    // Revoking a token revokes its tickets.
    let config = guarded("wait = \"200ms\"\nexpires = \"1h\"");
    gateway.rewrite_config(&config);
    command(&gateway, 0, &["reload"]).await;
    let page = Page::of(&gateway, &pending(&gateway, "y").await);
    let ticket = page.ticket("oct_hum_ann").await;
    gateway.rewrite_config(&config.replace("oct_hum_ann", "oct_hum_bob"));
    command(&gateway, 0, &["reload"]).await;
    let reply = page.post(&format!("ticket={ticket}&choice=approve")).await;
    assert_eq!(reply.status, 401, "{}", text(&reply));
    gateway.stop().await;
}
