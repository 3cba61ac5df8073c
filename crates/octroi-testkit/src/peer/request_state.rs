//! The opaque `requestState` of a multi-round-trip call: made here, carried by the client, checked here.
//!
//! The key is chosen when the process starts, so a state that was altered, or that belongs to another call or to another
//! server, is refused. That is all a test needs; it is not cryptography.

use std::hash::{BuildHasher, RandomState};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Makes and checks states for one server process.
#[derive(Debug)]
pub(crate) struct Seal {
    key: RandomState,
}

impl Seal {
    pub(crate) fn new() -> Self {
        Self { key: RandomState::new() }
    }

    /// A state that is good for a retry of this very call.
    pub(crate) fn issue(&self, tool: &str, arguments: &Value) -> String {
        let body = format!("peer-state:{tool}");
        let tag = self.tag(&body, arguments);
        URL_SAFE_NO_PAD.encode(format!("{body}:{tag:016x}"))
    }

    /// Whether `state` was issued by this process for this very call.
    pub(crate) fn accepts(&self, state: &str, tool: &str, arguments: &Value) -> bool {
        self.issue(tool, arguments) == state
    }

    fn tag(&self, body: &str, arguments: &Value) -> u64 {
        self.key.hash_one((body, arguments.to_string()))
    }
}
