//! Roots of clients, with the real `server-filesystem`, which takes them for its directories.

use std::path::{Path, PathBuf};

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::json;
use tokio::sync::watch;

use crate::harness::{connect, octroi, remote_entry, stdio_entry};
use crate::peers::installed::Everything;
use crate::processes::descendants;

const LEGACY: Era = Era::Legacy("2025-11-25");

/// The script of an installed server.
pub(crate) fn script(path: &str) -> PathBuf {
    let node_modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers/node/node_modules");
    let script = node_modules.join("@modelcontextprotocol").join(path);
    assert!(
        script.exists(),
        "{} is not there: the real peers are not installed; run `cargo xtask test`, which installs them",
        script.display()
    );
    script
}

/// The server, allowed to use this directory.
fn entry(directory: &Path, sharing: &str) -> String {
    let script = script("server-filesystem/dist/index.js");
    let command = json!(["node", script, directory]);
    format!("[[mcp.servers]]\nname = \"fs\"\ncommand = {command}\nsharing = \"{sharing}\"\n")
}

/// A client whose user can open other directories.
struct User {
    client: TestClient,
    opened: watch::Sender<PathBuf>,
}

impl User {
    async fn connect(gateway: &TestGateway, era: Era, directory: &Path) -> Self {
        let (opened, roots) = watch::channel(directory.to_owned());
        let capabilities = json!({ "roots": { "listChanged": true } });
        let options = ClientOptions::answering(capabilities, move |method, _| {
            assert_eq!(method, "roots/list");
            let uri = format!("file://{}", roots.borrow().display());
            Ok(json!({ "roots": [{ "uri": uri, "name": "project" }] }))
        });
        Self { client: connect(gateway, era, options).await, opened }
    }

    async fn open(&self, directory: &Path) {
        self.opened.send_replace(directory.to_owned());
        self.client.notify("notifications/roots/list_changed", json!({})).await.expect("it is sent");
    }

    /// The one directory that the server allows this client.
    async fn allowed(&self) -> PathBuf {
        let text = self.client.call_text("fs_list_allowed_directories", json!({})).await.expect("a result");
        let (_, directories) = text.split_once('\n').unwrap_or_default();
        PathBuf::from(directories)
    }
}

