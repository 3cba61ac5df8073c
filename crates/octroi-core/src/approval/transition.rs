//! The state table of approvals.

use super::{Approval, ApprovalState, Binding};
use crate::secret::Secret;

/// An event in the life of an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A person decides.
    Decide(Answer),
    /// Its time is over.
    Expire,
    /// The caller disconnected, or someone withdrew the request.
    Cancel {
        /// The reason, for the history.
        reason: String,
    },
    /// The approved call is about to be made.
    Claim(Binding),
    /// The call ended.
    Finish {
        /// The outcome, as one word.
        outcome: String,
    },
    /// Octroi restarts.
    Crash,
}

/// A person's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Approved or denied.
    pub verdict: ApprovalVerdict,
    /// Who decided.
    pub by: String,
    /// The reason they gave.
    pub reason: Option<String>,
}

/// The verdict of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalVerdict {
    /// The call may be made, once.
    Approve {
        /// Replacement arguments, as JSON text.
        edited_arguments: Option<Secret>,
        /// The rule that was saved together with the approval.
        remembered_rule: Option<String>,
        /// The policy revision under which it was approved; it is not valid under another one.
        policy_revision: u64,
        /// From this moment on it can no longer be used.
        usable_until_ms: i64,
    },
    /// Denied; the agent may go on.
    DenyContinue,
    /// Denied, and the agent should stop.
    DenyAbort,
}

impl ApprovalVerdict {
    /// An approval without edited arguments or a saved rule.
    pub const fn approve(policy_revision: u64, usable_until_ms: i64) -> Self {
        Self::Approve { edited_arguments: None, remembered_rule: None, policy_revision, usable_until_ms }
    }

    const fn state(&self) -> ApprovalState {
        match self {
            Self::Approve { .. } => ApprovalState::Approved,
            Self::DenyContinue => ApprovalState::DeniedContinue,
            Self::DenyAbort => ApprovalState::DeniedAbort,
        }
    }
}

/// Why an event cannot be applied. Each variant describes the current state of the approval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No approval has this id.
    #[error("there is no such approval")]
    Unknown,
    /// Already decided; the first decision stands.
    #[error("{by} has already decided: {}", .state.as_str())]
    Decided {
        /// The decision, or the state it has reached since.
        state: ApprovalState,
        /// Who decided.
        by: String,
        /// When it was decided.
        at_ms: i64,
    },
    /// Nobody has decided yet.
    #[error("nobody has decided yet")]
    Undecided,
    /// Its time is over.
    #[error("the approval has expired")]
    Expired {
        /// When it expired.
        at_ms: i64,
    },
    /// Its time is not over yet.
    #[error("the approval has not expired yet")]
    NotDue {
        /// When it will expire.
        expires_at_ms: i64,
    },
    /// It was cancelled.
    #[error("the approval was cancelled")]
    Cancelled,
    /// The call was cut off by a restart.
    #[error("a restart interrupted the call; its outcome is unknown")]
    Orphaned,
    /// The approval was valid for one call, which has been made.
    #[error("the approval was used already")]
    Used {
        /// When it was used.
        at_ms: i64,
    },
    /// No call is being made with it.
    #[error("no call is being made with this approval")]
    NotClaimed {
        /// The state it is in instead.
        state: ApprovalState,
    },
    /// The approval covers another call.
    #[error("the approval is for another call: {what} has changed")]
    Differs {
        /// The part of the binding that differs.
        what: &'static str,
    },
}

impl Approval {
    /// The state that follows an event. This is the only transition table: a call is made after `Claim` and
    /// nothing else, and `Claim` follows `Approved` and nothing else.
    pub fn next(&self, event: &Event, now_ms: i64) -> Result<ApprovalState, Refusal> {
        use ApprovalState::{
            Approved, Cancelled, Claimed, DeniedAbort, DeniedContinue, Done, Expired, Orphaned, Pending,
        };
        let is_due = self.is_due(now_ms);
        match (self.state, event) {
            // An approval survives a restart; a running call does not.
            (Claimed, Event::Crash) => Ok(Orphaned),
            (state, Event::Crash) => Ok(state),

            (Pending | Approved, Event::Expire) if is_due => Ok(Expired),
            (Pending | Approved, Event::Expire) => Err(Refusal::NotDue { expires_at_ms: self.expires_at_ms }),
            // After its expiry it cannot be decided, cancelled or claimed, even if the expiry is not recorded
            // yet.
            (Pending | Approved, Event::Decide(_) | Event::Cancel { .. } | Event::Claim(_)) if is_due => {
                Err(Refusal::Expired { at_ms: self.expires_at_ms })
            }

            (Pending, Event::Decide(answer)) => Ok(answer.verdict.state()),
            (Pending | Approved, Event::Cancel { .. }) => Ok(Cancelled),
            (Pending, Event::Claim(_)) => Err(Refusal::Undecided),
            (Approved, Event::Claim(binding)) => match self.binding.differs(binding) {
                None => Ok(Claimed),
                Some(what) => Err(Refusal::Differs { what }),
            },
            (Claimed, Event::Finish { .. }) => Ok(Done),

            (state @ (Pending | Approved | Done), Event::Finish { .. }) => Err(Refusal::NotClaimed { state }),
            (Approved | DeniedContinue | DeniedAbort, _) | (Claimed | Done, Event::Decide(_)) => {
                Err(self.decided())
            }
            (Claimed | Done, Event::Claim(_) | Event::Cancel { .. } | Event::Expire) => {
                Err(Refusal::Used { at_ms: self.claimed_at_ms.unwrap_or_default() })
            }
            (Expired, _) => Err(Refusal::Expired { at_ms: self.expires_at_ms }),
            (Cancelled, _) => Err(Refusal::Cancelled),
            (Orphaned, _) => Err(Refusal::Orphaned),
        }
    }

    /// Applies an event, or returns why it cannot be applied and changes nothing.
    pub fn apply(&mut self, event: Event, now_ms: i64) -> Result<(), Refusal> {
        let state = self.next(&event, now_ms)?;
        match event {
            Event::Decide(Answer { verdict, by, reason }) => {
                self.decided_at_ms = Some(now_ms);
                self.decided_by = Some(by);
                self.decision_reason = reason;
                if let ApprovalVerdict::Approve {
                    edited_arguments,
                    remembered_rule,
                    policy_revision,
                    usable_until_ms,
                } = verdict
                {
                    self.edited_arguments = edited_arguments;
                    self.remembered_rule = remembered_rule;
                    self.binding.policy_revision = policy_revision;
                    self.expires_at_ms = usable_until_ms;
                }
            }
            Event::Expire => self.decided_at_ms = self.decided_at_ms.or(Some(now_ms)),
            Event::Cancel { reason } => {
                // Cancelling keeps the reason of an earlier decision.
                self.decision_reason = self.decision_reason.take().or(Some(reason));
                self.decided_at_ms = self.decided_at_ms.or(Some(now_ms));
            }
            Event::Claim(_) => self.claimed_at_ms = Some(now_ms),
            Event::Finish { outcome } => {
                self.finished_at_ms = Some(now_ms);
                self.outcome = Some(outcome);
            }
            Event::Crash if state != self.state => self.finished_at_ms = Some(now_ms),
            Event::Crash => {}
        }
        self.state = state;
        Ok(())
    }

    fn decided(&self) -> Refusal {
        Refusal::Decided {
            state: self.state,
            by: self.decided_by.clone().unwrap_or_default(),
            at_ms: self.decided_at_ms.unwrap_or_default(),
        }
    }
}
