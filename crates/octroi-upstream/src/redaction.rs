//! The redactor that everything passes which servers write and people read.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use octroi_core::redact::Redactor;
use parking_lot::RwLock;

/// The redactor in use. It is replaced when the configuration, and with it the known secrets, change.
#[derive(Clone)]
pub struct SharedRedactor(Arc<RwLock<Arc<Redactor>>>);

impl SharedRedactor {
    /// Replaces the redactor, for all who share it.
    pub fn set(&self, redactor: Arc<Redactor>) {
        *self.0.write() = redactor;
    }

    /// The text with secrets redacted.
    pub fn redacted(&self, text: &str) -> String {
        self.current().redact(text).into_owned()
    }

    /// The text with secrets redacted; `None` if there are none in it.
    pub fn changed(&self, text: &str) -> Option<String> {
        match self.current().redact(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(redacted) => Some(redacted),
        }
    }

    /// The length of the longest known secret, in any encoding.
    pub(crate) fn longest(&self) -> usize {
        self.current().longest()
    }

    fn current(&self) -> Arc<Redactor> {
        Arc::clone(&self.0.read())
    }
}

impl Default for SharedRedactor {
    /// Until the configuration is known, secrets are found by shape and name only.
    fn default() -> Self {
        Self(Arc::new(RwLock::new(Arc::new(Redactor::new(std::iter::empty())))))
    }
}

impl fmt::Debug for SharedRedactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedRedactor")
    }
}