/// Directories of these names, without links in their paths.
fn directories<const N: usize>(parent: &Path, names: [&str; N]) -> [PathBuf; N] {
    let parent = parent.canonicalize().expect("it exists");
    names.map(|name| {
        let directory = parent.join(name);
        std::fs::create_dir(&directory).expect("the directory can be made");
        directory
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_session_has_its_own_roots_from_its_first_call() {
    let parent = tempfile::tempdir().expect("a temporary directory");
    let [configured, a, b, c] = directories(parent.path(), ["configured", "a", "b", "c"]);
    let gateway = TestGateway::start(&octroi(), &entry(&configured, "per_session")).await;
    let ada = User::connect(&gateway, LEGACY, &a).await;
    let bob = User::connect(&gateway, LEGACY, &b).await;
    let modern = User::connect(&gateway, Era::Modern, &c).await;
    // Calls of one client at the same time: all of them come after the roots.
    let (first, second) = tokio::join!(ada.allowed(), ada.allowed());
    assert_eq!((&first, &second), (&a, &a));
    assert_eq!(bob.allowed().await, b);
    assert_eq!(modern.allowed().await, c);
    ada.open(&c).await;
    assert_eq!(ada.allowed().await, c, "after the roots changed");
    assert_eq!(bob.allowed().await, b, "not those of another client");
    ada.open(&a).await;
    ada.open(&b).await;
    assert_eq!(ada.allowed().await, b);
    let plain = connect(&gateway, LEGACY, ClientOptions::default()).await;
    let allowed = plain.call_text("fs_list_allowed_directories", json!({})).await.expect("a result");
    assert!(allowed.ends_with(&configured.display().to_string()), "a client without roots: {allowed}");
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shared_server_gets_nobodys_roots() {
    let parent = tempfile::tempdir().expect("a temporary directory");
    let [configured, a, b] = directories(parent.path(), ["configured", "a", "b"]);
    for (sharing, start) in [("auto", "eager"), ("auto", "lazy"), ("shared", "lazy"), ("per_user", "eager")] {
        let config = format!("{}start = \"{start}\"\n", entry(&configured, sharing));
        let gateway = TestGateway::launch(&octroi(), &config, &[]).await;
        for (era, directory) in [(LEGACY, &a), (LEGACY, &b), (Era::Modern, &a)] {
            let user = User::connect(&gateway, era, directory).await;
            user.client.list_tools().await.expect("a list");
            let (first, second) = tokio::join!(user.allowed(), user.allowed());
            assert_eq!((&first, &second), (&configured, &configured), "{sharing}, {start}");
            if era == LEGACY {
                user.open(&b).await;
            }
            assert_eq!(user.allowed().await, configured, "{sharing}, {start}");
        }
        gateway.stop().await;
    }
}

/// What a tool is told that asks for the roots while it runs.
async fn asked(user: &User) -> String {
    user.client.call_text("peer_roots", json!({})).await.expect("a result")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_gave_its_roots_during_a_call_has_the_process_for_itself() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    // Every server runs below a reaper.
    let n_servers = || descendants(gateway.child.id().expect("it runs")).len() / 2;
    let ada = User::connect(&gateway, LEGACY, Path::new("/a")).await;
    let bob = User::connect(&gateway, LEGACY, Path::new("/b")).await;
    for user in [&ada, &bob] {
        assert_eq!(user.client.call_text("peer_touch", json!({})).await.expect("a result").len(), 1);
    }
    assert_eq!(n_servers(), 1);
    assert_eq!(asked(&ada).await, "file:///a");
    assert_eq!(n_servers(), 1);
    assert_eq!(asked(&bob).await, "file:///b");
    assert_eq!(n_servers(), 2, "another process, which does not know the roots of the first client");
    // The first client keeps the process that both used before.
    assert_eq!(ada.client.call_text("peer_touch", json!({})).await.as_deref(), Ok("3"));
    assert_eq!(bob.client.call_text("peer_touch", json!({})).await.as_deref(), Ok("1"));
    ada.client.close().await.expect("the session ends");
    let cid = User::connect(&gateway, Era::Modern, Path::new("/c")).await;
    assert_eq!(asked(&cid).await, "file:///c");
    assert_eq!(cid.client.call_text("peer_touch", json!({})).await.as_deref(), Ok("1"));
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sharing_in_so_many_words_gives_no_roots() {
    let peer = PeerProcess::start(&["--transport", "http"]).await.expect("the peer should start");
    for entry in [stdio_entry("peer", &[]), remote_entry("peer", "http", &peer.url)] {
        for (sharing, expected) in [("shared", ""), ("per_user", ""), ("per_session", "file:///a")] {
            let config = format!("{entry}sharing = \"{sharing}\"\n");
            let gateway = TestGateway::start(&octroi(), &config).await;
            let user = User::connect(&gateway, LEGACY, Path::new("/a")).await;
            assert_eq!(asked(&user).await, expected, "{sharing}");
            gateway.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remote_server_gets_the_roots_of_each_session() {
    let script = script("server-everything/dist/index.js");
    let server = Everything::start_script(&script, "streamableHttp", "mcp").await;
    let config = format!("{}sharing = \"per_session\"\n", remote_entry("all", "http", &server.url));
    let gateway = TestGateway::start(&octroi(), &config).await;
    let ada = User::connect(&gateway, LEGACY, Path::new("/a")).await;
    let bob = User::connect(&gateway, Era::Modern, Path::new("/b")).await;
    let known = async |user: &User| {
        let text = user.client.call_text("all_get-roots-list", json!({})).await.expect("a result");
        let uri = text.split("URI: ").nth(1).and_then(|rest| rest.split_whitespace().next());
        uri.unwrap_or(&text).to_owned()
    };
    assert_eq!(known(&ada).await, "file:///a");
    assert_eq!(known(&bob).await, "file:///b");
    ada.open(Path::new("/c")).await;
    assert_eq!(known(&ada).await, "file:///c", "after the roots changed");
    assert_eq!(known(&bob).await, "file:///b", "not those of another client");
    gateway.stop().await;
}
