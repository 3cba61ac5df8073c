//! Members are located correctly, and everything that is not edited stays unchanged.

use bytes::Bytes;
use octroi_mcp::json::{self, Edit, Span};
use octroi_mcp::{Envelope, Id, Incoming, envelope};

use super::members::{self, Members};

pub(crate) fn check(text: &[u8]) {
    match Incoming::parse(Bytes::copy_from_slice(text)) {
        Err(malformed) => {
            assert_eq!(malformed.is_json, members::is_json(text), "{malformed}");
            assert!(members::is_json(&envelope::error(malformed.id.as_ref(), &malformed.to_error())));
        }
        Ok(Incoming::One(message)) => check_message(&message),
        Ok(Incoming::Batch(messages)) => messages.iter().flatten().for_each(check_message),
    }
}

fn check_message(message: &Envelope) {
    let text = message.json();
    assert_eq!(message.with(None, &[]), text, "no edit, no change");
    assert!(members::is_json(&message.with(Some(&Id::number(7)), &[Edit::Set("x", b"[1]")])));
    let Some(expected) = members::read(text) else {
        return;
    };
    let found: Members = json::members(text, Span { start: 0, end: text.len() })
        .map(|member| (member.name(text).unwrap_or_default().into_owned(), string(member.value.of(text))))
        .collect();
    assert_eq!(found, expected);
    let has = |name: &str, found: Option<Bytes>| {
        assert_eq!(found.map(|found| string(&found)).as_deref(), members::value(&expected, name), "{name}");
    };
    has("id", message.id().map(|id| Bytes::copy_from_slice(id.as_json())));
    has("result", message.result());
    has("error", message.error_json());
    if members::value(&expected, "params").is_some() {
        has("params", Some(message.params()));
    }
    check_edits(message, &expected);
}

/// Each edit changes its member and nothing else.
fn check_edits(message: &Envelope, before: &Members) {
    let text = message.json();
    assert_eq!(
        members::read(&message.with(Some(&Id::number(7)), &[])),
        Some(members::with(before, "id", "7")),
        "another id"
    );
    for (name, _) in before {
        let after = members::read(&json::rewrite(text, &[Edit::Set(name, b"[null]")]));
        assert_eq!(after, Some(members::with(before, name, "[null]")), "set {name:?}");
        let after = members::read(&json::rewrite(text, &[Edit::Drop(name)]));
        assert_eq!(after, Some(members::without(before, &[name])), "drop {name:?}");
    }
    let params = members::value(before, "params").unwrap_or("{}");
    if let Some(inner) = members::read(params.as_bytes()) {
        let after =
            members::read(&message.with(None, &[Edit::Set("name", b"\"x\"")])).expect("still an object");
        assert_eq!(members::without(&after, &["params"]), members::without(before, &["params"]));
        let changed = members::value(&after, "params").expect("params are there").as_bytes();
        assert_eq!(members::read(changed), Some(members::with(&inner, "name", "\"x\"")));
    }
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("valid JSON is UTF-8")
}
