//! A token that is revoked takes everything with it: streams, sessions, waiting calls and running ones.

use std::time::Duration;

use http_body_util::BodyExt as _;
use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::client::raw;
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{json_of, stdout};
use crate::approvals::recorded;
use crate::harness::{SOON, octroi, stdio_entry};
use crate::life::processes;
use crate::manage::person;

/// How long everything may take to end once the command has returned.
const AT_ONCE: Duration = Duration::from_secs(1);

fn config() -> String {
    format!("{}[approvals]\nwait = \"60s\"\nmax_pending = 100\n", stdio_entry("peer", &[]))
}

/// What one token has open. Each task ends when what it holds has ended.
#[derive(Default)]
struct Held {
    clients: Vec<TestClient>,
    streams: JoinSet<()>,
    calls: JoinSet<bool>,
}

impl Held {
    async fn connect(&mut self, transport: Transport, era: Era) -> usize {
        let client =
            TestClient::connect(transport, era, ClientOptions::default()).await.expect("it comes in");
        self.clients.push(client);
        self.clients.len() - 1
    }

    /// Opens streams of every kind.
    async fn open(&mut self, gateway: &TestGateway, token: &str, n_of_each: [usize; 3]) {
        let http = || Transport::Http { url: gateway.url(), token: Some(token.to_owned()) };
        let [n_modern, n_legacy, n_old] = n_of_each;
        let modern = self.connect(http(), Era::Modern).await;
        for _ in 0..n_modern {
            let watcher = self.clients[modern].watch(Watch::tools()).await.expect("a stream");
            self.streams.spawn(async move {
                let _ = watcher.ended().await;
            });
        }
        let bearer = format!("Bearer {token}");
        for _ in 0..n_legacy {
            let legacy = self.connect(http(), Era::Legacy("2025-06-18")).await;
            let session = self.clients[legacy].session_id().expect("a session");
            let headers =
                [("authorization", &*bearer), ("accept", "text/event-stream"), ("mcp-session-id", &*session)];
            self.read(&gateway.url(), &headers).await;
        }
        for _ in 0..n_old {
            let headers = [("authorization", &*bearer), ("accept", "text/event-stream")];
            self.read(&format!("{}/sse", gateway.base), &headers).await;
        }
    }

    async fn read(&mut self, url: &str, headers: &[(&str, &str)]) {
        let response = raw::send(hyper::Method::GET, url, headers, "").await.expect("an answer");
        assert_eq!(response.status().as_u16(), 200, "{url}");
        self.streams.spawn(async move {
            let _ = response.into_body().collect().await;
        });
    }

    /// Makes calls in both eras; the tasks say whether one was answered with a result.
    fn call(&mut self, tool: &str, n_calls: usize, arguments: impl Fn(usize) -> Value) {
        for n in 0..n_calls {
            let client = &self.clients[n % 2];
            let call = client.start("tools/call", json!({"name": tool, "arguments": arguments(n)}));
            self.calls.spawn(async move {
                call.finish().await.is_ok_and(|result| result["isError"] != json!(true))
            });
        }
    }
}

async fn waiting(gateway: &TestGateway) -> usize {
    json_of(gateway, &["approvals"]).await.as_array().map_or(0, Vec::len)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_of_a_revoked_token_ends_within_a_second() {
    let gateway = TestGateway::start(&octroi(), &config()).await;
    let asks = json!({"source": "[[ask]]\ntool = \"peer.echo\"\n"});
    person(&gateway, Era::Modern).await.call("policy_set_global", asks).await.expect("it is set");
    let created = json_of(&gateway, &["token", "create", "--agent", "doomed"]).await;
    let (token, id) =
        (created["token"].as_str().expect("a token"), created["details"]["id"].as_str().expect("an id"));
    let spared = stdout(&gateway, &["token", "create", "--agent", "spared"]).await;

    let (mut doomed, mut other) = (Held::default(), Held::default());
    doomed.open(&gateway, token, [40, 30, 30]).await;
    other.open(&gateway, &spared, [2, 2, 2]).await;
    doomed.call("peer_echo", 20, |n| json!({"text": format!("doomed {n}")}));
    doomed.call("peer_slow", 4, |_| json!({"steps": 1, "delay_ms": 60_000}));
    other.call("peer_echo", 2, |n| json!({"text": format!("spared {n}")}));
    for _ in 0..200 {
        if waiting(&gateway).await == 22 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(waiting(&gateway).await, 22);
    assert_eq!((doomed.streams.len(), doomed.calls.len()), (100, 24));
    assert!(doomed.streams.try_join_next().is_none() && doomed.calls.try_join_next().is_none());

    other.call("peer_slow", 2, |_| json!({"steps": 1, "delay_ms": 8_000}));
    stdout(&gateway, &["token", "revoke", id]).await;
    let ended = tokio::time::timeout(AT_ONCE, async {
        while doomed.streams.join_next().await.is_some() {}
        let mut n_done = 0;
        while let Some(done) = doomed.calls.join_next().await {
            n_done += usize::from(done.expect("no task panics"));
        }
        n_done
    });
    let n_done = ended.await.unwrap_or_else(|_| {
        panic!("{} streams and {} calls go on", doomed.streams.len(), doomed.calls.len())
    });
    assert_eq!(n_done, 0, "no call was made");

    // Nothing else has ended.
    assert!(other.streams.try_join_next().is_none() && other.calls.try_join_next().is_none());
    assert_eq!(waiting(&gateway).await, 2);
    let listed = json_of(&gateway, &["approvals"]).await;
    for approval in listed.as_array().expect("approvals") {
        stdout(&gateway, &["approve", approval["id"].as_str().expect("an id")]).await;
    }
    let done = tokio::time::timeout(SOON * 2, async {
        let mut n_done = 0;
        while let Some(done) = other.calls.join_next().await {
            n_done += usize::from(done.expect("no task panics"));
        }
        n_done
    });
    assert_eq!(done.await, Ok(4), "its calls are made");
    assert_eq!(other.streams.len(), 6);

    // Running calls were cancelled, and that is recorded.
    let records = recorded(gateway.directory());
    let n_cancelled = records.matches("\"outcome\":\"cancelled\"").count();
    assert!(n_cancelled >= 4, "{n_cancelled}: {}", &records[records.len().saturating_sub(4_000)..]);
    drop(other);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_processes_of_a_revoked_session_end_with_it() {
    let entry = format!("{}sharing = \"per_session\"\n", stdio_entry("peer", &[]));
    let gateway = TestGateway::start(&octroi(), &entry).await;
    let created = json_of(&gateway, &["token", "create", "--agent", "doomed"]).await;
    let token = created["token"].as_str().expect("a token").to_owned();
    let transport = Transport::Http { url: gateway.url(), token: Some(token) };
    let client = TestClient::connect(transport, Era::Legacy("2025-06-18"), ClientOptions::default())
        .await
        .expect("it comes in");
    let n_before = processes(&gateway).len();
    client.call_text("peer_echo", json!({"text": "x"})).await.expect("a result");
    assert!(processes(&gateway).len() > n_before, "the session has one of its own");
    stdout(&gateway, &["token", "revoke", created["details"]["id"].as_str().expect("an id")]).await;
    for _ in 0..200 {
        if processes(&gateway).len() == n_before {
            gateway.stop().await;
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the process of the session goes on");
}
