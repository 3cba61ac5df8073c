//! Why a policy is not in effect.

use std::path::PathBuf;

use octroi_core::policy::Complaint;
use octroi_store::{PolicyRefusal, StoreError};

/// Why a policy is not in effect.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// There is something wrong with it.
    #[error("the policy is not usable: {}", joined(.0))]
    Unusable(Vec<Complaint>),
    /// Somebody else was faster, or the proposal is decided.
    #[error(transparent)]
    Refused(#[from] PolicyRefusal),
    /// It stands in a file.
    #[error("this policy stands in {}; change the file", .0.display())]
    InFile(PathBuf),
    /// The same, as an agent may hear it.
    #[error("this agent's policy stands in a file of its owner's and cannot be changed by proposals")]
    InSomeFile,
    /// Only agents propose, and only for themselves.
    #[error("only a token that names an agent can propose policies")]
    NoAgent,
    /// It is too long.
    #[error("a proposal may have {0} bytes at most")]
    TooLong(usize),
    /// Nobody will read all of them.
    #[error("{0} proposals wait already; withdraw one first")]
    TooMany(usize),
    /// Nothing can be kept.
    #[error("this gateway keeps nothing, so its policies cannot be changed")]
    NoStore,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn joined(complaints: &[Complaint]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
