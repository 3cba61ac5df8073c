//! Properties that hold for every input. `fuzz/` checks the same ones for as long as one likes.

mod generated;
mod properties;
