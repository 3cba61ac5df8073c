//! The tables of spellings of paths.

use super::super::pattern::TextPattern;
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
    TextPattern::new(pattern, "path").may_match(text, root)
}

#[test]
fn a_rule_about_a_directory_holds_for_every_spelling() {
    for text in SPELLINGS {
        for root in [Some("/project"), None] {
            assert!(denies("*/.ssh/*", text, root), "{text:?} with {root:?}: {:?}", paths(text, root));
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
    let allows = |text: &str| TextPattern::new("/project/*", "path").surely_matches(text, Some("/project"));
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
        assert_eq!(allows(text), expected, "{text}");
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
fn a_text_has_few_layers() {
    for (text, expected) in [
        ("/project/a.txt", Some(1)),
        ("a b", Some(1)),
        ("%61", Some(2)),
        ("%2561", Some(3)),
        ("a\\b", Some(2)),
        ("a\0b", Some(4)),
    ] {
        assert_eq!(layers(text).map(|layers| layers.len()), expected, "{text:?} {:?}", layers(text));
    }
    let many: Vec<_> = (0..20).map(|index| format!("%00%2500'{index}\0")).collect();
    assert!(layers(&many.concat()).is_none_or(|layers| layers.len() <= LAYERS_MAX));
}
