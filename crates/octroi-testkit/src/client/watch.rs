//! Subscriptions to changes, in either era.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::TestClient;
use super::error::ClientError;
use super::in_flight::InFlight;
use super::options::Era;

const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);

/// The changes to subscribe to.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    /// Changes of the list of tools.
    pub tools: bool,
    /// Changes of these resources.
    pub resources: Vec<String>,
}

/// The notifications of a subscription.
#[derive(Debug)]
pub struct Watcher {
    /// Modern: the filter that the server acknowledged. Legacy: null.
    pub acknowledged: Value,
    watch: Watch,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// The response stream of `subscriptions/listen`.
    Listen(InFlight),
    /// All notifications outside of requests.
    Unasked(broadcast::Receiver<Value>),
}

impl Watcher {
    pub(crate) async fn open(client: &TestClient, watch: Watch) -> Result<Self, ClientError> {
        match client.era() {
            Era::Legacy(_) => {
                let source = Source::Unasked(client.unasked());
                for uri in &watch.resources {
                    client.request("resources/subscribe", json!({ "uri": uri })).await?;
                }
                Ok(Self { acknowledged: Value::Null, watch, source })
            }
            Era::Modern => {
                let mut filter = json!({});
                if watch.tools {
                    filter["toolsListChanged"] = json!(true);
                }
                if !watch.resources.is_empty() {
                    filter["resourceSubscriptions"] = json!(watch.resources);
                }
                let mut listen =
                    client.start_endless("subscriptions/listen", json!({ "notifications": filter }));
                let Some(first) = listen.notification(ACKNOWLEDGED_WITHIN).await else {
                    drop(listen.notices);
                    listen.cancelled.cancel();
                    return Err(listen.outcome.await.map_or(
                        ClientError::NoResponse,
                        |outcome| match outcome {
                            Ok(_) => ClientError::NoResponse,
                            Err(error) => error,
                        },
                    ));
                };
                if first["method"] != "notifications/subscriptions/acknowledged" {
                    return Err(ClientError::Transport(format!("{first} came before the acknowledgment")));
                }
                let acknowledged = first["params"]["notifications"].clone();
                Ok(Self { acknowledged, watch, source: Source::Listen(listen) })
            }
        }
    }

    /// The next change; `None` on a timeout or when the stream ended.
    pub async fn next(&mut self, timeout: Duration) -> Option<Value> {
        let Self { watch, source, .. } = self;
        match source {
            Source::Listen(listen) => listen.notification(timeout).await,
            Source::Unasked(unasked) => {
                let next_change = async {
                    loop {
                        match unasked.recv().await {
                            Ok(notification) if watch.wants(&notification) => return Some(notification),
                            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                            Err(broadcast::error::RecvError::Closed) => return None,
                        }
                    }
                };
                tokio::time::timeout(timeout, next_change).await.ok().flatten()
            }
        }
    }

    /// Modern: waits until the server ends the stream, and returns its final result.
    pub async fn ended(self) -> Result<Value, ClientError> {
        match self.source {
            Source::Listen(listen) => listen.finish().await,
            Source::Unasked(_) => Err(ClientError::NoResponse),
        }
    }

    /// Unsubscribes: legacy with a request, modern by ending the listen request.
    pub async fn close(self, client: &TestClient) -> Result<(), ClientError> {
        match self.source {
            Source::Listen(listen) => match listen.cancel().await {
                ClientError::Cancelled => Ok(()),
                error => Err(error),
            },
            Source::Unasked(_) => {
                for uri in &self.watch.resources {
                    client.request("resources/unsubscribe", json!({ "uri": uri })).await?;
                }
                Ok(())
            }
        }
    }
}

impl Watch {
    /// The list of tools.
    pub fn tools() -> Self {
        Self { tools: true, resources: Vec::new() }
    }

    /// One resource.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self { tools: false, resources: vec![uri.into()] }
    }

    fn wants(&self, notification: &Value) -> bool {
        match notification["method"].as_str() {
            Some("notifications/tools/list_changed") => self.tools,
            Some("notifications/resources/updated") => {
                self.resources.iter().any(|uri| notification["params"]["uri"] == uri.as_str())
            }
            _ => false,
        }
    }
}
