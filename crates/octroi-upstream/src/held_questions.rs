//! Questions that a server asks while no call is under way, such as for the roots right after the handshake.
//!
//! On a connection of one client they wait for that client's next call, which is sent once they are answered: a
//! client can be asked only during a call, and a server that wants to know the roots must know them by then. On
//! a connection that several clients share nobody is asked, because the answer would be for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use octroi_core::ServerKey;
use octroi_mcp::{Method, RpcError, code};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::event::{Owner, ServerQuestion};

/// A server that asks more than this without a call is refused.
const HELD_MAX: usize = 16;
/// How long a call waits for questions that another call of its client puts to the client.
const OTHERS_PATIENCE: Duration = Duration::from_secs(2);
/// How long a server gets to apply the answers before the call reaches it; nothing says when it has.
const APPLIED_WITHIN: Duration = Duration::from_millis(100);

/// Who can be asked over a connection outside calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Not known yet: the connection is being opened.
    #[default]
    Undecided,
    /// Nobody, and no client's roots are given during calls either: several clients share the connection.
    Nobody,
    /// Nobody. The first client that is asked during a call keeps the connection, and others get their own; once it
    /// gave its roots, no other client may use it any more.
    CallersOnly,
    /// The one client whose connection it is, during its next call.
    OneClient,
}

/// The questions of one connection that wait for a call.
#[derive(Debug, Default)]
pub(crate) struct HeldQuestions {
    state: Mutex<Held>,
    /// Whether a call has to look at the state; usually not.
    has_some: AtomicBool,
    /// Whether the connection is one client's, because that client was asked.
    is_owned: AtomicBool,
    /// Whether that client gave its roots during a call.
    has_roots: AtomicBool,
    /// How often the client's roots changed, and how often the server was told.
    roots_changes: AtomicU64,
    reported_roots: AtomicU64,
}

#[derive(Debug, Default)]
struct Held {
    audience: Audience,
    questions: Vec<ServerQuestion>,
    /// One for each question that a call has taken and that is not answered yet.
    open: Vec<CancellationToken>,
    /// The client that was asked first.
    owner: Option<Owner>,
}

/// What a call waits for before it is sent.
#[derive(Debug)]
pub(crate) struct OpeningQuestions {
    /// The questions that this call puts to its client.
    pub(crate) questions: Vec<ServerQuestion>,
    own: Vec<CancellationToken>,
    others: Vec<CancellationToken>,
}

impl HeldQuestions {
    /// Keeps a question for the next call; returns it if there is nobody to ask.
    pub(crate) fn hold(&self, question: ServerQuestion) -> Option<ServerQuestion> {
        let mut held = self.state.lock();
        let is_nobody = matches!(held.audience, Audience::Nobody | Audience::CallersOnly);
        if is_nobody || held.questions.len() >= HELD_MAX {
            return Some(question);
        }
        held.questions.push(question);
        self.has_some.store(true, Ordering::Release);
        None
    }

    /// Lets later calls wait for a question about roots that a call in flight puts to the client.
    pub(crate) fn follow(&self, question: &mut ServerQuestion) {
        let mut held = self.state.lock();
        if held.audience == Audience::OneClient && question.method == Method::RootsList {
            held.open.retain(|answered| !answered.is_cancelled());
            let answered = CancellationToken::new();
            question.tell_when_answered(answered.clone().drop_guard());
            held.open.push(answered);
            self.has_some.store(true, Ordering::Release);
        }
    }

    /// Whether the client of a call gives its roots to the server. To be called before another client's call can
    /// begin: servers keep roots, so they must not reach that one.
    pub(crate) fn gives_roots(&self, owner: &Owner) -> bool {
        let mut held = self.state.lock();
        match held.audience {
            Audience::Undecided | Audience::OneClient => true,
            Audience::Nobody => false,
            Audience::CallersOnly => {
                let is_owner = self.keep_for(&mut held, owner);
                self.has_roots.fetch_or(is_owner, Ordering::Release);
                is_owner
            }
        }
    }

    /// The client of a call is asked; whether that makes the server one whose clients need connections of their own.
    pub(crate) fn asks(&self, owner: &Owner) -> bool {
        let mut held = self.state.lock();
        let is_shared = held.audience == Audience::CallersOnly;
        if is_shared {
            self.keep_for(&mut held, owner);
        }
        is_shared
    }

    /// Keeps the connection for a client, which the server may know by now; false if it is another client's.
    fn keep_for(&self, held: &mut Held, owner: &Owner) -> bool {
        self.is_owned.store(true, Ordering::Release);
        held.owner.get_or_insert_with(|| Arc::clone(owner)) == owner
    }

