//! What is written to files has no colours.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{SOON, octroi};

#[test]
fn a_log_in_a_file_has_no_colours() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("log");
    let log = std::fs::File::create(&file).expect("a file");
    let mut gateway = Command::new(octroi())
        .args(["up", "-v", "--demo", "--listen", "127.0.0.1:0", "--data"])
        .arg(directory.path().join("data"))
        .current_dir(directory.path())
        .env_remove("NO_COLOR")
        .env("RUST_LOG", "debug")
        .env("TERM", "xterm-256color")
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("the file"))
        .stderr(log)
        .spawn()
        .expect("it can be started");
    let begun = Instant::now();
    let mut text = String::new();
    while !text.contains("connected") && begun.elapsed() < SOON {
        std::thread::sleep(Duration::from_millis(100));
        text = String::from_utf8_lossy(&std::fs::read(&file).expect("the file")).into_owned();
    }
    let _ = gateway.kill();
    let _ = gateway.wait();
    assert!(text.contains("connected"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}
