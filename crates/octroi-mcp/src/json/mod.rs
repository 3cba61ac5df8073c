//! JSON text as text: positions of members, and rewriting without decoding.
//!
//! `serde_json` decides once whether a message is valid JSON; after that the functions here find and
//! replace members by position. What nobody asked to change is copied byte for byte, so numbers keep
//! their digits, objects their order, and unknown members survive.

mod rewrite;
mod walk;

pub use rewrite::{Edit, rewrite, rewrite_into, splice};
pub use walk::{Member, Members, Span, is_object, member, members, quote, text};
