//! The limit of open files: raised for Octroi, which has many connections, and not for the programs it starts.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More is of no use, and programs that close every possible file take long.
const USEFUL_MAX: u64 = 65_536;

/// The limit that Octroi was started with.
static INHERITED: OnceLock<u64> = OnceLock::new();

/// Raises this process's limit of open files as far as it may; returns the limit in effect.
pub fn raise_open_files() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let current = current.unwrap_or(USEFUL_MAX);
    let inherited = *INHERITED.get_or_init(|| current);
    let requested = maximum.unwrap_or(USEFUL_MAX).min(USEFUL_MAX).max(inherited);
    match setrlimit(Resource::Nofile, Rlimit { current: Some(requested), maximum }) {
        Ok(()) => requested,
        Err(error) => {
            tracing::warn!(%error, limit = current, "the limit of open files cannot be raised");
            current
        }
    }
}

/// The limit for programs that Octroi starts, if it was raised.
pub(crate) fn inherited() -> Option<u64> {
    INHERITED.get().copied()
}

/// Limits this process as it was before Octroi raised the limit.
pub(crate) fn lower(limit: u64) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // It is lower than the limit in effect, so this succeeds; a program with more is no harm.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(limit), maximum });
}
