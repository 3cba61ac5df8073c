//! The same path, address or number in other spellings.
//!
//! A rule about `*/.ssh/*` means the directory, however a call spells it. Every reading that a server may give a text is
//! looked at: a rule that denies or asks matches if one of them does, a rule that allows only if all of them do.
//! Symbolic links cannot be seen in a text.

use std::borrow::Cow;

use serde_json::Number;

use crate::facts::paths::resolve as resolve_path;
use crate::facts::percent;
use crate::glob::Glob;

/// How often percent-encoding is decoded: servers behind a proxy decode twice.
const DECODED_MAX: usize = 2;

/// Whether a pattern is about paths or addresses, so that spellings matter.
fn has_spellings(pattern: &str) -> bool {
    pattern.contains(['/', '\\', '~']) || pattern.starts_with("*.") || pattern.starts_with('.')
}

/// One reading of a text.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) text: String,
    /// Without case, as file systems and hosts may fold it; `None` if that changes nothing.
    folded: Option<String>,
    /// A relative path, without case, as if it began at the root.
    anchored: Option<String>,
    /// Whether it begins with `..`, so that it may end anywhere.
    climbs: bool,
}

impl Reading {
    fn new(text: String) -> Self {
        let folded = Some(text.to_lowercase()).filter(|folded| *folded != text);
        let without_case = folded.as_deref().unwrap_or(&text);
        let climbed = without_case.trim_start_matches("../");
        let climbs = climbed.len() < without_case.len();
        let is_relative = !without_case.starts_with(['/', '~']) && !is_url(without_case);
        let anchored = is_relative.then(|| format!("/{climbed}"));
        Self { text, folded, anchored, climbs }
    }
}

/// A pattern about paths or addresses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpelledGlob {
    glob: Glob,
    /// Without case; `None` if that changes nothing.
    folded: Option<Glob>,
}

impl SpelledGlob {
    /// The pattern, if spellings matter for it.
    pub(super) fn of(glob: &Glob) -> Option<Self> {
        if !has_spellings(glob.as_str()) {
            return None;
        }
        let folded = Some(glob.as_str().to_lowercase()).filter(|folded| *folded != glob.as_str());
        Some(Self { folded: folded.map(|folded| Glob::new(&folded)), glob: glob.clone() })
    }
}

/// The readings of a text as a path or URL, the text itself first. Most texts have one.
pub(super) fn readings(text: &str, root: Option<&str>) -> Vec<Reading> {
    let mut readings = vec![Reading::new(text.to_owned())];
    let mut add = |reading: String| {
        if !readings.iter().any(|known| known.text == reading) {
            readings.push(Reading::new(reading));
        }
    };
    let mut current = Cow::Borrowed(cut(text));
    for _ in 0..=DECODED_MAX {
        match local_path(&current) {
            Some(path) => add(resolve_path(root, &path)),
            None if is_url(&current) => add(normal_url(&current)),
            None => {
                add(resolve_path(root, &current));
                if current.contains('\\') {
                    add(resolve_path(root, &current.replace('\\', "/")));
                }
            }
        }
        let Some(decoded) = percent::decode(&current).filter(|decoded| *decoded != *current) else { break };
        current = Cow::Owned(cut(&decoded).to_owned());
    }
    readings
}

/// Whether a pattern matches one reading when in doubt it should: without case, and wherever a relative path may begin.
pub(super) fn may_match(pattern: &SpelledGlob, reading: &Reading) -> bool {
    if pattern.glob.matches(&reading.text) {
        return true;
    }
    let folded = pattern.folded.as_ref().unwrap_or(&pattern.glob);
    let has_case = pattern.folded.is_some() || reading.folded.is_some();
    if has_case && folded.matches(reading.folded.as_deref().unwrap_or(&reading.text)) {
        return true;
    }
    // A relative path may begin anywhere; one that climbs may end anywhere.
    let may_be_anywhere = reading.climbs || folded.as_str().starts_with('*');
    may_be_anywhere && reading.anchored.as_ref().is_some_and(|anchored| folded.matches(anchored))
}

/// A number that is written as a text: `5000`, `5_000`, `5,000`, `5e3`, `$5000`.
pub(super) fn number(text: &str) -> Option<Number> {
    let text = text.trim().trim_start_matches(['$', '€', '£', '+']).trim();
    let plain: String = text.chars().filter(|letter| !matches!(letter, ',' | '_' | '\'' | ' ')).collect();
    if let Some(digits) = plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok().map(Number::from);
    }
    plain.parse::<i64>().ok().map(Number::from).or_else(|| Number::from_f64(plain.parse().ok()?))
}

/// Some readers end a text at a NUL, and most ignore spaces around it.
fn cut(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default().trim()
}

