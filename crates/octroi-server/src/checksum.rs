//! Checksums of what management answers, so that a client that knows a list or a resource is not sent it again.
//!
//! Every list and every resource carries one in `_meta`. A client that sends the one it knows, in `_meta` of its
//! request and under the same name, gets an answer without content if nothing has changed.

use octroi_mcp::params::Params;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// The checksum of the content.
pub(crate) const CHECKSUM: &str = "octroi/checksum";
/// Says that the content is what the client knows, and was left out.
pub(crate) const UNCHANGED: &str = "octroi/unchanged";
/// Half of a SHA-256 hash: enough to tell contents apart.
const BYTES: usize = 16;

/// The checksum that a client knows.
pub(crate) fn known(params: &Params) -> Option<String> {
    let meta: Map<String, Value> = serde_json::from_slice(&params.other_meta()?).ok()?;
    meta.get(CHECKSUM)?.as_str().map(str::to_owned)
}

/// A result with the checksum of this member, a list; without its items if the client knows them.
pub(crate) fn with_checksum(mut result: Value, member: &str, known: Option<&str>) -> Value {
    let checksum = of(&result[member]);
    let is_unchanged = known == Some(checksum.as_str());
    let Some(object) = result.as_object_mut() else { return result };
    let meta = object.entry("_meta").or_insert_with(|| json!({}));
    meta[CHECKSUM] = checksum.into();
    if is_unchanged {
        meta[UNCHANGED] = true.into();
        object.insert(member.to_owned(), json!([]));
    }
    result
}

fn of(content: &Value) -> String {
    let hash = Sha256::digest(content.to_string());
    hex::encode(&hash[..BYTES])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn content() -> impl Strategy<Value = Value> {
        let text = prop_oneof![Just("a".to_owned()), Just("b".to_owned()), any::<String>()];
        prop::collection::vec((text.clone(), text), 0..4).prop_map(|blocks| {
            blocks.into_iter().map(|(uri, text)| json!({"uri": uri, "text": text})).collect()
        })
    }

    proptest! {
        #[test]
        fn a_client_is_told_that_nothing_changed_exactly_if_nothing_did(known in content(), now in content()) {
            let first = with_checksum(json!({"contents": known}), "contents", None);
            prop_assert_eq!(&first["contents"], &known, "whoever knows nothing gets everything");
            prop_assert_eq!(first["_meta"].get(UNCHANGED), None);
            let checksum = first["_meta"][CHECKSUM].as_str().expect("a checksum");

            let again = with_checksum(json!({"contents": now}), "contents", Some(checksum));
            let is_unchanged = again["_meta"].get(UNCHANGED) == Some(&json!(true));
            prop_assert_eq!(is_unchanged, known == now);
            let expected = if is_unchanged { json!([]) } else { now };
            prop_assert_eq!(&again["contents"], &expected);
        }
    }

    #[test]
    fn other_metadata_stays() {
        let result = with_checksum(json!({"contents": [1], "_meta": {"a": 1}}), "contents", None);
        assert_eq!(result["_meta"]["a"], 1);
        assert!(result["_meta"][CHECKSUM].as_str().is_some_and(|checksum| checksum.len() == 2 * BYTES));
    }
}
