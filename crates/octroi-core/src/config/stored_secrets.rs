//! `[secrets]`, and who uses which stored secret.

use std::path::PathBuf;

use super::keys::SECRETS;
use super::problem::{Problem, ProblemLog, Severity};
use super::settings::{Context, Read};
use crate::syntax::{Map, Origin};

/// The longest name of a stored secret.
pub const SECRET_NAME_MAX: usize = 64;

/// The keys whose values may hold a stored secret. All others are shown, visible to other programs, or decide what
/// applies; whoever can write the file could read secrets there.
pub(super) const HOLDS_SECRETS: &[&str] =
    &["env", "headers", "url", "webhook", "client_secret", "token", "admin_token"];

/// `[secrets]`: how stored secrets are encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretsSection {
    /// The file with the master key; `None` for the one in the data directory.
    pub key_file: Option<PathBuf>,
}

/// A reference to a stored secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretUse {
    /// The secret.
    pub secret: String,
    /// The server whose entry refers to it; `None` for anything else in the file.
    pub server: Option<String>,
}

/// Whether a stored secret can have this name: what `${secret:NAME}` can name, without anything that could be taken
/// for another.
pub fn is_secret_name(text: &str) -> bool {
    (1..=SECRET_NAME_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
}

/// The command that sets a secret.
pub(super) fn how_to_set(name: &str) -> String {
    format!("set it with `octroi secret set {name}`")
}

impl Context<'_> {
    pub(super) fn secrets(&self, map: &Map) -> Read<SecretsSection> {
        let mut reader = self.reader(map, SECRETS, ProblemLog::of_restriction(None));
        let section = SecretsSection { key_file: reader.path("key_file") };
        (section, reader.settings, reader.log.problems)
    }
}

/// A token that appears once its secret is set would be one that nobody agreed to.
pub(super) fn token_problem(unset: &[String]) -> Option<Problem> {
    let name = unset.first()?;
    Some(Problem {
        severity: Severity::Fatal,
        origin: Origin::Default,
        subject: None,
        message: format!("one of [[tokens]] refers to the secret `{name}`, which is not set"),
        hint: Some(how_to_set(name)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        let (longest, too_long) = ("a".repeat(64), "a".repeat(65));
        for (name, is_name) in [
            ("github", true),
            ("GITHUB_TOKEN", true),
            ("a.b-c_1", true),
            ("1", true),
            (longest.as_str(), true),
            ("", false),
            ("-a", false),
            (".a", false),
            ("a b", false),
            ("a:b", false),
            ("a}b", false),
            ("a/b", false),
            ("ä", false),
            (too_long.as_str(), false),
        ] {
            assert_eq!(is_secret_name(name), is_name, "{name}");
        }
    }
}
