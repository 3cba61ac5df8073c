//! Persistent storage.
//!
//! A [`Store`] keeps server definitions, the last catalogue of each server, and health history; operator
//! decisions: approvals, policies, accepted definitions, the context of agents; servers that were added at run time, and
//! who uses which; secrets; and a queryable index of the
//! audit log. No other crate contains SQL. The store reads no clock: times are arguments, in milliseconds
//! since 1970. The data plane never waits for the store; it reads what was loaded at the start.

mod agent;
mod approval;
mod audit;
mod catalogue;
mod entry;
mod error;
mod hash;
mod health;
mod key;
mod lock;
mod pin;
mod policy;
mod secret;
mod server;
mod sqlite;
mod store;
mod user;

pub use agent::{AgentPreset, AgentRecord, FormerAgent, Pause, ToolUse, ToolUses};
pub use approval::{ApprovalFilter, ApprovalPart, PendingLimits, Requested, TooManyPending};
pub use audit::{
    AuditCount, AuditCursor, AuditFilter, AuditPage, AuditRecord, AuditRecordReader, AuditRow, CALL_SPAN_MS,
    CallFilter, CallsOfTool, KnownLog,
};
pub use catalogue::{Catalogue, Saved, StoredCatalogue};
pub use entry::{
    AgentServers, AttachedServer, EntryChange, EntryDraft, EntryRefusal, EntryRevision, PreferenceRecord,
    ServerEntry, SessionRecord,
};
pub use error::{Cause, StoreError};
pub use hash::ContentHash;
pub use health::{ERROR_LENGTH_MAX, HealthSample, SAMPLES_MAX};
pub use key::{Cipher, KeySource, KnownKey, MasterKey};
pub use pin::{Accepted, HeldDefinition, KeptOut, PastPin, PinKey, PinKind, PinRecord};
pub use policy::{
    ActivePolicies, PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal, PolicyStatus, ProposalVerdict,
};
pub use secret::{Rekeyed, SecretRecord, StoredSecret};
pub use server::{CanonicalJson, ManagedBy, Recorded, RecordedChange, Scope, ServerKey, ServerRecord};
pub use store::Store;
pub use user::{BrowserRecord, InviteRecord, TokenRecord, UserRecord};
