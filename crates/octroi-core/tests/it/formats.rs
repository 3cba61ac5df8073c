//! Formats: positions, comments, and syntax errors.

use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use octroi_core::config::Origins;
use octroi_core::syntax::Format::{Jsonc, Toml, Yaml};
use octroi_core::syntax::{Format, parse};

use crate::harness::{check, load};

#[test]
fn comments_and_what_looks_like_them() {
    check(
        Jsonc,
        r#"
// http://not.a.comment/
{
  /* "mcp": {} */
  "mcp": {
    "a": { // one
      "type": "remote",
      "url": "https://example.com//mcp/*not-a-comment*/?q=//x", /* two */
      "headers": { "X": "// not a comment \" /* neither */", "Y": "a,}" },
    },
  },
}
"#,
        expect![[r#"
            a: http https://example.com//mcp/*not-a-comment*/?q=//x X: // not a comment " /* neither */ Y: a,}
        "#]],
    );
}

#[test]
fn anchors_and_unquoted_values() {
    check(
        Yaml,
        r"
mcp:
  servers:
    - &first
      name: a
      command: run
      env: &env { PORT: 8080, ON: true, RATE: 1.5, NAME: yes }
    - { name: b, command: run, args: ['yes', no], env: *env, timeout: 2m }
",
        expect![[r#"
            a: stdio run [] NAME=yes ON=true PORT=8080 RATE=1.5 in /cfg
            b: stdio run ["yes", "no"] NAME=yes ON=true PORT=8080 RATE=1.5 in /cfg
                timeout = "2m"
        "#]],
    );
}

#[test]
fn the_same_in_every_format_with_its_lines() {
    let toml = "[[mcp.servers]]\nname = \"a\"\nurl = \"https://x\"\n\n[[mcp.servers]]\nname = \"b\"\ntimeout = 1\ncommand = \"r\"\n";
    let yaml = "mcp:\n  servers:\n    - name: a\n      url: https://x\n\n    - name: b\n      timeout: 1\n      command: r\n";
    let json = "{ \"mcp\": { \"servers\": [\n{ \"name\": \"a\",\n \"url\": \"https://x\" },\n{ \"name\": \"b\",\n\"timeout\": 1,\n\"command\": \"r\" } ] } }";
    let lines = |format, text| {
        let config = load(format, text);
        let toml = config.effective.to_toml(Origins::Included);
        let interesting = |line: &&str| line.contains("# file:");
        let places: Vec<String> =
            toml.lines().filter(interesting).map(|line| line.replace("  ", "")).collect();
        assert_eq!(config.problems, [], "{format:?}");
        places.join("\n") + "\n"
    };
    expect![[r##"
        name = "a"# file:2
        transport = "http"# file:3
        url = "https://x" # file:3
        name = "b"# file:6
        transport = "stdio" # file:8
        command = "r" # file:8
        timeout = "1ms" # file:7
    "##]]
    .assert_eq(&lines(Toml, toml));
    expect![[r##"
        name = "a"# file:3
        transport = "http"# file:4
        url = "https://x" # file:4
        name = "b"# file:6
        transport = "stdio" # file:8
        command = "r" # file:8
        timeout = "1ms" # file:7
    "##]]
    .assert_eq(&lines(Yaml, yaml));
    expect![[r##"
        name = "a"# file:2
        transport = "http"# file:3
        url = "https://x" # file:3
        name = "b"# file:4
        transport = "stdio" # file:6
        command = "r" # file:6
        timeout = "1ms" # file:5
    "##]]
    .assert_eq(&lines(Jsonc, json));
}

fn refused(format: Format, text: &str, expect: Expect) {
    let path: Arc<Path> = Path::new("file").into();
    let error = parse(format, text, &path).expect_err("the text should be refused");
    expect.assert_eq(&format!("{}:{}: {error}\n{}\n", error.line, error.column, error.excerpt));
}

#[test]
fn refused_with_place_and_line() {
    refused(
        Toml,
        "[mcp]\nenabled true\n",
        expect![[r#"
        2:9: key with no value, expected `=`
        2 | enabled true
          |         ^
    "#]],
    );
    refused(
        Toml,
        "a = 1\na = 2\n",
        expect![[r#"
        2:1: duplicate key
        2 | a = 2
          | ^
    "#]],
    );
    refused(
        Yaml,
        "a: 1\na: 2\n",
        expect![[r#"
        2:1: `a` is written twice
        2 | a: 2
          | ^
    "#]],
    );
    refused(
        Yaml,
        "a: [1\nb: 2\n",
        expect![[r#"
        2:2: illegal placement of ':' indicator
        2 | b: 2
          |  ^
    "#]],
    );
    refused(
        Yaml,
        "a: 1\n---\nb: 2\n",
        expect![[r#"
        3:1: there is more than one document
        3 | b: 2
          | ^
    "#]],
    );
    refused(
        Yaml,
        "a: !local x\n",
        expect![[r#"
        1:4: tags are not supported
        1 | a: !local x
          |    ^
    "#]],
    );
    refused(
        Jsonc,
        "{\n  \"a\": 1,\n  \"a\": 2\n}",
        expect![[r#"
        3:1: `a` is written twice
        3 |   "a": 2
          | ^
    "#]],
    );
    refused(
        Jsonc,
        "{\n  \"a\": 1\n  \"b\": 2\n}",
        expect![[r#"
        2:9: Expected comma
        2 |   "a": 1
          |         ^
    "#]],
    );
    refused(
        Jsonc,
        "{ 'a': 1 }",
        expect![[r#"
        1:3: Single-quoted strings are not allowed
        1 | { 'a': 1 }
          |   ^
    "#]],
    );
    refused(
        Toml,
        "[[tokens]]\ntoken = \"hunter2\n",
        expect![[r#"
        2:17: invalid basic string, expected `"`
        2 | token = ***
          |            ^
    "#]],
    );
}

#[test]
fn an_alias_cannot_grow_without_bound() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..9 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        text.extend([format!("a{level}: &a{level} [{inner}]\n")]);
    }
    let path: Arc<Path> = Path::new("file").into();
    let error = parse(Yaml, &text, &path).expect_err("it is too large");
    assert!(error.message.contains("too large"), "{error}");
}

#[test]
fn formats_by_name() {
    for (name, format) in [
        ("octroi.toml", Toml),
        ("a/mcp_servers.yaml", Yaml),
        ("x.yml", Yaml),
        ("config.jsonc", Jsonc),
        (".mcp.json", Jsonc),
        ("octroi.conf", Toml),
        ("octroi", Toml),
    ] {
        assert_eq!(Format::of(Path::new(name)), format, "{name}");
    }
}
