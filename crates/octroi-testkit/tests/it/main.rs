//! The peers against each other, without a gateway: what holds here is what a gateway has to keep.

mod faults;
mod grid;
mod harness;
mod http_rules;
mod old_sse;
mod stdio_rules;
