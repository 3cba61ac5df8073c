//! A disk that is full while Octroi runs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use crate::harness::{SOON, connect, octroi, stdio_entry};

/// A program that runs Octroi with a small disk of its own as its data directory.
fn on_a_small_disk(directory: &Path) -> PathBuf {
    let script = directory.join("octroi-on-a-small-disk");
    let text = format!(
        "#!/bin/sh\nfor word in \"$@\"; do test \"$last\" = --data && data=$word; last=$word; done\nmkdir -p \"$data\"\n\
         export data\nexec unshare --map-root-user --mount sh -c \
         'mount -t tmpfs -o size=2m none \"$data\" && exec \"$0\" \"$@\"' '{}' \"$@\"\n",
        octroi().display()
    );
    std::fs::write(&script, text).expect("the script can be written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    script
}

/// Lists go on, and no call is made that cannot be recorded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_nothing_happens_that_is_not_recorded() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let binary = on_a_small_disk(place.path());
    let entry = stdio_entry("peer", &[]);
    let gateway = TestGateway::launch(&binary, &entry, &[]).await;
    gateway.wait_until_settled().await;
    let id = gateway.child.id().expect("it runs");
    let data = gateway.directory().join("data");
    let seen = PathBuf::from(format!("/proc/{id}/root{}", data.display()));
    assert!(
        seen.join("octroi.db").exists(),
        "the small disk cannot be reached; are user namespaces allowed?"
    );

    let client = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    let before = client.list_tools().await.expect("a list").len();
    let filled = std::fs::write(seen.join("fill"), vec![0_u8; 4 << 20]);
    assert!(filled.is_err(), "the disk should be full now");
    // What is left of the log's last block takes a few records.
    let mut n_grown = 0;
    let refused = loop {
        match client.call("peer_grow", json!({})).await {
            Ok(_) => n_grown += 1,
            Err(error) => break format!("{error:?}"),
        }
        assert!(n_grown < 100, "a full disk takes every record");
    };
    assert!(refused.contains("policy_evaluator_error") && refused.contains("full"), "{refused}");
    for _ in 0..3 {
        client.call("peer_grow", json!({})).await.expect_err("nothing happens while nothing can be recorded");
    }

    std::fs::remove_file(seen.join("fill")).expect("room can be made");
    client.call("peer_grow", json!({})).await.expect("a result");
    let deadline = std::time::Instant::now() + SOON;
    while client.list_tools().await.expect("a list").len() != before + n_grown + 1 {
        assert!(std::time::Instant::now() < deadline, "a call that was refused was made");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(client);
    gateway.stop().await;
}
