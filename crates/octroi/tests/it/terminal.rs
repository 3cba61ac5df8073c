//! A gateway that was started from a terminal ends with it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::harness::octroi;

/// What the endpoint file of a data directory says, once there is one.
async fn announced(data: &Path) -> String {
    for _ in 0..400 {
        if let Ok(text) = std::fs::read_to_string(data.join("endpoint")) {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the gateway did not start");
}

/// Whether the endpoint file is gone, as after an orderly stop.
async fn has_stopped(data: &Path, limit: Duration) -> bool {
    for _ in 0..limit.as_millis() / 50 {
        if !data.join("endpoint").exists() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    false
}

/// `script` is the terminal: what it runs has one as long as it lives.
#[tokio::test]
async fn a_gateway_stops_when_its_terminal_is_closed() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, file) = (directory.path().join("data"), directory.path().join("octroi.toml"));
    std::fs::write(&file, "").expect("it can be written");
    let command = format!(
        "exec '{}' up --config '{}' --data '{}' --listen 127.0.0.1:0",
        octroi().display(),
        file.display(),
        data.display()
    );
    let mut script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("`script` of util-linux is there");
    let text = announced(&data).await;
    let process = text.trim().lines().last().expect("the file names the process").to_owned();
    // A signal while the terminal is there asks for a reload.
    let sent = std::process::Command::new("kill").args(["-HUP", &process]).status();
    assert!(sent.is_ok_and(|status| status.success()));
    assert!(!has_stopped(&data, Duration::from_millis(500)).await, "SIGHUP alone does not stop it");
    script.start_kill().expect("it can be killed");
    assert!(has_stopped(&data, Duration::from_secs(20)).await, "it goes on without its terminal");
}
