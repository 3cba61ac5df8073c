//! The example gates in the documentation work as described.

use std::path::Path;
use std::sync::Arc;

use octroi_core::decision::Outcome;
use octroi_upstream::GateProgram;

use crate::bench::{Bench, LONG, program};

const PAGE: &str = include_str!("../../../../docs/gates.md");

/// The only code block of this language.
fn block(language: &str) -> String {
    let fence = format!("```{language}\n");
    let mut blocks = PAGE.split(&fence).skip(1);
    let block = blocks.next().unwrap().split("```").next().unwrap();
    assert!(blocks.next().is_none(), "more than one block of {language}");
    block.to_owned()
}

async fn ask(gate: &Arc<GateProgram>, name: &str, arguments: &str) -> (Outcome, Option<String>) {
    // The question from the page, with the tool and its arguments replaced.
    let example = block("json");
    let question = example.lines().next().unwrap();
    let question = question.replacen(r#""id": 7, "#, "", 1);
    let question = question.replacen(r#""name": "write_file""#, &format!(r#""name": "{name}""#), 1);
    let question = question.replacen(r#"{"path": "notes.md", "content": "…"}"#, arguments, 1);
    assert!(question.contains(&format!(r#""name": "{name}""#)) && question.contains(arguments), "{question}");
    let answer = gate.ask(&question).await.unwrap();
    (answer.outcome, answer.reason)
}

fn write(directory: &Path, name: &str, text: &str) -> String {
    let file = directory.join(name);
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_gate_in_python() {
    let bench = Bench::new();
    let directory = tempfile::tempdir().unwrap();
    let file = write(directory.path(), "paths.py", &block("python"));
    let gate = bench.gate(program(&["python3", &file]), LONG);
    let inside = r#"{"path": "notes.md"}"#;
    assert_eq!(ask(&gate, "write_file", inside).await, (Outcome::Pass, None));
    let outside = r#"{"path": "/etc/passwd"}"#;
    let reason = Some("/etc/passwd is outside the project".to_owned());
    assert_eq!(ask(&gate, "write_file", outside).await, (Outcome::Deny, reason));
    let hidden = r#"{"path": "src/.env"}"#;
    let reason = Some("src/.env is a hidden file".to_owned());
    assert_eq!(ask(&gate, "write_file", hidden).await, (Outcome::Ask, reason));
    // Unexpected arguments are denied too.
    let reason = Some("the gate failed: KeyError('path')".to_owned());
    assert_eq!(ask(&gate, "write_file", "{}").await, (Outcome::Deny, reason));
    gate.close().await;
}

#[tokio::test]
async fn the_gate_in_shell() {
    let bench = Bench::new();
    let directory = tempfile::tempdir().unwrap();
    let file = write(directory.path(), "freeze.sh", &block("sh"));
    let frozen = directory.path().join("frozen");
    let gate = bench.gate(program(&["sh", &file, frozen.to_str().unwrap()]), LONG);
    assert_eq!(ask(&gate, "write_file", "{}").await, (Outcome::Pass, None));
    std::fs::write(&frozen, "").unwrap();
    let reason = Some("changes are frozen".to_owned());
    assert_eq!(ask(&gate, "write_file", "{}").await, (Outcome::Deny, reason));
    std::fs::remove_file(&frozen).unwrap();
    assert_eq!(ask(&gate, "write_file", "{}").await, (Outcome::Pass, None));
    gate.close().await;
}
