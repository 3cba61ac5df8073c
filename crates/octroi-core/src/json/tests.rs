use proptest::prelude::*;

use super::{DEPTH_MAX, Doubles, JsonError, Node, push_string};

#[test]
fn it_reads_what_serde_reads_and_nothing_else() {
    for text in [
        "null",
        " true ",
        "false",
        "0",
        "-0",
        "-1.5e+3",
        "1E5",
        "\"\"",
        "\"a\\u0041\\n\\/\"",
        "[]",
        "[1,2]",
        "{}",
        "{\"a\":{\"b\":[null]}}",
        "\"\\ud83d\\ude00\"",
        "\"é\"",
        "",
        " ",
        "nul",
        "truefalse",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "NaN",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "[",
        "[1",
        "[1,]",
        "[1 2]",
        "{",
        "{a:1}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 \"b\":2}",
        "1 2",
        "\"a\nb\"",
        "//",
        "\u{feff}1",
        "\"\\ud800\\ue000\"",
    ] {
        let by_serde = serde_json::from_str::<serde_json::Value>(text).is_ok();
        assert_eq!(Node::parse(text.as_bytes(), Doubles::Refused).is_ok(), by_serde, "{text}");
    }
}

#[test]
fn doubles_are_refused_or_kept() {
    let text = br#"{"a":1,"\u0061":2}"#;
    assert_eq!(Node::parse(text, Doubles::Refused), Err(JsonError::Double("a".to_owned())));
    let both = vec![("a".into(), Node::Number("1".into())), ("a".into(), Node::Number("2".into()))];
    assert_eq!(Node::parse(text, Doubles::Kept), Ok(Node::Map(both)));
}

#[test]
fn depth_has_a_limit() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(Node::parse(nested(DEPTH_MAX).as_bytes(), Doubles::Kept).is_ok());
    assert_eq!(Node::parse(nested(DEPTH_MAX + 1).as_bytes(), Doubles::Kept), Err(JsonError::Deep));
    assert_eq!(Node::parse("[".repeat(1_000_000).as_bytes(), Doubles::Kept), Err(JsonError::Deep));
}

proptest! {
    #[test]
    fn strings_come_back(text: String) {
        let mut written = String::new();
        push_string(&mut written, &text);
        prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text.clone());
        prop_assert_eq!(Node::parse(written.as_bytes(), Doubles::Refused), Ok(Node::Text(text)));
    }

    #[test]
    fn it_never_panics_and_agrees_with_serde(bytes in "[\\[\\]{}\",:0-9.eE+\\\\u \\-a-z\u{e9}]{0,24}") {
        let by_serde = serde_json::from_str::<serde_json::Value>(&bytes);
        match Node::parse(bytes.as_bytes(), Doubles::Kept) {
            Ok(_) => {
                // The other parser refuses numbers that it cannot represent; this one accepts them.
                let is_number_range = by_serde.as_ref().is_err_and(|error| error.to_string().contains("number out of range"));
                prop_assert!(by_serde.is_ok() || is_number_range);
            }
            Err(_) => prop_assert!(by_serde.is_err()),
        }
    }
}
