//! The formats a configuration can be written in, each read by a real parser into the same tree.

use std::path::Path;
use std::sync::Arc;

use super::node::{Map, Member, Node, Origin};

mod jsonc;
mod toml;
mod yaml;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML, the native one.
    Toml,
    /// YAML.
    Yaml,
    /// JSON, with comments and trailing commas: what calls itself `.json` often has them.
    Jsonc,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Toml, Self::Yaml, Self::Jsonc];

    /// Tells the format by the end of the file's name; a name that tells nothing is TOML.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => Self::Yaml,
            Some("json" | "jsonc") => Self::Jsonc,
            _ => Self::Toml,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
            Self::Jsonc => "JSON",
        }
    }
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// In which line, from 1.
    pub line: usize,
    /// At which letter of the line, from 1.
    pub column: usize,
    /// The line, if it can be shown.
    pub excerpt: String,
}

/// Reads a text.
pub fn parse(format: Format, text: &str, path: &Arc<Path>) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let newlines = text.match_indices('\n').map(|(offset, _)| offset + 1);
    let file = File { text, path, line_starts: std::iter::once(0).chain(newlines).collect() };
    match format {
        Format::Toml => toml::parse(&file),
        Format::Yaml => yaml::parse(&file),
        Format::Jsonc => jsonc::parse(&file),
    }
}

/// A text being read.
struct File<'a> {
    text: &'a str,
    path: &'a Arc<Path>,
    line_starts: Vec<usize>,
}

impl File<'_> {
    fn line(&self, line: usize) -> Origin {
        Origin::File { path: Arc::clone(self.path), line }
    }

    fn offset(&self, offset: usize) -> Origin {
        self.line(self.position(offset).0)
    }

    /// Line and column of a byte.
    fn position(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        (line, self.text[self.line_starts[line - 1]..offset].chars().count() + 1)
    }

    fn error_at(&self, offset: usize, message: impl Into<String>) -> SyntaxError {
        let (line, column) = self.position(offset);
        self.error(line, column, message)
    }

    fn error(&self, line: usize, column: usize, message: impl Into<String>) -> SyntaxError {
        let text = self.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        SyntaxError { message: message.into(), line, column, excerpt: excerpt(text, line, column) }
    }

    fn insert(&self, map: &mut Map, key: String, line: usize, node: Node) -> Result<(), SyntaxError> {
        let message = format!("`{key}` is written twice");
        if map.insert(Member { key, origin: self.line(line), node }) {
            return Ok(());
        }
        Err(self.error(line, 1, message))
    }
}

const EXCERPT_MAX: usize = 120;
/// A line with one of these words may hold a secret, and errors end up in logs.
const SECRETIVE: [&str; 7] = ["token", "secret", "key", "password", "authorization", "bearer", "sha256"];

fn excerpt(text: &str, line: usize, column: usize) -> String {
    let lower = text.to_ascii_lowercase();
    let shown = match text.find(['=', ':']) {
        Some(end) if SECRETIVE.iter().any(|word| lower.contains(word)) => format!("{} ***", &text[..=end]),
        _ => text.chars().take(EXCERPT_MAX).collect(),
    };
    let number = line.to_string();
    let mark = " ".repeat(column.saturating_sub(1).min(shown.chars().count()));
    format!("{number} | {shown}\n{} | {mark}^", " ".repeat(number.len()))
}
