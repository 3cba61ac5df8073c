//! Definitions that people have approved.
//!
//! What a server says of its tools is read by a model, so it is code in all but name. A definition is pinned by
//! the hash of its whole canonical form; what differs later is held back until a person has seen the difference.
//! Nothing here keeps or fetches anything: the pins, the definitions and the time come in as arguments.

mod canonical;
mod characters;
mod difference;
mod findings;
mod hash;
mod lock;
mod look_alikes;
mod state;

pub use canonical::canonical;
pub use characters::{is_hidden, visible};
pub use difference::{Change, ChangeClass, difference};
pub use findings::{Finding, FindingKind, KnownTools, LintContext, Severity, findings};
pub use hash::{DefinitionHash, NotAHash, PinKind};
pub use lock::{Lock, LockError, Merged, Pin, PinKey};
pub use look_alikes::{LookAlike, Resemblance, look_alikes, skeleton};
pub use state::{PinPolicy, PinState, PinVerdict, QuarantineReason, judge};

pub use crate::json::JsonError;
