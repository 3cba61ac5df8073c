//! Properties for arbitrary bytes. Each `check` panics on a violation.

pub(crate) mod envelope;
pub(crate) mod members;
pub(crate) mod sse;
pub(crate) mod translate;
