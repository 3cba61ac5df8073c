//! Queries for stored approvals. The state machine is in [`octroi_core::approval`].

use octroi_core::approval::Approval;
use octroi_core::config::ApprovalsSection;

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

/// How many calls of one agent may wait for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingLimits {
    /// Their number.
    pub n_pending: usize,
    /// The size of their arguments as they are stored, in bytes. The arguments of finished ones are kept in what these
    /// leave of it.
    pub n_bytes: usize,
}

impl PendingLimits {
    /// No limit.
    pub const NONE: Self = Self { n_pending: usize::MAX, n_bytes: usize::MAX };

    /// The configured limits.
    pub fn of(settings: &ApprovalsSection) -> Self {
        Self { n_pending: settings.max_pending, n_bytes: settings.max_pending_bytes }
    }
}

/// More calls of an agent would wait for a person than may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPending {
    /// How many wait.
    pub n_pending: usize,
    /// The size of their arguments, in bytes.
    pub n_bytes: usize,
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
    /// Approvals that wait for a decision, or for their call after it.
    Open,
}
