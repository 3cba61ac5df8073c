//! A disk that is full while Octroi runs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use octroi_testkit::client::TestClient;
use octroi_testkit::client::options::{ClientOptions, Era, Transport};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use crate::harness::{SOON, connect, octroi, stdio_entry};

/// A program that runs Octroi with a small disk of its own as its data directory.
pub(crate) fn on_a_small_disk(directory: &Path) -> PathBuf {
    let script = directory.join("octroi-on-a-small-disk");
    let text = format!(
        "#!/bin/sh\nfor word in \"$@\"; do test \"$last\" = --data && data=$word; last=$word; done\nmkdir -p \"$data\"\n\
         export data\nexec unshare --map-root-user --mount sh -c \
         'mount -t tmpfs -o size=2m,mode=700 none \"$data\" && exec \"$0\" \"$@\"' '{}' \"$@\"\n",
        octroi().display()
    );
    std::fs::write(&script, text).expect("the script can be written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    script
}

async fn wait_for_tools(client: &TestClient, n_tools: usize) {
    let deadline = std::time::Instant::now() + SOON;
    while client.list_tools().await.expect("a list").len() != n_tools {
        assert!(std::time::Instant::now() < deadline, "the new tool is not listed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_costs_memory_and_nothing_else() {
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
    // The log's last block may have space for a few calls; without a record none is made.
    let mut n_more = 0;
    for _ in 0..3 {
        match client.call("peer_grow", json!({})).await {
            Ok(_) => n_more += 1,
            Err(refused) => assert!(format!("{refused:?}").contains("cannot be recorded"), "{refused:?}"),
        }
        wait_for_tools(&client, before + n_more).await;
    }
    let token = std::fs::read_to_string(seen.join("admin.token")).expect("a token");
    let transport = Transport::Http { url: gateway.url(), token: Some(token.trim().to_owned()) };
    let person = TestClient::connect(transport, Era::Modern, ClientOptions::default()).await;
    let person = person.expect("a person comes in");
    for _ in 0..20 {
        let checked = person.call("health_check_all", json!({})).await.expect("a result");
        assert_eq!(checked["structuredContent"]["servers"]["peer"]["health"], "healthy");
    }

    std::fs::remove_file(seen.join("fill")).expect("room can be made");
    let deadline = std::time::Instant::now() + SOON;
    while let Err(refused) = client.call("peer_grow", json!({})).await {
        assert!(std::time::Instant::now() < deadline, "calls are still refused: {refused:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    wait_for_tools(&client, before + n_more + 1).await;
    drop((client, person));
    let log = gateway.stop().await;
    assert!(log.contains("could not be persisted"), "{log}");
    assert!(log.contains("full"), "it should say why: {log}");
}
