//! Servers that ask while several clients use them.

use std::time::{Duration, Instant};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::Era;
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::json;

use crate::harness::{answering, connect, octroi, remote_entry, stdio_entry};
use crate::processes::descendants;
use crate::roots::script;

const LEGACY: Era = Era::Legacy("2025-11-25");

/// A client whose user is called like this.
async fn user(gateway: &TestGateway, era: Era, name: &str) -> TestClient {
    connect(gateway, era, answering(json!({ "action": "accept", "content": { "name": name } }))).await
}

/// What the client gets when the server asks it while another client's call runs.
async fn ask_beside(busy: &TestClient, client: &TestClient) -> String {
    let slow = json!({ "name": "peer_slow", "arguments": { "steps": 10, "delay_ms": 100 } });
    let running = busy.start("tools/call", slow);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let answer = client.call_text("peer_ask", json!({})).await.expect("a result");
    assert_ne!(running.finish().await.expect("a result")["isError"], true);
    answer
}

fn n_servers(gateway: &TestGateway) -> usize {
    // Every server runs below a reaper.
    descendants(gateway.child.id().expect("it runs")).len() / 2
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_asks_gets_a_connection_for_each_client_and_that_is_remembered() {
    let config = stdio_entry("peer", &[]);
    let gateway = TestGateway::start(&octroi(), &config).await;
    let (ada, bob) = (user(&gateway, LEGACY, "Ada").await, user(&gateway, Era::Modern, "Bob").await);
    assert_eq!(ada.call_text("peer_ask", json!({})).await.as_deref(), Ok("hello Ada"));
    assert_eq!(n_servers(&gateway), 1, "while one client calls, it is clear whom the server asks");
    assert_eq!(bob.call_text("peer_ask", json!({})).await.as_deref(), Ok("hello Bob"));
    for _ in 0..2 {
        assert_eq!(ask_beside(&ada, &bob).await, "hello Bob");
        assert_eq!(ask_beside(&bob, &ada).await, "hello Ada");
    }
    assert_eq!(n_servers(&gateway), 2, "the first client keeps the process, which may have state for it");
    ada.close().await.expect("the session ends");
    let (directory, _) = gateway.stop_and_keep().await;

    let gateway = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
    gateway.wait_until_settled().await;
    let (ada, bob) = (user(&gateway, LEGACY, "Ada").await, user(&gateway, LEGACY, "Bob").await);
    assert_eq!(ask_beside(&ada, &bob).await, "hello Bob", "it is remembered");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_question_is_lost_after_the_first_one() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let (ada, bob) = (user(&gateway, LEGACY, "Ada").await, user(&gateway, LEGACY, "Bob").await);
    assert_eq!(ada.call_text("peer_touch", json!({})).await.as_deref(), Ok("1"));
    assert_eq!(ada.call_text("peer_ask", json!({})).await.as_deref(), Ok("hello Ada"));
    assert_eq!(ask_beside(&ada, &bob).await, "hello Bob");
    assert_eq!(ask_beside(&bob, &ada).await, "hello Ada");
    assert_eq!(ada.call_text("peer_touch", json!({})).await.as_deref(), Ok("2"), "the same process");
    ada.close().await.expect("the session ends");
    let cid = user(&gateway, LEGACY, "Cid").await;
    assert_eq!(cid.call_text("peer_touch", json!({})).await.as_deref(), Ok("1"), "another process");
    gateway.stop().await;
}

/// `server-everything` with two clients that it asks at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_server_asks_each_of_two_clients() {
    let command = json!(["node", script("server-everything/dist/index.js"), "stdio"]);
    let config = format!("[[mcp.servers]]\nname = \"all\"\ncommand = {command}\n");
    let gateway = TestGateway::start(&octroi(), &config).await;
    let (ada, bob) = (user(&gateway, LEGACY, "Ada").await, user(&gateway, LEGACY, "Bob").await);
    let ask = async |client: &TestClient| {
        let result = client.call("all_trigger-elicitation-request", json!({})).await;
        result.expect("a result")["content"].to_string()
    };
    let first = ask(&ada).await;
    assert!(first.contains("Ada"), "{first}");
    let (of_ada, of_bob) = tokio::join!(ask(&ada), ask(&bob));
    assert!(of_ada.contains("Ada") && !of_ada.contains("Bob"), "{of_ada}");
    assert!(of_bob.contains("Bob") && !of_bob.contains("Ada"), "{of_bob}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_waits_for_another_after_a_question() {
    for sharing in ["auto", "shared"] {
        let config = format!("{}sharing = \"{sharing}\"\n", stdio_entry("peer", &[]));
        let gateway = TestGateway::start(&octroi(), &config).await;
        let (ada, bob) = (user(&gateway, LEGACY, "Ada").await, user(&gateway, LEGACY, "Bob").await);
        let refused = ask_beside(&ada, &bob).await;
        assert!(refused.contains("several clients"), "{refused}");
        // With `auto`, this starts the processes.
        for client in [&ada, &bob] {
            assert_eq!(client.call_text("peer_echo", json!({ "text": "x" })).await.as_deref(), Ok("x"));
        }
        let slow = json!({ "name": "peer_slow", "arguments": { "steps": 1, "delay_ms": 3_000 } });
        let running = ada.start("tools/call", slow);
        tokio::time::sleep(Duration::from_millis(200)).await;
        let begun = Instant::now();
        assert_eq!(bob.call_text("peer_echo", json!({ "text": "x" })).await.as_deref(), Ok("x"));
        assert!(begun.elapsed() < Duration::from_secs(2), "{sharing}: it waited {:?}", begun.elapsed());
        running.finish().await.expect("a result");
        let again = ask_beside(&ada, &bob).await;
        match sharing {
            "auto" => assert_eq!(again, "hello Bob"),
            _ => assert!(again.contains("several clients"), "{again}"),
        }
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_client_watches_follows_it_to_its_own_connection() {
    use octroi_testkit::client::watch::Watch;

    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let (ada, bob) = (user(&gateway, LEGACY, "Ada").await, user(&gateway, LEGACY, "Bob").await);
    let uri = ada.list("resources/list", "resources").await.expect("a list");
    let uri = uri.iter().filter_map(|resource| resource["uri"].as_str()).find(|uri| uri.ends_with("counter"));
    let uri = uri.expect("the peer has a counter").to_owned();
    let mut watcher = ada.watch(Watch::resource(uri)).await.expect("it can be watched");
    assert!(ask_beside(&ada, &bob).await.contains("several clients"));
    let deadline = Instant::now() + crate::harness::SOON;
    loop {
        ada.call("peer_touch", json!({})).await.expect("a result");
        if watcher.next(Duration::from_millis(300)).await.is_some() {
            break;
        }
        assert!(Instant::now() < deadline, "no update after the server asked");
    }
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remote_server_says_which_call_it_asks_for() {
    let peer = PeerProcess::start(&["--transport", "http"]).await.expect("the peer should start");
    let gateway = TestGateway::start(&octroi(), &remote_entry("peer", "http", &peer.url)).await;
    let (ada, bob) = (user(&gateway, LEGACY, "Ada").await, user(&gateway, LEGACY, "Bob").await);
    assert_eq!(ask_beside(&ada, &bob).await, "hello Bob");
    assert_eq!(ask_beside(&bob, &ada).await, "hello Ada");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_beyond_the_limit_share_or_are_refused() {
    for (sharing, n_expected) in [("auto", 2), ("per_session", 2)] {
        let settings = format!("sharing = \"{sharing}\"\nmax_connections = 1\n");
        let gateway = TestGateway::start(&octroi(), &format!("{}{settings}", stdio_entry("peer", &[]))).await;
        let (ada, bob) = (user(&gateway, LEGACY, "Ada").await, user(&gateway, LEGACY, "Bob").await);
        if sharing == "auto" {
            assert!(ask_beside(&ada, &bob).await.contains("several clients"));
        }
        let echo = json!({ "name": "peer_echo", "arguments": { "text": "x" } });
        let outcomes = [
            ada.request("tools/call", echo.clone()).await,
            bob.request("tools/call", echo.clone()).await,
            ada.request("tools/call", echo).await,
        ];
        let is_served = outcomes.map(|outcome| outcome.is_ok_and(|result| result["isError"] != true));
        assert_eq!(is_served, [true, sharing == "auto", true], "{sharing}");
        assert_eq!(n_servers(&gateway), n_expected, "{sharing}");
        gateway.stop().await;
    }
}
