//! Error codes reserved for Octroi. A server that uses one forges a decision.

/// Denied, and the agent should stop.
pub(crate) const DENIED: i64 = -32950;
/// Denied; the agent may continue with something else.
pub(crate) const DENIED_CONTINUE: i64 = -32951;
/// A server used a reserved code.
pub(crate) const RESERVED_MISUSE: i64 = -32952;
/// The decision failed.
pub(crate) const EVALUATOR_ERROR: i64 = -32953;
/// A quota is exceeded.
pub(crate) const BUSY: i64 = -32954;
/// The approval expired.
pub(crate) const APPROVAL_EXPIRED: i64 = -32955;

/// All reserved codes, including those without a meaning yet.
pub(crate) const RESERVED: std::ops::RangeInclusive<i64> = -32969..=-32950;
