//! What relays do when their gateway ends: report it, and continue if another one starts.

use std::time::{Duration, Instant};

use octroi_testkit::client::in_flight::InFlight;
use octroi_testkit::gateway::stdio_transport;

use super::*;

/// A call that takes a minute, and has begun.
async fn endless_call(client: &TestClient) -> InFlight {
    let call = json!({
        "name": "peer_slow", "arguments": { "steps": 3000, "delay_ms": 20 }, "_meta": { "progressToken": "p" },
    });
    let mut call = client.start("tools/call", call);
    call.notification(SOON).await.expect("progress");
    call
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_gateway_is_reported_and_the_relay_ends() {
    for era in ERAS {
        let gateway = TestGateway::start(&octroi(), &stdio_entry("peer", &[])).await;
        let client = client(&gateway.relay(&octroi()), era, ClientOptions::default()).await;
        let call = endless_call(&client).await;
        let directory = gateway.kill().await;
        let error = call.finish().await.expect_err("no gateway").to_string();
        assert!(error.contains("the gateway went away") && error.contains("octroi audit list"), "{error}");
        let error =
            client.call("peer_echo", json!({ "text": "x" })).await.expect_err("no gateway").to_string();
        assert!(error.contains("the gateway is gone") || error.contains("closed its stdout"), "{error}");
        let begun = Instant::now();
        let process = client.process_id().await.expect("it was started");
        while is_running(process) {
            assert!(begun.elapsed() < SOON * 2, "it stays");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let stderr = client.stderr_with("hint: start one with `octroi up`", SOON).await.expect("a hint");
        assert!(stderr.contains("is gone"), "{stderr}");
        let status = client.close().await.expect("it ends").expect("a status");
        assert_eq!(status.code(), Some(4), "{era:?}");
        drop(directory);
    }
}

fn is_running(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_comes_back_is_used_again() {
    let config = stdio_entry("peer", &[]);
    for era in ERAS {
        let gateway = TestGateway::start(&octroi(), &config).await;
        let client = client(&gateway.relay(&octroi()), era, ClientOptions::default()).await;
        let call = endless_call(&client).await;
        let old = gateway.base.clone();
        let directory = gateway.kill().await;
        let binary = octroi();
        let launching = TestGateway::launch_in(directory, &binary, &config, &[]);
        let (gateway, error) = tokio::join!(launching, call.finish());
        let error = error.expect_err("it was not answered").to_string();
        assert!(error.contains("went away"), "{error}");
        assert_ne!(gateway.base, old, "another port");
        gateway.wait_until_settled().await;
        echo(&client, "again").await;
        let mut watcher =
            client.watch(octroi_testkit::client::watch::Watch::tools()).await.expect("it can be watched");
        // The session's own stream has to be open again, which cannot be observed.
        let mut change = None;
        for _ in 0..20 {
            client.call("peer_grow", json!({})).await.expect("a result");
            change = watcher.next(Duration::from_millis(500)).await;
            if change.is_some() {
                break;
            }
        }
        assert!(change.is_some(), "{era:?}: changes are heard of again");
        let count = client.call_text("peer_calls_count", json!({})).await.expect("a count");
        assert!(count.parse::<u64>().is_ok_and(|count| count < 30), "nothing was sent twice: {count}");
        let status = client.close().await.expect("it ends").expect("a status");
        assert_eq!(status.code(), Some(0), "{era:?}");
        gateway.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_are_notified_when_the_owner_ends() {
    for era in ERAS {
        let directory = tempfile::tempdir().expect("a directory");
        let transport = stdio_transport(&octroi(), directory.path(), &stdio_entry("peer", &[]));
        let owner = client(&transport, era, ClientOptions::default()).await;
        echo(&owner, "x").await;
        let relay = client(&transport, era, ClientOptions::default()).await;
        let call = endless_call(&relay).await;
        let begun = Instant::now();
        let status = owner.close().await.expect("it ends").expect("a status");
        assert_eq!(status.code(), Some(0));
        assert!(
            begun.elapsed() < Duration::from_secs(4),
            "clients do not wait longer: {:?}",
            begun.elapsed()
        );
        let error = call.finish().await.expect_err("no gateway").to_string();
        assert!(error.contains("the gateway went away"), "{error}");
        let status = relay.close().await.expect("it ends").expect("a status");
        assert!(matches!(status.code(), Some(0 | 4)), "{status:?}");
        // The directory is free again.
        let next = client(&transport, era, ClientOptions::default()).await;
        echo(&next, "x").await;
        assert_eq!(role_of(&next).await, GatewayRole::Owner);
        next.close().await.expect("it ends");
    }
}
