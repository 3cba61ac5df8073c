//! Accepted definitions.
//!
//! A model reads what a server says about its tools, so definitions act like code. A definition is pinned by
//! the hash of its whole canonical form; if it differs later, it is quarantined until a person has reviewed
//! the difference. Nothing here stores or fetches anything: the pins, the definitions and the time are passed
//! in as arguments.

mod canonical;
mod characters;
mod difference;
mod findings;
mod hash;
mod lock;
mod look_alikes;
mod state;

pub use canonical::canonical;
pub use characters::{escape_hidden, is_hidden, visible};
pub use difference::{ChangeClass, DefinitionChange, difference};
pub use findings::{Finding, FindingKind, KnownTools, LintContext, Severity, findings};
pub use hash::{DefinitionHash, NotAHash, PinKind};
pub use lock::{Lock, LockError, Merged, Pin, PinKey};
pub use look_alikes::{LookAlike, Resemblance, look_alikes, skeleton};
pub use state::{NewTools, PinPolicy, PinState, PinVerdict, QuarantineReason, judge};

pub use crate::json::JsonError;
