//! Legacy sessions, their streams, and calls in progress, over a restart of the gateway.

use std::time::Duration;

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::{Value, json};

use super::{
    Modern, OTHER_TOKEN, RawSession, call, config_with_other, fetch, next, next_message, refusal, request,
};
use crate::harness::{SOON, answering, connect, octroi, remote_entry, stdio_entry};

const OVER: (u16, i64) = (404, -32600);

/// How a gateway ends.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Killed,
    Stopped,
}

/// Starts the gateway again at the same address, with the data of its last run.
async fn restart(gateway: TestGateway, config: &str, ending: Ending) -> TestGateway {
    let address = gateway.address();
    let directory = match ending {
        Ending::Killed => gateway.kill().await,
        Ending::Stopped => gateway.stop_and_keep().await.0,
    };
    let config = config_with_other(config);
    let gateway = TestGateway::launch_at(&address, directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    gateway
}

fn peer() -> String {
    stdio_entry("peer", &[])
}

fn ping() -> String {
    request("1", "ping", &json!({}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_survives_a_restart() {
    for ending in [Ending::Killed, Ending::Stopped] {
        let gateway = super::gateway(&[]).await;
        let mut sessions = Vec::new();
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            sessions.push(RawSession::open(&gateway, version).await);
        }
        let ended = RawSession::open(&gateway, "2025-11-25").await;
        let gateway = restart(gateway, &peer(), ending).await;
        for session in &sessions {
            let echo = call("7", "peer_echo", &json!({ "text": "still here" }));
            let answer = session.post(&echo).await;
            assert_eq!(answer.status, 200, "{ending:?} {}: {answer:?}", session.version);
            assert_eq!(answer.json()["result"]["content"][0]["text"], "still here");
        }
        // Batches belong to the versions that have them, so the version survives too.
        let batch = format!("[{}]", ping());
        assert_eq!(sessions[1].post(&batch).await.status, 200);
        assert_eq!(sessions[3].post(&batch).await.status, 400);

        assert_eq!(ended.delete().await.status, 204);
        assert_eq!(refusal(&ended.post(&ping()).await), OVER, "what has ended stays ended");
        assert_eq!(refusal(&ended.delete().await), OVER);
        assert_eq!(sessions[0].delete().await.status, 204);
        assert_eq!(refusal(&sessions[0].post(&ping()).await), OVER);

        // And once more, with the same id.
        let gateway = restart(gateway, &peer(), ending).await;
        assert_eq!(sessions[3].post(&ping()).await.status, 200);
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_restored_for_nobody_else() {
    let gateway = super::gateway(&[]).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    let gateway = restart(gateway, &peer(), Ending::Killed).await;
    let with = |id: &str, token: &str, url: String| RawSession {
        id: id.to_owned(),
        token: token.to_owned(),
        version: session.version,
        url,
    };
    let mut changed = session.id.clone().into_bytes();
    changed[40] = if changed[40] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).expect("text");
    for wrong in [
        with(&session.id, &super::bearer(OTHER_TOKEN), gateway.url()),
        with(&session.id, &session.token, gateway.server_url("peer")),
        with(&changed, &session.token, gateway.url()),
        with(&session.id[..session.id.len() - 1], &session.token, gateway.url()),
        with(&format!("{}A", session.id), &session.token, gateway.url()),
        with(&"A".repeat(4_000), &session.token, gateway.url()),
    ] {
        assert_eq!(refusal(&wrong.post(&ping()).await), OVER, "{}", wrong.id);
        assert_eq!(refusal(&fetch("GET", &wrong.url, &wrong.headers(), "").await), OVER);
        assert_eq!(refusal(&wrong.delete().await), OVER);
    }
    assert_eq!(session.post(&ping()).await.status, 200, "its owner has it still");
    // Another data directory has another key.
    let elsewhere = super::gateway(&[]).await;
    let foreign = with(&session.id, &session.token, elsewhere.url());
    assert_eq!(refusal(&foreign.post(&ping()).await), OVER);
}

/// A client that knows nothing of the restart, and is asked a question after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_goes_on_with_all_that_it_declared() {
    for ending in [Ending::Killed, Ending::Stopped] {
        let gateway = super::gateway(&[]).await;
        let yes = json!({ "action": "accept", "content": { "name": "Ada" } });
        let able = connect(&gateway, Era::Legacy("2025-11-25"), answering(yes)).await;
        let unable = connect(&gateway, Era::Legacy("2025-06-18"), ClientOptions::default()).await;
        let before = (able.session_id(), unable.session_id());
        let gateway = restart(gateway, &peer(), ending).await;
        assert_eq!(able.call_text("peer_ask", json!({})).await.as_deref(), Ok("hello Ada"), "{ending:?}");
        let refused = unable.call("peer_ask", json!({})).await;
        assert!(!format!("{refused:?}").contains("hello"), "{refused:?}");
        assert_eq!(unable.call_text("peer_echo", json!({ "text": "x" })).await.as_deref(), Ok("x"));
        assert_eq!((able.session_id(), unable.session_id()), before);
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_begins_anew() {
    let gateway = super::gateway(&[]).await;
    let session = RawSession::open(&gateway, "2025-11-25").await;
    let mut events = session.stream(None).await;
    session.post(&call("2", "peer_grow", &json!({}))).await;
    let (last, _) = next_message(&mut events).await.expect("news");
    drop(events);
    let gateway = restart(gateway, &peer(), Ending::Killed).await;
    let mut events = session.stream(last.as_deref()).await;
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let (_, message) = next_message(&mut events).await.expect("news");
        heard.push(message["method"].as_str().unwrap_or_default().to_owned());
    }
    // What changed meanwhile is not known.
    assert!(heard.contains(&"notifications/tools/list_changed".to_owned()), "{heard:?}");
    session.post(&call("3", "peer_grow", &json!({}))).await;
    let (_, message) = next_message(&mut events).await.expect("news");
    assert_eq!(message["method"], "notifications/tools/list_changed");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_cut_off_is_answered_when_its_stream_is_resumed() {
    for (id, ending) in [("\"slow-1\"", Ending::Killed), ("42", Ending::Stopped)] {
        let gateway = super::gateway(&[]).await;
        let session = RawSession::open(&gateway, "2025-11-25").await;
        let arguments = json!({
            "name": "peer_slow", "arguments": { "steps": 600, "delay_ms": 100 }, "_meta": { "progressToken": 5 },
        });
        let mut events = session.post_stream(&request(id, "tools/call", &arguments)).await;
        let (last, _) = next_message(&mut events).await.expect("progress");
        let gateway = restart(gateway, &peer(), ending).await;
        drop(events);
        let mut events = session.stream(last.as_deref()).await;
        let (_, message) = next_message(&mut events).await.expect("an answer");
        assert_eq!(message["id"], serde_json::from_str::<Value>(id).expect("an id"), "{message}");
        assert_eq!(message["error"]["data"]["code"], "outcome_unknown", "{message}");
        assert_eq!(next(&mut events).await, None, "nothing more comes");
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restored_sessions_are_limited_like_others() {
    let config = format!("[server]\nmax_sessions = 3\n{}", peer());
    let gateway = super::gateway_with(&config).await;
    let mut before = Vec::new();
    for _ in 0..5 {
        before.push(RawSession::open(&gateway, "2025-06-18").await);
    }
    let gateway = restart(gateway, &config, Ending::Killed).await;
    for session in &before[..3] {
        assert_eq!(session.post(&ping()).await.status, 200);
    }
    // The fourth ends the one that is unused for longest, and that one does not come back.
    assert_eq!(before[3].post(&ping()).await.status, 200);
    assert_eq!(refusal(&before[0].post(&ping()).await), OVER);
    let new = RawSession::open(&gateway, "2025-06-18").await;
    assert_eq!(refusal(&before[1].post(&ping()).await), OVER);
    assert_eq!(new.post(&ping()).await.status, 200);
    assert_eq!(gateway.health().await["sessions"], 3);

    let config = format!("[server]\nsession_idle = \"1s\"\n{}", peer());
    let gateway = restart(gateway, &config, Ending::Killed).await;
    for session in [&before[3], &new] {
        assert_eq!(session.post(&ping()).await.status, 200);
    }
    // Without a request they end, and stay ended.
    tokio::time::timeout(SOON * 2, async {
        while gateway.health().await["sessions"] != 0 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    })
    .await
    .expect("idle sessions end");
    for session in [&before[3], &new] {
        assert_eq!(refusal(&session.post(&ping()).await), OVER);
    }

    let config = format!("[server]\nsession_restore = false\n{}", peer());
    let last = RawSession::open(&gateway, "2025-06-18").await;
    let gateway = restart(gateway, &config, Ending::Stopped).await;
    assert_eq!(refusal(&last.post(&ping()).await), OVER, "switched off");
    gateway.stop().await;
}

/// Calls `ask` and returns the state and the key under which an answer is expected.
async fn interrupted(gateway: &TestGateway) -> (String, String) {
    let response = Modern::call("1", "peer_ask", &json!({})).send(gateway).await.json();
    let result = &response["result"];
    let key = result["inputRequests"].as_object().and_then(|requests| requests.keys().next());
    (result["requestState"].as_str().expect("a state").to_owned(), key.expect("a question").clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_survives_where_its_server_can_be_asked_again() {
    for (era, ending) in [("modern", Ending::Killed), ("modern", Ending::Stopped), ("legacy", Ending::Killed)]
    {
        let peer = PeerProcess::start(&["--transport", "http", "--era", era]).await.expect("the peer");
        let config = remote_entry("peer", "http", &peer.url);
        let gateway = super::gateway_with(&config).await;
        let (state, key) = interrupted(&gateway).await;
        let gateway = restart(gateway, &config, ending).await;
        let retry = Modern::new(
            "2",
            "tools/call",
            json!({
                "name": "peer_ask", "arguments": {}, "requestState": state,
                "inputResponses": { key: { "action": "accept", "content": { "name": "Ada" } } },
            }),
        );
        let stolen = retry.send_as(&gateway, OTHER_TOKEN).await;
        assert_eq!(refusal(&stolen).1, -32602, "{era}");
        let result = retry.send(&gateway).await.json()["result"].clone();
        if era == "modern" {
            assert_eq!(result["content"][0]["text"], "hello Ada", "{ending:?}: {result}");
        } else {
            assert_eq!(result["isError"], true, "{result}");
            assert_eq!(result["_meta"]["octroi/error"]["code"], "outcome_unknown", "{result}");
            assert_eq!(result["resultType"], "complete", "{result}");
        }
        gateway.stop().await;
    }
}
