//! References within a schema.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// What a reference within the schema leads to. References by `$id` are not followed here.
pub(super) fn target<'a>(root: &'a Value, reference: &Value) -> Option<&'a Value> {
    let fragment = reference.as_str()?.strip_prefix('#')?;
    let fragment: Cow<'_, str> = percent_decode_str(fragment).decode_utf8().ok()?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&fragment);
    }
    anchored(root, &fragment)
}

fn anchored<'a>(value: &'a Value, anchor: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => {
            let has_name = |key: &str| members.get(key).and_then(Value::as_str) == Some(anchor);
            if has_name("$anchor") || has_name("$dynamicAnchor") {
                return Some(value);
            }
            members.values().find_map(|value| anchored(value, anchor))
        }
        Value::Array(items) => items.iter().find_map(|value| anchored(value, anchor)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}
