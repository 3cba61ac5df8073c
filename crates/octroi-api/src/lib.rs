//! The control plane as data.
//!
//! One table of operations, one of resources, one of errors. Each entry is declared once; the MCP tools, the
//! server's dispatch, the command line's typed client and the reference pages are derived from it. There is
//! no async here, no clock, no file and no network.

pub mod access;
pub mod error;
pub mod messages;
pub mod operation;
pub mod operations;
mod problem;
pub mod reference;
pub mod request;
pub mod resource;
pub mod rest;
mod route;
mod schema;
pub mod typescript;
pub mod wire;

pub use access::{Access, AccessVerdict, AgentSetting, Face, ObjectRef, Owner};
pub use error::{Answered, ApiError, ErrorCode, Exit, Fault, RequestKind, Retry, describe, rescue};
pub use messages::Language;
pub use operation::{Effect, Operation, OperationEntry, RestAnswer, RestOutcome};
pub use operations::{Group, OPERATIONS, find};
pub use problem::{PROBLEM_TYPE, Problem};
pub use request::read_request;
pub use resource::{RESOURCES, ResourceChange, ResourceEntry, ResourceKind, ResourceUri, Topic};
pub use wire::{Wire, WireWord};
