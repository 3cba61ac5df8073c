//! Mentions of tools that belong to other servers.

use std::collections::{BTreeSet, HashMap};

use super::wording::Normal;
use super::{FindingKind, FoundInText, Severity};

/// The tools of all servers, by name. Built once for all definitions.
#[derive(Clone, Debug, Default)]
pub struct KnownTools {
    by_name: HashMap<String, NamedTool>,
}

#[derive(Clone, Debug, Default)]
struct NamedTool {
    servers: BTreeSet<String>,
    /// Whether the name is more specific than a common word.
    is_distinctive: bool,
}

impl KnownTools {
    /// Built from pairs of server and tool.
    pub fn new<'a>(names: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut by_name: HashMap<String, NamedTool> = HashMap::new();
        for (server, tool) in names {
            let known = by_name.entry(tool.to_lowercase()).or_default();
            known.servers.insert(server.to_owned());
            known.is_distinctive |= is_distinctive(tool);
        }
        Self { by_name }
    }

    /// The first mention of a tool that the given server does not have.
    pub(super) fn mentions(&self, normal: &Normal, server: &str) -> Option<FoundInText> {
        let text = normal.text.as_str();
        tokens(text).into_iter().find_map(|(at, token)| {
            let known = self.by_name.get(token)?;
            let is_named = known.is_distinctive || is_marked(text, at, token);
            if known.servers.contains(server) || !is_named {
                return None;
            }
            Some(FoundInText::at(FindingKind::ForeignTool, Severity::Warning, normal.origin(at)))
        })
    }
}

fn is_distinctive(tool: &str) -> bool {
    let has_mark = tool
        .contains(|character: char| matches!(character, '_' | '-' | '.' | '/') || character.is_ascii_digit());
    let has_hump = tool.chars().skip(1).any(char::is_uppercase) && tool.chars().any(char::is_lowercase);
    has_mark || has_hump
}

/// Runs of name characters, whole and split at every dot and slash.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let is_joint = |character: char| matches!(character, '.' | '/' | ':');
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    let mut tokens = Vec::new();
    let mut at = 0;
    for run in text.split_inclusive(|character: char| !is_part(character) && !is_joint(character)) {
        let run_start = at;
        at += run.len();
        let whole = run.trim_matches(|character: char| !is_part(character));
        let offset = run.find(whole).unwrap_or(0);
        let parts = whole.split(is_joint);
        let mut part_start = run_start + offset;
        if whole.contains(is_joint) {
            tokens.push((part_start, whole));
        }
        for part in parts {
            tokens.push((part_start, part));
            // Every separator is one byte.
            part_start += part.len() + 1;
        }
    }
    tokens
}

/// Whether a common word is used as a name: it is in quotes, after a dot, or before `()` or `tool`.
fn is_marked(text: &str, at: usize, token: &str) -> bool {
    let before = text[..at].chars().next_back();
    let after = &text[at + token.len()..];
    let is_quote = |character: char| matches!(character, '`' | '"' | '\'');
    let is_quoted = before.is_some_and(is_quote) && after.starts_with(is_quote);
    is_quoted || before == Some('.') || after.starts_with("()") || after.starts_with(" tool")
}
