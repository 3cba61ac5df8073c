//! Subscriptions to a server's notifications: list changes, and the resources that clients watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use octroi_mcp::{Era, Method, RpcError, code};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::connection::{Connection, ControlRequest};
use crate::error::UpstreamError;
use crate::event::{CallEvent, EventSink};
use crate::live::LiveCall;

const REOPEN_DELAY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a replaced stream is still read for notifications in transit.
const LEFTOVERS: Duration = Duration::from_secs(1);

/// The resources that clients watch, and how much of that the server knows.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    requested: watch::Sender<WatchedUris>,
    established: watch::Sender<Established>,
}

#[derive(Clone, Debug, Default)]
struct WatchedUris {
    generation: u64,
    uris: BTreeMap<String, usize>,
}

#[derive(Clone, Debug, Default)]
struct Established {
    generation: u64,
    refused: BTreeMap<String, RpcError>,
}

impl Watched {
    /// Adds a watcher and waits until the server knows, so that no later change is missed.
    pub(crate) async fn add(&self, uri: &str) -> Result<(), UpstreamError> {
        let mut generation = 0;
        self.requested.send_modify(|requested| {
            *requested.uris.entry(uri.to_owned()).or_default() += 1;
            requested.generation += 1;
            generation = requested.generation;
        });
        let mut established = self.established.subscribe();
        let reached = established.wait_for(|established| established.generation >= generation);
        let outcome = match tokio::time::timeout(PATIENCE, reached).await {
            Ok(Ok(established)) => match established.refused.get(uri) {
                None => Ok(()),
                Some(error) => Err(UpstreamError::Refused(error.clone())),
            },
            Ok(Err(_)) | Err(_) => Err(UpstreamError::Timeout(PATIENCE)),
        };
        if outcome.is_err() {
            self.remove(uri);
        }
        outcome
    }

    /// Whether no resource is watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.requested.borrow().uris.is_empty()
    }

    /// Whether somebody watches this resource.
    pub(crate) fn has(&self, uri: &str) -> bool {
        self.requested.borrow().uris.contains_key(uri)
    }

    /// Removes a watcher.
    pub(crate) fn remove(&self, uri: &str) {
        self.requested.send_modify(|requested| {
            if let Some(watchers) = requested.uris.get_mut(uri) {
                *watchers -= 1;
                if *watchers == 0 {
                    requested.uris.remove(uri);
                }
            }
            requested.generation += 1;
        });
    }

    /// Keeps the subscriptions of one connection up to date for as long as it lives.
    pub(crate) async fn follow(&self, connection: Arc<Connection>, events: EventSink) {
        tokio::select! {
            biased;
            _ = connection.closed() => {}
            () = async {
                match connection.era() {
                    Era::Legacy => self.follow_legacy(&connection).await,
                    Era::Modern => self.follow_modern(&connection, &events).await,
                }
            } => {}
        }
    }

    fn establish(&self, generation: u64, refused: BTreeMap<String, RpcError>) {
        self.established.send_replace(Established { generation, refused });
    }

    async fn follow_legacy(&self, connection: &Connection) {
        let mut requested = self.requested.subscribe();
        let mut active = BTreeSet::new();
        loop {
            let goal = requested.borrow_and_update().clone();
            let mut refused = BTreeMap::new();
            for uri in goal.uris.keys().filter(|uri| !active.contains(*uri)).cloned().collect::<Vec<_>>() {
                match connection.control(ControlRequest::Subscribe(&uri), PATIENCE).await {
                    Ok(_) => drop(active.insert(uri)),
                    Err(UpstreamError::Refused(error)) => drop(refused.insert(uri, error)),
                    Err(error) => {
                        let error = RpcError::new(code::INTERNAL_ERROR, error.to_string());
                        refused.insert(uri, error);
                    }
                }
            }
            for uri in active.iter().filter(|uri| !goal.uris.contains_key(*uri)).cloned().collect::<Vec<_>>()
            {
                // If the server refuses, it only sends notifications that are ignored.
                let _ = connection.control(ControlRequest::Unsubscribe(&uri), PATIENCE).await;
                active.remove(&uri);
            }
            self.establish(goal.generation, refused);
            if requested.changed().await.is_err() {
                return;
            }
        }
    }

    async fn follow_modern(&self, connection: &Connection, events: &EventSink) {
        let mut requested = self.requested.subscribe();
        let mut stream: Option<LiveCall> = None;
        loop {
            let goal = requested.borrow_and_update().clone();
            let uris: Vec<&String> = goal.uris.keys().collect();
            let filter = filter(&connection.identity().capabilities, &uris);
            let opening = async {
                match &filter {
                    None => Ok(None),
                    Some(filter) => opened(connection, filter).await.map(Some),
                }
            };
            // Until the server knows the new stream, it sends only on the old one, so that one is read
            // meanwhile and a moment longer. Receiving a change twice is harmless.
            let outcome = tokio::select! {
                biased;
                outcome = opening => outcome,
                outcome = async {
                    forward(stream.as_mut(), events).await;
                    std::future::pending().await
                } => outcome,
            };
            let (opened, refused) = match outcome {
                Ok(None) => (None, BTreeMap::new()),
                Ok(Some((opened, honoured))) => {
                    let left_out = goal.uris.keys().filter(|uri| !honoured.includes(uri));
                    (Some(opened), left_out.map(|uri| (uri.clone(), unsupported())).collect())
                }
                Err(error) => {
                    let error = match error {
                        UpstreamError::Refused(error) => error,
                        other => RpcError::new(code::INTERNAL_ERROR, other.to_string()),
                    };
                    tracing::debug!(server.name = %events.server(), error = error.message, "no notifications from server");
                    (None, goal.uris.keys().map(|uri| (uri.clone(), error.clone())).collect())
                }
            };
            let old = std::mem::replace(&mut stream, opened);
            self.establish(goal.generation, refused);
            let leftovers = async {
                if let Some(mut old) = old {
                    let _ = tokio::time::timeout(LEFTOVERS, forward(Some(&mut old), events)).await;
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                changed = requested.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = leftovers => {}
                () = forward(stream.as_mut(), events) => {
                    stream = None;
                    tokio::time::sleep(REOPEN_DELAY).await;
                    // Changes while no stream was open are found by fetching the lists again.
                    events.send(crate::event::ServerEvent::Connected).await;
                }
            }
        }
    }
}