    /// Whether the connection is kept for this client.
    pub(crate) fn is_of(&self, owner: &str) -> bool {
        self.is_owned.load(Ordering::Acquire) && self.state.lock().owner.as_deref() == Some(owner)
    }

    /// Whether another client gave its roots over the connection, so that this one may not use it.
    pub(crate) fn has_roots_of_other(&self, owner: &str) -> bool {
        self.has_roots.load(Ordering::Acquire)
            && self.state.lock().owner.as_deref().is_some_and(|of| of != owner)
    }

    /// Sets who can be asked; returns the questions that nobody can answer.
    pub(crate) fn decide(&self, audience: Audience) -> Vec<ServerQuestion> {
        let mut held = self.state.lock();
        held.audience = audience;
        match audience {
            Audience::Nobody | Audience::CallersOnly => std::mem::take(&mut held.questions),
            Audience::Undecided | Audience::OneClient => Vec::new(),
        }
    }

    /// Takes the questions for a call; `None` if it need not wait for any.
    pub(crate) fn take(&self) -> Option<Box<OpeningQuestions>> {
        if !self.has_some.load(Ordering::Acquire) {
            return None;
        }
        let mut held = self.state.lock();
        held.open.retain(|answered| !answered.is_cancelled());
        let others = held.open.clone();
        let mut opening = OpeningQuestions { questions: Vec::new(), own: Vec::new(), others };
        for mut question in std::mem::take(&mut held.questions) {
            if question.withdrawn.is_cancelled() {
                continue;
            }
            let answered = CancellationToken::new();
            question.tell_when_answered(answered.clone().drop_guard());
            held.open.push(answered.clone());
            opening.own.push(answered);
            opening.questions.push(question);
        }
        self.has_some.store(!held.open.is_empty(), Ordering::Release);
        (!opening.own.is_empty() || !opening.others.is_empty()).then(|| Box::new(opening))
    }

    /// The client's roots changed, which the server is told before the next call.
    pub(crate) fn roots_changed(&self) {
        self.roots_changes.fetch_add(1, Ordering::Relaxed);
    }

    /// The change of roots that the server has not been told of, if there is one. A server that gave up asking
    /// for the roots before there was a call is made to ask again.
    pub(crate) fn unreported_roots(&self) -> Option<u64> {
        if self.has_some.load(Ordering::Acquire) && self.drop_withdrawn_roots() {
            self.roots_changed();
        }
        let changes = self.roots_changes.load(Ordering::Relaxed);
        (changes != self.reported_roots.load(Ordering::Relaxed)).then_some(changes)
    }

    /// The server was told of the changes up to this one.
    pub(crate) fn reported_roots(&self, change: u64) {
        self.reported_roots.fetch_max(change, Ordering::Relaxed);
    }

    fn drop_withdrawn_roots(&self) -> bool {
        let mut held = self.state.lock();
        let n_held = held.questions.len();
        held.questions
            .retain(|question| question.method != Method::RootsList || !question.withdrawn.is_cancelled());
        held.questions.len() < n_held
    }
}

impl OpeningQuestions {
    /// Waits until the call may be sent.
    pub(crate) async fn answered(&self) {
        for answered in &self.own {
            answered.cancelled().await;
        }
        let others = async {
            for answered in &self.others {
                answered.cancelled().await;
            }
        };
        let _ = tokio::time::timeout(OTHERS_PATIENCE, others).await;
        tokio::time::sleep(APPLIED_WITHIN).await;
    }
}

