//! Tests of the whole crate, and shared test support.

mod guide;
mod property;
pub(crate) mod support;
