//! Cedar policies for tool calls.
//!
//! A [`Schema`] is made from the definitions of tools: each tool is an action, its arguments are the typed
//! context. [`Policies`] are loaded against it completely or not at all, and judge calls. There is no clock
//! and no IO here; this crate isolates the Cedar engine. `docs/cedar.md` is the guide for policy authors.

mod annotation;
mod argument;
mod describe;
mod effect;
mod judge;
mod limits;
mod load;
mod needs;
mod policies;
mod problem;
mod schema;
mod shape;

pub use describe::Described;
pub use effect::CedarEffect;
pub use judge::{Agent, CallToJudge, CedarVerdict, Clause, Judgement, SessionState, Tool};
pub use policies::Policies;
pub use problem::CedarProblem;
pub use schema::{Schema, SchemaError, ToolShape};

#[cfg(test)]
mod tests;
