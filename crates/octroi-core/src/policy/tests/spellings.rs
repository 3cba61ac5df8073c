//! Texts that readers take for something else: what is denied stays denied, and only what is plain is allowed.

use super::*;

mod addresses;

const ROOT: &str = "/project";

/// Whether a rule with this word and condition matches a call with these arguments, with all facts.
fn matches(word: &str, condition: &str, arguments: &Value) -> bool {
    let text = format!("[[{word}]]\ntool = \"*\"\n{condition}");
    let document = Document::parse(&text).unwrap_or_else(|wrong| panic!("{text}\n{wrong:?}"));
    let (tool, mut context) = (tool("fs", "x"), AgentContext::default());
    context.project_root = Some(ROOT.into());
    let find = || Facts::of(arguments, 0, Some(ROOT));
    let call = Call::imagined(None, &context, &tool, arguments, &find, 0);
    document.strongest(&call).is_some()
}

fn argument(word: &str, name: &str, pattern: &str, value: &Value) -> bool {
    matches(word, &format!("args = {{ {name} = {pattern} }}"), &json!({ name: value }))
}

/// Patterns, and texts that some reader takes for what they mean.
const PATHS: &[(&str, &[&str])] = &[
    (
        "/etc/*",
        &[
            "~/../../etc/passwd",
            "$HOME/../../etc/passwd",
            "${HOME}/../../etc/passwd",
            "~root/../etc/passwd",
            "~ana/../../etc/passwd",
            "URL:file:///etc/passwd",
            "url:file:/etc/passwd",
            "jar:file:///etc/passwd!/x",
            "git+file:///etc/x",
            "local_file:///etc/passwd",
            "file:etc/passwd",
            "file:\\\\etc\\passwd",
            "file://localhost/etc/passwd",
            "file://etc/passwd",
            "file:////etc/passwd",
            "file:///etc/passwd#x",
            "f\nile:///etc/passwd",
            "/ETC/passwd",
            "/\u{ff45}tc/passwd",
            "／etc／passwd",
            "/etc\u{200b}/passwd",
            "/e\ttc/../etc/passwd",
            "/project/‥/etc/passwd",
            "/project/a\0/../../etc/passwd",
            "x\0/etc/passwd",
            "/etc",
            "/etc/",
            "/etc/.",
            "/etc./passwd",
            "C:/etc/passwd",
            "C:\\etc\\passwd",
            "\\etc\\passwd",
            "\\\\?\\C:\\etc\\passwd",
            "/private/etc/passwd",
            "/proc/self/root/etc/passwd",
            "$X/passwd",
            "${X}/etc/passwd",
            "$NOTHING/etc/passwd",
            "%SystemRoot%/etc/passwd",
            "/$X/passwd",
            "/e''tc/passwd",
            "\"/etc/passwd\"",
            "/e\\tc/passwd",
            "/e?c/passwd",
            "/[e]tc/passwd",
            "/{etc,x}/passwd",
            "/*/passwd",
            "{\"path\": \"/etc/passwd\"}",
            "[\"/etc/passwd\"]",
            "%2Fetc%2Fpasswd",
            "%252fetc%252fpasswd",
            "%EF%BC%8Fetc/passwd",
            "..%c0%af..%c0%afetc/passwd",
            "`pwd`/../etc/passwd",
            "$(pwd)/../etc/passwd",
            "/project/$'..'/etc/passwd",
            "@/etc/passwd",
            "<file:///etc/passwd>",
            "a.txt\n/etc/passwd",
            "a.txt,/etc/passwd",
            "a.txt:/etc/passwd",
        ],
    ),
    (
        "~/.aws/*",
        &[
            "/root/.aws/x",
            "/home/ana/.aws/x",
            "/Users/ana/.aws/x",
            "C:\\Users\\ana\\.aws\\x",
            "$HOME/.aws/x",
            "~ana/.aws/x",
        ],
    ),
    (
        "~/.ssh/*",
        &[
            "/proc/self/root/home/ana/.ssh/id",
            "/var/root/.ssh/id",
            "/mnt/c/Users/ana/.ssh/id",
            "../../home/ana/.ssh/id",
        ],
    ),
    ("$HOME/.ssh/*", &["~/.ssh/id", "/home/ana/.ssh/id"]),
    ("/home/ana/*", &["~", "$HOME", "~ana"]),
    (".env", &["/project/.env", "./.env", ".ENV", "x/../.env"]),
    (
        "C:/Windows/*",
        &["c:\\windows\\x", "/c/Windows/x", "\\\\?\\C:\\Windows\\x", "\\\\localhost\\c$\\windows\\x"],
    ),
    ("C:\\\\Windows\\\\*", &["c:/windows/x", "C:\\Windows\\x"]),
    ("rm *", &["RM -rf", "'rm' -rf", "r\\m -rf", "rm\t-rf", "echo; rm -rf"]),
    ("users", &["\"users\"", "`users`", "[users]", "users;", "USERS"]),
    ("/root/.aws/*", &["~/.aws/x", "~root/.aws/x", "$HOME/.aws/x"]),
    ("/home/ana/.aws/*", &["~/.aws/x", "~ana/.aws/x", "%USERPROFILE%\\.aws\\x"]),
    (
        "*/.ssh/*",
        &[
            ".ſſh/id",
            "/p/.ſſh/id",
            ".s\u{200d}sh/id",
            ".s\u{ad}sh/id",
            ".SSH/id",
            ".ssh./id",
            ".ssh",
            "$X/id",
        ],
    ),
    (
        "*id_rsa",
        &[
            "ID_RSA",
            "id_rs%61",
            "id_rsa/",
            "a/../id_rsa",
            "id_rsa\0.txt",
            "id_rsa.",
            "id_rsa::$DATA",
            "id_r\u{200b}sa",
        ],
    ),
    ("*.pem", &["key.pem/", "KEY.PEM ", "key.pem\n", "key.p%65m", "key.ｐｅｍ", "*"]),
    (
        "src/secret/*",
        &["./src/secret/x", "src//secret/x", "SRC/secret/x", "src/a/../secret/x", "src\\secret\\x"],
    ),
];

