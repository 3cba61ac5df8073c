//! The result of a tool in readable form.

use serde_json::Value;

/// A tool's result for people and logs. Clients get the result itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    /// Whether the tool succeeded.
    pub is_success: bool,
    /// Text parts, one per line; other parts are described in a line.
    pub text: String,
    /// `structuredContent` if present, else the text.
    pub payload: Value,
}

impl ToolOutcome {
    /// Parses the result of `tools/call`.
    pub fn read(result: &Value) -> Self {
        let is_success = result.get("isError").and_then(Value::as_bool) != Some(true);
        let parts = result.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut text = parts.iter().map(describe).collect::<Vec<_>>().join("\n");
        if text.is_empty() && !is_success {
            "the tool failed without a message".clone_into(&mut text);
        }
        let structured = result.get("structuredContent").filter(|structured| !structured.is_null()).cloned();
        let payload = structured.unwrap_or_else(|| Value::String(text.clone()));
        Self { is_success, text, payload }
    }
}

fn describe(part: &Value) -> String {
    let member = |name: &str| part.get(name).and_then(Value::as_str);
    let kind = member("type").unwrap_or("unknown");
    match kind {
        "text" => member("text").unwrap_or_default().to_owned(),
        "image" | "audio" => blob(kind, member("mimeType"), member("data")),
        "resource" => {
            let resource = part.get("resource").unwrap_or(&Value::Null);
            let inner = |name: &str| resource.get(name).and_then(Value::as_str);
            match inner("text") {
                Some(text) => text.to_owned(),
                None => blob(inner("uri").unwrap_or("resource"), inner("mimeType"), inner("blob")),
            }
        }
        "resource_link" => link(part),
        other => format!("[{other}]"),
    }
}

/// A resource that is only named.
fn link(part: &Value) -> String {
    let member = |name: &str| part.get(name).and_then(Value::as_str);
    let kind = member("mimeType").map(|kind| format!(" {kind}")).unwrap_or_default();
    let size = part.get("size").and_then(Value::as_u64).map(|size| format!(", {size} bytes"));
    format!("[resource {}{kind}{}]", member("uri").unwrap_or_default(), size.unwrap_or_default())
}

fn blob(name: &str, media_type: Option<&str>, base64: Option<&str>) -> String {
    let encoded = base64.unwrap_or_default().trim_end_matches('=');
    let n_bytes = encoded.len() * 3 / 4;
    format!("[{name} {}, {n_bytes} bytes]", media_type.unwrap_or("of unknown type"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_told_in_words() {
        for (result, is_success, text) in [
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                true,
                "a\nb",
            ),
            (
                json!({"content": [{"type": "image", "mimeType": "image/png", "data": "AAECAw=="}]}),
                true,
                "[image image/png, 4 bytes]",
            ),
            (json!({"content": [{"type": "audio", "data": ""}]}), true, "[audio of unknown type, 0 bytes]"),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "file:///x", "text": "inside"}}]}),
                true,
                "inside",
            ),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "file:///x", "blob": "AAEC"}}]}),
                true,
                "[file:///x of unknown type, 3 bytes]",
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "file:///x"}]}),
                true,
                "[resource file:///x]",
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "file:///x", "mimeType": "text/plain", "size": 7}]}),
                true,
                "[resource file:///x text/plain, 7 bytes]",
            ),
            (json!({"content": [{"type": "hologram"}]}), true, "[hologram]"),
            (json!({"content": [{}]}), true, "[unknown]"),
            (
                json!({"content": [{"type": "text"}], "isError": true}),
                false,
                "the tool failed without a message",
            ),
            (json!({"content": "nothing", "isError": true}), false, "the tool failed without a message"),
            (json!(null), true, ""),
            (json!({"content": [{"type": "text", "text": "no"}], "isError": true}), false, "no"),
            (json!({"content": [], "isError": true}), false, "the tool failed without a message"),
            (json!({"isError": true}), false, "the tool failed without a message"),
            (json!({}), true, ""),
        ] {
            let outcome = ToolOutcome::read(&result);
            assert_eq!((outcome.is_success, outcome.text.as_str()), (is_success, text), "{result}");
        }
    }

    #[test]
    fn structured_content_is_the_payload() {
        let result = json!({"content": [{"type": "text", "text": "3"}], "structuredContent": {"sum": 3}});
        assert_eq!(ToolOutcome::read(&result).payload, json!({"sum": 3}));
        let result = json!({"content": [{"type": "text", "text": "3"}]});
        assert_eq!(ToolOutcome::read(&result).payload, json!("3"));
        let result = json!({"content": [{"type": "text", "text": "3"}], "structuredContent": null});
        assert_eq!(ToolOutcome::read(&result).payload, json!("3"));
    }
}
