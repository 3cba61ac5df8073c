//! The opaque `requestState` of a multi-round-trip call: issued here, carried by the client, checked here.
//!
//! The key is chosen when the process starts, so a state that was altered, or that belongs to another call or
//! server, is refused. That is enough for a test; it is not cryptography.

use std::hash::{BuildHasher, RandomState};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Issues and checks states for one server process.
#[derive(Debug)]
pub(crate) struct StateIssuer {
    key: RandomState,
}

impl StateIssuer {
    pub(crate) fn new() -> Self {
        Self { key: RandomState::new() }
    }

    /// A state that is valid for a retry of exactly this call.
    pub(crate) fn issue(&self, tool: &str, arguments: &Value) -> String {
        let body = format!("peer-state:{tool}");
        let tag = self.tag(&body, arguments);
        URL_SAFE_NO_PAD.encode(format!("{body}:{tag:016x}"))
    }

    /// Whether this process issued `state` for exactly this call.
    pub(crate) fn accepts(&self, state: &str, tool: &str, arguments: &Value) -> bool {
        self.issue(tool, arguments) == state
    }

    fn tag(&self, body: &str, arguments: &Value) -> u64 {
        self.key.hash_one((body, arguments.to_string()))
    }
}
