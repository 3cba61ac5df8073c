//! What a server asks outside calls: who answers it, and what a server is told of a client's roots.

use std::time::Duration;

use octroi_mcp::{Era, Method, envelope};

use super::{Connection, ControlRequest, Link};
use crate::held_questions::{self, Audience, HeldQuestions};

/// How long a server may take to answer the request that shows that it has asked what it asks first.
const FIRST_QUESTIONS: Duration = Duration::from_millis(250);

impl Connection {
    /// Waits until the server has asked what it asks right after the handshake, and sets who answers it. Without
    /// this, such a question would be taken for one of the first call.
    pub(crate) async fn settle_first_questions(&self, audience: Audience) {
        let audience = match self.identity.era {
            Era::Legacy => {
                self.pass_questions().await;
                audience
            }
            // It asks in its answers, so whatever it sends besides is for nobody.
            Era::Modern => Audience::Nobody,
        };
        for question in self.held().decide(audience) {
            held_questions::answer_for_nobody(&self.server, question);
        }
    }

    /// Whether another client gave its roots over the connection, so that this one may not use it.
    pub(crate) fn has_roots_of_other(&self, owner: &str) -> bool {
        self.held().has_roots_of_other(owner)
    }

    /// Whether the connection is kept for this client, because the server asked it first.
    pub(crate) fn is_of(&self, owner: &str) -> bool {
        self.held().is_of(owner)
    }

    /// The client's roots changed; the server is told before the next call.
    pub(crate) fn roots_changed(&self) {
        self.held().roots_changed();
    }

    /// Tells the server that the client's roots changed, if they did, and waits until it has asked for them.
    pub(crate) async fn tell_roots_changed(&self) {
        if let Some(change) = self.held().unreported_roots() {
            Box::pin(self.tell_roots(change)).await;
        }
    }

    async fn tell_roots(&self, change: u64) {
        // Best effort: a server that cannot be told cannot be called either.
        match &self.link {
            Link::Shared(mux) => {
                let _ = mux.send(envelope::notification(&Method::RootsChanged, b"{}")).await;
            }
            Link::Http(link) => {
                let _ = link.notify(&Method::RootsChanged, b"{}").await;
            }
        }
        self.pass_questions().await;
        self.held().reported_roots(change);
    }

    /// Servers handle messages in order, so whatever they ask because of an earlier message comes before the
    /// answer to this one.
    async fn pass_questions(&self) {
        // The answer does not matter, nor whether there is one.
        let _ = self.control(ControlRequest::Alive, FIRST_QUESTIONS).await;
    }

    fn held(&self) -> &HeldQuestions {
        match &self.link {
            Link::Shared(mux) => &mux.held,
            Link::Http(link) => &link.held,
        }
    }
}
