//! Approvals as they are kept and looked for. What may happen to one is said in [`octroi_core::approval`].

use octroi_core::approval::Approval;

/// What came of asking for an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The one to wait for: the new one, or one that an identical call has asked for already.
    pub approval: Approval,
    /// Whether it is the new one.
    pub is_new: bool,
    /// Those for the same call that can no longer be used, because the tool's definition or the policy
    /// has changed since. They are cancelled now.
    pub replaced: Vec<Approval>,
}

/// Which approvals to look for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// In which part.
    pub part: ApprovalPart,
    /// Only those of this agent.
    pub agent: Option<String>,
}

/// A part of all approvals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalPart {
    /// All of them.
    #[default]
    All,
    /// Those that wait for a person.
    Pending,
    /// Those that do not.
    History,
}
