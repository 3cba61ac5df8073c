//! Servers that speak both eras, and clients of both: each is served in its own era where the server can.

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::client::watch::Watch;
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use octroi_testkit::peer_binary;
use serde_json::json;

use crate::harness::{SOON, answering, connect, octroi, remote_entry, stdio_entry};
use crate::peers::installed::Installed;
use crate::processes::descendants;

const LEGACY: [Era; 2] = [Era::Legacy("2025-06-18"), Era::Legacy("2025-11-25")];
/// What the peer says when a modern request would need an answer.
const REFUSES: &str = "only legacy clients can be asked";

fn named() -> ClientOptions {
    answering(json!({ "action": "accept", "content": { "name": "Ada" } }))
}

/// A server that asks questions over legacy connections only, as common SDKs do.
async fn asks_legacy_only(transport: &str) -> (Option<PeerProcess>, String) {
    let flags = ["--era", "both", "--asks-legacy-only", "--transport", transport];
    if transport == "stdio" {
        return (None, stdio_entry("peer", &flags));
    }
    let peer = PeerProcess::start(&flags).await.expect("the peer should start");
    let entry = remote_entry("peer", "http", &peer.url);
    (Some(peer), entry)
}

/// The era in which the server was asked to ask.
async fn era_of(client: &TestClient) -> &'static str {
    match client.call_text("peer_ask", json!({})).await {
        Ok(text) if text == "hello Ada" => "legacy",
        Ok(text) => panic!("unexpected: {text}"),
        Err(error) if error.to_string().contains(REFUSES) => "modern",
        Err(error) => panic!("unexpected: {error}"),
    }
}

fn n_peers(gateway: &TestGateway) -> usize {
    let peer = peer_binary().canonicalize().expect("the peer is built");
    descendants(gateway.child.id().expect("it runs"))
        .into_iter()
        .filter(|id| std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe == peer))
        .count()
}