/// Answers a question that nobody can be asked: there are no roots, and anything else is refused.
pub(crate) fn answer_for_nobody(server: &ServerKey, question: ServerQuestion) {
    if question.method == Method::RootsList {
        info!(
            server.name = %server,
            hint = "with `sharing = \"per_session\"` every client gives its own",
            "server asks for roots over a shared connection, it gets none"
        );
        question.answer(br#"{"roots":[]}"#);
    } else {
        let reason = "no client call is in progress that this question could belong to";
        question.refuse(&RpcError::new(code::INTERNAL_ERROR, reason));
    }
}

/// The error for a question that could be for several clients.
pub(crate) fn ambiguous() -> RpcError {
    RpcError::new(
        code::INTERNAL_ERROR,
        "calls of several clients are in progress and the question does not say which it belongs to; call again",
    )
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::FutureExt as _;
    use octroi_mcp::{Envelope, Id};

    use super::*;
    use crate::event::ReplyChannel;

    #[derive(Debug, Default)]
    struct Replies(Mutex<Vec<String>>);

    impl ReplyChannel for Replies {
        fn reply(self: Arc<Self>, _: &Id, message: Bytes) {
            self.0.lock().push(String::from_utf8_lossy(&message).into_owned());
        }
    }

    fn question(method: &str, replies: &Arc<Replies>) -> ServerQuestion {
        let json = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        let request = Envelope::parse(Bytes::from(json)).unwrap();
        ServerQuestion::new(&request, CancellationToken::new(), replies).unwrap()
    }

    #[tokio::test]
    async fn a_call_waits_for_the_questions_it_takes_and_the_next_call_too() {
        let (held, replies) = (HeldQuestions::default(), Arc::new(Replies::default()));
        assert!(held.take().is_none());
        assert!(held.hold(question("roots/list", &replies)).is_none());
        assert_eq!(held.decide(Audience::OneClient).len(), 0);
        let mut first = held.take().expect("it has to ask");
        let second = held.take().expect("it has to wait");
        assert_eq!((first.questions.len(), second.questions.len()), (1, 0));
        assert!(first.answered().now_or_never().is_none());
        first.questions.remove(0).answer(br#"{"roots":[1]}"#);
        first.answered().await;
        second.answered().await;
        assert_eq!(*replies.0.lock(), [r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[1]}}"#]);
        assert!(held.take().is_none() && !held.has_some.load(Ordering::Relaxed));
    }

    #[test]
    fn over_a_shared_connection_nobody_is_asked() {
        let (held, replies) = (HeldQuestions::default(), Arc::new(Replies::default()));
        assert!(held.hold(question("roots/list", &replies)).is_none());
        let unanswered = held.decide(Audience::Nobody);
        assert_eq!(unanswered.len(), 1);
        let server = ServerKey::parse("files").unwrap();
        for question in unanswered {
            answer_for_nobody(&server, question);
        }
        answer_for_nobody(&server, held.hold(question("elicitation/create", &replies)).unwrap());
        assert!(held.take().is_none());
        let replies = replies.0.lock();
        assert_eq!(replies[0], r#"{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}"#);
        assert!(replies[1].contains("no client call"), "{replies:?}");
    }

    #[test]
    fn roots_given_during_a_call_make_the_connection_that_clients() {
        let (ada, bob): (Owner, Owner) = ("ada".into(), "bob".into());
        for (audience, ada_gives, bob_gives, other) in [
            (Audience::Nobody, false, false, false),
            (Audience::CallersOnly, true, false, true),
            (Audience::OneClient, true, true, false),
        ] {
            let held = HeldQuestions::default();
            held.decide(audience);
            assert!(!held.has_roots_of_other(&bob));
            assert_eq!((held.gives_roots(&ada), held.gives_roots(&bob)), (ada_gives, bob_gives));
            assert_eq!((held.is_of(&ada), held.has_roots_of_other(&bob)), (other, other), "{audience:?}");
            assert!(!held.is_of(&bob) && !held.has_roots_of_other(&ada));
        }
    }

    #[test]
    fn the_first_client_that_is_asked_keeps_the_connection_and_others_may_finish_their_calls() {
        let (ada, bob): (Owner, Owner) = ("ada".into(), "bob".into());
        for (audience, is_kept) in
            [(Audience::Nobody, false), (Audience::CallersOnly, true), (Audience::OneClient, false)]
        {
            let held = HeldQuestions::default();
            held.decide(audience);
            assert_eq!((held.asks(&ada), held.asks(&bob)), (is_kept, is_kept), "{audience:?}");
            assert_eq!((held.is_of(&ada), held.is_of(&bob)), (is_kept, false), "{audience:?}");
            assert!(!held.has_roots_of_other(&bob), "{audience:?}: nobody gave roots");
        }
    }

    #[test]
    fn a_server_that_gave_up_asking_for_roots_is_told_that_they_changed() {
        let (held, replies) = (HeldQuestions::default(), Arc::new(Replies::default()));
        assert_eq!(held.unreported_roots(), None);
        held.roots_changed();
        held.reported_roots(held.unreported_roots().unwrap());
        assert_eq!(held.unreported_roots(), None);
        let asked = question("roots/list", &replies);
        asked.withdrawn.cancel();
        assert!(held.hold(asked).is_none());
        assert_eq!(held.unreported_roots(), Some(2));
        held.reported_roots(2);
        assert!(held.unreported_roots().is_none() && held.take().is_none());
    }
}
