//! A lint of what a model would read in a definition.
//!
//! It is deterministic and knows no language: tables of characters, phrases and paths. It finds what is hidden
//! and what is crude; a person still reads the rest. Every string counts, names of members included, since a
//! model is given all of them.

mod hidden;
mod names;
#[cfg(test)]
mod tests;
mod wording;

use super::characters::shown_in_line;
use super::difference::JsonPath;
use crate::json::{Doubles, Node};
use wording::Normal;

pub use names::KnownTools;

/// More would not be read. The gravest are kept.
const FINDINGS_MAX: usize = 256;
const EXCERPT_BEFORE: usize = 20;
const EXCERPT_LENGTH: usize = 80;

/// One suspicious thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// How bad it is.
    pub severity: Severity,
    /// Where it stands, as in a [`Change`](super::Change).
    pub path: String,
    /// The text around it, hidden characters made visible.
    pub excerpt: String,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// It is not JSON that every reader understands alike.
    Unreadable,
    /// Characters that are never drawn and may spell words.
    HiddenText,
    /// Characters without width.
    ZeroWidth,
    /// Characters that change the order in which text is shown.
    Bidi,
    /// Variation selectors where they select nothing.
    VariationSelector,
    /// Commands to a terminal.
    AnsiEscape,
    /// Other control characters.
    ControlCharacter,
    /// Letters of other scripts that look like Latin ones.
    Confusable,
    /// Empty space that moves what follows out of sight.
    Padding,
    /// A long run of encoded data.
    Blob,
    /// Words addressed to the model rather than about the tool.
    Instruction,
    /// Prose where a schema should hold values.
    SchemaText,
    /// The name of another server's tool.
    ForeignTool,
    /// A file that holds secrets.
    SensitivePath,
}

impl FindingKind {
    /// The word in machine-readable output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::HiddenText => "hidden_text",
            Self::ZeroWidth => "zero_width",
            Self::Bidi => "bidi",
            Self::VariationSelector => "variation_selector",
            Self::AnsiEscape => "ansi_escape",
            Self::ControlCharacter => "control_character",
            Self::Confusable => "confusable",
            Self::Padding => "padding",
            Self::Blob => "blob",
            Self::Instruction => "instruction",
            Self::SchemaText => "schema_text",
            Self::ForeignTool => "foreign_tool",
            Self::SensitivePath => "sensitive_path",
        }
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Honest definitions have it too.
    Note,
    /// A person should look.
    Warning,
    /// Honest definitions hardly ever have it.
    Danger,
}

impl Severity {
    /// The word in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Danger => "danger",
        }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, severity, path, excerpt } = self;
        write!(formatter, "{}: {} at {path}: {excerpt}", severity.as_str(), kind.as_str())
    }
}

/// What must be known beside the definition.
#[derive(Clone, Copy, Debug)]
pub struct LintContext<'a> {
    /// The server that it comes from.
    pub server: &'a str,
    /// All tools of all servers.
    pub tools: &'a KnownTools,
}

/// What is suspicious about a definition, the gravest first.
pub fn findings(definition: &[u8], context: &LintContext<'_>) -> Vec<Finding> {
    let mut lint = Lint { context, findings: Vec::new() };
    match Node::parse(definition, Doubles::Refused) {
        Ok(node) => lint.node(&JsonPath::default(), &node, Spot::Root),
        Err(error) => lint.findings.push(Finding {
            kind: FindingKind::Unreadable,
            severity: Severity::Danger,
            path: String::new(),
            excerpt: shown_in_line(&error.to_string()),
        }),
    }
    // A stable sort: within a severity they stay in the order of the text.
    lint.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    lint.findings.truncate(FINDINGS_MAX);
    lint.findings
}

