//! Wrong tokens: how many are answered, who is refused then, and what is recorded.

use octroi_testkit::client::raw::{self, RawResponse};
use octroi_testkit::gateway::{AGENT_TOKEN, TestGateway};

use crate::harness::octroi;

const FEW: &str = "[server]\nmax_wrong_tokens_per_address = 4\nmax_wrong_tokens_per_token = 2\nwrong_token_window = \"2s\"\n";

async fn send(gateway: &TestGateway, method: &str, path: &str, token: &str) -> RawResponse {
    let (url, token) = (format!("{}{path}", gateway.base), format!("Bearer {token}"));
    let method = method.parse().expect("a method");
    raw::fetch(method, &url, &[("authorization", &token)], "").await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_wrong_tokens_are_refused_on_every_path() {
    let gateway = TestGateway::launch(&octroi(), FEW, &[]).await;
    let admin = gateway.kept_token("admin.token");
    for (method, path) in
        [("POST", "/mcp"), ("GET", "/sse"), ("GET", "/metrics"), ("POST", "/mcp/servers/nobody")]
    {
        let first = send(&gateway, method, path, "wrong").await.status;
        assert!(first == 401 || (path.ends_with("nobody") && first == 429), "{path}: {first}");
    }
    for (method, path) in [("POST", "/mcp"), ("GET", "/sse"), ("GET", "/metrics"), ("GET", "/health")] {
        let refused = send(&gateway, method, path, "wrong").await;
        assert_eq!(refused.status, 429, "{path}");
        assert!(refused.headers.contains_key("retry-after"), "{path}");
        assert_eq!(refused.json()["error"]["data"]["code"], "limit_exceeded", "{path}");
    }
    // All programs of this machine share an address: the right token of the person who runs Octroi still works.
    assert_eq!(send(&gateway, "GET", "/metrics", &admin).await.status, 200);
    assert_ne!(send(&gateway, "POST", "/mcp", AGENT_TOKEN).await.status, 429);
    let page = format!("{}/approvals/ap_aaaaaaaaaaaaaaaaaaaa", gateway.base);
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-site", "same-origin")];
    let sign_in = async |token: &str| {
        let answer = raw::fetch(hyper::Method::POST, &page, &headers, format!("token={token}")).await;
        answer.expect("an answer").status
    };
    assert_eq!(sign_in("wrong").await, 429, "the page is no way around it");
    assert_eq!(sign_in(&admin).await, 404, "signed in; there is no such approval");
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(send(&gateway, "POST", "/mcp", "wrong").await.status, 401, "a new window");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_of_one_token_are_not_guessed() {
    let gateway = TestGateway::launch(&octroi(), FEW, &[]).await;
    let mut statuses = Vec::new();
    for n in 0..3 {
        statuses.push(send(&gateway, "POST", "/mcp", &format!("oct_usr_k7_guess{n}")).await.status);
    }
    assert_eq!(statuses, [401, 429, 429]);
    assert_eq!(
        send(&gateway, "POST", "/mcp", "oct_usr_k8_guess").await.status,
        429,
        "the fourth of its address"
    );
    let data = gateway.directory().join("data").display().to_string();
    let listed = tokio::process::Command::new(octroi())
        .args(["audit", "list", "--json", "--data", &data])
        .output()
        .await
        .expect("octroi runs");
    let records = String::from_utf8_lossy(&listed.stdout).into_owned();
    for (reason, about) in [
        ("too many wrong secrets for the id of one token", "k7"),
        ("too many wrong tokens from one address", "127.0.0.1"),
    ] {
        let of_it: Vec<&str> = records.lines().filter(|line| line.contains(reason)).collect();
        assert!(of_it.len() == 1 && of_it[0].contains(about), "{reason}: {records}");
    }
    assert!(!records.contains("guess"), "nothing of a token is recorded: {records}");
    gateway.stop().await;
}
