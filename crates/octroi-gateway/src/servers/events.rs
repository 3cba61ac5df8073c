//! Events of servers, and periodic maintenance.

use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::ServerKey;
use octroi_mcp::Method;
use octroi_upstream::ServerEvent;
use tokio::sync::mpsc;

use super::Servers;
use crate::catalogue::LISTS;

impl Servers {
    /// Handles events of servers until the gateway ends.
    pub(crate) async fn follow_events(self: Arc<Self>, mut events: mpsc::Receiver<(ServerKey, ServerEvent)>) {
        loop {
            let received = tokio::select! {
                biased;
                () = self.context.shutdown.cancelled() => return,
                received = events.recv() => received,
            };
            let Some((key, event)) = received else {
                return;
            };
            let Some(member) = self.get(&key) else {
                continue;
            };
            if matches!(event, ServerEvent::Connected | ServerEvent::Lost(_) | ServerEvent::Checked(..)) {
                self.announce(&key);
            }
            match event {
                ServerEvent::Connected => member.refresher.request(&LISTS, &[]),
                ServerEvent::ListChanged(method) => {
                    member.refresher.request(lists_of(&method), std::slice::from_ref(&method));
                }
                ServerEvent::ResourceUpdated(uri) => self.subscriptions.resource_updated(&key, &uri),
                // The first two concern a client's own out-of-band flow, whose end it learns by polling;
                // the lists of a lost server stay published.
                ServerEvent::ElicitationComplete(_) | ServerEvent::TaskChanged(_) | ServerEvent::Lost(_) => {}
                ServerEvent::AsksClients => self.asked_clients(&member),
                ServerEvent::Wrote => self.subscriptions.announce(&ResourceChange::ServerLog(&key)),
                ServerEvent::Checked(checks, error) => {
                    if let Some(persistence) = &self.persistence {
                        persistence.checked(&key, &checks, error.as_ref());
                    }
                }
            }
        }
    }

    /// Requests all lists of every running server.
    pub(crate) fn request_lists(&self) {
        for member in self.members.load().values() {
            if member.upstream.current().is_some() {
                member.refresher.request(&LISTS, &[]);
            }
        }
    }

    /// Closes idle connections.
    pub(crate) async fn sweep(&self) {
        for upstream in self.upstreams() {
            upstream.sweep().await;
        }
    }
}

fn lists_of(notification: &Method) -> &'static [Method] {
    match notification {
        Method::PromptsChanged => &LISTS[1..2],
        Method::ResourcesChanged => &LISTS[2..4],
        _ => &LISTS[..1],
    }
}
