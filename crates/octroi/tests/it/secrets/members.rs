//! The secrets of users.

use octroi_testkit::client::options::Era;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};

use super::stored::{run, set};
use crate::harness::octroi;
use crate::manage;
use crate::operations::outcome;
use crate::policy::as_holder;

/// Each person has secrets of their own, which no other member sees.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_have_their_own() {
    let (ana, bob) = ("ana-s-token-of-this-test", "bob-s-token-of-this-test");
    let person = |user: &str, token: &str| {
        format!("[[tokens]]\ntoken = \"{token}\"\nrole = \"human\"\nuser = \"{user}\"\n")
    };
    let tokens = format!("{}{}", person("ana", ana), person("bob", bob));
    let gateway = TestGateway::launch(&octroi(), &tokens, &[]).await;
    let data = gateway.directory().join("data");
    let as_user = async |token: &str, arguments: &[&str], expected: i32| {
        let variables = [("OCTROI_TOKEN", token), ("OCTROI_URL", &*gateway.base)];
        let (code, output) = run(&data, arguments, "a-value-of-a-person", &variables).await;
        assert_eq!(code, Some(expected), "{arguments:?}: {output}");
        assert!(!output.contains("a-value-of-a-person"), "{output}");
        output
    };
    set(&gateway, "hub", "a-value-of-the-gateway").await;
    as_user(ana, &["secret", "set", "hub", "--user", "ana"], 0).await;
    for (token, arguments) in [
        (ana, &["secret", "set", "hub"][..]),
        (ana, &["secret", "remove", "hub"]),
        (bob, &["secret", "set", "hub", "--user", "ana"]),
        (bob, &["secret", "remove", "hub", "--user", "ana"]),
        (bob, &["secret", "list", "--user", "ana"]),
    ] {
        let (code, output) = run(
            &data,
            arguments,
            "a-value-of-a-person",
            &[("OCTROI_TOKEN", token), ("OCTROI_URL", &gateway.base)],
        )
        .await;
        assert_ne!(code, Some(0), "{arguments:?}: {output}");
    }
    let owners = |listed: &str| -> Vec<Value> {
        let listed: Vec<Value> =
            serde_json::from_str(listed.lines().next().unwrap_or_default()).expect("JSON");
        listed.into_iter().map(|secret| secret["user"].clone()).collect()
    };
    assert_eq!(owners(&as_user(ana, &["secret", "list", "--json"], 0).await), [json!("ana")]);
    assert_eq!(owners(&as_user(bob, &["secret", "list", "--json"], 0).await), Vec::<Value>::new());
    let all = manage::command(&gateway, 0, &["secret", "list", "--json"]).await;
    assert_eq!(owners(&all), [Value::Null, json!("ana")]);
    // What else happens is not for members, and their secrets do not slow others down.
    let changed = as_user(ana, &["secret", "set", "another", "--user", "ana", "--json"], 0).await;
    let changed: Value = serde_json::from_str(changed.lines().next().unwrap_or_default()).expect("JSON");
    assert_eq!((&changed["problems"], &changed["waiting"]), (&json!([]), &json!([])));
    let client = as_holder(&gateway, ana, Era::Modern).await;
    for (number, expected) in
        (3..=21).map(|number| (number, if number <= 20 { "done" } else { "invalid_arguments" }))
    {
        let arguments =
            json!({"name": format!("n{number}"), "value": format!("a-value-{number}"), "user": "ana"});
        assert_eq!(outcome(&client.call("secrets_set", arguments).await), expected, "{number}");
    }
    let arguments = json!({"name": "hub", "value": "x".repeat(5_000), "user": "ana"});
    assert_eq!(outcome(&client.call("secrets_set", arguments).await), "invalid_arguments");
    for name in (3..=20).map(|number| format!("n{number}")).chain(["another".to_owned()]) {
        let removed = client.call("secrets_remove", json!({"name": name, "user": "ana"})).await;
        assert_eq!(outcome(&removed), "done", "{name}");
    }
    // A member's secret is not the gateway's.
    as_user(ana, &["secret", "remove", "hub", "--user", "ana"], 0).await;
    assert_eq!(owners(&manage::command(&gateway, 0, &["secret", "list", "--json"]).await), [Value::Null]);
    gateway.stop().await;
}
