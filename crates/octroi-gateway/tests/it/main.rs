//! Tests of what several crates do together.

mod cost;
mod names;
mod replay;
