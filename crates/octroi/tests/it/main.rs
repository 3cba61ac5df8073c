//! Tests of the real binary.

mod door;
mod faults;
mod grid;
mod harness;
