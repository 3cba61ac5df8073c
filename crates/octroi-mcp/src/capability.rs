//! The declared capabilities of a client.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::code::{self, RpcError};
use crate::json::{self, Span};
use crate::method::Method;
use crate::task;

/// A client's declared capabilities: kept verbatim, and parsed where a question depends on them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "independent abilities, each declared or not")]
pub struct ClientCapabilities {
    json: Bytes,
    form: bool,
    url: bool,
    sampling: bool,
    roots: bool,
    tasks: bool,
}

impl Default for ClientCapabilities {
    fn default() -> Self {
        Self::read(Bytes::from_static(b"{}"))
    }
}

impl ClientCapabilities {
    /// Parses a capabilities object.
    pub fn read(json: Bytes) -> Self {
        let mut found =
            Self { form: false, url: false, sampling: false, roots: false, tasks: false, json: json.clone() };
        for member in json::members(&json, Span { start: 0, end: json.len() }) {
            if !json::is_object(member.value.of(&json)) {
                continue;
            }
            match &*member.key(&json) {
                b"elicitation" => {
                    let has = |mode| json::members(&json, member.value).any(|inner| inner.is(&json, mode));
                    found.url = has("url");
                    // An empty object is the older notation for "form".
                    found.form = has("form") || !found.url;
                }
                b"sampling" => found.sampling = true,
                b"roots" => found.roots = true,
                b"extensions" => {
                    found.tasks = json::members(&json, member.value).any(|extension| {
                        extension.is(&json, task::EXTENSION) && json::is_object(extension.value.of(&json))
                    });
                }
                _ => {}
            }
        }
        found
    }

    /// All capabilities, as Octroi declares them where one connection serves many clients.
    pub fn everything() -> Self {
        Self::read(Bytes::from_static(
            br#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}"#,
        ))
    }

    /// Only what is read here, for where there is no room for the whole object.
    pub fn essential(&self) -> Value {
        let mut essential = json!({});
        let mut elicitation = json!({});
        if self.form {
            elicitation["form"] = json!({});
        }
        if self.url {
            elicitation["url"] = json!({});
        }
        if self.form || self.url {
            essential["elicitation"] = elicitation;
        }
        if self.sampling {
            essential["sampling"] = json!({});
        }
        if self.roots {
            essential["roots"] = json!({});
        }
        if self.tasks {
            essential["extensions"][task::EXTENSION] = json!({});
        }
        essential
    }

    /// The object as received.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// Whether the client accepts a task in place of a result.
    pub fn has_tasks(&self) -> bool {
        self.tasks
    }

    /// Whether the client can answer this question, or the error for the server that asks it.
    pub fn allow(&self, method: &Method, params: &[u8]) -> Result<(), RpcError> {
        let (able, required) = match method {
            Method::ElicitationCreate if asks_by_url(params) => {
                (self.url, json!({"elicitation": {"url": {}}}))
            }
            Method::ElicitationCreate => (self.form, json!({"elicitation": {"form": {}}})),
            Method::SamplingCreate => (self.sampling, json!({"sampling": {}})),
            Method::RootsList => (self.roots, json!({"roots": {}})),
            Method::Ping => (true, Value::Null),
            _ => return Err(RpcError::method_not_found(method.as_str())),
        };
        if able {
            return Ok(());
        }
        Err(RpcError::new(code::MISSING_CAPABILITY, format!("the client cannot answer {method}"))
            .with_data(json!({"requiredCapabilities": required})))
    }
}

fn asks_by_url(params: &[u8]) -> bool {
    let params: Value = serde_json::from_slice(params).unwrap_or_default();
    params.get("mode").and_then(Value::as_str) == Some("url")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_for_clients_that_know_them() {
        for (capabilities, able) in [
            ("{}", false),
            (r#"{"tasks":{}}"#, false),
            (r#"{"extensions":{}}"#, false),
            (r#"{"extensions":{"io.modelcontextprotocol/tasks":true}}"#, false),
            (r#"{"extensions":["io.modelcontextprotocol/tasks"]}"#, false),
            (r#"{"io.modelcontextprotocol/tasks":{}}"#, false),
            (r#"{"extensions":{"other":{},"io.modelcontextprotocol/tasks":{}}}"#, true),
        ] {
            let client = ClientCapabilities::read(Bytes::copy_from_slice(capabilities.as_bytes()));
            assert_eq!(client.has_tasks(), able, "{capabilities}");
        }
    }

    #[test]
    fn what_is_essential_is_read_the_same() {
        for mask in 0..16_u8 {
            let mut whole = json!({"experimental": {"more": true}});
            for (bit, name, value) in [
                (1, "elicitation", json!({"form": {"x": 1}, "url": {}})),
                (2, "sampling", json!({"tools": {}})),
                (4, "roots", json!({"listChanged": true})),
                (8, "extensions", json!({task::EXTENSION: {}, "other": {}})),
            ] {
                if mask & bit != 0 {
                    whole[name] = value;
                }
            }
            let read = |value: &Value| ClientCapabilities::read(Bytes::from(value.to_string()));
            let (whole, json) = (read(&whole), Bytes::new());
            let essential = ClientCapabilities { json: json.clone(), ..read(&whole.essential()) };
            assert_eq!(essential, ClientCapabilities { json, ..whole });
        }
    }

    #[test]
    fn a_client_is_asked_only_what_it_declared() {
        let form = r#"{"message":"?"}"#;
        let url = r#"{"mode":"url","url":"https://example.com"}"#;
        for (capabilities, method, params, able) in [
            ("{}", Method::ElicitationCreate, form, false),
            (r#"{"elicitation":{}}"#, Method::ElicitationCreate, form, true),
            (r#"{"elicitation":{}}"#, Method::ElicitationCreate, url, false),
            (r#"{"elicitation":{"url":{}}}"#, Method::ElicitationCreate, form, false),
            (r#"{"elicitation":{"url":{},"form":{}}}"#, Method::ElicitationCreate, url, true),
            (r#"{"sampling":{}}"#, Method::SamplingCreate, "{}", true),
            (r#"{"sampling":true}"#, Method::SamplingCreate, "{}", false),
            (r#"{"roots":{"listChanged":true}}"#, Method::RootsList, "{}", true),
            ("{}", Method::RootsList, "{}", false),
            ("{}", Method::Other("tools/call".into()), "{}", false),
        ] {
            let client = ClientCapabilities::read(Bytes::copy_from_slice(capabilities.as_bytes()));
            assert_eq!(
                client.allow(&method, params.as_bytes()).is_ok(),
                able,
                "{capabilities} {method} {params}"
            );
        }
    }
}
