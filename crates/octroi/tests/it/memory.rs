//! Persistence: what is known after a restart, and what happens when the store cannot be used.

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use octroi_testkit::peer_binary;
use serde_json::json;

use crate::harness::{connect, octroi};

/// A server that does not start while the file `gone` exists.
fn entry(directory: &std::path::Path, flag: &str) -> String {
    let script = directory.join("server.sh");
    let text =
        format!("test -e '{}/gone' && exit 1\nexec '{}'\n", directory.display(), peer_binary().display());
    std::fs::write(&script, text).expect("the script can be written");
    let command = json!(["sh", script.display().to_string()]);
    format!("[[mcp.servers]]\nname = \"peer\"\ncommand = {command}\n{flag}\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_survive_a_restart_without_any_server() {
    let place = tempfile::tempdir().expect("a temporary directory");
    for start in ["eager", "lazy", "manual"] {
        let _ = std::fs::remove_file(place.path().join("gone"));
        let config = entry(place.path(), &format!("start = \"{start}\""));
        let first = TestGateway::start(&octroi(), &entry(place.path(), "")).await;
        let client = connect(&first, Era::Modern, ClientOptions::default()).await;
        let before = client.list_tools().await.expect("a list");
        assert!(!before.is_empty());
        let resources = client.list("resources/list", "resources").await.expect("a list");
        drop(client);
        let (directory, _) = first.stop_and_keep().await;

        std::fs::write(place.path().join("gone"), "").expect("the mark can be set");
        let second = TestGateway::launch_in(directory, &octroi(), &config, &[]).await;
        for era in [Era::Modern, Era::Legacy("2025-06-18")] {
            let client = connect(&second, era, ClientOptions::default()).await;
            let names = |tools: &[serde_json::Value]| -> Vec<String> {
                tools.iter().map(|tool| tool["name"].to_string()).collect()
            };
            assert_eq!(names(&client.list_tools().await.expect("a list")), names(&before), "{start}");
            let again = client.list("resources/list", "resources").await.expect("a list");
            assert_eq!(again.len(), resources.len(), "{start}");
            let answered = client.call_text("peer_echo", json!({"text": "x"})).await.expect("a result");
            assert!(answered.contains("server `peer` is not available"), "{start}: {answered}");
        }
        second.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_directory_belongs_to_one_gateway() {
    let first = TestGateway::launch(&octroi(), "", &[]).await;
    let data = first.directory().join("data");
    let second = tokio::process::Command::new(octroi())
        .args(["up", "--listen", "127.0.0.1:0", "--data"])
        .arg(&data)
        .env("NO_COLOR", "1")
        .output()
        .await
        .expect("it can be started");
    let stderr = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("another Octroi"), "{stderr}");
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unusable_data_directory_is_reported_and_left_unchanged() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let data = place.path().join("data");
    let up = async |data: &std::path::Path| {
        let mut command = tokio::process::Command::new(octroi());
        command.args(["up", "--listen", "127.0.0.1:0", "--data"]).arg(data).env("NO_COLOR", "1");
        let output = command.output().await.expect("it can be started");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    // A file that is not a database.
    std::fs::create_dir(&data).expect("a directory");
    std::fs::write(data.join("octroi.db"), "not a database, but somebody's only copy ".repeat(500))
        .expect("a file");
    let before = std::fs::read(data.join("octroi.db")).expect("the file");
    let (code, stderr) = up(&data).await;
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("octroi.db") && stderr.contains("hint:"), "{stderr}");
    assert_eq!(std::fs::read(data.join("octroi.db")).expect("the file"), before, "nothing was changed");
    // A file instead of the directory, and a directory that cannot be written.
    for place in [data.join("octroi.db"), "/proc/octroi".into()] {
        let (code, stderr) = up(&place).await;
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("error:") && stderr.contains("hint:"), "{stderr}");
    }
}
