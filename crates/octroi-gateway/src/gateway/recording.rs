//! Audit records of administrative changes.

use octroi_core::audit::{Kind, Level};
use serde_json::{Value, json};

use super::Gateway;
use crate::audit::AuditError;
use crate::change::{ChangeAuthor, ChangeRecord, PlannedChange, RecordedChange};

impl Gateway {
    /// Records a change before it is made. If that fails, it cannot be made.
    ///
    /// Not an `async fn`: its future borrows nothing of the change, which is not `Sync`, so that it is `Send`.
    pub fn record_change<T, E>(
        &self,
        by: ChangeAuthor,
        kind: Kind,
        operation: &'static str,
        change: PlannedChange<T, E>,
    ) -> impl Future<Output = Result<RecordedChange<T, E>, AuditError>> + Send {
        let context =
            context(operation, &change.subject, [("before", &change.before), ("after", &change.after)]);
        let filed_under = change.filed_under.clone();
        async move {
            self.recorder.record_change(&by, kind, Level::Info, &filed_under, &context).await?;
            Ok(RecordedChange::new(change, by, kind, operation))
        }
    }

    /// Records that a recorded change was not made after all.
    pub async fn record_failed_change(&self, record: &ChangeRecord, reason: &str) -> Result<(), AuditError> {
        let ChangeRecord { author, kind, operation, subject, filed_under } = record;
        let context = context(operation, subject, [("failed", &json!(true)), ("reason", &json!(reason))]);
        self.recorder.record_change(author, *kind, Level::Warn, filed_under, &context).await
    }
}

/// The members of the subject, and those that describe the change.
fn context(operation: &str, subject: &Value, members: [(&str, &Value); 2]) -> Value {
    let mut context = json!({ "operation": operation });
    if let (Some(context), Some(subject)) = (context.as_object_mut(), subject.as_object()) {
        context.extend(subject.clone());
        context.extend(members.map(|(name, value)| (name.to_owned(), value.clone())));
    }
    context
}
