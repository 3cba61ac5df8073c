//! The file formats of a configuration, each parsed into the same tree.

use std::path::Path;
use std::sync::Arc;

use super::node::{Map, Member, Node, Origin};

mod jsonc;
mod toml;
mod yaml;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML, the native format.
    Toml,
    /// YAML.
    Yaml,
    /// JSON with comments and trailing commas, which many `.json` files contain.
    Jsonc,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Toml, Self::Yaml, Self::Jsonc];

    /// Detects the format by file extension; TOML if unknown.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("yaml" | "yml") => Self::Yaml,
            Some("json" | "jsonc") => Self::Jsonc,
            _ => Self::Toml,
        }
    }

    /// The name of the format, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Toml => "TOML",
            Self::Yaml => "YAML",
            Self::Jsonc => "JSON",
        }
    }
}

/// A syntax error in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// The error message.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The line as an excerpt, if it may be shown.
    pub excerpt: String,
}

/// Parses a text.
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

/// The text being parsed.
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
        self.line(self.line_of(offset))
    }

    /// The line of a byte offset.
    fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset).max(1)
    }

    /// Line and column of a byte offset.
    fn position(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_of(offset);
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
/// A line with one of these words may contain a secret, and errors end up in logs.
const SECRETIVE: [&str; 7] = ["token", "secret", "key", "password", "authorization", "bearer", "sha256"];

fn excerpt(text: &str, line: usize, column: usize) -> String {
    let lower = text.to_ascii_lowercase();
    let visible = match text.find(['=', ':']) {
        Some(end) if SECRETIVE.iter().any(|word| lower.contains(word)) => format!("{} ***", &text[..=end]),
        _ => text.chars().take(EXCERPT_MAX).collect(),
    };
    let number = line.to_string();
    let mark = " ".repeat(column.saturating_sub(1).min(visible.chars().count()));
    format!("{number} | {visible}\n{} | {mark}^", " ".repeat(number.len()))
}
