//! Changes without a notification, found when the gateway or the server starts again, or when a call is made.

use std::path::Path;
use std::time::Duration;

use octroi_testkit::client::error::{ClientError, RpcError};
use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer::process::PeerProcess;
use serde_json::json;

use super::{CASES, ERAS, ListWatcher, Readers, check_held, config, pins};
use crate::harness::{connect, octroi, remote_entry, stdio_entry};
use crate::processes::descendants;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_while_the_gateway_was_away_is_seen_by_nobody() {
    for case in &CASES {
        for (era, server_era) in ERAS {
            let what = format!("{} of a {server_era} server, {era:?}", case.lie);
            let directory = tempfile::tempdir().expect("a directory");
            let file = directory.path().join("lie");
            let config = config(case, server_era, &["--lies-while", &file.display().to_string()]);
            let gateway = TestGateway::start(&octroi(), &config).await;
            let before = Readers::connect(&gateway, era).await.definitions().await;
            let (kept, _) = gateway.stop_and_keep().await;

            std::fs::write(&file, "").expect("the server begins to lie");
            let gateway = TestGateway::launch_in(kept, &octroi(), &config, &[]).await;
            let readers = Readers::connect(&gateway, era).await;
            let watcher = ListWatcher::start(&readers, case.is_lie);
            let n_answered = readers.wait_until_held(case.held, &what).await;
            assert_eq!(n_answered, 0, "{what}: a call was made by what was known before");
            check_held(&gateway, &readers, case, &before, &what).await;
            watcher.finish(&what).await;
            gateway.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_while_the_server_was_away_is_seen_by_nobody() {
    for case in &CASES {
        for (era, server_era) in ERAS {
            let what = format!("{} of a {server_era} server, {era:?}", case.lie);
            let directory = tempfile::tempdir().expect("a directory");
            let file = directory.path().join("lie");
            let config = config(case, server_era, &["--lies-while", &file.display().to_string()]);
            let gateway = TestGateway::start(&octroi(), &config).await;
            let readers = Readers::connect(&gateway, era).await;
            let before = readers.definitions().await;
            let watcher = ListWatcher::start(&readers, case.is_lie);
            std::fs::write(&file, "").expect("the server begins to lie");
            assert_eq!(readers.definitions().await, before, "{what}: nobody has asked it yet");
            kill_liar(&gateway, &file).await;
            let n_answered = readers.wait_until_held(case.held, &what).await;
            assert_eq!(n_answered, 0, "{what}: a call was made by what was known before");
            check_held(&gateway, &readers, case, &before, &what).await;
            watcher.finish(&what).await;
            gateway.stop().await;
        }
    }
}

/// A server sends its instructions when a client connects, so a change is found after a restart only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_instructions_are_read_by_nobody() {
    for (era, server_era) in ERAS {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("lie");
        let lies_while = file.display().to_string();
        let flags = ["--lie", "instructions", "--era", server_era, "--lies-while", &lies_while];
        let config = stdio_entry("peer", &flags);
        let gateway = TestGateway::start(&octroi(), &config).await;
        let readers = Readers::connect(&gateway, era).await;
        for client in [&readers.all, &readers.one] {
            assert!(
                client.hello().to_string().contains("A scripted server for tests"),
                "{:?}",
                client.hello()
            );
        }
        std::fs::write(&file, "").expect("the server begins to lie");
        kill_liar(&gateway, &file).await;
        for _ in 0..400 {
            let _ = readers.all.call("peer_log", json!({})).await;
            let Readers { all, one } = Readers::connect(&gateway, era).await;
            let hello = format!("{}{}", all.hello(), one.hello());
            assert!(!hello.contains("Send everything"), "{era:?}: {hello}");
            if !hello.contains("A scripted server") {
                break;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        let output = pins(&gateway).await;
        for text in
            ["peer  server", "differs from the accepted one", "- A scripted server", "+ Send everything"]
        {
            assert!(output.contains(text), "{era:?}: {text}: {output}");
        }
        assert_eq!(readers.all.call_text("peer_echo", json!({"text": "x"})).await.as_deref(), Ok("x"));
        gateway.stop().await;
    }
}

/// A server that refuses a call for its headers has its definitions read again; by then the tool may be
/// another one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_between_list_and_call_stops_the_call() {
    for era in [Era::Modern, Era::Legacy("2025-11-25")] {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("lie");
        let lies_while = file.display().to_string();
        let flags =
            ["--era", "modern", "--transport", "http", "--lie", "header", "--lies-while", &lies_while];
        let peer = PeerProcess::start(&flags).await.expect("the peer starts");
        let gateway = TestGateway::start(&octroi(), &remote_entry("peer", "http", &peer.url)).await;
        let agent = connect(&gateway, era, ClientOptions::default()).await;
        agent.list_tools().await.expect("a list");
        let arguments = json!({ "region": "north" });
        assert_eq!(agent.call_text("peer_route", arguments.clone()).await.as_deref(), Ok("north"));

        std::fs::write(&file, "").expect("the server begins to lie");
        let outcome = agent.call("peer_route", arguments).await;
        let Err(ClientError::Rpc(RpcError { code: -32951, message, data, .. })) = outcome else {
            panic!("{era:?}: {outcome:?}");
        };
        assert!(message.starts_with("tool_changed_needs_review: "), "{message}");
        assert!(
            data["reason"].as_str().unwrap_or_default().contains("differs from the accepted one"),
            "{data}"
        );
        assert_eq!(agent.call_text("peer_calls_count", json!({})).await.as_deref(), Ok("1"), "{era:?}");
        let output = pins(&gateway).await;
        assert!(output.contains("x-mcp-header") && output.contains("Zone"), "{output}");
        gateway.stop().await;
    }
}

/// Ends the process that sends changed definitions while this file exists, without involving the gateway.
async fn kill_liar(gateway: &TestGateway, file: &Path) {
    let file = file.display().to_string();
    let is_liar = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(&file)
            && line.split('\0').next().is_some_and(|program| program.ends_with("octroi-peer"))
    };
    let liars: Vec<u32> =
        descendants(gateway.child.id().expect("it runs")).into_iter().filter(is_liar).collect();
    assert_eq!(liars.len(), 1, "{liars:?}");
    let killed = tokio::process::Command::new("kill").args(["-KILL", &liars[0].to_string()]).status().await;
    assert!(killed.is_ok_and(|status| status.success()));
}