/// What a string is for, which says how much it may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    Root,
    /// By this people and models tell things apart.
    Name,
    /// Anything else outside of schemas.
    Plain,
    /// Pictures are long runs of encoded data by nature.
    Icons,
    Schema,
    /// Named schemas, as below `properties`.
    Schemas,
    /// Values in a schema: defaults, examples, what may be chosen.
    Value,
    /// The name of a member.
    Key,
}

impl Spot {
    fn below(self, name: &str) -> Self {
        match (self, name) {
            (Self::Root, "inputSchema" | "outputSchema") => Self::Schema,
            (Self::Root, "name") => Self::Name,
            (Self::Root | Self::Plain, "icons") => Self::Icons,
            (Self::Root | Self::Plain, _) => Self::Plain,
            (
                Self::Schema,
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            ) => Self::Schemas,
            (Self::Schema, "default" | "enum" | "const" | "examples" | "example") => Self::Value,
            (Self::Schema | Self::Schemas, _) => Self::Schema,
            (other @ (Self::Icons | Self::Value | Self::Name | Self::Key), _) => other,
        }
    }
}

struct Lint<'a> {
    context: &'a LintContext<'a>,
    findings: Vec<Finding>,
}

impl Lint<'_> {
    fn node(&mut self, place: &JsonPath, node: &Node, spot: Spot) {
        match node {
            Node::Null | Node::Bool(_) | Node::Number(_) => {}
            Node::Text(text) => self.text(place, text, spot),
            Node::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.node(&place.item(index), item, if spot == Spot::Root { Spot::Plain } else { spot });
                }
            }
            Node::Map(members) => {
                for (name, value) in members {
                    let place = place.member(name);
                    self.text(&place, name, Spot::Key);
                    self.node(&place, value, spot.below(name));
                }
            }
        }
    }

    fn text(&mut self, place: &JsonPath, text: &str, spot: Spot) {
        let is_name = matches!(spot, Spot::Name | Spot::Key);
        let mut found = hidden::characters(text);
        found.extend(hidden::confusables(text, is_name));
        found.extend(hidden::padding(text));
        if spot != Spot::Icons {
            found.extend(hidden::blob(text));
        }
        let normal = Normal::of(text);
        let instructions = wording::instructions(&normal, is_name);
        let is_commanding = instructions.iter().any(|found| found.severity >= Severity::Warning);
        let is_smuggled = matches!(spot, Spot::Value | Spot::Key);
        found.extend(instructions.into_iter().map(|found| {
            // Nobody shows defaults and names to a person, and there is no honest reason to command in them.
            let severity = if is_smuggled && is_commanding { Severity::Danger } else { found.severity };
            FoundInText { severity, ..found }
        }));
        if spot == Spot::Value {
            found.extend(wording::prose(text));
        }
        let others = wording::sensitive_paths(&normal).into_iter();
        let others = others.chain(self.context.tools.mentions(&normal, self.context.server));
        found.extend(others.map(|found| {
            let severity = if is_commanding { Severity::Danger } else { found.severity };
            FoundInText { severity, ..found }
        }));
        for FoundInText { kind, severity, at, note } in found {
            let excerpt = note.unwrap_or_else(|| excerpt(text, at));
            self.findings.push(Finding { kind, severity, path: place.clone().into_text(), excerpt });
        }
    }
}

/// A finding within one string.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FoundInText {
    kind: FindingKind,
    severity: Severity,
    /// The byte where it begins.
    at: usize,
    /// What to show in place of the text around it.
    note: Option<String>,
}

impl FoundInText {
    const fn at(kind: FindingKind, severity: Severity, at: usize) -> Self {
        Self { kind, severity, at, note: None }
    }
}

fn excerpt(text: &str, at: usize) -> String {
    let start = text[..at].char_indices().rev().take(EXCERPT_BEFORE).last().map_or(at, |(start, _)| start);
    let end =
        text[start..].char_indices().nth(EXCERPT_LENGTH).map_or(text.len(), |(length, _)| start + length);
    let (before, after) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    format!("{before}{}{after}", shown_in_line(&text[start..end]))
}
