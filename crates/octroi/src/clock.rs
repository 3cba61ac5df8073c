//! The clock of the program.

/// The clock of the machine, which is passed to everything that needs the time.
pub(crate) fn system() -> octroi_core::Clock {
    octroi_gateway::system_clock()
}
