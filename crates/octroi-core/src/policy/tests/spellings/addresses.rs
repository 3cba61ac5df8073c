//! The same for addresses and hosts.

use super::*;

/// Patterns, and texts that some reader takes for what they mean.
const ADDRESSES: &[(&str, &[&str])] = &[
    (
        "https://evil.example/*",
        &[
            "https:evil.example/x",
            "https:/evil.example/x",
            "https:///evil.example/x",
            "https:\\\\evil.example\\x",
            "https://evil\t.example/x",
            "https://evil.exa\nmple/x",
            "ht\ntps://evil.example/x",
            "\u{1}https://evil.example/x",
            "https://ｅvil.example/x",
            "https://evil。example/x",
            "https://evil.e\u{ad}xample/x",
            "https://evil.example:0443/x",
            "https://evil.example:443/x",
            "https://evil.example:/x",
            "https://evil.example./x",
            "https://EVIL.example/x",
            "https://user:pw@evil.example/x",
            "https://good.example@evil.example/x",
            "https://evil.example\\@good.example/x",
            "https://good.example\\@evil.example/x",
            "https://ev%69l.example/x",
            "https://evil.example",
            "https://evil.example?x",
            "view-source:https://evil.example/x",
            "url:https://evil.example/x",
            "git+https://evil.example/x",
            "//evil.example/x",
            "evil.example/x",
            "<https://evil.example/x>",
            "https://good.example#@evil.example/x",
            "https://good.example?@evil.example/x",
            "https://evil.example:４４３/x",
            "https%3A%2F%2Fevil.example%2Fx",
            "https://good.example/,https://evil.example/x",
        ],
    ),
    (
        "http://127.0.0.1/*",
        &[
            "http://127.1/x",
            "http://2130706433/x",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://[::ffff:127.0.0.1]/x",
            "http://[::ffff:7f00:1]/x",
            "http://１２７.0.0.1/",
            "http://127.0.0.1:80/",
            "http://127.0.0.1.:080/",
        ],
    ),
    ("HTTPS://Evil.Example:443/*", &["https://evil.example/x", "https://EVIL.example:443/"]),
    (
        "https://evil.example/admin/*",
        &[
            "https://evil.example/x/../admin/y",
            "https://evil.example//admin/y",
            "https://evil.example/%61dmin/y",
        ],
    ),
    (
        "evil.example",
        &[
            "EVIL.example",
            "evil.example.",
            "evil.example:443",
            "user@evil.example",
            "https://evil.example/",
            "ｅvil.example",
            "evil\u{200b}.example",
        ],
    ),
    ("*.internal", &["db.internal.", "db.internal:5432", "DB.INTERNAL", "db.internal.:5432"]),
    ("127.0.0.1", &["127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]", "127.0.0.1:80", "0127.0.0.1"]),
    ("::1", &["[::1]:80", "0:0:0:0:0:0:0:1"]),
    ("bücher.example", &["xn--bcher-kva.example", "BÜCHER.example:443"]),
    ("https://bücher.example/*", &["https://xn--bcher-kva.example/x", "https://BÜCHER.example/x"]),
];

#[test]
fn denied_addresses_are_denied_in_every_spelling() {
    for (pattern, texts) in ADDRESSES {
        for text in *texts {
            for name in ["url", "host", "x"] {
                let is_denied = argument("deny", name, &format!("\"{pattern}\""), &json!(text));
                assert!(is_denied, "{name} {pattern} {text:?}");
            }
        }
    }
    for (pattern, text) in [
        ("https://evil.example/*", "https://good.example/x"),
        ("https://evil.example/*", "https://notevil.example/x"),
        ("https://evil.example/*", "http://evil.example:8080/x"),
        ("https://evil.example/*", "see the notes on evil"),
        ("*.internal", "internal.example.com"),
        ("127.0.0.1", "127.0.0.2"),
    ] {
        assert!(!argument("deny", "url", &format!("\"{pattern}\""), &json!(text)), "{pattern} {text}");
    }
}

