//! A lock that outlives a panicking holder.
//!
//! One failed call must not take the other calls of a scripted server down with it, so a poisoned lock is opened as it is.

use std::sync::{Mutex, PoisonError};

/// A value that is only ever touched inside a short closure, so no guard can be held across an await.
#[derive(Debug, Default)]
pub(crate) struct Guarded<T>(Mutex<T>);

impl<T> Guarded<T> {
    pub(crate) fn with<R>(&self, touch: impl FnOnce(&mut T) -> R) -> R {
        touch(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
