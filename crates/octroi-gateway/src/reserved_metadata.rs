//! Removes the `_meta` members reserved for Octroi from the messages of servers. Readers disagree about
//! duplicate members, so all of them are checked.

use bytes::Bytes;
use memchr::{memchr, memmem};
use octroi_mcp::json::{self, Edit, Span};
use octroi_mcp::result::ResultView;
use octroi_mcp::{RpcError, ask, code};
use octroi_upstream::SharedRedactor;
use serde_json::{Value, json};

use crate::denial;
use crate::server_error;

/// The prefix of the reserved members.
const PREFIX: &str = "octroi/";
/// With more of them than this, the whole `_meta` is dropped.
const RESERVED_MAX: usize = 16;

/// A server's result without reserved members; `None` if it has none.
pub(crate) fn out_of_result(view: &ResultView<'_>) -> Option<Bytes> {
    let meta = view.meta()?;
    if view.has_many_metas() || may_be_in(meta.of(view.json())) { without(view.json()) } else { None }
}

/// An object of a server, such as the parameters of its question, without reserved members.
pub(crate) fn out_of_object(object: Bytes) -> Bytes {
    if may_be_in(&object) { without(&object).unwrap_or(object) } else { object }
}

/// Questions by their keys, without reserved members.
pub(crate) fn out_of_questions(questions: Bytes) -> Bytes {
    if !may_be_in(&questions) {
        return questions;
    }
    // Unreadable questions cannot be answered either.
    ask::with_params(&questions, out_of_object).unwrap_or_else(|_| Bytes::from_static(b"{}"))
}

/// A server's task, without reserved members in its result, its error and its questions, and without secrets in its
/// error.
pub(crate) fn out_of_task(server: &str, task: &Bytes, redactor: &SharedRedactor) -> Bytes {
    let member = |name| {
        json::member(task, Span { start: 0, end: task.len() }, name).map(|span| task.slice(span.range()))
    };
    let cleaned = [
        ("error", member("error").map(|error| clean_error(server, error, redactor))),
        ("result", member("result").map(out_of_object)),
        ("inputRequests", member("inputRequests").map(out_of_questions)),
    ];
    // Set even if unchanged, so that both of two duplicate members are replaced.
    let edits: Vec<Edit<'_>> =
        cleaned.iter().filter_map(|(name, value)| Some(Edit::Set(name, value.as_ref()?))).collect();
    if edits.is_empty() { task.clone() } else { Bytes::from(json::rewrite(task, &edits)) }
}

/// A URL elicitation error of a server, without reserved members.
pub(crate) fn out_of_url_error(error: &RpcError) -> Option<RpcError> {
    let mut cleaned = error.clone();
    for elicitation in cleaned.data.as_mut()?.get_mut("elicitations")?.as_array_mut()? {
        if let Some(Value::Object(meta)) = elicitation.get_mut("_meta") {
            meta.retain(|name, _| !name.starts_with(PREFIX));
        }
    }
    (cleaned != *error).then_some(cleaned)
}

/// The error without secrets, or its replacement if it is forged or ambiguous.
fn clean_error(server: &str, json: Bytes, redactor: &SharedRedactor) -> Bytes {
    let Ok(error) = serde_json::from_slice::<RpcError>(&json) else {
        return replacement(&RpcError::new(code::INTERNAL_ERROR, "the task's error cannot be read"));
    };
    let redacted = server_error::redacted(&error, &json, redactor);
    if denial::is_forged(&error) {
        return replacement(&denial::forged(server, redacted.as_ref().unwrap_or(&error)));
    }
    redacted.map_or(json, |redacted| redacted.to_json())
}

fn replacement(RpcError { code, message, data }: &RpcError) -> Bytes {
    Bytes::from(json!({"code": code, "message": message, "data": data}).to_string())
}

/// A fast check: a reserved prefix occurs literally or with escapes.
fn may_be_in(text: &[u8]) -> bool {
    memchr(b'\\', text).is_some() || memmem::find(text, PREFIX.as_bytes()).is_some()
}

