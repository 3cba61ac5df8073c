//! The domain of Octroi, pure.
//!
//! Names, principals, server definitions and decisions as plain values. There is no async here, no
//! clock, no file and no network: what depends on them comes in as an argument.

pub mod breaker;
pub mod config;
pub mod decision;
pub mod facts;
pub mod health;
mod json;
pub mod name;
pub mod pin;
pub mod principal;
pub mod redact;
pub mod secret;
pub mod server;
pub mod substitute;
pub mod uri;
pub mod wire_name;

pub use decision::{Decision, Permit, Subject, decide};
pub use health::{Health, Lifecycle};
pub use name::{CanonicalId, ServerName};
pub use principal::{Principal, Role, Tokens};
pub use secret::Secret;
