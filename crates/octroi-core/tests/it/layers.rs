//! How a file overrides a server that was discovered in a directory.

use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use octroi_core::config::{Discovered, Layer, assumed_layer};
use octroi_core::syntax::Format::Jsonc;
use octroi_core::syntax::{Node, Origin, Value, parse};

use crate::harness::{describe, load_with};

fn found(own: Option<&str>) -> Discovered {
    let home = Path::new("/cfg/mcpservers/filesystem");
    let origin = Origin::Directory(Path::new("mcpservers/filesystem").into());
    let mut layers = vec![assumed_layer(
        &["bun", "run", "/cfg/mcpservers/filesystem/server.mjs"],
        Some(home),
        None,
        &origin,
    )];
    if let Some(text) = own {
        let path: Arc<Path> = Path::new("mcpservers/filesystem/config.jsonc").into();
        let Ok(Node { value: Value::Map(map), .. }) = parse(Jsonc, text, &path) else {
            panic!("{text}");
        };
        layers.push(Layer { map, base: home.into() });
    }
    Discovered { name: "filesystem".to_owned(), origin, layers }
}

fn check(own: Option<&str>, file: &str, expect: Expect) {
    expect.assert_eq(&describe(&load_with(Jsonc, file, vec![found(own)], None)));
}

/// As in the documentation.
const OWN: &str = r#"
// mcpservers/filesystem/config.jsonc
{
  "enabled": true,
  "timeout": 60000,
  "environment": {
    "ALLOW_WRITE": "true"
  }
}
"#;

#[test]
fn the_file_counts_before_the_directory_and_that_before_the_default() {
    check(
        None,
        "{}",
        expect![[r#"
        filesystem: stdio bun ["run", "/cfg/mcpservers/filesystem/server.mjs"] in /cfg/mcpservers/filesystem
    "#]],
    );
    check(
        Some(OWN),
        "{}",
        expect![[r#"
        filesystem: stdio bun ["run", "/cfg/mcpservers/filesystem/server.mjs"] ALLOW_WRITE=true in /cfg/mcpservers/filesystem
            enabled = true, timeout = "1m"
    "#]],
    );
    check(
        Some(OWN),
        r#"{ "mcp": { "filesystem": { "timeout": 5, "env": { "B": "1", "ALLOW_WRITE": "no" }, "args": ["more"] } } }"#,
        expect![[r#"
            filesystem: stdio bun ["run", "/cfg/mcpservers/filesystem/server.mjs", "more"] ALLOW_WRITE=no B=1 in /cfg/mcpservers/filesystem
                enabled = true, timeout = "5ms"
        "#]],
    );
}

#[test]
fn a_command_replaces_everything_about_the_place() {
    check(
        Some(OWN),
        r#"{ "mcp": { "filesystem": { "type": "local", "command": ["./run"] } } }"#,
        expect![[r#"
            filesystem: stdio /cfg/run [] ALLOW_WRITE=true in /cfg
                enabled = true, timeout = "1m"
        "#]],
    );
    check(
        Some(r#"{ "command": ["./run", "x"], "timeout": 1 }"#),
        "{}",
        expect![[r#"
            filesystem: stdio /cfg/mcpservers/filesystem/run ["x"] in /cfg/mcpservers/filesystem
                timeout = "1ms"
        "#]],
    );
    check(
        Some(OWN),
        r#"{ "mcp": { "filesystem": { "type": "remote", "url": "https://example.com" } } }"#,
        expect![[r#"
            filesystem: http https://example.com
                enabled = true, timeout = "1m"
            warning: mcpservers/filesystem/config.jsonc:6: server `filesystem`: `environment` has no effect: only a program has it
        "#]],
    );
}

#[test]
fn a_switch_alone() {
    check(
        None,
        r#"{ "mcp": { "filesystem": { "enabled": false } } }"#,
        expect![[r#"
        filesystem: stdio bun ["run", "/cfg/mcpservers/filesystem/server.mjs"] in /cfg/mcpservers/filesystem
            enabled = false
    "#]],
    );
    check(
        Some(r#"{ "enabled": false }"#),
        r#"{ "mcp": { "filesystem": { "enabled": true } } }"#,
        expect![[r#"
            filesystem: stdio bun ["run", "/cfg/mcpservers/filesystem/server.mjs"] in /cfg/mcpservers/filesystem
                enabled = true
        "#]],
    );
}
