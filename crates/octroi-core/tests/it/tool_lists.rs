//! How well tools are told apart: the real tool lists of public servers, each tool judged by reading its description and
//! schema.
//!
//! The lists were collected by installing the servers from npm and `PyPI`. Kept are names, hints, arguments and the verbs by
//! which a description says what the tool does (`leading_verbs`), put into a sentence that has the same ones. Words and rules
//! were adjusted to all parts but the last one, `untouched`: its tools were judged first, then measured, and nothing was
//! adjusted to them. Whoever adjusts words or rules to it makes it one of the others, and collects and judges another one.

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
const DOCUMENT: &str = include_str!("../../../../docs/policies.md");
/// The part that nothing was adjusted to.
const UNTOUCHED: &str = "untouched";

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
        let score = scores.entry(server["half"].as_str().expect("a half").to_owned()).or_default();
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

impl Score {
    fn percent(&self) -> usize {
        100 * self.n_reading_allowed / self.n_reading
    }

    fn add(&mut self, other: &Self) {
        self.n_servers += other.n_servers;
        self.n_reading += other.n_reading;
        self.n_reading_allowed += other.n_reading_allowed;
        self.n_writing += other.n_writing;
        self.wrongly_allowed.extend(other.wrongly_allowed.iter().cloned());
    }
}

/// The part that nothing was adjusted to, and all others together.
fn untouched_and_adjusted() -> (Score, Score) {
    let mut scores = scores();
    let untouched = scores.remove(UNTOUCHED).expect("a part that nothing was adjusted to");
    let mut adjusted = Score::default();
    for score in scores.values() {
        adjusted.add(score);
    }
    (untouched, adjusted)
}

#[test]
fn what_writes_needs_approval_and_most_of_what_reads_does_not() {
    let scores = scores();
    let mut table = String::new();
    for (half, score) in &scores {
        let _ = writeln!(
            table,
            "{half}: {} servers, {} of {} reading tools allowed ({} %), {} of {} writing tools allowed",
            score.n_servers,
            score.n_reading_allowed,
            score.n_reading,
            score.percent(),
            score.wrongly_allowed.len(),
            score.n_writing,
        );
        assert!(score.wrongly_allowed.is_empty(), "{half}: {:#?}", score.wrongly_allowed);
    }
    let (untouched, adjusted) = untouched_and_adjusted();
    assert!(untouched.n_servers >= 20, "{table}");
    assert!(untouched.percent() >= 85, "{table}{}", untouched.needlessly_asked.join("\n"));
    assert!(adjusted.percent() >= 85, "{table}");
    expect_test::expect![[r#"
        check: 98 servers, 1093 of 1276 reading tools allowed (85 %), 0 of 1174 writing tools allowed
        fresh: 33 servers, 196 of 235 reading tools allowed (83 %), 0 of 147 writing tools allowed
        holdout: 40 servers, 373 of 427 reading tools allowed (87 %), 0 of 362 writing tools allowed
        learned: 33 servers, 395 of 440 reading tools allowed (89 %), 0 of 269 writing tools allowed
        tune: 88 servers, 805 of 934 reading tools allowed (86 %), 0 of 978 writing tools allowed
        untouched: 24 servers, 213 of 241 reading tools allowed (88 %), 0 of 130 writing tools allowed
    "#]]
    .assert_eq(&table);
}

/// A number as the documents write it: `2,210`.
fn with_comma(number: usize) -> String {
    if number < 1000 { number.to_string() } else { format!("{},{:03}", number / 1000, number % 1000) }
}

#[test]
fn the_figures_of_the_document_are_the_measured_ones() {
    let (untouched, adjusted) = untouched_and_adjusted();
    let text = DOCUMENT.split_whitespace().collect::<Vec<_>>().join(" ");
    for (servers, score) in [
        (format!("the tool lists of {} public servers", untouched.n_servers), untouched),
        (format!("adjusted to {} other servers", adjusted.n_servers), adjusted),
    ] {
        let figures = format!(
            "{} % of {} reading tools are allowed, and none of {} writing ones",
            score.percent(),
            with_comma(score.n_reading),
            with_comma(score.n_writing),
        );
        assert!(text.contains(&servers) && text.contains(&figures), "{servers}: {figures}");
    }
}