#[test]
fn denied_paths_are_denied_in_every_spelling() {
    for (pattern, texts) in PATHS {
        for text in *texts {
            assert!(argument("deny", "path", &format!("\"{pattern}\""), &json!(text)), "{pattern} {text:?}");
            assert!(
                argument("ask", "other", &format!("\"{pattern}\""), &json!([text])),
                "{pattern} {text:?}"
            );
        }
    }
    for condition in ["facts = { paths = \"/etc/*\" }", "facts = { paths_outside_project = \"/etc/*\" }"] {
        for text in ["~/../../etc/passwd", "$HOME/../../etc/passwd", "~root/../etc/passwd", "../etc/passwd"] {
            assert!(matches("deny", condition, &json!({"path": text})), "{text}");
        }
    }
    for value in
        [json!({"path": "/etc/passwd"}), json!({"a": [{"b": "/etc/passwd"}]}), json!({"/etc/passwd": 1})]
    {
        assert!(argument("deny", "path", "\"/etc/*\"", &value), "{value}");
    }
}

#[test]
fn innocent_paths_are_not_denied() {
    for (pattern, texts) in [
        (
            "/etc/*",
            &[
                "/project/etc/x",
                "etc/x",
                "src/main.rs",
                "~/notes.txt",
                "$HOME/notes.txt",
                "/project/src/*.rs",
                "app/[id]/page.tsx",
                "app/routes/$slug.tsx",
                "file:///project/a",
                "https://example.com/etc/x",
                "/project/100%",
                "it's a sentence",
                "",
            ][..],
        ),
        ("*/.ssh/*", &["src/**/*.rs", "~/ssh/x", "/project/ssh", "*.rs"]),
        ("~/.aws/*", &["/project/.aws/x", "/root/aws"]),
        ("*id_rsa", &["id_rsa.pub", "grid_rsas"]),
    ] {
        for text in texts {
            assert!(!argument("deny", "path", &format!("\"{pattern}\""), &json!(text)), "{pattern} {text:?}");
        }
    }
}

