//! What must hold for any bytes. Each `check` panics where it does not.

pub(crate) mod envelope;
pub(crate) mod members;
pub(crate) mod sse;
pub(crate) mod translate;
