//! What a client says about itself, where that is more than programs say. It goes to modern servers with every request
//! and every client writes it freely, so it is shown and recorded like other metadata.

use bytes::Bytes;
use octroi_mcp::json::{self, Span};

use crate::caller::Caller;

/// A name, title or version that nobody wonders about.
const TEXT_BYTES_MAX: usize = 64;
/// The members of the capabilities that the protocol defines, at all levels.
const CAPABILITIES: [&str; 15] = [
    "roots",
    "listChanged",
    "sampling",
    "tools",
    "context",
    "elicitation",
    "form",
    "url",
    "tasks",
    "list",
    "cancel",
    "requests",
    "createMessage",
    "create",
    "extensions",
];

/// What is unusual about a client's own description, as an object.
pub(super) fn unusual(caller: &Caller) -> Option<Bytes> {
    let capabilities = caller.capabilities.json();
    let info = caller.info.as_ref().filter(|info| !is_usual_info(info));
    let capabilities = Some(capabilities).filter(|json| !are_usual(json, Span { start: 0, end: json.len() }));
    let members = [("clientInfo", info), ("clientCapabilities", capabilities)];
    let members = members.iter().filter_map(|(name, value)| {
        let value = value.as_ref()?;
        Some(format!("\"{name}\":{}", String::from_utf8_lossy(value)))
    });
    let members: Vec<String> = members.collect();
    (!members.is_empty()).then(|| Bytes::from(format!("{{{}}}", members.join(","))))
}

fn is_usual_info(info: &Bytes) -> bool {
    let is_usual = |member: json::Member| {
        matches!(&*member.key(info), b"name" | b"title" | b"version")
            && member.value.of(info).starts_with(b"\"")
            && member.value.of(info).len() <= TEXT_BYTES_MAX + 2
    };
    json::is_object(info) && json::members(info, Span { start: 0, end: info.len() }).all(is_usual)
}

/// Whether capabilities contain known members only. Their depth is limited like that of the whole message.
fn are_usual(json: &Bytes, span: Span) -> bool {
    json::members(json, span).all(|member| {
        let is_known = || {
            let key = member.key(json);
            CAPABILITIES.iter().any(|known| known.as_bytes() == &*key)
                || *key == *octroi_mcp::task::EXTENSION.as_bytes()
        };
        match member.value.of(json) {
            b"true" | b"false" => is_known(),
            value => json::is_object(value) && is_known() && are_usual(json, member.value),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_say_about_themselves_is_usual() {
        for (json, expected) in [
            (r#"{"name":"claude-code","version":"2.1.0"}"#, true),
            (r#"{"name":"x","title":"X","version":"1"}"#, true),
            (r#"{"name":"x","version":"1","secret":"y"}"#, false),
            (r#"{"name":{"a":"b"},"version":"1"}"#, false),
            (r#""text""#, false),
        ] {
            assert_eq!(is_usual_info(&Bytes::from_static(json.as_bytes())), expected, "{json}");
        }
        let long = Bytes::from(format!(r#"{{"name":"{}"}}"#, "x".repeat(65)));
        assert!(!is_usual_info(&long));
        for (json, expected) in [
            ("{}", true),
            (r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}"#, true),
            (r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#, true),
            (r#"{"roots":{"note":"text"}}"#, false),
            (r#"{"experimental":{"anything":1}}"#, false),
            (r#"{"roots":"text"}"#, false),
            (r#"{"a text":{}}"#, false),
        ] {
            let json = Bytes::from_static(json.as_bytes());
            assert_eq!(are_usual(&json, Span { start: 0, end: json.len() }), expected, "{json:?}");
        }
    }
}