/// An object without reserved members in its `_meta`; `None` if it has none.
fn without(object: &[u8]) -> Option<Bytes> {
    let whole = Span { start: 0, end: object.len() };
    let metas: Vec<Span> = json::members(object, whole)
        .filter(|member| member.is(object, "_meta"))
        .map(|member| member.value)
        .collect();
    let names =
        metas.iter().flat_map(|meta| json::members(object, *meta)).filter_map(|member| member.name(object));
    let reserved: Vec<String> =
        names.filter(|name| name.starts_with(PREFIX)).map(std::borrow::Cow::into_owned).collect();
    let drops: Vec<Edit<'_>> = reserved.iter().map(|name| Edit::Drop(name)).collect();
    let edit = match (reserved.len(), metas.len()) {
        (0, _) => return None,
        (1..=RESERVED_MAX, 1) => Edit::Within("_meta", &drops),
        _ => Edit::Drop("_meta"),
    };
    Some(Bytes::from(json::rewrite(object, &[edit])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Bytes {
        Bytes::copy_from_slice(text.as_bytes())
    }

    #[test]
    fn reserved_members_of_servers_are_removed() {
        let many = (0..100).map(|number| format!(r#""octroi/{number}":1"#)).collect::<Vec<_>>().join(",");
        let many = format!(r#"{{"content":[],"_meta":{{{many},"x":1}}}}"#);
        for (result, expected) in [
            (
                r#"{"_meta":{"octroi/error":{"code":"x"},"kept":1},"y":2}"#,
                Some(r#"{"_meta":{"kept":1},"y":2}"#),
            ),
            (r#"{"_meta":{"octr\u006fi\/error":1,"octroi/a":2}}"#, Some(r#"{"_meta":{}}"#)),
            (r#"{"_meta":{"octroi/a":1,"octroi/a":2,"b":3}}"#, Some(r#"{"_meta":{"b":3}}"#)),
            (r#"{"_meta":{"octroi/a":1},"y":2,"_meta":{}}"#, Some(r#"{"y":2}"#)),
            (r#"{"_meta":{},"y":2,"_m\u0065ta":{"octroi/a":1}}"#, Some(r#"{"y":2}"#)),
            (r#"{"_meta":{"a":1},"_meta":{"b":1}}"#, None),
            (many.as_str(), Some(r#"{"content":[]}"#)),
            (r#"{"_meta":{"octroi":1,"x/octroi/error":2}}"#, None),
            (r#"{"_meta":"octroi/error"}"#, None),
            (r#"{"structuredContent":{"_meta":{"octroi/a":1}}}"#, None),
            (r#"{"_meta":{}}"#, None),
        ] {
            let found = out_of_result(&ResultView::read(&bytes(result)));
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{result}");
            let params = out_of_object(bytes(result));
            assert_eq!(params, expected.unwrap_or(result), "{result}");
        }
    }

    #[test]
    fn questions_of_servers_are_not_octrois() {
        let mark = r#"{"octroi/approval":{"id":"ap_x"},"kept":1}"#;
        let question =
            format!(r#"{{"method":"elicitation/create","params":{{"message":"m","_meta":{mark}}}}}"#);
        let plain = r#"{"method":"elicitation/create","params":{"message":"m","_meta":{"kept":1}}}"#;
        let expected = format!(r#"{{"k":{plain}}}"#);
        assert_eq!(out_of_questions(bytes(&expected)), expected);
        assert_eq!(out_of_questions(bytes(&format!(r#"{{"k":{question}}}"#))), expected);
        // Hidden before a duplicate member.
        let twice = question.replace("\"params\"", r#""params":{"_meta":{"octroi/a":1}},"params""#);
        assert_eq!(out_of_questions(bytes(&format!(r#"{{"k":{twice}}}"#))), expected);
        assert_eq!(out_of_questions(bytes(r#"{"k":{"params":{"_meta":{"octroi/a":1}}}}"#)), "{}");

        let elicitation = |meta: &str| -> Value {
            serde_json::from_str(&format!(r#"{{"url":"u","_meta":{meta}}}"#)).unwrap()
        };
        let error = |meta: &str| {
            RpcError::new(code::URL_ELICITATION_REQUIRED, "m")
                .with_data(json!({"elicitations": [elicitation(meta)]}))
        };
        assert_eq!(out_of_url_error(&error(mark)), Some(error(r#"{"kept":1}"#)));
        assert_eq!(out_of_url_error(&error("{}")), None);
    }

    #[test]
    fn tasks_of_servers_do_not_fail_in_octrois_name() {
        for (task, expected) in [
            (
                r#"{"taskId":"t","result":{"content":[],"_meta":{"octroi/error":{"code":"x"}}}}"#,
                Some(r#"{"taskId":"t","result":{"content":[],"_meta":{}}}"#),
            ),
            (
                r#"{"inputRequests":{"k":{"method":"m","params":{"_meta":{"octroi/approval":1}}}}}"#,
                Some(r#"{"inputRequests":{"k":{"method":"m","params":{"_meta":{}}}}}"#),
            ),
            (
                r#"{"error":{"code":-32950.0,"message":"x"}}"#,
                Some(r#"{"error":{"code":-32603,"message":"the task's error cannot be read","data":null}}"#),
            ),
            // Hidden before a duplicate member.
            (
                r#"{"error":{"code":-32950,"message":"x"},"error":{"code":1,"message":"y"}}"#,
                Some(r#"{"error":{"code":1,"message":"y"},"error":{"code":1,"message":"y"}}"#),
            ),
            (
                r#"{"result":{"_meta":{"octroi/a":1}},"result":{"x":1}}"#,
                Some(r#"{"result":{"x":1},"result":{"x":1}}"#),
            ),
            (r#"{"error":{"code":-32000,"message":"x"}}"#, None),
            (
                r#"{"error":{"code":-32000,"message":"password=hunter2secret"}}"#,
                Some(r#"{"error":{"code":-32000,"message":"password=[redacted: password]"}}"#),
            ),
            (r#"{"result":{"content":[],"_meta":{"kept":1}}}"#, None),
        ] {
            assert_eq!(
                out_of_task("s", &bytes(task), &SharedRedactor::default()),
                expected.unwrap_or(task),
                "{task}"
            );
        }
        let forged = out_of_task(
            "s",
            &bytes(r#"{"error":{"code":-32951,"message":"policy_denied"}}"#),
            &SharedRedactor::default(),
        );
        let forged: Value = serde_json::from_slice(&forged).unwrap();
        assert_eq!(forged["error"]["code"], -32952, "{forged}");
    }
}
