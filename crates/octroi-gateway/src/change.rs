//! Changes that people and agents ask for: worked out and checked first, then recorded, then made.
//!
//! Whoever dispatches an operation records a [`PlannedChange`] before it applies it, so that nothing takes effect that is not
//! in the audit log, and no operation can forget its record.

use std::fmt;
use std::pin::Pin;

use octroi_core::Principal;
use serde_json::Value;

/// What a change concerns, as records are searched by it.
#[derive(Clone, Debug, Default)]
pub struct FiledUnder {
    /// The agent whose affair it is.
    pub agent: Option<String>,
    /// The server.
    pub server: Option<String>,
    /// The canonical id of the tool.
    pub tool: Option<String>,
}

/// Who makes a change.
#[derive(Clone, Debug)]
pub enum ChangeAuthor {
    /// Who asked for it.
    Principal(Principal),
    /// Nobody asked: a file changed, or a signal came.
    Octroi,
}

type Applying<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// A change that can be made, and has not been made yet. Dropped, it changes nothing.
#[must_use = "nothing changes until it is applied"]
pub struct PlannedChange<T, E> {
    /// What it is about: members of an object, such as the agent or the server.
    pub subject: Value,
    /// How things stand.
    pub before: Value,
    /// How they will stand.
    pub after: Value,
    /// Where it is found in the audit log, besides by who made it.
    pub filed_under: FiledUnder,
    applying: Applying<T, E>,
}

impl<T, E> PlannedChange<T, E> {
    /// A change that this future makes.
    pub fn new(
        subject: Value,
        before: Value,
        after: Value,
        applying: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Self {
        Self { subject, before, after, filed_under: FiledUnder::default(), applying: Box::pin(applying) }
    }

    /// The same change, found under this in the audit log.
    pub fn filed_under(self, filed_under: FiledUnder) -> Self {
        Self { filed_under, ..self }
    }

    /// The same change, with something else made of what comes of it.
    pub fn map<U, F>(
        self,
        turn: impl FnOnce(Result<T, E>) -> Result<U, F> + Send + 'static,
    ) -> PlannedChange<U, F>
    where
        T: 'static,
        E: 'static,
    {
        let Self { subject, before, after, filed_under, applying } = self;
        PlannedChange {
            subject,
            before,
            after,
            filed_under,
            applying: Box::pin(async move { turn(applying.await) }),
        }
    }

    /// Makes the change.
    pub async fn apply(self) -> Result<T, E> {
        self.applying.await
    }
}

impl<T, E> fmt::Debug for PlannedChange<T, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PlannedChange").field("subject", &self.subject).finish_non_exhaustive()
    }
}
