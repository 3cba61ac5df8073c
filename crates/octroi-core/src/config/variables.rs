//! How the variables of a program's environment are displayed.
//!
//! A variable can decide what runs: `LD_PRELOAD`, `NODE_OPTIONS`, `PATH`. Whoever accepts a program has to see
//! them, so they are shown as they are written, references and defaults included. Only what looks like a secret
//! is hidden.

use super::show::HIDDEN;
use crate::facts::keys;
use crate::redact::Redactor;

/// Words of names whose values are secrets, besides the names that arguments of tools have.
const SECRET_WORDS: [&str; 8] = ["key", "keys", "pass", "pwd", "auth", "pat", "dsn", "salt"];

/// The value of a variable for display, from the text as it is written.
pub(super) fn displayed(name: &str, written: &str) -> String {
    let is_secret_word = |word: &str| SECRET_WORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
    if keys::is_secret(name) || name.split(['_', '-', '.']).any(is_secret_word) {
        return HIDDEN.to_owned();
    }
    Redactor::new(std::iter::empty()).redact(written).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_what_runs_is_shown_and_secrets_are_not() {
        for (name, written, expected) in [
            ("NODE_OPTIONS", "--require /tmp/x.js", "--require /tmp/x.js"),
            ("LD_PRELOAD", "/tmp/x.so", "/tmp/x.so"),
            ("LD_PRELOAD", "${NOT_SET:-/tmp/x.so}", "${NOT_SET:-/tmp/x.so}"),
            ("GIT_ASKPASS", "/tmp/run", "/tmp/run"),
            ("GIT_SSH_COMMAND", "sh -c x", "sh -c x"),
            ("LEVEL", "${env:LEVEL}", "${env:LEVEL}"),
            ("KEY", "x", "***"),
            ("API_KEY", "${env:API_KEY}", "***"),
            ("GITHUB_TOKEN", "x", "***"),
            ("DB_PASSWORD", "x", "***"),
            ("DB_PASS", "x", "***"),
            ("basic-auth", "x", "***"),
        ] {
            assert_eq!(displayed(name, written), expected, "{name}");
        }
        for secret in ["ghp_A1b2C3d4E5A1b2C3d4E5A1b2C3d4E5A1b2C3", "postgres://u:pw12345xy@h/db"] {
            let text = displayed("PLACE", secret);
            assert!(text.contains("redacted") && !text.contains("pw12345xy"), "{text}");
        }
    }
}
