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

/// What a client can be asked, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities(u8);

impl Abilities {
    /// Everything.
    pub const ALL: Self = Self(0b1111);
    const FORM: Self = Self(0b0001);
    const URL: Self = Self(0b0010);
    const SAMPLING: Self = Self(0b0100);
    const ROOTS: Self = Self(0b1000);

    /// The set as bits, to be kept in an atomic number.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set that these bits stand for.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    const fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
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

    /// These abilities, as Octroi declares them where one connection serves many clients.
    pub fn of(abilities: Abilities) -> Self {
        Self::read(Bytes::from(declared(abilities).to_string()))
    }

    /// What the client can be asked.
    pub fn abilities(&self) -> Abilities {
        let found = [
            (self.form, Abilities::FORM),
            (self.url, Abilities::URL),
            (self.sampling, Abilities::SAMPLING),
            (self.roots, Abilities::ROOTS),
        ];
        let bits = found.into_iter().filter(|(able, _)| *able).fold(0, |bits, (_, ability)| bits | ability.0);
        Abilities(bits)
    }

    /// Only what is read here, for where there is no room for the whole object.
    pub fn essential(&self) -> Value {
        let mut essential = declared(self.abilities());
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

/// The object that declares these abilities.
fn declared(abilities: Abilities) -> Value {
    let mut declared = json!({});
    for (mode, ability) in [("form", Abilities::FORM), ("url", Abilities::URL)] {
        if abilities.includes(ability) {
            declared["elicitation"][mode] = json!({});
        }
    }
    if abilities.includes(Abilities::SAMPLING) {
        declared["sampling"] = json!({});
    }
    if abilities.includes(Abilities::ROOTS) {
        declared["roots"] = json!({"listChanged": true});
    }
    declared
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
    fn a_set_of_abilities_is_declared_as_it_is_read() {
        for bits in 0..=Abilities::ALL.bits() {
            let abilities = Abilities::from_bits(bits);
            assert_eq!(ClientCapabilities::of(abilities).abilities(), abilities, "{bits:04b}");
        }
        let declared = |bits| ClientCapabilities::of(Abilities::from_bits(bits)).json().clone();
        let all = r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}"#;
        assert_eq!(declared(Abilities::ALL.bits()), all);
        assert_eq!(declared(0), "{}");
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
