//! Who becomes the gateway: several at once, what an earlier one left, directories that cannot be used.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use octroi_testkit::gateway::stdio_transport;

use super::*;
use crate::manage::{run, said};

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
            parts.push(part_of(client).await);
        }
        let n_owners = parts.iter().filter(|part| **part == Part::Owner).count();
        assert_eq!(n_owners, 1, "round {round}: {parts:?}");
        // Relays first: without its gateway a relay would rightly complain.
        let mut clients: Vec<_> = parts.into_iter().zip([one, two, three]).collect();
        clients.sort_by_key(|(part, _)| *part == Part::Owner);
        for (part, client) in clients {
            let said = client.stderr();
            let status = client.close().await.expect("it ends").expect("a status");
            assert_eq!(status.code(), Some(0), "round {round}: {part:?}: {said}");
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
    // Whoever listens there now would be shown a token.
    let other = tokio::net::TcpListener::bind(&address).await.expect("the address is free");
    let (code, said) = said(&run(&directory.path().join("data"), &["status"]).await);
    assert!(code == Some(4) && said.contains("no gateway uses"), "{code:?} {said}");
    let transport = stdio_transport(&octroi(), directory.path(), &stdio_entry("peer", &[]));
    let owner = client(&transport, Era::Modern, ClientOptions::default()).await;
    echo(&owner, "x").await;
    assert_eq!(part_of(&owner).await, Part::Owner);
    let relay = client(&transport, ERAS[1], ClientOptions::default()).await;
    echo(&relay, "x").await;
    assert_eq!(part_of(&relay).await, Part::Relay);
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
    // Left by somebody who is not the owner, although that one runs.
    let parent = std::os::unix::process::parent_id();
    std::fs::write(directory.path().join("endpoint"), format!("http://127.0.0.1:9/mcp\n{parent}\n"))
        .expect("a file");
    let output = answers(directory.path(), &[], &[]).await;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(output.stdout.is_empty());
    for part in ["does not say where it can be reached", "hint: stop it (kill", text.trim()] {
        assert!(said.contains(part), "{part}: {said}");
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
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {said}", data.display());
        assert!(output.stdout.is_empty() && said.contains("hint:"), "{}: {said}", data.display());
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
