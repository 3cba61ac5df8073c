//! Tests of the crate as a whole, and what all tests share.

mod guide;
mod property;
pub(crate) mod support;
