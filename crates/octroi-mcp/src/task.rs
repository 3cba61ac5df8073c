//! Tasks of the modern extension that the gateway creates itself.
//!
//! A task represents an unfinished call: the client gets its id immediately and polls for the result. Tasks
//! of servers are forwarded unparsed.

use bytes::Bytes;
use serde_json::json;

use crate::ask::{self, Question};
use crate::code::{self, RpcError};
use crate::json;

/// The name of the extension in capabilities.
pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The result of a request that only acknowledges.
pub const ACKNOWLEDGED: &[u8] = br#"{"resultType":"complete"}"#;

/// A task as its client may see it.
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// Its unique id.
    pub id: &'a str,
    /// Its status.
    pub standing: Standing<'a>,
    /// The status as a message for people and models.
    pub message: Option<&'a str>,
    /// When it was created, as RFC 3339.
    pub created_at: &'a str,
    /// When it last changed, as RFC 3339.
    pub updated_at: &'a str,
    /// How long it is kept after its creation.
    pub ttl_ms: u64,
    /// The suggested polling interval.
    pub poll_ms: u64,
}

/// The status of a task, with its content.
#[derive(Clone, Copy, Debug)]
pub enum Standing<'a> {
    /// Not finished yet.
    Working,
    /// The client must answer these questions first.
    InputRequired(&'a [Question]),
    /// Finished: the call's result, as JSON text.
    Completed(&'a [u8]),
    /// Finished: the call's error, as JSON text.
    Failed(&'a [u8]),
    /// Finished: cancelled.
    Cancelled,
}

impl Standing<'_> {
    /// The status on the wire.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired(_) => "input_required",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Task<'_> {
    /// The result that a call gets instead of its own.
    pub fn to_created(&self) -> Bytes {
        let mut out = self.frame("task");
        out.push(b'}');
        Bytes::from(out)
    }

    /// The answer to `tasks/get`.
    pub fn to_result(&self) -> Bytes {
        let mut out = self.frame("complete");
        match self.standing {
            Standing::Working | Standing::Cancelled => {}
            Standing::InputRequired(questions) => {
                out.extend_from_slice(br#","inputRequests":"#);
                ask::write_questions(&mut out, questions);
            }
            Standing::Completed(result) => {
                out.extend_from_slice(br#","result":"#);
                out.extend_from_slice(result);
            }
            Standing::Failed(error) => {
                out.extend_from_slice(br#","error":"#);
                out.extend_from_slice(error);
            }
        }
        out.push(b'}');
        Bytes::from(out)
    }

    fn frame(&self, result_type: &str) -> Vec<u8> {
        let message = self.message.map(|message| format!(r#","statusMessage":{}"#, json::quote(message)));
        format!(
            r#"{{"resultType":"{result_type}","taskId":{},"status":"{}"{},"createdAt":{},"lastUpdatedAt":{},"ttlMs":{},"pollIntervalMs":{}"#,
            json::quote(self.id),
            self.standing.as_str(),
            message.unwrap_or_default(),
            json::quote(self.created_at),
            json::quote(self.updated_at),
            self.ttl_ms,
            self.poll_ms,
        )
        .into_bytes()
    }
}

/// The error for a client that uses tasks without having declared them.
pub fn missing_capability() -> RpcError {
    RpcError::new(code::MISSING_CAPABILITY, format!("the client has not declared {EXTENSION}"))
        .with_data(json!({"requiredCapabilities": {"extensions": {EXTENSION: {}}}}))
}

/// The error for a task that does not exist or belongs to another client.
pub fn unknown(id: &str) -> RpcError {
    RpcError::invalid_params(format!("unknown task `{id}`"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::method::Method;

    #[test]
    fn each_standing_carries_what_belongs_to_it() {
        let questions = [Question {
            key: "1.\"k".into(),
            method: Method::ElicitationCreate,
            params: Bytes::from_static(br#"{"message":"?"}"#),
        }];
        for (standing, word, member) in [
            (Standing::Working, "working", None),
            (Standing::Cancelled, "cancelled", None),
            (
                Standing::InputRequired(&questions),
                "input_required",
                Some((
                    "inputRequests",
                    json!({"1.\"k": {"method": "elicitation/create", "params": {"message": "?"}}}),
                )),
            ),
            (
                Standing::Completed(br#"{"content":[]}"#),
                "completed",
                Some(("result", json!({"content": []}))),
            ),
            (Standing::Failed(br#"{"code":-1}"#), "failed", Some(("error", json!({"code": -1})))),
        ] {
            let task = Task {
                id: "t\"1",
                standing,
                message: Some("a \"word\""),
                created_at: "2026-01-01T00:00:00.000Z",
                updated_at: "2026-01-01T00:00:01.000Z",
                ttl_ms: 60_000,
                poll_ms: 500,
            };
            let mut expected = json!({
                "resultType": "task", "taskId": "t\"1", "status": word, "statusMessage": "a \"word\"",
                "createdAt": "2026-01-01T00:00:00.000Z", "lastUpdatedAt": "2026-01-01T00:00:01.000Z",
                "ttlMs": 60_000, "pollIntervalMs": 500,
            });
            let created: Value = serde_json::from_slice(&task.to_created()).unwrap();
            assert_eq!(created, expected, "what is created carries no end");
            expected["resultType"] = json!("complete");
            if let Some((name, value)) = member {
                expected[name] = value;
            }
            let result: Value = serde_json::from_slice(&task.to_result()).unwrap();
            assert_eq!(result, expected);
        }
    }
}
