//! The requests in flight on one connection or session, so that `notifications/cancelled` can find them.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::guarded::Guarded;
use super::rpc;

/// Cheap to clone: each task keeps one to remove its request.
#[derive(Debug, Default, Clone)]
pub(crate) struct RunningRequests(Arc<Guarded<HashMap<String, CancellationToken>>>);

impl RunningRequests {
    /// Adds a request. The token is cancelled when the request is.
    pub(crate) fn begin(&self, id: &Value) -> CancellationToken {
        let token = CancellationToken::new();
        self.0.with(|running| running.insert(rpc::id_key(id), token.clone()));
        token
    }

    pub(crate) fn finish(&self, id: &Value) {
        self.0.with(|running| running.remove(&rpc::id_key(id)));
    }

    /// Handles the parameters of `notifications/cancelled`; an unknown request is ignored, as specified.
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
