//! The properties on generated inputs: JSON with the relevant names, written in unusual ways.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::properties;

/// Names that are read somewhere, some of them with escapes, and some unknown ones.
const NAMES: [&str; 28] = [
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "name",
    "n\\u0061me",
    "uri",
    "arguments",
    "_meta",
    "\\u005fmeta",
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol\\/logLevel",
    "inputRequests",
    "inputResponses",
    "requestState",
    "resultType",
    "ttlMs",
    "mode",
    "elicitationId",
    "code",
    "data",
    "x-unknown",
    "",
    "\\ud83d\\ude00 \\\" }",
];

const SCALARS: [&str; 18] = [
    "null",
    "true",
    "0",
    "-0",
    "1e400",
    "123456789012345678901234567890.10",
    "\"2.0\"",
    "\"tools/call\"",
    "\"resources/read\"",
    "\"input_required\"",
    "\"complete\"",
    "\"url\"",
    "\"elicitation/create\"",
    "\"\\ud800\"",
    "\"\\\\\"",
    "\"]}\"",
    "\"é\\n\"",
    "[]",
];

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just(""), 1 => select(vec![" ", "\n", "\t\r\n "])]
}

fn json() -> impl Strategy<Value = String> {
    select(SCALARS.to_vec()).prop_map(str::to_owned).prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            4 => object(inner),
        ]
    })
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let member = (select(NAMES.to_vec()), space(), space(), value)
        .prop_map(|(name, before, after, value)| format!("{before}\"{name}\"{after}:{before}{value}{after}"));
    (vec(member, 0..7), space())
        .prop_map(|(members, space)| format!("{space}{{{}{space}}}", members.join(",")))
}

/// Generates a message more often than chance would.
fn message() -> impl Strategy<Value = String> {
    (json(), json(), select(vec!["\"tools/call\"", "\"x\"", "\"initialize\""]), space()).prop_map(
        |(id, params, method, space)| {
            let params = if params.trim_start().starts_with(['{', '[']) { params } else { "{}".to_owned() };
            format!(
                "{{{space}\"jsonrpc\":\"2.0\",\"id\":{id},\"params\"{space}:{params},\"method\":{method}}}"
            )
        },
    )
}

/// Valid text with one byte replaced.
fn damaged(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<u8>> {
    (text, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(text, position, byte)| {
        let mut text = text.into_bytes();
        if !text.is_empty() {
            let position = position.index(text.len());
            text[position] = byte;
        }
        text
    })
}

fn with_choice(choice: u8, text: &[u8]) -> Vec<u8> {
    [&[choice], text].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn envelopes(text in prop_oneof![message(), json()], batch in vec(message(), 0..4)) {
        properties::envelope::check(text.as_bytes());
        properties::envelope::check(format!("[{}]", batch.join(",")).as_bytes());
    }

    #[test]
    fn damaged_envelopes(text in damaged(message()), noise in any::<Vec<u8>>()) {
        properties::envelope::check(&text);
        properties::envelope::check(&noise);
    }

    #[test]
    fn translations(choice in any::<u8>(), text in prop_oneof![object(json()), json(), message()]) {
        properties::translate::check(&with_choice(choice, text.as_bytes()));
    }

    #[test]
    fn damaged_translations(choice in any::<u8>(), text in damaged(message())) {
        properties::translate::check(&with_choice(choice, &text));
    }

    #[test]
    fn streams(
        step in any::<u8>(),
        lines in vec((select(vec!["data", "data: x", "data:{}", "id: 1", "event: e", "retry: 5", ":", "", "\u{feff}data: b"]), select(vec!["\n", "\r", "\r\n", "\n\n", "\r\r"])), 0..24),
        noise in any::<Vec<u8>>(),
    ) {
        let stream: String = lines.iter().flat_map(|(line, end)| [*line, *end]).collect();
        properties::sse::check(&with_choice(step, stream.as_bytes()));
        properties::sse::check(&with_choice(step, &noise));
    }
}
