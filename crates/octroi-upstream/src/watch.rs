//! Keeping a server's news coming: list changes, and the resources that clients watch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use octroi_mcp::{Era, Method, RpcError, code};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::connection::{Connection, Control};
use crate::error::UpstreamError;
use crate::event::{CallEvent, EventSink};
use crate::live::LiveCall;

const REOPEN_DELAY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a stream that has been replaced is read on for news under way.
const LEFTOVERS: Duration = Duration::from_secs(1);

/// The resources that somebody watches, and how far the server has been told.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    wanted: watch::Sender<WatchedUris>,
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
    /// Adds a watcher and waits until the server knows, so that no change after this is missed.
    pub(crate) async fn add(&self, uri: &str) -> Result<(), UpstreamError> {
        let mut generation = 0;
        self.wanted.send_modify(|wanted| {
            *wanted.uris.entry(uri.to_owned()).or_default() += 1;
            wanted.generation += 1;
            generation = wanted.generation;
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

    /// Whether nobody watches anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.borrow().uris.is_empty()
    }

    /// Removes a watcher.
    pub(crate) fn remove(&self, uri: &str) {
        self.wanted.send_modify(|wanted| {
            if let Some(watchers) = wanted.uris.get_mut(uri) {
                *watchers -= 1;
                if *watchers == 0 {
                    wanted.uris.remove(uri);
                }
            }
            wanted.generation += 1;
        });
    }

    /// Tells one connection what is wanted, for as long as it lives.
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
        let mut wanted = self.wanted.subscribe();
        let mut active = BTreeSet::new();
        loop {
            let goal = wanted.borrow_and_update().clone();
            let mut refused = BTreeMap::new();
            for uri in goal.uris.keys().filter(|uri| !active.contains(*uri)).cloned().collect::<Vec<_>>() {
                match connection.control(Control::Subscribe(&uri), PATIENCE).await {
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
                // A server that does not let go costs a few notifications nobody reads.
                let _ = connection.control(Control::Unsubscribe(&uri), PATIENCE).await;
                active.remove(&uri);
            }
            self.establish(goal.generation, refused);
            if wanted.changed().await.is_err() {
                return;
            }
        }
    }

    async fn follow_modern(&self, connection: &Connection, events: &EventSink) {
        let mut wanted = self.wanted.subscribe();
        let mut stream: Option<LiveCall> = None;
        loop {
            let goal = wanted.borrow_and_update().clone();
            let uris: Vec<&String> = goal.uris.keys().collect();
            let filter = filter(&connection.identity().capabilities, &uris);
            let opening = async {
                match &filter {
                    None => Ok(None),
                    Some(filter) => opened(connection, filter).await.map(Some),
                }
            };
            // What happens before the server knows of the new stream it says only on the old one, which
            // is therefore read meanwhile and for a moment longer. Hearing of a change twice is harmless.
            let outcome = tokio::select! {
                biased;
                outcome = opening => outcome,
                outcome = async {
                    forward(stream.as_mut(), events).await;
                    std::future::pending().await
                } => outcome,
            };
            let (opened, refused) = match outcome {
                Ok(opened) => (opened, BTreeMap::new()),
                Err(error) => {
                    let error = match error {
                        UpstreamError::Refused(error) => error,
                        other => RpcError::new(code::INTERNAL_ERROR, other.to_string()),
                    };
                    tracing::debug!(server.name = %events.server(), error = error.message, "no news from server");
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
                changed = wanted.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = leftovers => {}
                () = forward(stream.as_mut(), events) => {
                    stream = None;
                    tokio::time::sleep(REOPEN_DELAY).await;
                    // Whatever changed while no stream was open is found by asking again.
                    events.send(crate::event::ServerEvent::Connected).await;
                }
            }
        }
    }
}

/// The filter for a listen request; `None` when there is nothing to listen for.
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

/// A listen stream whose acknowledgment has come.
async fn opened(connection: &Connection, filter: &Value) -> Result<LiveCall, UpstreamError> {
    let mut call = connection.listen(filter);
    let acknowledged = async {
        loop {
            match call.next().await? {
                CallEvent::Notification(message) if *message.method() == Method::Acknowledged => {
                    return Ok(());
                }
                CallEvent::Notification(_) | CallEvent::Question(_) => {}
                CallEvent::Answer(answer) => return Err(UpstreamError::refused(answer.error())),
            }
        }
    };
    tokio::time::timeout(PATIENCE, acknowledged).await.map_err(|_| UpstreamError::Timeout(PATIENCE))??;
    Ok(call)
}

/// Passes news on until the stream ends; waits for ever without one.
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
            Ok(CallEvent::Question(_)) => {}
            Ok(CallEvent::Answer(_)) | Err(_) => return,
        }
    }
}
