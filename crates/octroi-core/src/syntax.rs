//! TOML, YAML and JSON as one tree, in which every value knows where it is written.

mod format;
mod node;

pub use format::{Format, SyntaxError, parse};
pub use node::{Map, Member, Node, Origin, Value};
