//! Which process becomes the gateway: several at once, leftovers of an earlier one, unusable directories.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use octroi_testkit::gateway::stdio_transport;

use super::*;
use crate::manage::{exit_and_output, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_that_start_at_once_one_is_the_gateway() {
    for round in 0..10 {
        let directory = tempfile::tempdir().expect("a directory");
        let transport = stdio_transport(&octroi(), directory.path(), &stdio_entry("peer", &[]));
        let connect = |era| client(&transport, era, ClientOptions::default());
        let (one, two, three) = tokio::join!(connect(Era::Modern), connect(ERAS[1]), connect(Era::Modern));
        let mut parts = Vec::new();
        for client in [&one, &two, &three] {
            echo(client, "x").await;
            parts.push(role_of(client).await);
        }
        let n_owners = parts.iter().filter(|part| **part == GatewayRole::Owner).count();
        assert_eq!(n_owners, 1, "round {round}: {parts:?}");
        // Relays first: without its gateway a relay would fail.
        let mut clients: Vec<_> = parts.into_iter().zip([one, two, three]).collect();
        clients.sort_by_key(|(part, _)| *part == GatewayRole::Owner);
        for (part, client) in clients {
            let stderr = client.stderr();
            let status = client.close().await.expect("it ends").expect("a status");
            assert_eq!(status.code(), Some(0), "round {round}: {part:?}: {stderr}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_gateway_left_is_not_believed() {
    let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
    let address = gateway.base.trim_start_matches("http://").to_owned();
    let directory = gateway.kill().await;
    let file = directory.path().join("data/endpoint");
    assert!(file.exists(), "nobody took it away");
    // A process that listens there now would get a token.
    let other = tokio::net::TcpListener::bind(&address).await.expect("the address is free");
    let (code, text) = exit_and_output(&run(&directory.path().join("data"), &["status"]).await);
    assert!(code == Some(4) && text.contains("no gateway uses"), "{code:?} {text}");
    let transport = stdio_transport(&octroi(), directory.path(), &stdio_entry("peer", &[]));
    let owner = client(&transport, Era::Modern, ClientOptions::default()).await;
    echo(&owner, "x").await;
    assert_eq!(role_of(&owner).await, GatewayRole::Owner);
    let relay = client(&transport, ERAS[1], ClientOptions::default()).await;
    echo(&relay, "x").await;
    assert_eq!(role_of(&relay).await, GatewayRole::Relay);
    let came = tokio::time::timeout(Duration::from_millis(100), other.accept()).await;
    assert!(came.is_err(), "somebody came to the old address");
    relay.close().await.expect("it ends");
    owner.close().await.expect("it ends");
    assert!(!file.exists(), "the owner takes its own away");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_whose_owner_does_not_speak_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let held = std::fs::File::create(directory.path().join("gateway.pid")).expect("a file");
    held.try_lock().expect("nobody has it");
    let text = format!("{}\n", std::process::id());
    std::fs::write(directory.path().join("gateway.pid"), &text).expect("it can be written");
    // Left by a process that does not own the directory, although it still runs.
    let parent = std::os::unix::process::parent_id();
    std::fs::write(directory.path().join("endpoint"), format!("http://127.0.0.1:9/mcp\n{parent}\n"))
        .expect("a file");
    let output = answers(directory.path(), &[], &[]).await;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(output.stdout.is_empty());
    for part in ["does not say where it can be reached", "hint: stop it (kill", text.trim()] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_directory_nothing_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    std::fs::write(&file, "").expect("a file");
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for data in [file.as_path(), Path::new("/proc/octroi"), Path::new("/sys/octroi")] {
        let output = answers(data, &["--demo"], std::slice::from_ref(&hello)).await;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {stderr}", data.display());
        assert!(output.stdout.is_empty() && stderr.contains("hint:"), "{}: {stderr}", data.display());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_for_their_owner_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let transport = stdio_transport(&octroi(), directory.path(), &stdio_entry("peer", &[]));
    let owner = client(&transport, Era::Modern, ClientOptions::default()).await;
    for name in ["admin.token", "default.token", "stdio.token", "endpoint"] {
        let file = directory.path().join("data").join(name);
        let mode = std::fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    owner.close().await.expect("it ends");
}