fn is_url(text: &str) -> bool {
    text.find("://").is_some_and(|at| {
        at > 0 && text[..at].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// The path of a `file:` URL, in any of its forms.
fn local_path(text: &str) -> Option<String> {
    let rest = text.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:")).map(|_| &text[5..])?;
    let path = match rest.strip_prefix("//") {
        Some(after) => match after.find('/') {
            // `file://host/path`: the host is this one, or a share that is mounted.
            Some(at) => &after[at..],
            None => after,
        },
        None => rest,
    };
    let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
    Some(path.to_owned())
}

/// A URL without what does not change where it leads: case of scheme and host, user, default port, dot segments.
fn normal_url(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let scheme = scheme.to_lowercase();
    let rest = rest.replace('\\', "/");
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit('@').next().unwrap_or(authority).to_lowercase();
    let port = match scheme.as_str() {
        "http" | "ws" => ":80",
        "https" | "wss" => ":443",
        "ftp" => ":21",
        _ => "",
    };
    let host = host.strip_suffix(port).filter(|_| !port.is_empty()).unwrap_or(&host);
    let host = host.trim_end_matches('.');
    let path_end = path.find(['?', '#']).unwrap_or(path.len());
    let (path, query) = path.split_at(path_end);
    let is_directory = path.len() > 1 && path.ends_with('/');
    let resolved = if path.is_empty() { "/".to_owned() } else { resolve_path(None, path) };
    let slash = if is_directory && !resolved.ends_with('/') { "/" } else { "" };
    format!("{scheme}://{host}{resolved}{slash}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every spelling of a file below `.ssh`, in a project at `/project`.
    const SPELLINGS: [&str; 27] = [
        "/project/.ssh/id_ed25519",
        "/project//.ssh///id_ed25519",
        "/project/./.ssh/id_ed25519",
        "/project/x/../.ssh/id_ed25519",
        "/project/.ssh/x/../id_ed25519",
        ".ssh/id_ed25519",
        "./.ssh/id_ed25519",
        "x/../.ssh/id_ed25519",
        "../project/.ssh/id_ed25519",
        "../../users/ana/.ssh/id_ed25519",
        "~/.ssh/id_ed25519",
        "$HOME/.ssh/id_ed25519",
        "${HOME}/.ssh/id_ed25519",
        "~ana/.ssh/id_ed25519",
        "file:///project/.ssh/id_ed25519",
        "file:/project/.ssh/id_ed25519",
        "FILE://localhost/project/.ssh/id_ed25519",
        "file:///project/%2essh/id_ed25519",
        "/project/%2Essh/id_ed25519",
        "/project/.ssh%2fid_ed25519",
        "/project/%252essh/id_ed25519",
        "/project/.SSH/id_ed25519",
        "C:\\Users\\ana\\.ssh\\id_ed25519",
        "..\\project\\.ssh\\id_ed25519",
        " /project/.ssh/id_ed25519",
        "/project/.ssh/id_ed25519\0.txt",
        "%2fproject%2f.ssh%2fid_ed25519",
    ];

    fn denies(pattern: &str, text: &str, root: Option<&str>) -> bool {
        let pattern = SpelledGlob::of(&Glob::new(pattern)).expect("spellings matter");
        readings(text, root).iter().any(|reading| may_match(&pattern, reading))
    }

    #[test]
    fn a_rule_about_a_directory_holds_for_every_spelling() {
        for text in SPELLINGS {
            for root in [Some("/project"), None] {
                assert!(denies("*/.ssh/*", text, root), "{text:?} with {root:?}: {:?}", readings(text, root));
            }
        }
        for (pattern, text) in [
            ("/etc/*", "/etc/passwd"),
            ("/etc/*", "//etc/./passwd"),
            ("/etc/*", "../../../etc/passwd"),
            ("/etc/*", "file:///etc/passwd"),
            ("/etc/*", "/project/../etc/passwd"),
            ("*.pem", "/a/KEY.PEM"),
            ("*.pem", "key.pem%00.txt"),
            ("https://evil.example/*", "HTTPS://user@EVIL.example.:443/a/../b"),
            ("https://evil.example/*", "https://evil.example"),
        ] {
            assert!(denies(pattern, text, Some("/project")), "{pattern} {text}");
        }
    }

    #[test]
    fn a_rule_that_allows_must_hold_for_every_reading() {
        let allows = |text: &str| {
            let pattern = Glob::new("/project/*");
            let readings = readings(text, Some("/project"));
            let normal = if readings.len() > 1 { &readings[1..] } else { &readings[..] };
            normal.iter().all(|reading| pattern.matches(&reading.text))
        };
        for (text, expected) in [
            ("/project/a.txt", true),
            ("a.txt", true),
            ("./b/../a", true),
            ("/project/../etc/passwd", false),
            ("/project/%2e%2e/etc/passwd", false),
            ("/project/%252e%252e/etc/passwd", false),
            ("/project/..\\..\\etc", false),
            ("../etc", false),
            ("file:///etc/passwd", false),
            ("/etc/passwd", false),
        ] {
            assert_eq!(allows(text), expected, "{text}: {:?}", readings(text, Some("/project")));
        }
    }

    #[test]
    fn innocent_texts_do_not_match() {
        for text in
            ["/project/src/main.rs", "notes.txt", "https://example.com/ssh", "a sentence about .sshkeys", ""]
        {
            assert!(!denies("*/.ssh/*", text, Some("/project")), "{text}");
        }
        assert!(!denies("/etc/*", "etc/config", Some("/project")) && !denies("/etc/*", "src/etc/x", None));
    }

    #[test]
    fn numbers_in_texts_are_numbers() {
        for (text, expected) in [
            ("5000", Some(5000.0)),
            (" 5,000 ", Some(5000.0)),
            ("5_000", Some(5000.0)),
            ("5e3", Some(5000.0)),
            ("$5000", Some(5000.0)),
            ("+5000.5", Some(5000.5)),
            ("0x1388", Some(5000.0)),
            ("-3", Some(-3.0)),
            ("five", None),
            ("", None),
            ("inf", None),
        ] {
            assert_eq!(number(text).and_then(|number| number.as_f64()), expected, "{text}");
        }
    }
}
