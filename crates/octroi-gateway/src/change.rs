//! Changes that operators and agents request: planned and checked first, then recorded, then made.
//!
//! A [`PlannedChange`] cannot be applied. Recording it makes a [`RecordedChange`], which can: so nothing takes
//! effect that is not in the audit log, and no operation can forget its record.

use std::fmt;
use std::pin::Pin;

use octroi_core::Principal;
use octroi_core::audit::Kind;
use serde_json::Value;

/// The columns under which a change is found in the audit log.
#[derive(Clone, Debug, Default)]
pub struct FiledUnder {
    /// The agent concerned.
    pub agent: Option<String>,
    /// The server concerned.
    pub server: Option<String>,
    /// The canonical id of the tool.
    pub tool: Option<String>,
}

/// Who makes a change.
#[derive(Clone, Debug)]
pub enum ChangeAuthor {
    /// The principal that requested it.
    Principal(Principal),
    /// Octroi itself, because a file changed or a signal came.
    Octroi,
}

type Applying<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// A change that can be made, and has not been made yet. Dropped, it changes nothing.
#[must_use = "nothing changes until it is applied"]
pub struct PlannedChange<T, E> {
    /// The subject: members of an object, such as the agent or the server.
    pub subject: Value,
    /// The state before the change.
    pub before: Value,
    /// The state after the change.
    pub after: Value,
    /// Where the audit log files it, besides under its author.
    pub filed_under: FiledUnder,
    applying: Applying<T, E>,
}

impl<T, E> PlannedChange<T, E> {
    /// Creates a change that this future makes.
    pub fn new(
        subject: Value,
        before: Value,
        after: Value,
        applying: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Self {
        Self { subject, before, after, filed_under: FiledUnder::default(), applying: Box::pin(applying) }
    }

    /// Sets where the audit log files the change.
    pub fn filed_under(self, filed_under: FiledUnder) -> Self {
        Self { filed_under, ..self }
    }

    /// Maps the result of the change.
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

    /// Makes another change first, with the same record.
    pub fn after<U>(self, first: PlannedChange<U, E>) -> Self
    where
        T: 'static,
        U: 'static,
        E: 'static,
    {
        let Self { mut subject, before, mut after, filed_under, applying } = self;
        subject["with"] = first.subject;
        after["with"] = first.after;
        let first = first.applying;
        let applying = Box::pin(async move {
            first.await?;
            applying.await
        });
        Self { subject, before, after, filed_under, applying }
    }

    /// Does something more once the change is made.
    pub fn then(self, more: impl Future<Output = Result<(), E>> + Send + 'static) -> Self
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let applying = self.applying;
        let applying = Box::pin(async move {
            let made = applying.await?;
            more.await?;
            Ok(made)
        });
        Self { applying, ..self }
    }

    /// Maps the result of the change, with a look at what it led to.
    pub fn and_then<U, F, R>(self, turn: impl FnOnce(T) -> R + Send + 'static) -> PlannedChange<U, F>
    where
        T: Send + 'static,
        E: 'static,
        F: From<E>,
        R: Future<Output = Result<U, F>> + Send,
    {
        let Self { subject, before, after, filed_under, applying } = self;
        PlannedChange {
            subject,
            before,
            after,
            filed_under,
            applying: Box::pin(async move {
                let made = applying.await?;
                turn(made).await
            }),
        }
    }
}

/// A change that is in the audit log. Only this can be applied, and only recording makes one.
#[must_use = "nothing changes until it is applied"]
pub struct RecordedChange<T, E> {
    applying: Applying<T, E>,
    record: ChangeRecord,
}

/// The record of a change, for the second record if the change fails.
#[derive(Debug)]
pub struct ChangeRecord {
    pub(crate) author: ChangeAuthor,
    pub(crate) kind: Kind,
    pub(crate) operation: &'static str,
    pub(crate) subject: Value,
    pub(crate) filed_under: FiledUnder,
}

impl<T, E> RecordedChange<T, E> {
    pub(crate) fn new(
        change: PlannedChange<T, E>,
        author: ChangeAuthor,
        kind: Kind,
        operation: &'static str,
    ) -> Self {
        let PlannedChange { subject, filed_under, applying, .. } = change;
        Self { applying, record: ChangeRecord { author, kind, operation, subject, filed_under } }
    }

    /// Makes the change. A failure comes with the record that now needs a second one.
    pub async fn apply(self) -> Result<T, (E, Box<ChangeRecord>)> {
        let Self { applying, record } = self;
        applying.await.map_err(|error| (error, Box::new(record)))
    }
}

impl<T, E> fmt::Debug for RecordedChange<T, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RecordedChange").field("record", &self.record).finish_non_exhaustive()
    }
}

impl<T, E> fmt::Debug for PlannedChange<T, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PlannedChange").field("subject", &self.subject).finish_non_exhaustive()
    }
}
