//! What a policy may be at most, and what testing arguments may cost.

use std::fmt::Write as _;

use serde_json::json;

use super::super::*;
use super::{facts, tool};
use crate::agent::AgentContext;

#[test]
fn arguments_that_take_too_many_tests_are_denied() {
    let mut source = String::new();
    for index in 0..2_000 {
        let _ = writeln!(source, "[[deny]]\ntool = \"*\"\nargs = {{ paths = \"*/x{index}/*\" }}");
    }
    let policy = Policy { document: Document::parse(&source).unwrap(), program: None, version: 0 };
    let judge = |n_paths: usize| {
        let arguments = json!({"paths": vec!["../a/b"; n_paths]});
        let (tool, context, find) = (tool("fs", "read"), AgentContext::default(), || facts(&arguments));
        policy.judge(&Call::imagined(Some("a"), &context, &tool, &arguments, &find, 0))
    };
    assert_eq!(judge(10), Ok(None));
    assert!(judge(20_000).is_err_and(|reason| reason.contains("too many steps")));
}

#[test]
fn policies_beyond_their_limits_are_refused() {
    for (source, reason) in [
        ("[[deny]]\ntool = \"*\"\n".repeat(4_000), "more than 3000 entries in `deny`"),
        (format!("# {}", "a".repeat(2_000_000)), "longer than 1048576 bytes"),
    ] {
        let complaints = Document::parse(&source).map(drop).expect_err("refused");
        assert!(complaints.iter().any(|complaint| complaint.message.contains(reason)), "{complaints:?}");
    }
    let unknown = (0..2_000).map(|index| format!("unknown{index} = 1")).collect::<Vec<_>>().join("\n");
    let complaints = Document::parse(&unknown).map(drop).expect_err("refused");
    assert_eq!(complaints.len(), 2_000, "all are named, few with a suggestion");
}