async fn wait_for_peers(gateway: &TestGateway, expected: usize) {
    let waiting = async {
        while n_peers(gateway) != expected {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    let waited = tokio::time::timeout(SOON, waiting).await;
    assert!(waited.is_ok(), "{} processes, expected {expected}", n_peers(gateway));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_client_is_served_in_its_own_era() {
    for transport in ["http", "stdio"] {
        for sharing in ["shared", "per_user", "per_session"] {
            let (_peer, entry) = asks_legacy_only(transport).await;
            let gateway = TestGateway::start(&octroi(), &format!("{entry}sharing = \"{sharing}\"\n")).await;
            for era in LEGACY.into_iter().chain([Era::Modern]).chain(LEGACY) {
                let client = connect(&gateway, era, named()).await;
                let expected = if era == Era::Modern { "modern" } else { "legacy" };
                assert_eq!(era_of(&client).await, expected, "{transport} {sharing} {era:?}");
            }
            gateway.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pinned_era_is_not_left() {
    for (era, expected) in [("legacy", "legacy"), ("modern", "modern")] {
        let (_peer, entry) = asks_legacy_only("http").await;
        let gateway = TestGateway::start(&octroi(), &format!("{entry}era = \"{era}\"\n")).await;
        for client in [LEGACY[1], Era::Modern] {
            let client = connect(&gateway, client, named()).await;
            assert_eq!(era_of(&client).await, expected, "pinned to {era}");
        }
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_runs_once_for_each_era_in_use() {
    let (_, entry) = asks_legacy_only("stdio").await;
    let gateway = TestGateway::start(&octroi(), &entry).await;
    let legacy = connect(&gateway, LEGACY[1], named()).await;
    let tools = legacy.list_tools().await.expect("the tools");
    wait_for_peers(&gateway, 1).await;
    // Several calls at once: the first process is replaced while all of them wait.
    let calls = (0..8).map(|_| legacy.call_text("peer_echo", json!({ "text": "here" })));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer.as_deref(), Ok("here"));
    }
    assert_eq!(era_of(&legacy).await, "legacy");
    wait_for_peers(&gateway, 1).await;
    // Its own changes reach the list, because it is the process that lists.
    legacy.call_text("peer_grow", json!({})).await.expect("a tool more");
    let grown = async {
        while legacy.list_tools().await.expect("the tools").len() <= tools.len() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(SOON, grown).await.expect("the tool should be listed");

    let modern = connect(&gateway, Era::Modern, named()).await;
    assert_eq!(era_of(&modern).await, "modern");
    assert_eq!(era_of(&legacy).await, "legacy");
    wait_for_peers(&gateway, 2).await;
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_of_one_era_is_translated_and_not_tried_again() {
    for (transport, era) in [("stdio", "modern"), ("http", "modern"), ("stdio", "legacy"), ("http", "legacy")]
    {
        let flags = ["--era", era, "--transport", transport];
        let mut peer = None;
        let entry = if transport == "stdio" {
            stdio_entry("peer", &flags)
        } else {
            let started = PeerProcess::start(&flags).await.expect("the peer should start");
            let entry = remote_entry("peer", "http", &started.url);
            peer = Some(started);
            entry
        };
        let entry = format!("{entry}sharing = \"shared\"\n");
        let gateway = TestGateway::start(&octroi(), &entry).await;
        for client in [LEGACY[1], Era::Modern, LEGACY[0]] {
            let client = connect(&gateway, client, named()).await;
            for _ in 0..2 {
                let asked = client.call_text("peer_ask", json!({})).await;
                assert_eq!(asked.as_deref(), Ok("hello Ada"), "{transport} {era}");
            }
        }
        if transport == "stdio" {
            wait_for_peers(&gateway, 1).await;
        }
        gateway.stop().await;
        drop(peer);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_cannot_run_twice_serves_everybody_in_one_era() {
    let directory = tempfile::tempdir().expect("a directory");
    let lock = directory.path().join("lock");
    let script = format!(
        "exec flock --nonblock --no-fork '{}' '{}' --era both --asks-legacy-only",
        lock.display(),
        peer_binary().display()
    );
    let entry = format!("[[mcp.servers]]\nname = \"peer\"\ncommand = {}\n", json!(["sh", "-c", script]));
    let gateway = TestGateway::start(&octroi(), &entry).await;
    let modern = connect(&gateway, Era::Modern, named()).await;
    assert_eq!(era_of(&modern).await, "modern");
    let legacy = connect(&gateway, LEGACY[1], named()).await;
    assert_eq!(
        legacy.call_text("peer_echo", json!({ "text": "still here" })).await.as_deref(),
        Ok("still here")
    );
    assert_eq!(era_of(&modern).await, "modern");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_and_watches_do_not_depend_on_the_era() {
    for transport in ["http", "stdio"] {
        let (_peer, entry) = asks_legacy_only(transport).await;
        let gateway = TestGateway::start(&octroi(), &entry).await;
        let mut lists = Vec::new();
        for era in [LEGACY[1], Era::Modern] {
            let client = connect(&gateway, era, named()).await;
            let watch = Watch::resource("peer://peer/counter");
            let mut watcher = client.watch(watch).await.expect("the resource can be watched");
            era_of(&client).await;
            client.call_text("peer_touch", json!({})).await.expect("it changes");
            assert!(watcher.next(SOON).await.is_some(), "{transport} {era:?}: no update");
            lists.push(client.list_tools().await.expect("the tools"));
        }
        assert_eq!(lists[0], lists[1], "{transport}");
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_learned_of_a_program_survives_a_restart() {
    for (era, asked) in [("both", "hello Ada"), ("modern", "hello Ada"), ("legacy", "hello Ada")] {
        let directory = tempfile::tempdir().expect("a directory");
        let starts = directory.path().join("starts");
        let only = if era == "both" { "--asks-legacy-only" } else { "" };
        let script =
            format!("echo >> '{}'; exec '{}' --era {era} {only}", starts.display(), peer_binary().display());
        let n_starts = || std::fs::read(&starts).map_or(0, |lines| lines.len());
        let command = json!(["sh", "-c", script]);
        let entry = format!("[[mcp.servers]]\nname = \"peer\"\ncommand = {command}\nsharing = \"shared\"\n");
        let gateway = TestGateway::start(&octroi(), &entry).await;
        let client = connect(&gateway, LEGACY[1], named()).await;
        assert_eq!(client.call_text("peer_ask", json!({})).await.as_deref(), Ok(asked), "{era}");
        let before = n_starts();
        // Once to be listed, and once in the era or for the abilities of its first client.
        assert_eq!(before, 2, "{era}");
        // The lists are read again after what was learned, and kept with it.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let (kept, _) = gateway.stop_and_keep().await;

        let gateway = TestGateway::launch_in(kept, &octroi(), &entry, &[]).await;
        let client = connect(&gateway, LEGACY[1], named()).await;
        assert_eq!(client.call_text("peer_ask", json!({})).await.as_deref(), Ok(asked), "{era}");
        assert_eq!(n_starts(), before + 1, "{era}");
        gateway.stop().await;
    }
}

/// `mcp` 2.x decides on the era of a process with the first message, and refuses to ask in the modern one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_on_the_python_sdk_asks_legacy_clients() {
    let installed = Installed::find();
    let command = json!([installed.python("v2"), installed.script("python/asking_server.py")]);
    let entry = format!("[[mcp.servers]]\nname = \"peer\"\ncommand = {command}\n");
    let gateway = TestGateway::start(&octroi(), &entry).await;
    for era in [LEGACY[1], Era::Modern, LEGACY[0]] {
        let client = connect(&gateway, era, named()).await;
        let sum = client.call_text("peer_add", json!({ "a": 1, "b": 2 })).await;
        assert_eq!(sum.as_deref(), Ok("3"), "{era:?}");
        let asked = client.call_text("peer_ask", json!({})).await;
        assert_eq!(asked.as_deref() == Ok("hello Ada"), era != Era::Modern, "{era:?}: {asked:?}");
    }
    gateway.stop().await;
}
