//! `octroi user`.

use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use super::{failure, is_known, json_of, stdout};
use crate::harness::octroi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_are_added_locked_out_and_removed() {
    let gateway = TestGateway::launch(&octroi(), "", &[]).await;
    assert!(stdout(&gateway, &["user", "add", "ana"]).await.starts_with("ana added"));
    let bob = json_of(&gateway, &["user", "add", "bob", "--admin"]).await;
    assert_eq!(
        (&bob["name"], &bob["role"], &bob["disabled"]),
        (&json!("bob"), &json!("admin"), &json!(false))
    );
    assert!(failure(&gateway, &["user", "add", "ana"]).await.contains("there is a user `ana` already"));
    assert!(failure(&gateway, &["user", "add", "Ana B"]).await.contains("is not a name"));

    let token = stdout(&gateway, &["token", "create", "--user", "ana"]).await;
    // One of the administrator's agents, which stays.
    let agent = stdout(&gateway, &["token", "create", "--agent", "coder"]).await;
    let listed = json_of(&gateway, &["user", "list"]).await;
    let names: Vec<_> = listed.as_array().expect("users").iter().map(|user| user["name"].clone()).collect();
    assert_eq!(names, ["admin", "ana", "bob"]);
    assert_eq!(listed[1]["tokens"], 1);
    let table = stdout(&gateway, &["user", "list"]).await;
    assert!(table.lines().next().is_some_and(|heading| heading.starts_with("NAME")), "{table}");

    assert!(is_known(&gateway, &token).await);
    stdout(&gateway, &["user", "disable", "ana"]).await;
    assert!(!is_known(&gateway, &token).await && is_known(&gateway, &agent).await);
    let state = json_of(&gateway, &["token", "list", "--user", "ana", "--all"]).await;
    assert_eq!(state[0]["state"], "locked_out", "{state}");
    stdout(&gateway, &["user", "enable", "ana"]).await;
    assert!(is_known(&gateway, &token).await);
    assert_eq!(json_of(&gateway, &["user", "set", "ana", "--role", "admin"]).await["role"], "admin");

    stdout(&gateway, &["user", "remove", "ana"]).await;
    assert!(!is_known(&gateway, &token).await && is_known(&gateway, &agent).await);
    assert!(failure(&gateway, &["user", "remove", "ana"]).await.contains("there is no user `ana`"));
    for change in ["disable", "remove"] {
        let refused = failure(&gateway, &["user", change, "admin"]).await;
        assert!(refused.contains("always exists"), "{refused}");
    }
    gateway.stop().await;
}
