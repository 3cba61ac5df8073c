//! What all servers share.

use bytes::Bytes;
use octroi_core::{Clock, ServerKey};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::background::BackgroundTasks;
use crate::event::ServerEvent;
use crate::http::HttpClient;
use crate::redaction::SharedRedactor;
use crate::spawner::Spawner;

/// What all servers share.
#[derive(Debug)]
pub struct Context {
    /// The client for remote servers.
    pub http: HttpClient,
    /// Starts all processes.
    pub spawner: Spawner,
    /// Octroi's name and version for handshakes, as JSON text.
    pub client_info: Bytes,
    /// Owner of every task.
    pub tasks: BackgroundTasks,
    /// Cancelled at shutdown.
    pub shutdown: CancellationToken,
    /// The clock for deadlines and timestamps.
    pub clock: Clock,
    /// The channel for the events of all servers.
    pub events: mpsc::Sender<(ServerKey, ServerEvent)>,
    /// Redacts what servers write.
    pub redactor: SharedRedactor,
}
