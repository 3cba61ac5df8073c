//! Queries for stored approvals. The state machine is in [`octroi_core::approval`].

use octroi_core::approval::Approval;

/// The result of requesting an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// The approval to wait for: a new one, or the open one of an identical call.
    pub approval: Approval,
    /// Whether it is new.
    pub is_new: bool,
    /// Approvals for the same call that became unusable because the tool's definition or the policy has
    /// changed. They are cancelled now.
    pub replaced: Vec<Approval>,
}

/// Selects approvals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// Which states to include.
    pub part: ApprovalPart,
    /// Only approvals of this agent.
    pub agent: Option<String>,
}

/// Groups of approval states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalPart {
    /// All approvals.
    #[default]
    All,
    /// Approvals that wait for a decision.
    Pending,
    /// All others.
    History,
}
