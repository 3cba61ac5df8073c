//! A lock that survives a panicking holder.
//!
//! One failed call must not take down the other calls of a scripted server, so a poisoned lock is still used.

use std::sync::{Mutex, PoisonError};

/// A value that is only accessed inside a short closure, so no guard can be held across an await.
#[derive(Debug, Default)]
pub(crate) struct Guarded<T>(Mutex<T>);

impl<T> Guarded<T> {
    pub(crate) fn with<R>(&self, touch: impl FnOnce(&mut T) -> R) -> R {
        touch(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
