//! Every input is parsed without a panic.

use std::path::Path;
use std::sync::Arc;

use octroi_core::config::{Origins, ProgramPlaces, Sources, build};
use octroi_core::syntax::{Format, parse};
use proptest::prelude::*;

use crate::harness::lookup;

fn read(format: Format, text: &str) {
    let path: Arc<Path> = Path::new("file").into();
    let Ok(node) = parse(format, text, &path) else {
        return;
    };
    let config = build(Sources {
        file: Some(&node),
        base: Path::new("/cfg").into(),
        discovered: Vec::new(),
        listen: None,
        unknown: None,
        lookup: &lookup,
        programs: ProgramPlaces::BESIDE_FILE,
    });
    let _ = config.effective.to_toml(Origins::Included);
    let _ = config.effective.to_json(Origins::Included, &config.problems);
}

/// Pieces of configuration, so that the parser gets past the first letter.
fn pieces() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "[[mcp.servers]]",
        "[mcp]",
        "[server]",
        "[[tokens]]",
        "[policy]",
        "[[agents]]",
        "[approvals]",
        "[pins]",
        "[audit]",
        "[[audit.handlers]]",
        "[[quotas]]",
        "[[gates]]",
        "[[inference]]",
        "id",
        "kind",
        "path",
        "tool",
        "tools",
        "words",
        "wait",
        "lock",
        "\"unix://\"",
        "\"udp://[:1\"",
        "\"..\"",
        "mcp",
        "mcpServers",
        "mcp_servers",
        "name",
        "command",
        "url",
        "env",
        "\"a\"",
        "\"stdio://x 'y\"",
        "\"${A",
        "${A:-b}",
        "= ",
        ": ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "\n",
        "\n  ",
        "\"",
        "'",
        "1",
        "-9",
        "true",
        "null",
        "&a ",
        "*a",
        "|",
        ">",
        "#",
        "//",
        "/*",
        "*/",
        "é",
        "\u{0}",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

#[test]
fn no_text_is_too_deep() {
    for piece in ["[", "{", "{\"a\":", "a:\n", "- ", "[[a.", "a.a", "? ", "\"", "[a]\n", "&a [*a, "] {
        let text = piece.repeat(20_000);
        for format in Format::ALL {
            read(format, &text);
            read(format, &format!("a = {text}"));
            read(format, &format!("a: {text}"));
        }
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in prop_oneof![any::<String>(), pieces()]) {
        for format in Format::ALL {
            read(format, &text);
        }
    }
}
