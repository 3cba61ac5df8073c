//! How a complete configuration names the levels of its policies.

pub(crate) const FLOOR: &str = "floor";
pub(crate) const GLOBAL: &str = "global";
/// Followed by the agent's id.
pub(crate) const AGENT: &str = "agent ";
