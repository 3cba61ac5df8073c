//! Whether a value is a secret, or a placeholder, a reference or an ordinary word.

use super::super::keys;
use super::extent::before_marks;

/// How much of a value is looked at to judge it. A value that is a secret is redacted whole.
pub(super) const LOOKED_AT: usize = 128;

/// Shorter values are not judged, unless they are passwords.
const LENGTH_MIN: usize = 8;

/// The start of a password of fewer characters is not judged alone.
const JUDGED_LENGTH_MIN: usize = 6;

/// What texts about passwords put behind the word. None of them is a password worth hiding.
const WORDS: &[&str] = &[
    "about",
    "also",
    "argument",
    "authentication",
    "before",
    "being",
    "bytes",
    "cannot",
    "changed",
    "changes",
    "correct",
    "default",
    "deprecated",
    "disabled",
    "empty",
    "enabled",
    "encrypted",
    "every",
    "expired",
    "false",
    "field",
    "file",
    "flag",
    "from",
    "given",
    "hashed",
    "hidden",
    "incorrect",
    "input",
    "instead",
    "invalid",
    "manager",
    "mismatch",
    "missing",
    "must",
    "none",
    "null",
    "optional",
    "option",
    "parameter",
    "please",
    "policy",
    "prompt",
    "protected",
    "redacted",
    "rejected",
    "required",
    "reset",
    "rotated",
    "rotation",
    "should",
    "stdin",
    "string",
    "true",
    "undefined",
    "unset",
    "updated",
    "using",
    "value",
    "valid",
    "variable",
    "when",
    "which",
    "will",
    "with",
    "without",
    "wrong",
    "your",
    "the",
    "and",
    "for",
    "that",
    "this",
    "not",
    "must",
    "into",
    "same",
];

/// How sure the text around a value makes it that this is a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// Directly behind `=`, or the value of an option on a command line.
    Assigned,
    /// Somewhere behind the name, as in a sentence.
    Loose,
}

/// Whether a value with this name's kind is a secret.
pub(super) fn is_secret(value: &str, kind: &str, position: Position, is_quoted: bool) -> bool {
    let is_password = kind == "password";
    let length_min = match (is_password, position) {
        (true, Position::Assigned) => 4,
        (true, Position::Loose) => 6,
        (false, Position::Assigned | Position::Loose) => LENGTH_MIN,
    };
    value.len() >= length_min
        && !is_placeholder(value)
        && !is_word(value)
        && (is_quoted || !is_code(value))
        && is_random(value, kind, position)
}

/// Whether a password without quotes is one. Marks may belong to it, so what stands before the first is judged, unless
/// it is too short for that.
pub(super) fn is_unquoted_password(value: &str, position: Position) -> bool {
    let start = before_marks(value);
    let is_ordinary = || is_placeholder(start) || is_word(start) || is_code(start);
    is_secret(start, "password", position, false)
        || start.len() < JUDGED_LENGTH_MIN && !is_ordinary() && is_secret(value, "password", position, false)
}

/// A placeholder for a value that is filled in later.
pub(super) fn is_placeholder(value: &str) -> bool {
    const MARKS: [&str; 14] = [
        "${",
        "{{",
        "<",
        "***",
        "[redacted",
        "redacted:",
        "$(",
        "%(",
        "xxxx",
        "XXXX",
        "process.env",
        "os.environ",
        "env.",
        "...",
    ];
    let is_variable = |name: &str| {
        let name = name.trim_end_matches([')', '.', ',', ';', ':']);
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    MARKS.iter().any(|mark| value.starts_with(mark))
        || value.strip_prefix('$').is_some_and(is_variable)
        || value.starts_with('%') && value.len() > 2 && value.ends_with('%')
}

/// Whether this is an ordinary word, maybe at the end of a sentence.
fn is_word(value: &str) -> bool {
    let word = value.trim_end_matches(['.', ',', ':', '!', '?']);
    WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether this is a piece of a program: a call, or a variable that is itself named after a secret.
fn is_code(value: &str) -> bool {
    let is_identifier = |text: &str| {
        text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':'))
    };
    match value.find(['(', '[']) {
        Some(at) => is_identifier(&value[..at]),
        None => {
            is_identifier(value) && keys::is_secret(value) && !value.bytes().any(|byte| byte.is_ascii_digit())
        }
    }
}

/// Whether a value looks random rather than like a word. People choose passwords, so the test is weaker for
/// them.
fn is_random(value: &str, kind: &str, position: Position) -> bool {
    let (mut seen, mut n_distinct, mut classes) = ([false; 256], 0, 0_u8);
    for byte in value.bytes() {
        n_distinct += usize::from(!std::mem::replace(&mut seen[usize::from(byte)], true));
        classes |= match byte {
            b'a'..=b'z' => 1,
            b'A'..=b'Z' => 2,
            b'0'..=b'9' => 4,
            _ => 8,
        };
    }
    let n_classes = classes.count_ones();
    let is_chosen = match position {
        Position::Assigned => n_distinct >= 3,
        Position::Loose => n_distinct >= 5 && (value.len() >= LENGTH_MIN || n_classes >= 2),
    };
    n_classes >= 2 && n_distinct >= 6 || kind == "password" && is_chosen || n_distinct >= 14
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_judged_by_what_is_around_them() {
        for (value, kind, position, expected) in [
            ("hunter2", "password", Position::Assigned, true),
            ("hunter2", "password", Position::Loose, true),
            ("hunter", "password", Position::Loose, false),
            ("required", "password", Position::Loose, false),
            ("Invalid.", "password", Position::Loose, false),
            ("correcthorse", "password", Position::Loose, true),
            ("none", "password", Position::Assigned, false),
            ("args.password", "password", Position::Assigned, false),
            ("get_password()", "password", Position::Assigned, false),
            ("get_token(", "credential", Position::Loose, false),
            ("%PASSWORD%", "password", Position::Assigned, false),
            ("abcdefgh", "credential", Position::Loose, false),
            ("a1b2c3d4", "credential", Position::Loose, true),
            ("a1b2", "credential", Position::Assigned, false),
        ] {
            assert_eq!(is_secret(value, kind, position, false), expected, "{value} ({kind}, {position:?})");
        }
        assert!(is_secret("f(x)1234", "credential", Position::Assigned, true));
        for (value, position, expected) in [
            ("Qx7a&b", Position::Assigned, true),
            ("a&b3&c4&d5", Position::Assigned, true),
            ("Qx7a;b3", Position::Loose, true),
            ("None,other1", Position::Assigned, false),
            ("<given>,x1y2", Position::Assigned, false),
            ("required),x1y2", Position::Loose, false),
            ("${DB}&x1y2", Position::Assigned, false),
        ] {
            assert_eq!(is_unquoted_password(value, position), expected, "{value} ({position:?})");
        }
    }
}