/// The filter for a listen request; `None` when there is nothing to subscribe to.
fn filter(capabilities: &Value, uris: &[&String]) -> Option<Value> {
    let declares = |list: &str| {
        capabilities.get(list).and_then(|list| list.get("listChanged")) == Some(&Value::Bool(true))
    };
    let mut filter = serde_json::Map::new();
    for (list, name) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if declares(list) {
            filter.insert(name.to_owned(), json!(true));
        }
    }
    if !uris.is_empty() {
        filter.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    (!filter.is_empty()).then_some(Value::Object(filter))
}

/// The resources whose changes a server reports, of those it was asked for.
struct Honoured(Option<Vec<String>>);

impl Honoured {
    /// Reads an acknowledgment. A server that does not say what it honours is believed to honour everything.
    fn read(acknowledgment: &[u8]) -> Self {
        let params: Value = serde_json::from_slice(acknowledgment).unwrap_or_default();
        let Some(notifications) = params.get("notifications").and_then(Value::as_object) else {
            return Self(None);
        };
        let uris = notifications.get("resourceSubscriptions").and_then(Value::as_array);
        let uris = uris.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        Self(Some(uris.collect()))
    }

    fn includes(&self, uri: &str) -> bool {
        self.0.as_ref().is_none_or(|uris| uris.iter().any(|honoured| honoured == uri))
    }
}

/// What a legacy server answers that knows no subscriptions.
fn unsupported() -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, "the server does not report changes of this resource")
}

/// Opens a listen stream and waits for its acknowledgment.
async fn opened(connection: &Connection, filter: &Value) -> Result<(LiveCall, Honoured), UpstreamError> {
    let mut call = connection.listen(filter);
    let acknowledged = async {
        loop {
            match call.next().await? {
                CallEvent::Notification(message) if *message.method() == Method::Acknowledged => {
                    return Ok(Honoured::read(&message.params()));
                }
                CallEvent::Notification(_) | CallEvent::Question(_) | CallEvent::Released => {}
                CallEvent::Answer(answer) => return Err(UpstreamError::refused(answer.error())),
            }
        }
    };
    let honoured = tokio::time::timeout(PATIENCE, acknowledged)
        .await
        .map_err(|_| UpstreamError::Timeout(PATIENCE))??;
    Ok((call, honoured))
}

/// Forwards notifications until the stream ends; pending for ever without one.
async fn forward(stream: Option<&mut LiveCall>, events: &EventSink) {
    let Some(stream) = stream else {
        return std::future::pending().await;
    };
    loop {
        match stream.next().await {
            Ok(CallEvent::Notification(message)) => {
                if let Some(event) = EventSink::event_of(&message) {
                    events.send(event).await;
                }
            }
            Ok(CallEvent::Question(_) | CallEvent::Released) => {}
            Ok(CallEvent::Answer(_)) | Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_which_resources_it_watches() {
        for (params, watches) in [
            (r#"{"notifications":{"resourceSubscriptions":["a://1"]}}"#, true),
            (r#"{"notifications":{"resourceSubscriptions":["a://2"]}}"#, false),
            (r#"{"notifications":{"toolsListChanged":true}}"#, false),
            (r#"{"notifications":{}}"#, false),
            ("{}", true),
            ("", true),
        ] {
            assert_eq!(Honoured::read(params.as_bytes()).includes("a://1"), watches, "{params}");
        }
    }
}
