//! Error numbers that only Octroi gives out. A server that answers with one of them is lying.

/// Refused, and the agent should stop.
pub(crate) const DENIED: i64 = -32950;
/// Refused; the agent may go on with something else.
pub(crate) const DENIED_CONTINUE: i64 = -32951;
/// A server answered with a number of this list.
pub(crate) const RESERVED_MISUSE: i64 = -32952;
/// What decides could not be asked.
pub(crate) const EVALUATOR_ERROR: i64 = -32953;
/// Too much is asked at once.
pub(crate) const BUSY: i64 = -32954;
/// Nobody decided in time.
pub(crate) const APPROVAL_EXPIRED: i64 = -32955;

/// All numbers that are kept for Octroi, those without a meaning yet included.
pub(crate) const RESERVED: std::ops::RangeInclusive<i64> = -32969..=-32950;
