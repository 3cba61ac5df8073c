//! `octroi user invite`, and the page of its link.

use std::time::Duration;

use octroi_testkit::client::raw::{self, RawResponse};
use octroi_testkit::gateway::TestGateway;

use super::{failure, is_known, json_of, stdout};
use crate::approvals::recorded;
use crate::harness::octroi;

async fn fetch(gateway: &TestGateway, method: &str, link: &str, site: &str) -> RawResponse {
    let method = method.parse().expect("a method");
    let headers = [("sec-fetch-site", site), ("origin", &*gateway.base)];
    raw::fetch(method, link, &headers, "").await.expect("an answer")
}

fn text(reply: &RawResponse) -> String {
    String::from_utf8_lossy(&reply.body).into_owned()
}

fn token_in(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("<code>oct_hum_")?;
    rest.split_once('<').map(|(token, _)| format!("oct_hum_{token}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_exchanged_for_one_token_once() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let link = stdout(&gateway, &["user", "invite", "ana"]).await;
    assert!(link.starts_with(&format!("{}/invitations/oct_inv_", gateway.base)), "{link}");
    assert_eq!(json_of(&gateway, &["user", "list"]).await[1]["role"], "member");

    // Programs that preview links use nothing up, and see the same whether there is an invitation or not.
    let other = format!("{}z", &link[..link.len() - 1]);
    for _ in 0..2 {
        let shown = fetch(&gateway, "GET", &link, "none").await;
        assert!(shown.status == 200 && token_in(&text(&shown)).is_none(), "{}", text(&shown));
    }
    assert_eq!(fetch(&gateway, "GET", &other, "none").await.status, 404, "a typing error is seen at once");
    for site in ["cross-site", "same-site", "none"] {
        assert_eq!(fetch(&gateway, "POST", &link, site).await.status, 403, "{site}");
    }

    let accepted = fetch(&gateway, "POST", &link, "same-origin").await;
    assert_eq!(accepted.status, 200, "{}", text(&accepted));
    for (name, value) in [("cache-control", "no-store"), ("referrer-policy", "same-origin")] {
        assert_eq!(accepted.headers.get(name).and_then(|value| value.to_str().ok()), Some(value));
    }
    let token = token_in(&text(&accepted)).unwrap_or_else(|| panic!("{}", text(&accepted)));
    assert!(is_known(&gateway, &token).await);
    assert_eq!(json_of(&gateway, &["user", "list", "--token", &token]).await[0]["name"], "ana");
    let again = fetch(&gateway, "POST", &link, "same-origin").await;
    assert!(again.status == 404 && token_in(&text(&again)).is_none(), "{}", text(&again));

    let records = recorded(gateway.directory());
    for change in ["user_invited", "invitation_accepted"] {
        assert_eq!(records.matches(&format!("\"change\":\"{change}\"")).count(), 1, "{change}: {records}");
    }
    let code = link.rsplit('/').next().expect("a code");
    assert!(!records.contains(code) && !records.contains(&token), "no secret is recorded");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_ends_with_time_with_the_next_one_and_with_its_user() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let accept = async |link: &str| fetch(&gateway, "POST", link, "same-origin").await.status;
    let short = stdout(&gateway, &["user", "invite", "ana", "--expires", "1s"]).await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(accept(&short).await, 404, "expired");
    let first = stdout(&gateway, &["user", "invite", "ana"]).await;
    let second = stdout(&gateway, &["user", "invite", "ana"]).await;
    assert_eq!(accept(&first).await, 404, "replaced");
    stdout(&gateway, &["user", "disable", "ana"]).await;
    assert_eq!(accept(&second).await, 404, "locked out");
    assert!(failure(&gateway, &["user", "invite", "ana"]).await.contains("locked out"));
    stdout(&gateway, &["user", "enable", "ana"]).await;
    assert_eq!(accept(&second).await, 200);
    let third = json_of(&gateway, &["user", "invite", "ana"]).await;
    assert_eq!(third["user"]["tokens"], 1, "{third}");
    stdout(&gateway, &["user", "remove", "ana"]).await;
    assert_eq!(accept(third["link"].as_str().expect("a link")).await, 404, "removed");
    let refused = failure(&gateway, &["user", "invite", "admin", "--role", "member"]).await;
    assert!(refused.contains("with the role admin"), "{refused}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codes_are_not_guessed() {
    let limits = "[server]\nmax_wrong_tokens_per_address = 100\nmax_wrong_tokens_per_token = 2\n";
    let gateway = TestGateway::launch(&octroi(), limits, &[]).await;
    let link = stdout(&gateway, &["user", "invite", "ana"]).await;
    stdout(&gateway, &["user", "invite", "ana"]).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(fetch(&gateway, "POST", &link, "same-origin").await.status);
    }
    assert_eq!(statuses, [404, 429, 429]);
    assert!(recorded(gateway.directory()).contains("too many wrong secrets for the id of one token"));
    gateway.stop().await;
}
