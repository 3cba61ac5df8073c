//! The guide to policies is correct: its policies pass their checks, and its commands print what it shows.

use std::fmt::Write as _;
use std::path::Path;

use octroi_testkit::client::options::{ClientOptions, Era};
use octroi_testkit::gateway::TestGateway;
use serde_json::json;

use crate::harness::{connect, octroi};
use crate::policy::sh;

const FILE: &str = "../../docs/policies.md";

/// A fenced block.
struct Block {
    language: String,
    text: String,
}

fn guide() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE)).expect("the guide")
}

fn blocks(guide: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut rest = guide;
    while let Some((_, after)) = rest.split_once("\n```") {
        let (language, after) = after.split_once('\n').expect("a block");
        let (text, after) = after.split_once("\n```\n").expect("an end");
        blocks.push(Block { language: language.to_owned(), text: format!("{text}\n") });
        rest = after;
    }
    blocks
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_policy_passes_its_own_checks() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut n_policies = 0;
    for Block { text, .. } in blocks(&guide()).iter().filter(|block| block.language == "toml") {
        let file = directory.path().join("block.toml");
        std::fs::write(&file, text).expect("written");
        let command = if text.contains("[policy]") {
            "octroi config check --config block.toml"
        } else {
            n_policies += 1;
            // No gateway uses this directory, so tools are judged by their names.
            "octroi policy test block.toml"
        };
        let (code, output) = sh(directory.path(), command).await;
        assert_eq!(code, Some(0), "{output}\n{text}");
        assert!(!output.contains("FAIL"), "{output}\n{text}");
    }
    assert_eq!(n_policies, 6);
}

/// With `UPDATE_EXPECT=1` the output of the commands is written to the guide.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_says_what_the_guide_shows() {
    let guide = guide();
    let config = "[policy]\nprofile = \"guarded\"\n";
    let gateway = TestGateway::launch(&octroi(), config, &["--demo"]).await;
    gateway.wait_until_settled().await;
    let agent = connect(&gateway, Era::Modern, ClientOptions::default()).await;
    for text in ["hello", "how are you"] {
        agent.call("demo_echo", json!({ "text": text })).await.expect("a result");
    }
    let mut fresh = guide.clone();
    for Block { language, text } in blocks(&guide) {
        if let Some(name) = text.strip_prefix("# ").and_then(|rest| rest.split('\n').next())
            && language == "toml"
        {
            std::fs::write(gateway.directory().join(name), &text).expect("written");
        }
        if language != "console" {
            continue;
        }
        let mut transcript = String::new();
        for command in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            let (_, output) = sh(gateway.directory(), command).await;
            let _ = writeln!(transcript, "$ {command}\n{output}");
        }
        fresh = fresh.replace(&format!("```console\n{text}```"), &format!("```console\n{transcript}```"));
    }
    gateway.stop().await;
    expect_test::expect_file!["../../../../docs/policies.md"].assert_eq(&fresh);
}
