//! A lint for what a model would read in a definition.
//!
//! It is deterministic and language-independent: tables of characters, phrases and paths. It finds hidden and
//! crude attacks; a person still reads the rest. Every string counts, including member names, since a model
//! gets all of them.

mod hidden;
mod names;
#[cfg(test)]
mod tests;
mod wording;

use super::characters::escaped_in_line;
use super::difference::JsonPath;
use crate::json::{Doubles, Node};
use wording::Normal;

pub use names::KnownTools;

/// The limit of findings. The most severe are kept.
const FINDINGS_MAX: usize = 256;
const EXCERPT_BEFORE: usize = 20;
const EXCERPT_LENGTH: usize = 80;

/// One suspicious detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// Its severity.
    pub severity: Severity,
    /// Its path, as in a [`DefinitionChange`](super::DefinitionChange).
    pub path: String,
    /// The surrounding text, with hidden characters escaped.
    pub excerpt: String,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// It is not JSON that all parsers read the same way.
    Unreadable,
    /// Characters that are never displayed and may spell words.
    HiddenText,
    /// Characters without width.
    ZeroWidth,
    /// Characters that change the display order of text.
    Bidi,
    /// Variation selectors where they select nothing.
    VariationSelector,
    /// Terminal escape sequences.
    AnsiEscape,
    /// Other control characters.
    ControlCharacter,
    /// Letters of other scripts that look like Latin ones.
    Confusable,
    /// White space that moves the following text out of sight.
    Padding,
    /// A long run of encoded data.
    Blob,
    /// Text addressed to the model rather than about the tool.
    Instruction,
    /// Prose where a schema should hold values.
    SchemaText,
    /// The name of another server's tool.
    ForeignTool,
    /// The path of a file that holds secrets.
    SensitivePath,
}

impl FindingKind {
    /// Its name in machine-readable output.
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

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Harmless definitions have it too.
    Note,
    /// A person should review it.
    Warning,
    /// Harmless definitions almost never have it.
    Danger,
}

impl Severity {
    /// Its name in output.
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

/// What the lint needs besides the definition.
#[derive(Clone, Copy, Debug)]
pub struct LintContext<'a> {
    /// The server of the definition.
    pub server: &'a str,
    /// All tools of all servers.
    pub tools: &'a KnownTools,
}

/// All findings in a definition, most severe first.
pub fn findings(definition: &[u8], context: &LintContext<'_>) -> Vec<Finding> {
    let mut lint = Lint { context, gravest: Gravest::default() };
    match Node::parse(definition, Doubles::Refused) {
        Ok(node) => lint.node(&JsonPath::default(), &node, Spot::Root),
        Err(error) => lint.gravest.push(Finding {
            kind: FindingKind::Unreadable,
            severity: Severity::Danger,
            path: String::new(),
            excerpt: escaped_in_line(&error.to_string()),
        }),
    }
    lint.gravest.into_list()
}

/// The gravest findings so far, and no others: a definition of some megabytes can have hundreds of thousands.
#[derive(Debug, Default)]
struct Gravest {
    /// By severity, each in the order of the text.
    by_severity: [Vec<Finding>; 3],
}

impl Gravest {
    /// Whether a finding of this severity would be kept now.
    fn has_room_for(&self, severity: Severity) -> bool {
        let as_grave = &self.by_severity[severity as usize..];
        as_grave.iter().map(Vec::len).sum::<usize>() < FINDINGS_MAX
    }

    fn push(&mut self, finding: Finding) {
        if self.has_room_for(finding.severity) {
            self.by_severity[finding.severity as usize].push(finding);
        }
    }

    /// The most severe first; within a severity in the order of the text.
    fn into_list(self) -> Vec<Finding> {
        let mut all: Vec<Finding> = self.by_severity.into_iter().rev().flatten().collect();
        all.truncate(FINDINGS_MAX);
        all
    }
}

/// The purpose of a string, which determines what it may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spot {
    Root,
    /// An identifier for people and models.
    Name,
    /// Any other text outside of schemas.
    Plain,
    /// Images are long runs of encoded data by nature.
    Icons,
    Schema,
    /// Named schemas, as below `properties`.
    Schemas,
    /// Values in a schema: defaults, examples, enums.
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
    gravest: Gravest,
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
            // Defaults and names are not displayed to people, so there is no legitimate reason for
            // instructions in them.
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
            if self.gravest.has_room_for(severity) {
                let excerpt = note.unwrap_or_else(|| excerpt(text, at));
                self.gravest.push(Finding { kind, severity, path: place.clone().into_text(), excerpt });
            }
        }
    }
}

/// A finding within one string.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FoundInText {
    kind: FindingKind,
    severity: Severity,
    /// The byte offset of its start.
    at: usize,
    /// What to display instead of the surrounding text.
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
    format!("{before}{}{after}", escaped_in_line(&text[start..end]))
}
