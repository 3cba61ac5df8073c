//! Watching resources of servers on behalf of clients.

use std::sync::Arc;

use octroi_api::ErrorCode;
use octroi_core::ServerKey;
use octroi_mcp::{Era, RpcError, code};
use octroi_upstream::{Upstream, UpstreamError};

use super::Servers;
use crate::catalogue::unknown_resource;
use crate::denial;
use crate::subscriptions::{Listener, ReleaseWatch};
use crate::view::View;

impl Servers {
    /// Subscribes an agent to one of its own resources; `false` if it is not one.
    pub(crate) async fn watch_own(&self, listener: &Listener, uri: &str) -> bool {
        let is_own = self.is_own_of_agent(listener, uri).await;
        if is_own {
            listener.watch_own(uri);
        }
        is_own
    }

    /// The server of a resource that a client wants to watch, and its URI there.
    pub(crate) fn watchable(
        &self,
        listener: &Listener,
        uri: &str,
    ) -> Result<(Arc<Upstream>, String), RpcError> {
        let (key, own) = self.resource(listener, uri)?;
        match self.upstream(&key) {
            Some(upstream) => Ok((upstream, own)),
            None => Err(unknown_resource(uri)),
        }
    }

    /// Subscribes a client to a resource of a server; returns once the server knows.
    pub(crate) async fn watch(
        &self,
        listener: &Listener,
        upstream: &Arc<Upstream>,
        own: &str,
    ) -> Result<(), RpcError> {
        let key = &upstream.spec().key;
        if !listener.watch(key, own) {
            return Ok(());
        }
        match upstream.watch(&listener.sharer(), listener.capabilities(), own).await {
            Ok(()) => Ok(()),
            Err(UpstreamError::Refused(error)) if error.code == code::METHOD_NOT_FOUND => {
                listener.forget(key, own);
                Err(unsupported(
                    ErrorCode::SubscribeUnsupported,
                    &format!(
                        "server `{key}` does not report changes of this resource; read it again instead"
                    ),
                ))
            }
            Err(UpstreamError::Refused(error)) => {
                listener.forget(key, own);
                Err(if denial::is_forged(&error) { denial::forged(&key.to_string(), &error) } else { error })
            }
            Err(error) => {
                listener.forget(key, own);
                let message = format!("server `{key}` is not available: {error}");
                Err(RpcError::new(code::INTERNAL_ERROR, message))
            }
        }
    }

    /// Unsubscribes a client from a resource.
    pub(crate) fn unwatch(&self, listener: &Listener, uri: &str) -> Result<(), RpcError> {
        if listener.unwatch_own(uri) {
            return Ok(());
        }
        let (key, own) = self.resource(listener, uri)?;
        if !listener.unwatch(&key, &own) && !self.reports_changes(&key) {
            return Err(unsupported(
                ErrorCode::UnsubscribeUnsupported,
                &format!(
                    "server `{key}` does not report changes of this resource, so there is no subscription to end"
                ),
            ));
        }
        Ok(())
    }

    /// Whether a server may report changes of resources: it says so, or is not connected now.
    fn reports_changes(&self, key: &ServerKey) -> bool {
        let connection = self.upstream(key).and_then(|upstream| upstream.current());
        connection.is_none_or(|connection| {
            // In the modern era a subscription is part of a stream, which ends without an error.
            connection.era() == Era::Modern
                || connection.identity().capabilities["resources"]["subscribe"]
                    == serde_json::Value::Bool(true)
        })
    }

    /// Whether an agent may watch this resource as its own. It does not learn whether others' exist.
    async fn is_own_of_agent(&self, listener: &Listener, uri: &str) -> bool {
        let (Some(builtin), Some(agent)) = (&self.builtin, listener.agent()) else {
            return false;
        };
        *listener.view() == View::Merged && builtin.has_resource(uri) && builtin.may_watch(agent, uri).await
    }
}

fn unsupported(code: ErrorCode, message: &str) -> RpcError {
    let spec = code.spec();
    RpcError::new(spec.rpc, message).with_data(serde_json::json!({"code": spec.word}))
}

impl ReleaseWatch for Servers {
    fn release(&self, listener: &Listener, server: &ServerKey, own: &str) {
        if let Some(upstream) = self.upstream(server) {
            upstream.unwatch(&listener.sharer(), listener.capabilities(), own);
        }
    }
}
