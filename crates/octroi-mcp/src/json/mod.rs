//! JSON text as text: positions of members, and rewriting without decoding.
//!
//! `serde_json` validates a message once; after that the functions here find and replace members by position.
//! Everything else is copied byte for byte, so numbers keep their digits, objects their order, and unknown
//! members survive.

mod depth;
mod rewrite;
mod walk;

pub use depth::{has_more_values_than, is_deeper_than};
pub use rewrite::{Edit, rewrite, rewrite_into, splice};
pub use walk::{Member, Members, Span, is_object, member, members, quote, text};
