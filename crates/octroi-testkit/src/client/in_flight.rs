//! A request that has not been answered yet.

use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::ClientError;

/// Enough for any test; beyond it notifications are dropped instead of blocking the client.
pub(crate) const NOTICES_KEPT: usize = 4096;

/// A request in flight, with the notifications of its stream. Dropping it cancels the request.
#[derive(Debug)]
pub struct InFlight {
    pub(crate) notices: mpsc::Receiver<Value>,
    pub(crate) outcome: JoinHandle<Result<Value, ClientError>>,
    pub(crate) cancelled: CancellationToken,
    pub(crate) on_drop: DropGuard,
}

impl InFlight {
    /// The next notification of this request; `None` on a timeout or if there can be no more.
    pub async fn notification(&mut self, timeout: Duration) -> Option<Value> {
        tokio::time::timeout(timeout, self.notices.recv()).await.ok().flatten()
    }

    /// Cancels as the era and the transport require, and returns once the server was notified.
    pub async fn cancel(self) -> ClientError {
        self.cancelled.cancel();
        match self.finish().await {
            Ok(result) => ClientError::Transport(format!("answered before it could be cancelled: {result}")),
            Err(error) => error,
        }
    }

    /// Waits for the response.
    pub async fn finish(self) -> Result<Value, ClientError> {
        let Self { notices: _notices, outcome, cancelled: _, on_drop: _on_drop } = self;
        joined(outcome.await)
    }

    /// Waits for the response and returns it with every notification that came before it.
    pub async fn finish_with_notifications(self) -> (Result<Value, ClientError>, Vec<Value>) {
        let Self { mut notices, outcome, cancelled: _, on_drop: _on_drop } = self;
        let outcome = joined(outcome.await);
        let mut notifications = Vec::new();
        while let Ok(notification) = notices.try_recv() {
            notifications.push(notification);
        }
        (outcome, notifications)
    }
}

fn joined(outcome: Result<Result<Value, ClientError>, tokio::task::JoinError>) -> Result<Value, ClientError> {
    outcome.unwrap_or_else(|error| Err(ClientError::Transport(error.to_string())))
}
