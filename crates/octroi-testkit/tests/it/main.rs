//! The peers against each other, without a gateway: a gateway must preserve what holds here.

mod faults;
mod grid;
mod harness;
mod http_rules;
mod old_sse;
mod stdio_rules;
