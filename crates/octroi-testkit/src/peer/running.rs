//! The requests in flight on one connection or session, so that `notifications/cancelled` can find them.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::guarded::Guarded;
use super::rpc;

/// Cheap to clone: a task keeps one to sign itself off.
#[derive(Debug, Default, Clone)]
pub(crate) struct Running(Arc<Guarded<HashMap<String, CancellationToken>>>);

impl Running {
    /// The token ends when the request is cancelled.
    pub(crate) fn begin(&self, id: &Value) -> CancellationToken {
        let token = CancellationToken::new();
        self.0.with(|running| running.insert(rpc::id_key(id), token.clone()));
        token
    }

    pub(crate) fn finish(&self, id: &Value) {
        self.0.with(|running| running.remove(&rpc::id_key(id)));
    }

    /// Acts on the parameters of `notifications/cancelled`; an unknown request is ignored, as the specification says.
    pub(crate) fn cancel(&self, params: &Value) {
        let key = rpc::id_key(&params["requestId"]);
        if let Some(token) = self.0.with(|running| running.remove(&key)) {
            token.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        for (_, token) in self.0.with(std::mem::take) {
            token.cancel();
        }
    }
}
