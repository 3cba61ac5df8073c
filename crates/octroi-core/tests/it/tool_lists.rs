//! How well tools are told apart: the real tool lists of public servers, each tool judged by reading its description and
//! schema.
//!
//! The lists were collected by installing the servers from npm and `PyPI`. Kept are names, hints, arguments and the verbs by
//! which a description says what the tool does (`leading_verbs`), put into a sentence that has the same ones. The words in
//! `octroi_core::tool` were first chosen by looking at one half of the servers; the rules were later adjusted on both. The
//! part `fresh` was collected and judged after that, and nothing was adjusted to it: whoever adjusts rules leaves it alone, or
//! collects another one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use octroi_core::agent::Profile;
use octroi_core::decision::Otherwise;
use octroi_core::tool::arguments::ToolArgument;
use octroi_core::tool::infer::{ToolFacts, infer};
use octroi_core::tool::{Annotations, Source, ToolDescriptor};
use octroi_core::trust::Trust;
use octroi_core::{CanonicalId, ServerKey};
use serde_json::Value;

const LISTS: &str = include_str!("../fixtures/tool_lists.jsonl");

/// What became of the tools of one part.
#[derive(Default)]
struct Score {
    n_servers: usize,
    n_reading: usize,
    n_reading_allowed: usize,
    n_writing: usize,
    /// Tools that write and are allowed, as `package: tool`.
    wrongly_allowed: Vec<String>,
    /// Tools that read and need approval.
    needlessly_asked: Vec<String>,
}

fn argument((name, values): (&String, &Value)) -> ToolArgument {
    let values =
        values.as_array().into_iter().flatten().filter_map(|value| value.as_str().map(str::to_owned));
    ToolArgument { name: name.clone(), values: values.collect() }
}

/// A tool as the gates see it, of a server with the default trust.
pub(crate) fn descriptor(
    name: &str,
    description: &str,
    arguments: &[ToolArgument],
    annotations: Annotations,
) -> ToolDescriptor {
    let facts = ToolFacts { server: "s", name, description, arguments, annotations, trust: Trust::Medium };
    let (risk, side_effects) = infer(facts, &[]);
    let key = ServerKey::parse("s").expect("a name");
    ToolDescriptor {
        id: CanonicalId::mcp(&key, name),
        source: Source::Mcp,
        source_id: "s".into(),
        name: name.into(),
        risk,
        side_effects,
        requires_admin: false,
        enabled: true,
        off_because: None,
        trust: Trust::Medium,
        timeout: std::time::Duration::from_secs(30),
        version: None,
        definition_hash: [0; 32],
    }
}

/// Whether a call needs nobody's approval under `guarded`.
pub(crate) fn is_allowed(tool: &ToolDescriptor) -> bool {
    Profile::Guarded.otherwise(tool) == Otherwise::Allow
}

fn is_listed_tool_allowed(tool: &Value) -> bool {
    let hint = |name: &str| tool[name].as_bool();
    let arguments: Vec<ToolArgument> =
        tool["arguments"].as_object().into_iter().flatten().map(argument).collect();
    let annotations = Annotations {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        open_world: hint("openWorldHint"),
    };
    let name = tool["name"].as_str().expect("a name");
    is_allowed(&descriptor(name, tool["lead"].as_str().unwrap_or_default(), &arguments, annotations))
}

fn scores() -> BTreeMap<String, Score> {
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for line in LISTS.lines() {
        let server: Value = serde_json::from_str(line).expect("a server");
        let package = server["package"].as_str().expect("a package");
        let half = server["half"].as_str().expect("a half");
        // Judged before the words are adjusted to the other parts, and measured after that.
        if matches!(half, "holdout" | "learned") {
            continue;
        }
        let score = scores.entry(half.to_owned()).or_default();
        score.n_servers += 1;
        for tool in server["tools"].as_array().expect("tools") {
            let is_allowed = is_listed_tool_allowed(tool);
            let name = format!("{package}: {} ({})", tool["name"], tool["lead"]);
            match (tool["reads"].as_bool().expect("a judgement"), is_allowed) {
                (true, true) => score.n_reading_allowed += 1,
                (true, false) => score.needlessly_asked.push(name),
                (false, true) => score.wrongly_allowed.push(name),
                (false, false) => {}
            }
            match tool["reads"].as_bool() {
                Some(true) => score.n_reading += 1,
                _ => score.n_writing += 1,
            }
        }
    }
    scores
}

#[test]
fn what_writes_needs_approval_and_most_of_what_reads_does_not() {
    let scores = scores();
    let mut table = String::new();
    for (half, score) in &scores {
        let percent = 100 * score.n_reading_allowed / score.n_reading;
        let _ = writeln!(
            table,
            "{half}: {} servers, {} of {} reading tools allowed ({percent} %), {} of {} writing tools allowed",
            score.n_servers,
            score.n_reading_allowed,
            score.n_reading,
            score.wrongly_allowed.len(),
            score.n_writing,
        );
        // What nobody looked at is what it is.
        let is_fresh = half == "fresh";
        assert!(is_fresh || percent >= 85, "{table}{}", score.needlessly_asked.join("\n"));
        assert!(is_fresh || score.wrongly_allowed.is_empty(), "{:#?}", score.wrongly_allowed);
    }
    for missed in &scores["fresh"].wrongly_allowed {
        let _ = writeln!(table, "allowed although it writes: {missed}");
    }
    expect_test::expect![[r#"
        check: 98 servers, 1086 of 1276 reading tools allowed (85 %), 0 of 1174 writing tools allowed
        fresh: 33 servers, 188 of 235 reading tools allowed (80 %), 1 of 147 writing tools allowed
        tune: 88 servers, 795 of 934 reading tools allowed (85 %), 0 of 978 writing tools allowed
        allowed although it writes: @niledatabase/nile-mcp-server: "get-connection-string" ("gets")
    "#]]
    .assert_eq(&table);
}
