//! Recording changes for whoever dispatches operations.

use octroi_core::audit::{Kind, Level};
use serde_json::{Value, json};

use super::Gateway;
use crate::audit::AuditError;
use crate::change::{ChangeAuthor, FiledUnder, PlannedChange};

impl Gateway {
    /// Records a change ahead of it. If that fails, it must not be made.
    ///
    /// The future does not hold the change, which cannot be shared between threads, so that it can be sent to one.
    pub fn record_change<T, E>(
        &self,
        by: &ChangeAuthor,
        kind: Kind,
        operation: &str,
        change: &PlannedChange<T, E>,
    ) -> impl Future<Output = Result<(), AuditError>> + Send {
        let context =
            context(operation, &change.subject, [("before", &change.before), ("after", &change.after)]);
        let filed_under = change.filed_under.clone();
        async move { self.recorder.record_change(by, kind, Level::Info, &filed_under, &context).await }
    }

    /// Records that a change which was recorded was not made after all.
    pub async fn record_failed_change(
        &self,
        by: &ChangeAuthor,
        kind: Kind,
        operation: &str,
        subject: &Value,
        filed_under: &FiledUnder,
        reason: &str,
    ) -> Result<(), AuditError> {
        let context = context(operation, subject, [("failed", &json!(true)), ("reason", &json!(reason))]);
        self.recorder.record_change(by, kind, Level::Warn, filed_under, &context).await
    }
}

/// The members of the subject, and those that say what becomes of it.
fn context(operation: &str, subject: &Value, members: [(&str, &Value); 2]) -> Value {
    let mut context = json!({ "operation": operation });
    if let (Some(context), Some(subject)) = (context.as_object_mut(), subject.as_object()) {
        context.extend(subject.clone());
        context.extend(members.map(|(name, value)| (name.to_owned(), value.clone())));
    }
    context
}
