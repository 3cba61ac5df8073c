//! The JSON file of tokens, for development.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use octroi_testkit::gateway::TestGateway;

use super::{failure, is_known, stdout};
use crate::harness::octroi;

fn write(directory: &Path, text: &str) {
    let (file, new) = (directory.join("tokens.json"), directory.join("tokens.json.new"));
    fs::write(&new, text).expect("it can be written");
    fs::rename(new, file).expect("it can be replaced");
}

async fn becomes(gateway: &TestGateway, token: &str, known: bool) -> bool {
    for _ in 0..100 {
        if is_known(gateway, token).await == known {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_the_file_are_accepted_once_a_person_agrees() {
    let directory = tempfile::tempdir().expect("a directory");
    let both = r#"{"human-token-123": {"role": "human"}, "agent-token-abc": {"role": "agent", "agent_id": "agent-1"}}"#;
    write(directory.path(), both);
    let config = "[server]\ntoken_file = \"tokens.json\"\n[mcp]\nauto_reload = \"ask\"\n";
    let gateway = TestGateway::launch_in(directory, &octroi(), config, &[]).await;
    assert!(is_known(&gateway, "human-token-123").await && is_known(&gateway, "agent-token-abc").await);
    let listed = stdout(&gateway, &["user", "list", "--token", "human-token-123"]).await;
    assert!(listed.contains("admin"), "a person is the administrator: {listed}");
    let refused = failure(&gateway, &["user", "list", "--token", "agent-token-abc"]).await;
    assert!(refused.contains("agent"), "{refused}");
    let kept = fs::read_to_string(gateway.directory().join("data/accepted-config.json")).expect("it is kept");
    assert!(!kept.contains("token-123") && kept.contains("sha256:"), "{kept}");

    // What is gone is refused at once; what is new waits for a person.
    write(
        gateway.directory(),
        r#"{"human-token-123": {"role": "human"}, "new-one": {"role": "agent", "agent_id": "agent-2"}}"#,
    );
    assert!(becomes(&gateway, "agent-token-abc", false).await, "removed");
    assert!(!is_known(&gateway, "new-one").await);
    stdout(&gateway, &["reload", "--yes"]).await;
    assert!(becomes(&gateway, "new-one", true).await, "agreed to");
    // A file that cannot be read changes nothing.
    write(gateway.directory(), "{");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(is_known(&gateway, "new-one").await);
    gateway.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_others_can_write_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path(), r#"{"agents": {"coder": "a-token"}}"#);
    let file = directory.path().join("tokens.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("it is there");
    fs::write(directory.path().join("octroi.toml"), "[server]\ntoken_file = \"tokens.json\"\n")
        .expect("a file");
    let output = tokio::process::Command::new(octroi())
        .args(["up", "--listen", "127.0.0.1:0", "--config"])
        .arg(directory.path().join("octroi.toml"))
        .arg("--data")
        .arg(directory.path().join("data"))
        .output()
        .await
        .expect("octroi runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && text.contains("others can write") && text.contains("tokens.json"),
        "{text}"
    );
}
