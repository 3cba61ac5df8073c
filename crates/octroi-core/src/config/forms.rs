//! Typed values with their own syntax: names, paths, patterns, tags and web addresses.

use std::path::{Component, Path, PathBuf};

use serde_json::json;

use super::address::join;
use super::reader::TableReader;
use crate::glob::Glob;
use crate::policy::ToolPattern;
use crate::substitute::Filled;
use crate::suggest::did_you_mean;
use crate::syntax::Origin;
use crate::tool::KNOWN_TAGS;

const LONGEST_IDENTIFIER: usize = 64;
const TOOL_HINT: &str = "write `server.tool`, as in `github.delete_*`, or `*`";

impl TableReader<'_> {
    /// A name, without substitution.
    pub(super) fn identifier(&mut self, name: &'static str) -> Option<String> {
        let node = self.fields.get(name)?.node.clone();
        let Some(text) = node.as_text() else {
            return self.wrong(name, "a text", None);
        };
        let is_fine = (1..=LONGEST_IDENTIFIER).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
        if !is_fine {
            let message = format!("`{name}` cannot be `{text}`");
            let hint = "write 1 to 64 of A-Z, a-z, 0-9, `.`, `_` and `-`".to_owned();
            self.log.error_with_hint(&node.origin, message, hint);
            return None;
        }
        self.show(name, json!(text));
        Some(text.to_owned())
    }

    /// A path, relative to the file that contains it.
    pub(super) fn path(&mut self, name: &'static str) -> Option<PathBuf> {
        let base = self.base(name)?;
        let filled = self.not_empty(name)?;
        self.show(name, json!(join(&base, &filled.redacted)));
        Some(PathBuf::from(join(&base, &filled.value)))
    }

    /// An absolute directory path without `.` and `..`.
    pub(super) fn whole_path(&mut self, name: &'static str) -> Option<PathBuf> {
        let base = self.base(name)?;
        let filled = self.not_empty(name)?;
        let path = without_dots(&base.join(&filled.value));
        if !path.is_absolute() {
            let origin = self.origin(name);
            self.log.error(&origin, format!("`{name}` is not an absolute path"));
            return None;
        }
        self.show(name, json!(without_dots(&base.join(&filled.redacted)).to_string_lossy()));
        Some(path)
    }

    /// A non-empty text with its references resolved; not recorded for display.
    pub(super) fn not_empty(&mut self, name: &'static str) -> Option<Filled> {
        let filled = self.filled(name)?;
        if filled.value.trim().is_empty() {
            let origin = self.origin(name);
            self.log.error(&origin, format!("`{name}` is empty"));
            return None;
        }
        Some(filled)
    }

    /// A non-empty text.
    pub(super) fn some_text(&mut self, name: &'static str) -> Option<String> {
        let filled = self.not_empty(name)?;
        self.show(name, json!(filled.redacted));
        Some(filled.value)
    }

    /// A pattern over names.
    pub(super) fn glob(&mut self, name: &'static str) -> Option<Glob> {
        self.some_text(name).map(|text| Glob::new(&text))
    }

    /// A pattern over tools.
    pub(super) fn tool_pattern(&mut self, name: &'static str) -> Option<ToolPattern> {
        let origin = self.origin(name);
        let filled = self.not_empty(name)?;
        let pattern = self.parse_tools(name, &filled, &origin)?;
        self.show(name, json!(filled.redacted));
        Some(pattern)
    }

    /// Patterns over tools.
    pub(super) fn tool_patterns(&mut self, name: &'static str) -> Vec<ToolPattern> {
        let all = self.all_located(name);
        let patterns =
            all.iter().filter_map(|(filled, origin)| self.parse_tools(name, filled, origin)).collect();
        self.show(name, json!(all.iter().map(|(filled, _)| &filled.redacted).collect::<Vec<_>>()));
        patterns
    }

    fn parse_tools(&mut self, name: &str, filled: &Filled, origin: &Origin) -> Option<ToolPattern> {
        let pattern = ToolPattern::parse(&filled.value);
        if pattern.is_none() {
            let message = format!("`{name}` cannot be `{}`", filled.redacted);
            self.log.error_with_hint(origin, message, TOOL_HINT.to_owned());
        }
        pattern
    }

    /// Side effect tags. The vocabulary is open, so a likely misspelling is only a warning.
    pub(super) fn tags(&mut self, name: &'static str) -> Vec<String> {
        let all = self.all_located(name);
        for (filled, origin) in &all {
            let tag = filled.value.as_str();
            let is_fine = !tag.is_empty()
                && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
            if !is_fine {
                let hint = "write it like `fs.write` or `payments`".to_owned();
                let message = format!("`{}` is not a side effect", filled.redacted);
                self.log.error_with_hint(origin, message, hint);
            } else if !KNOWN_TAGS.contains(&tag)
                && let Some(guess) = did_you_mean(tag, KNOWN_TAGS.into_iter())
            {
                self.log
                    .warn(origin, format!("Octroi itself assigns no tool the side effect `{tag}`; {guess}"));
            }
        }
        self.show(name, json!(all.iter().map(|(filled, _)| &filled.redacted).collect::<Vec<_>>()));
        all.into_iter().map(|(filled, _)| filled.value).collect()
    }

    /// An `http://` or `https://` address with a host; not recorded for display.
    pub(super) fn web_address(&mut self, name: &'static str) -> Option<Filled> {
        let filled = self.not_empty(name)?;
        let (scheme, rest) = filled.value.split_once("://").unwrap_or_default();
        let is_fine = matches!(scheme, "http" | "https")
            && !host(rest).is_empty()
            && !filled.value.contains(|letter: char| letter.is_whitespace() || letter.is_control());
        if !is_fine {
            let origin = self.origin(name);
            let hint = "write it like `https://example.com/path`".to_owned();
            let message = format!("the `{name}` is not an http:// or https:// address");
            self.log.error_with_hint(&origin, message, hint);
            return None;
        }
        Some(filled)
    }
}

/// The host and port of what follows `://`.
pub(super) fn host(rest: &str) -> &str {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// A path without `.` and `..`, resolved by its text alone.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(component),
        }
    }
    plain
}
