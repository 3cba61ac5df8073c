//! What of a server's error reaches its caller: the same code, and texts without secrets.

use octroi_core::redact::REDACTED;
use octroi_mcp::{RpcError, code};
use octroi_upstream::SharedRedactor;

/// The error without secrets in its message and details; `None` if there are none. `json` is its text.
pub(crate) fn redacted(error: &RpcError, json: &[u8], redactor: &SharedRedactor) -> Option<RpcError> {
    // The addresses in its details are for a person to open, and do not work without what is in them.
    if error.code == code::URL_ELICITATION_REQUIRED {
        let message = redactor.changed(&error.message)?;
        return Some(RpcError { message, ..error.clone() });
    }
    let Ok(text) = std::str::from_utf8(json) else {
        return Some(RpcError::new(error.code, REDACTED));
    };
    let text = redactor.changed(text)?;
    let redacted: Option<RpcError> = serde_json::from_str(&text).ok();
    // Only where a secret went across the marks of the JSON text.
    let redacted = redacted.unwrap_or_else(|| RpcError::new(error.code, REDACTED));
    Some(RpcError { code: error.code, ..redacted })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octroi_core::redact::Redactor;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn texts_are_redacted_and_codes_stay() {
        let redactor = SharedRedactor::default();
        redactor.set(Arc::new(Redactor::new(["known-secret-1"].into_iter())));
        for (error, expected) in [
            (
                json!({"code": -32000, "message": "no such file: a.txt", "data": {"path": "a.txt"}}),
                Value::Null,
            ),
            (
                json!({"code": -32000, "message": "login with password=hunter2secret failed"}),
                json!({"code": -32000, "message": "login with password=[redacted: password] failed"}),
            ),
            (
                json!({"code": 5, "message": "x", "data": {"address": "postgres://u:pw12345@db/a", "n": [1, "known-secret-1"]}}),
                json!({"code": 5, "message": "x", "data": {"address": "postgres://u:[redacted: url_password]@db/a", "n": [1, "[redacted]"]}}),
            ),
            (
                json!({"code": 5, "message": "x", "data": "{\"api_key\":\"abc\"}"}),
                json!({"code": 5, "message": "x", "data": "{\"api_key\":\"[redacted]\"}"}),
            ),
            // The address of a question is for a person to open.
            (
                json!({"code": code::URL_ELICITATION_REQUIRED, "message": "known-secret-1",
                    "data": {"elicitations": [{"url": "https://u:pw12345@x/?token=a1b2c3d4e5f6"}]}}),
                json!({"code": code::URL_ELICITATION_REQUIRED, "message": "[redacted]",
                    "data": {"elicitations": [{"url": "https://u:pw12345@x/?token=a1b2c3d4e5f6"}]}}),
            ),
        ] {
            let read: RpcError = serde_json::from_value(error.clone()).unwrap();
            let redacted = redacted(&read, error.to_string().as_bytes(), &redactor);
            let redacted = redacted.map(|error| serde_json::from_slice(&error.to_json()).unwrap());
            assert_eq!(redacted.unwrap_or(Value::Null), expected, "{error}");
        }
        let joined = r#"{"code":-32000,"message":"x"}"#;
        let read: RpcError = serde_json::from_str(joined).unwrap();
        let redactor = SharedRedactor::default();
        redactor.set(Arc::new(Redactor::new(["-32000,\"message\""].into_iter())));
        assert_eq!(redacted(&read, joined.as_bytes(), &redactor), Some(RpcError::new(-32000, REDACTED)));
    }
}
