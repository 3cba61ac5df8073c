//! `octroi token`.

use std::time::Duration;

use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use super::{answer_to, failure, is_known, json_of, stdout};
use crate::harness::octroi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_printed_alone_and_only_once() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let token = stdout(&gateway, &["token", "create", "--agent", "coder"]).await;
    assert!(token.starts_with("oct_agt_") && !token.contains(char::is_whitespace), "{token}");
    assert!(is_known(&gateway, &token).await);
    let created = json_of(&gateway, &["token", "create", "--agent", "coder", "--label", "laptop"]).await;
    let secret = created["token"].as_str().expect("a token");
    assert_eq!(created["details"]["label"], "laptop");
    let listed = json_of(&gateway, &["token", "list", "--agent", "coder"]).await;
    let labels: Vec<_> =
        listed.as_array().expect("tokens").iter().map(|token| token["label"].clone()).collect();
    assert_eq!(labels, ["agent:coder", "laptop"]);
    assert!(
        listed
            .as_array()
            .expect("tokens")
            .iter()
            .all(|token| token["last_used_at"].is_null() || token["label"] == "agent:coder")
    );
    for shown in [listed.to_string(), stdout(&gateway, &["token", "list", "--all"]).await] {
        assert!(!shown.contains(&token) && !shown.contains(secret), "{shown}");
    }
    let used = listed[0]["last_used_at"].as_str().expect("it was used");
    assert!(used.ends_with('Z'), "{used}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_rotated_with_an_overlap_and_revoked_at_once() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let first = json_of(&gateway, &["token", "create", "--agent", "coder"]).await;
    let (first_token, id) = (first["token"].as_str().expect("a token"), first["details"]["id"].clone());
    let id = id.as_str().expect("an id");
    let second = stdout(&gateway, &["token", "rotate", id, "--overlap", "2s"]).await;
    assert!(is_known(&gateway, first_token).await && is_known(&gateway, &second).await, "both for a while");
    tokio::time::sleep(Duration::from_millis(2_700)).await;
    assert!(!is_known(&gateway, first_token).await && is_known(&gateway, &second).await);
    let listed = json_of(&gateway, &["token", "list", "--agent", "coder", "--all"]).await;
    let states: Vec<_> =
        listed.as_array().expect("tokens").iter().map(|token| token["state"].clone()).collect();
    assert_eq!(states, ["expired", "valid"], "{listed}");
    assert_eq!(listed[0]["replaced_by"], listed[1]["id"]);

    let revoked = json_of(&gateway, &["token", "revoke", listed[1]["id"].as_str().expect("an id")]).await;
    assert_eq!((&revoked["state"], &revoked["revoked_by"]), (&json!("revoked"), &json!("admin")));
    assert!(!is_known(&gateway, &second).await);
    let again = failure(&gateway, &["token", "revoke", revoked["id"].as_str().expect("an id")]).await;
    assert!(again.contains("admin revoked it at"), "{again}");
    assert!(failure(&gateway, &["token", "revoke", "nobody"]).await.contains("there is no token `nobody`"));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_expires_by_itself() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    let token = stdout(&gateway, &["token", "create", "--agent", "coder", "--expires", "2s"]).await;
    assert!(is_known(&gateway, &token).await);
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert!(!is_known(&gateway, &token).await);
    assert_eq!(json_of(&gateway, &["token", "list", "--agent", "coder"]).await, json!([]), "only valid ones");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_and_services_have_tokens_of_their_own() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    stdout(&gateway, &["agents", "create", "coder"]).await;
    let created = json_of(&gateway, &["sessions", "create", "--agent", "coder"]).await;
    let id = created["id"].as_str().expect("an id");
    let session = json_of(&gateway, &["token", "create", "--agent", "coder", "--session", id]).await;
    assert_eq!(
        (&session["details"]["kind"], &session["details"]["session_id"]),
        (&json!("session"), &json!(id))
    );
    let token = session["token"].as_str().expect("a token");
    assert!(is_known(&gateway, token).await);
    for agent in ["coder", "writer"] {
        let other = if agent == "coder" { "s1" } else { id };
        let refused = failure(&gateway, &["token", "create", "--agent", agent, "--session", other]).await;
        assert!(refused.contains("there is no session"), "{refused}");
    }
    stdout(&gateway, &["sessions", "close", id]).await;
    assert!(!is_known(&gateway, token).await, "its tokens end with it");
    let refused = failure(&gateway, &["token", "create", "--agent", "coder", "--session", id]).await;
    assert!(refused.contains("is closed"), "{refused}");

    let service = stdout(&gateway, &["token", "create", "--service", "--label", "prometheus"]).await;
    assert!(service.starts_with("oct_svc_"), "{service}");
    assert_eq!(answer_to(&gateway, "GET", "/metrics", &service).await.status, 200);
    assert_eq!(answer_to(&gateway, "POST", "/mcp", &service).await.status, 403, "nothing but metrics");
    for wrong in [&["token", "create"][..], &["token", "create", "--agent", "a", "--service"]] {
        failure(&gateway, wrong).await;
    }
    gateway.stop().await;
}
