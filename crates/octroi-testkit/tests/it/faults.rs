//! Each fault does what its name says, and `echo` still works.

use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::error::ClientError;
use octroi_testkit::client::options::{ClientOptions, Era};
use serde_json::json;

use crate::harness::{Pair, Setup, Wire};

const LEGACY: Era = Era::Legacy("2025-11-25");

async fn start(fault: &str, era: Era, wire: Wire) -> Setup {
    let options = ClientOptions { timeout: Duration::from_secs(2), ..ClientOptions::default() };
    Pair { era, wire }.start(&["--fault", fault], options).await
}

async fn assert_alive(client: &TestClient) {
    assert_eq!(client.call_text("echo", json!({ "text": "alive" })).await.unwrap(), "alive");
}

#[tokio::test]
async fn noise_is_around_messages_that_work() {
    for era in [LEGACY, Era::Modern] {
        let Setup { client, .. } = start("noise", era, Wire::Stdio).await;
        assert_alive(&client).await;
        assert!(client.strays().len() >= 4, "{:?}", client.strays());
    }
}

#[tokio::test]
async fn a_line_is_as_huge_as_asked() {
    let Setup { client, .. } = start("huge-line", LEGACY, Wire::Stdio).await;
    let text = client.call_text("huge", json!({ "bytes": 3_000_000 })).await.unwrap();
    assert_eq!(text.len(), 3_000_000);
    assert_alive(&client).await;
}

#[tokio::test]
async fn answers_come_twice() {
    let Setup { client, .. } = start("twice", Era::Modern, Wire::Stdio).await;
    assert_alive(&client).await;
    assert_alive(&client).await;
    assert!(!client.strays().is_empty());
}

#[tokio::test]
async fn strangers_are_answered_first() {
    let Setup { client, .. } = start("unknown-id", LEGACY, Wire::Stdio).await;
    assert_alive(&client).await;
    assert!(client.strays().iter().all(|stray| stray.contains("nobody-asked")), "{:?}", client.strays());
    assert!(client.strays().len() >= 2);
}

#[tokio::test]
async fn the_server_dies_in_a_call() {
    let Setup { client, .. } = start("die-mid-call", LEGACY, Wire::Stdio).await;
    assert_alive(&client).await;
    assert!(matches!(client.call("die", json!({})).await, Err(ClientError::Transport(_))));
    assert_eq!(client.close().await.unwrap().and_then(|status| status.code()), Some(3));
}

#[tokio::test]
async fn a_call_is_never_answered() {
    for wire in [Wire::Stdio, Wire::Http] {
        let Setup { client, server: _server, .. } = start("never", LEGACY, wire).await;
        assert_eq!(client.call("never", json!({})).await, Err(ClientError::Timeout));
        assert_alive(&client).await;
    }
}

#[tokio::test]
async fn an_answer_is_no_json() {
    let Setup { client, .. } = start("garbage", LEGACY, Wire::Stdio).await;
    assert_eq!(client.call("garbage", json!({})).await, Err(ClientError::Timeout));
    assert_eq!(client.strays().len(), 1);
    assert_alive(&client).await;
}

#[tokio::test]
async fn starting_takes_its_time_or_fails() {
    let options = ClientOptions { timeout: Duration::from_millis(300), ..ClientOptions::default() };
    let pair = Pair { era: LEGACY, wire: Wire::Stdio };
    let slow = pair.try_start(&["--fault", "slow-start", "--delay-ms", "5000"], options.clone()).await;
    assert_eq!(slow.err(), Some(ClientError::Timeout));
    let prompt =
        pair.try_start(&["--fault", "slow-start", "--delay-ms", "1"], ClientOptions::default()).await;
    assert_alive(&prompt.expect("it starts in the end").client).await;
    let never = pair.try_start(&["--fault", "no-start"], ClientOptions::default()).await;
    assert!(matches!(never.err(), Some(ClientError::Transport(_))));
}

#[tokio::test]
async fn stderr_is_flooded() {
    let Setup { client, .. } = start("stderr-flood", LEGACY, Wire::Stdio).await;
    assert_alive(&client).await;
    assert!(client.stderr().len() > 1_000_000);
}

#[tokio::test]
async fn a_list_has_the_wrong_shape() {
    let Setup { client, .. } = start("wrong-shape", Era::Modern, Wire::Stdio).await;
    assert!(client.list_tools().await.is_err());
    assert_alive(&client).await;
}

#[cfg(unix)]
#[tokio::test]
async fn only_a_kill_ends_it() {
    let Setup { client, .. } = start("ignore-term", LEGACY, Wire::Stdio).await;
    assert_alive(&client).await;
    let process_id = client.process_id().await.expect("it runs").to_string();
    let signalled = tokio::process::Command::new("kill").args(["-TERM", &process_id]).status().await.unwrap();
    assert!(signalled.success());
    assert_alive(&client).await;
    // `close` ends stdin, waits, and then kills: the status is that of the kill.
    assert_eq!(client.close().await.unwrap().and_then(|status| status.code()), None);
}

type Expectation = fn(&ClientError) -> bool;

#[tokio::test]
async fn http_calls_fail_each_in_its_way() {
    for era in [LEGACY, Era::Modern] {
        let add = json!({ "a": 1, "b": 2 });
        let cases: [(&str, Expectation); 4] = [
            ("http-500", |error| error.http_status() == Some(500)),
            (
                "http-html",
                |error| matches!(error, ClientError::Http { status: 200, body } if body.contains("<title>")),
            ),
            ("http-cut", |error| matches!(error, ClientError::Transport(_))),
            ("http-hang", |error| *error == ClientError::Timeout),
        ];
        for (fault, is_expected) in cases {
            let Setup { client, server: _server, .. } = start(fault, era, Wire::Http).await;
            let error = client.call("add", add.clone()).await.unwrap_err();
            assert!(is_expected(&error), "{fault}: {error:?}");
            assert_alive(&client).await;
        }
    }
}

#[tokio::test]
async fn a_session_is_lost_and_a_new_one_works() {
    let Setup { client, server, .. } = start("session-lost", LEGACY, Wire::Http).await;
    assert_alive(&client).await;
    assert_alive(&client).await;
    let error = client.call("echo", json!({ "text": "x" })).await.unwrap_err();
    assert_eq!((error.http_status(), error.code()), (Some(404), Some(-32001)));
    let error = client.request("tools/list", json!({})).await.unwrap_err();
    assert_eq!(error.http_status(), Some(404), "not only for calls");
    let url = server.as_ref().expect("HTTP has a server").url.clone();
    let transport = octroi_testkit::client::options::Transport::http(url);
    let again = TestClient::connect(transport, LEGACY, ClientOptions::default()).await.unwrap();
    assert_alive(&again).await;
}
