//! Why a policy is not in effect.

use std::path::PathBuf;

use octroi_core::policy::Complaint;
use octroi_store::{PolicyRefusal, StoreError};

/// Why a policy is not in effect.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The policy is invalid.
    #[error("the policy is not usable: {}", joined(.0))]
    Unusable(Vec<Complaint>),
    /// The policy changed meanwhile, or the proposal is already decided.
    #[error(transparent)]
    Refused(#[from] PolicyRefusal),
    /// The policy is managed in a file.
    #[error("this policy is in {}; change the file", .0.display())]
    InFile(PathBuf),
    /// The same without the path, for agents.
    #[error("this agent's policy is in a file of its owner and cannot be changed by proposals")]
    InSomeFile,
    /// Only agents may propose, and only for themselves.
    #[error("only a token that names an agent can propose policies")]
    NoAgent,
    /// The proposal is too long.
    #[error("a proposal may have {0} bytes at most")]
    TooLong(usize),
    /// Too many proposals are pending.
    #[error("{0} proposals are pending already; withdraw one first")]
    TooMany(usize),
    /// There is no persistent storage.
    #[error("this gateway has no persistent storage, so its policies cannot be changed")]
    NoStore,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn joined(complaints: &[Complaint]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