#[test]
fn only_plain_paths_are_allowed() {
    for (pattern, text, is_allowed) in [
        ("/project/*", "/project/src/main.rs", true),
        ("/project/*", "src/main.rs", true),
        ("/project/*", "/project/it's here.txt", true),
        ("/project/*", "/project/naïve.txt", true),
        ("/project/*", "/project/src/*.rs", true),
        ("/project/*", "/project/app/[id]/page.tsx", true),
        ("/project/*", "/project/a\0/../../etc", false),
        ("/project/*", "/project/a\n/etc/passwd", false),
        ("/project/*", "/project/$X", false),
        ("/project/*", "/project/${X}/a", false),
        ("/project/*", "/project/`id`", false),
        ("/project/*", "/project/.?/etc/passwd", false),
        ("/project/*", "/project/{..,x}/etc/passwd", false),
        ("/project/*", "/project/.\\./etc", false),
        ("/project/*", "/project/.''./etc", false),
        ("/project/*", "/project/a／..／..／etc", false),
        ("/project/*", "/project/‥/etc", false),
        ("/project/*", "/project/.\u{200b}./etc", false),
        ("/project/*", "/project/%2e%2e/etc", false),
        ("/project/*", "/project/%00/../../etc", false),
        ("/project/*", "file:///etc/passwd", false),
        ("/project/*", "/project/.../etc", false),
        ("/project/*", "/project/.. /etc", false),
        ("/project/*", "/project/..;/etc", false),
        ("/project/*", "/project/%c0%ae%c0%ae/etc", false),
        ("/project/*", "/project/x,/etc/passwd", false),
        ("/project/*", "/project/x:/etc/passwd", false),
        ("/project/*", "/project/x /etc/passwd", false),
        ("/project/*", "/project/x ../../etc/passwd", false),
        ("/project/*", "[\"/etc/passwd\"]", false),
        ("/project/*", "/project/a b.txt", true),
        ("/project/*", "/project/a%20b.txt", true),
        ("/project/*", "~/../project/x", false),
        ("/project/*", "~/x", false),
        ("src/*", "src/x", true),
        ("src/*", "src/x\0/../../../../etc/passwd", false),
        ("src/*", "src/../../etc/passwd", false),
        ("src/*", "/etc/src/x", false),
        ("~/docs/*", "~/docs/a", true),
        ("~/*", "~/../../etc/passwd", false),
        ("*/docs/*", "../../docs/x/../../etc", false),
        ("*.txt", "a/b.txt", true),
        ("*.txt", "a/b.txt\0", false),
        ("feature-*", "feature-x", true),
        ("feature-*", "feature-x\0main", false),
        ("feature-*", "feature-x\nmain", false),
        ("*", "anything\nat all\0", true),
    ] {
        let got = argument("allow", "path", &format!("\"{pattern}\""), &json!(text));
        assert_eq!(got, is_allowed, "{pattern} {text:?}");
    }
    assert!(!argument("allow", "path", "\"/project/*\"", &json!({"path": "/project/a"})), "no text");
}

#[test]
fn a_star_in_a_command_takes_no_other_command() {
    for (text, is_allowed) in [
        ("git status", true),
        ("git log --format='%h %s'", true),
        ("git commit -m \"a b\"", true),
        ("git status; rm -rf /", false),
        ("git status && rm -rf /", false),
        ("git log | sh", false),
        ("git log > /etc/passwd", false),
        ("git $(rm -rf /)", false),
        ("git `rm`", false),
        ("git status\nrm -rf /", false),
    ] {
        assert_eq!(argument("allow", "command", "\"git *\"", &json!(text)), is_allowed, "{text:?}");
    }
    assert!(
        argument("allow", "command", "\"git log | head*\"", &json!("git log | head -3")),
        "as the rule says"
    );
}