#[test]
fn only_plain_addresses_are_allowed() {
    for (pattern, text, is_allowed) in [
        ("https://good.example/*", "https://good.example/x", true),
        ("https://good.example/*", "HTTPS://Good.example:443/x?a=b#c", true),
        ("https://good.example/*", "https://good.example", true),
        ("https://good.example/*", "https://good.example/a%20b", true),
        ("https://good.example/*", "https://good.example\\@evil.example/x", false),
        ("https://good.example/*", "https://good.example\\.evil.example/x", false),
        ("https://good.example/*", "https://good.example%00.evil.example/", false),
        ("https://good.example/*", "https://good.example\0.evil.example/", false),
        ("https://good.example/*", "https://good.example\t.evil.example/", false),
        ("https://good.example/*", "https://good.example/\n@evil.example/", false),
        ("https://good.example/*", "https://good.example@evil.example/", false),
        ("https://good.example/*", "https://good.example%2f@evil.example/", false),
        ("https://good.example/*", "https://good.example\u{ad}/x", false),
        ("https://good.example/*", "https://good.example：443/x", false),
        ("https://good.example/*", "https://ｇood.example/x", false),
        ("https://good.example/*", "https:/good.example/x", false),
        ("https://good.example/*", "https:///good.example/x", false),
        ("https://good.example/*", " https://good.example/x", false),
        ("https://good.example/api/*", "https://good.example/api/../admin", false),
        ("https://good.example/api/*", "https://good.example/api/%2e%2e/admin", false),
        ("https://good.example/api/*", "https://good.example/api/%252e%252e/admin", false),
        ("https://good.example/api/*", "https://good.example/api/..%5c..%5cadmin", false),
        ("https://good.example/api/*", "https://good.example/api/..\\admin", false),
        ("https://*.corp.example/*", "https://a.corp.example/", true),
        ("https://*.corp.example/*", "https://a.b.corp.example/x/y", true),
        ("https://*.corp.example/*", "https://evil.example/.corp.example/", false),
        ("https://*.corp.example/*", "https://evil.example?.corp.example/", false),
        ("https://*.corp.example/*", "https://evil.example#.corp.example/", false),
        ("https://*.corp.example/*", "https://evil.example\\.corp.example/", false),
        ("https://*.corp.example/*", "https://evil.example:80@a.corp.example/", false),
        ("*.corp.example/*", "https://a.corp.example/x", true),
        ("*.corp.example/*", "https://evil.example/.corp.example/x", false),
        ("https://*", "https://anything.example/x", true),
        ("https://*", "http://anything.example/x", false),
        ("*.corp.example", "a.corp.example", true),
        ("*.corp.example", "evil.example/.corp.example", false),
        ("*.corp.example", "evil.example#.corp.example", false),
        ("*.corp.example", "evil.example\0.corp.example", false),
        ("urn:x:*", "urn:x:y", true),
        ("origin", "origin", true),
        ("db1:5432", "db1:5432", true),
        ("::1", "::1", true),
        ("https://api.example/*", "https://api.example/a/b?x=%2Fy&z=a+b", true),
        ("https://api.example/*", "https://api.example/compare/a...b", true),
        ("https://api.example/*", "https://api.example/It's_(Zürich)", true),
        ("https://api.example/*", "https://api.example//evil.example", false),
        ("https://api.example/*", "https://api.example:8443/x", false),
        ("file:///project/*", "file:///project/a", true),
        ("file:///project/*", "file:///project/../etc/passwd", false),
        ("file:///project/*", "file://evil/project/a", false),
    ] {
        let got = argument("allow", "url", &format!("\"{pattern}\""), &json!(text));
        assert_eq!(got, is_allowed, "{pattern} {text:?}");
    }
}

#[test]
fn allowed_hosts_are_the_hosts_of_every_reader() {
    let condition = "facts = { hosts = [\"github.com\", \"*.corp.example\"] }";
    for (text, is_allowed) in [
        ("https://github.com/x", true),
        ("https://a.corp.example/x", true),
        ("https://github.com\t.evil.example/", false),
        ("https://github.com\n.evil.example/", false),
        ("https://github.com\u{ad}.evil.example/", false),
        ("https://github.com\u{200b}.evil.example/", false),
        ("https://github.com\0.evil.example/", false),
        ("https://github.com%00.evil.example/", false),
        ("https://github.com\u{1}.evil.example/", false),
        ("https://github.com\\@evil.example/", false),
        ("https://github.com．evil.example/", false),
        ("ht\ntps://github.com.evil.example/", false),
        ("https://github.com\nhttps://a.corp.example/", true),
        ("https://github.com/\nthanks for reading", true),
    ] {
        for name in ["url", "x"] {
            assert_eq!(matches("allow", condition, &json!({ name: text })), is_allowed, "{name} {text:?}");
        }
    }
}

/// Whoever names many hosts hides one.
#[test]
fn an_incomplete_set_may_hold_what_is_denied() {
    let many: Vec<_> = (0..200).map(|index| format!("https://h{index}.example/")).collect();
    let many = many.join(" ");
    let arguments = json!({"text": format!("{many} https://zz.evil.example/")});
    assert!(matches("deny", "facts = { hosts = \"*.evil.example\" }", &arguments));
    assert!(!matches("allow", "facts = { hosts = \"*.example\" }", &arguments));
    assert!(matches("deny", "facts = { shell_heads = \"rm\" }", &json!({"command": "$X -rf /"})));
}
