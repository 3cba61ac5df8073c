//! The pure domain of Octroi.
//!
//! Names, principals, server definitions and decisions as plain values. There is no async here, no clock, no
//! file and no network: what depends on them is passed in as an argument.

pub mod agent;
pub mod approval;
pub mod arguments;
pub mod audit;
pub mod breaker;
pub mod call;
pub mod clock;
pub mod config;
pub mod decision;
pub mod diff;
mod entity_id;
pub mod env_file;
pub mod facts;
pub mod fold;
pub mod glob;
pub mod health;
mod json;
pub mod name;
pub mod network;
pub mod outward;
pub mod pin;
mod plural;
pub mod policy;
pub mod pool;
pub mod preset;
pub mod principal;
pub mod quota;
pub mod redact;
pub mod secret;
pub mod server;
pub mod substitute;
pub mod suggest;
mod switched_off;
pub mod syntax;
pub mod template;
pub mod time;
pub mod tool;
pub mod trust;
pub mod uri;
pub mod wire_name;

pub use clock::Clock;
pub use decision::{Decision, Permit};
pub use entity_id::EntityId;
pub use health::{Health, Lifecycle};
pub use name::{CanonicalId, OWN_NAME, Scope, ServerKey, ServerName};
pub use pin::{escape_hidden, visible};
pub use plural::count;
pub use pool::{Attachment, PoolChoices, SessionChoice};
pub use principal::{Principal, PrincipalKind, UserRole};
pub use secret::Secret;
pub use switched_off::SwitchedOff;
