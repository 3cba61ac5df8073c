//! What may follow what.

use super::{Approval, ApprovalState, Binding};
use crate::secret::Secret;

/// Something that happens to an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A person decides.
    Decide(Answer),
    /// Its time has passed.
    Expire,
    /// Whoever asked has gone away, or somebody takes it back.
    Cancel {
        /// Why, for the history.
        reason: String,
    },
    /// The call that it is for is about to be made.
    Claim(Binding),
    /// The call is over.
    Finish {
        /// How it went, in a word.
        outcome: String,
    },
    /// Octroi starts again.
    Crash,
}

/// What a person decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Yes or no.
    pub verdict: Verdict,
    /// Who decided.
    pub by: String,
    /// What they said about it.
    pub reason: Option<String>,
}

/// A person's yes or no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may be made, once.
    Approve {
        /// Other arguments to make it with, as JSON text.
        edited_arguments: Option<Secret>,
        /// The rule that was remembered with it.
        remembered_rule: Option<String>,
        /// The policies under which it was approved; under others it is not good.
        policy_revision: u64,
        /// From this moment on it can no longer be used.
        usable_until_ms: i64,
    },
    /// No; the agent goes on.
    DenyContinue,
    /// No, and the agent's turn ends.
    DenyAbort,
}

impl Verdict {
    /// A plain yes.
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

/// Why something cannot happen to an approval. It says what the approval is now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is none of this id.
    #[error("there is no such approval")]
    Unknown,
    /// The first decision stands.
    #[error("{by} has already decided: {}", .state.as_str())]
    Decided {
        /// What was decided, or what has become of it since.
        state: ApprovalState,
        /// Who decided.
        by: String,
        /// When.
        at_ms: i64,
    },
    /// Nobody has decided yet.
    #[error("nobody has decided yet")]
    Undecided,
    /// Its time has passed.
    #[error("the approval has expired")]
    Expired {
        /// When.
        at_ms: i64,
    },
    /// Its time has not passed.
    #[error("the approval has not expired yet")]
    NotDue {
        /// When it will.
        expires_at_ms: i64,
    },
    /// It was cancelled.
    #[error("the approval was cancelled")]
    Cancelled,
    /// The call was cut off by a restart.
    #[error("the call was cut off by a restart; nobody knows how far it came")]
    Orphaned,
    /// The grant was good for one call, and that was made.
    #[error("the approval was used already")]
    Used {
        /// When.
        at_ms: i64,
    },
    /// No call is being made with it.
    #[error("no call is being made with this approval")]
    NotClaimed {
        /// What it is instead.
        state: ApprovalState,
    },
    /// It is for another call than this.
    #[error("the approval is for another call: {what} has changed")]
    Differs {
        /// What differs.
        what: &'static str,
    },
}

impl Approval {
    /// What becomes of it when something happens now. The one table of all of it: a call is made after
    /// `Claim` and nothing else, and `Claim` follows `Approved` and nothing else.
    pub fn next(&self, event: &Event, now_ms: i64) -> Result<ApprovalState, Refusal> {
        use ApprovalState::{
            Approved, Cancelled, Claimed, DeniedAbort, DeniedContinue, Done, Expired, Orphaned, Pending,
        };
        let is_due = self.is_due(now_ms);
        match (self.state, event) {
            // A grant outlives a restart; a call that was being made does not.
            (Claimed, Event::Crash) => Ok(Orphaned),
            (state, Event::Crash) => Ok(state),

            (Pending | Approved, Event::Expire) if is_due => Ok(Expired),
            (Pending | Approved, Event::Expire) => Err(Refusal::NotDue { expires_at_ms: self.expires_at_ms }),
            // Whatever else happens to one whose time has passed, though nobody has marked it.
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

    /// Makes something happen to it, or says why it cannot; then nothing has changed.
    pub fn apply(&mut self, event: Event, now_ms: i64) -> Result<(), Refusal> {
        let state = self.next(&event, now_ms)?;
        match event {
            Event::Decide(Answer { verdict, by, reason }) => {
                self.decided_at_ms = Some(now_ms);
                self.decided_by = Some(by);
                self.decision_reason = reason;
                if let Verdict::Approve {
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
                // The reason of a decision that was made stays with it.
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
