//! Tests of the configuration model through its front door.

mod formats;
mod generated;
mod grammar;
mod harness;
mod layers;
mod properties;
mod shapes;
