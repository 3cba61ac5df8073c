//! What Octroi remembers between two runs.
//!
//! A [`Store`] keeps server definitions, the lists that each server last offered, and how the
//! servers were; what people decided: approvals, policies, accepted definitions, the context of
//! agents; and the audit log in a form that can be asked. Nothing outside this crate knows SQL. There is no clock here: times come in as
//! arguments, in milliseconds since 1970. The data plane never waits for a store; it reads what was
//! loaded at the start.

mod agent;
mod approval;
mod audit;
mod catalogue;
mod error;
mod hash;
mod health;
mod lock;
mod pin;
mod policy;
mod server;
mod sqlite;
mod store;

pub use agent::{AgentRecord, ToolUse, ToolUses};
pub use approval::{ApprovalFilter, ApprovalPart, Requested};
pub use audit::{AuditCount, AuditCursor, AuditFilter, AuditPage, AuditRecord, AuditRow};
pub use catalogue::{Catalogue, Saved, StoredCatalogue};
pub use error::{Cause, StoreError};
pub use hash::ContentHash;
pub use health::{ERROR_LENGTH_MAX, HealthSample, SAMPLES_MAX};
pub use pin::{Accepted, HeldDefinition, KeptOut, PastPin, PinKey, PinKind, PinRecord};
pub use policy::{
    ActivePolicies, PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal, PolicyStatus, ProposalVerdict,
};
pub use server::{CanonicalJson, Change, ManagedBy, Recorded, Scope, ServerKey, ServerRecord};
pub use store::Store;
