//! The user of the client: accepts every form unchanged, immediately or after a delay.

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, RwLock};

use crate::client::error::RpcError;
use crate::peer::rpc;

#[derive(Debug, Default)]
pub(crate) struct User {
    /// Notified for every question.
    pub(crate) asked: Notify,
    /// While it is locked for writing, no answer is given.
    pub(crate) thinking: RwLock<()>,
}

impl User {
    pub(crate) fn capabilities() -> Value {
        json!({ "elicitation": {}, "sampling": {}, "roots": {} })
    }

    pub(crate) async fn answer(&self, method: &str, params: &Value) -> Result<Value, RpcError> {
        self.asked.notify_one();
        let _done_thinking = self.thinking.read().await;
        match method {
            "elicitation/create" => {
                Ok(json!({ "action": "accept", "content": filled(&params["requestedSchema"]) }))
            }
            "sampling/createMessage" => Ok(json!({
                "role": "assistant", "model": "test", "content": { "type": "text", "text": "something" },
            })),
            "roots/list" => Ok(json!({ "roots": [] })),
            _ => Err(RpcError::new(rpc::METHOD_NOT_FOUND, format!("Method not found: {method}"))),
        }
    }
}

/// A form with its defaults, and with `true` for every boolean without one.
fn filled(schema: &Value) -> Map<String, Value> {
    let fields = schema["properties"].as_object().into_iter().flatten();
    let answers = fields.filter_map(|(name, field)| {
        let answer = match field.get("default") {
            Some(default) => default.clone(),
            None if field["type"] == "boolean" => json!(true),
            None => return None,
        };
        Some((name.clone(), answer))
    });
    answers.collect()
}