#[test]
fn numbers_and_flags_in_texts() {
    let at_least = "{ min = 2000 }";
    for text in [
        "5000",
        "5,000",
        "5_000",
        "5e3",
        "$5000",
        "+5000",
        "0x1388",
        "1e400",
        "inf",
        "Infinity",
        "-inf",
        "NaN",
        "５０００",
        "٥٠٠٠",
        "5000 USD",
        "5000€",
        "5.000,00",
        "5000\0",
        "5000\0x",
        "0x123456789abcdef012",
        " 5000",
        "5000.0",
        "05000",
        "5'000",
        "5 000",
        "USD5000",
        "5k",
        "½",
        "[5000]",
        "{\"value\": 5000}",
    ] {
        assert!(argument("deny", "n", at_least, &json!(text)), "{text:?}");
    }
    for value in [json!({"value": 5000}), json!([5000]), json!([[5000]])] {
        assert!(argument("deny", "n", at_least, &value), "{value}");
    }
    for text in ["100", "-5000", "1999.9", "five", "", "infinite"] {
        assert!(!argument("deny", "n", at_least, &json!(text)), "{text:?}");
    }
    for (text, is_allowed) in [
        ("99", true),
        ("99.5", true),
        ("-1", true),
        ("101", false),
        ("99.999,00", false),
        ("€1.234", false),
        ("1 0 0", false),
        ("1,0", false),
        ("1e1", false),
        ("0x10", false),
        ("010", false),
        ("+5", false),
        (" 5", false),
        ("5\0", false),
        ("５", false),
        ("5 USD", false),
        ("", false),
    ] {
        assert_eq!(argument("allow", "n", "{ max = 100 }", &json!(text)), is_allowed, "{text:?}");
    }
    for (expected, value) in [
        ("12345", json!("12345")),
        ("12345", json!("12,345")),
        ("12345", json!("12345 USD")),
        ("12345", json!("１２３４５")),
        ("12345", json!("١٢٣٤٥")),
        ("12345", json!("0x3039")),
        ("12345", json!("12345.0")),
        ("12345", json!("12345\0")),
        ("12345", json!("1.2345e4")),
        ("12345", json!({"id": "12345"})),
        ("\"12345\"", json!(12345)),
        ("true", json!("true")),
        ("true", json!("TRUE")),
        ("true", json!("yes")),
        ("true", json!(1)),
        ("\"true\"", json!(true)),
        ("false", json!("false")),
        ("false", json!("off")),
        ("false", json!(0)),
        ("1", json!(true)),
    ] {
        assert!(argument("deny", "n", expected, &value), "{expected} {value}");
    }
    for (expected, value) in [
        ("12345", json!("1234")),
        ("12345", json!("x")),
        ("true", json!("")),
        ("true", json!(0)),
        ("false", json!("true")),
    ] {
        assert!(!argument("deny", "n", expected, &value), "{expected} {value}");
    }
    for (expected, value) in
        [("12345", json!("12345")), ("true", json!("true")), ("true", json!(1)), ("\"1\"", json!(1))]
    {
        assert!(!argument("allow", "n", expected, &value), "{expected} {value}");
    }
}

#[test]
fn long_texts_are_denied_and_not_allowed() {
    let long = format!("/project/{}", "a/".repeat(40_000));
    assert!(argument("deny", "path", "\"/etc/*\"", &json!(long)));
    assert!(!argument("allow", "path", "\"/project/*\"", &json!(long)));
    assert!(!argument("deny", "text", "\"*production*\"", &json!(long)), "a long text is no secret");
    let long = format!("{}PRODUC\u{200b}TION", "x".repeat(100_000));
    assert!(argument("deny", "text", "\"*production*\"", &json!(long)));
}

#[test]
fn long_lists_hide_nothing() {
    let list = |last: &str| json!(format!("{}{last}", "a.txt,".repeat(1_000)));
    assert!(argument("deny", "path", "\"/etc/*\"", &list("x/../../etc/passwd")));
    assert!(argument("deny", "text", "\"/etc/*\"", &list("/etc/passwd")));
    assert!(!argument("deny", "content", "\"/etc/*\"", &list("b.txt")), "a long text is no list of paths");
}

/// A test that looks at every part of a text in every way must not take time that grows faster than the text.
#[test]
fn strange_texts_take_bounded_time() {
    for piece in [
        "a,",
        "a.b,",
        "'%2527,",
        "/..",
        "%25",
        "\\",
        "$X",
        "${",
        "`",
        "*",
        "[",
        "{",
        "~/",
        "http:",
        "https://a@",
        "a:",
        "\0",
        "\u{200b}",
        "ﷺ",
        "file:",
        "<",
        "xn--a.",
        "1.",
        "[[",
        "{\"a\":",
    ] {
        let text = piece.repeat((1 << 13) / piece.len());
        for pattern in [
            "\"/etc/*\"",
            "\"*/.ssh/*\"",
            "\"https://*.evil.example/*\"",
            "\"*.internal\"",
            "{ min = 5 }",
            "5",
        ] {
            argument("deny", "text", pattern, &json!(text));
            argument("allow", "path", pattern, &json!(text));
        }
    }
}
