//! What one input from outside may cost at most. The fuzz targets `cost-…` search for dear inputs; the test `replay`
//! runs those that are kept in `fuzz/seeds`.
//!
//! Each target turns bytes into an input and hands its steps to a [`Meter`].

pub(crate) mod arguments;
pub(crate) mod cedar;
pub(crate) mod choices;
pub(crate) mod definitions;
pub(crate) mod envelope;
pub(crate) mod generate;
pub(crate) mod rules;
pub(crate) mod template;
pub(crate) mod uris;

/// Measures one step of the gateway: its name, the length of the input that it works on, and the step itself, which
/// can be repeated.
pub(crate) type Meter<'a> = dyn FnMut(&'static str, usize, &mut dyn FnMut()) + 'a;

/// A target: runs the steps of one input.
pub(crate) type Target = fn(&[u8], &mut Meter<'_>);

/// All targets, by the names of their directories in `fuzz/seeds`.
pub(crate) const TARGETS: [(&str, Target); 6] = [
    ("cost-arguments", arguments::run),
    ("cost-cedar", cedar::run),
    ("cost-definitions", definitions::run),
    ("cost-envelope", envelope::run),
    ("cost-rules", rules::run),
    ("cost-uris", uris::run),
];

/// One step, and all steps of one input together, may take this long, and some more for each byte.
pub(crate) const NANOSECONDS_MAX: u64 = 20_000_000;
pub(crate) const NANOSECONDS_FOR_BYTE: u64 = 1_000;
/// They may hold this many bytes at the same time, and some more for each byte of the input.
pub(crate) const BYTES_MAX: u64 = 32 * 1024 * 1024;
pub(crate) const BYTES_FOR_BYTE: u64 = 20;
