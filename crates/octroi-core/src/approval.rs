//! A person's leave for one exact call.
//!
//! An approval is asked for, decided once, and used once. [`Approval::next`] is the whole table of what
//! may follow what; whoever keeps approvals asks it within the transaction that makes the change, so
//! that one which was denied, expired, cancelled, orphaned or used never executes.

mod binding;
#[cfg(test)]
mod tests;
mod transition;

use crate::secret::Secret;

pub use binding::{Binding, CallKey};
pub use transition::{Answer, Event, Refusal, Verdict};

/// How many random bytes an id is made of.
pub const ID_BYTES: usize = 13;

/// Letters after the prefix of an id.
const ID_LETTERS: usize = 20;

/// Makes the id of an approval: `ap_` and twenty letters, out of bytes that nobody can guess.
pub fn approval_id(random: &[u8; ID_BYTES]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bits = random.iter().fold(0_u128, |bits, &byte| bits << 8 | u128::from(byte));
    let mut id = "ap_".to_owned();
    for letter in 0..ID_LETTERS {
        let index = usize::try_from((bits >> (5 * letter)) & 31).unwrap_or_default();
        id.extend(ALPHABET.get(index).map(|&byte| char::from(byte)));
    }
    id
}

/// Where an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    /// Nobody has decided yet.
    Pending,
    /// The call may be made, once.
    Approved,
    /// The call may not be made; the agent goes on.
    DeniedContinue,
    /// The call may not be made, and the agent's turn ends.
    DeniedAbort,
    /// Nobody decided in time, or nobody used it in time.
    Expired,
    /// Whoever asked has gone away, or somebody took it back.
    Cancelled,
    /// The call was being made when Octroi ended. Nobody knows how far it came; it is never made again.
    Orphaned,
    /// The call is being made: the grant is used up.
    Claimed,
    /// The call was made.
    Done,
}

impl ApprovalState {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Approved,
        Self::DeniedContinue,
        Self::DeniedAbort,
        Self::Expired,
        Self::Cancelled,
        Self::Orphaned,
        Self::Claimed,
        Self::Done,
    ];

    /// The word that is stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::DeniedContinue => "denied_continue",
            Self::DeniedAbort => "denied_abort",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Orphaned => "orphaned",
            Self::Claimed => "claimed",
            Self::Done => "done",
        }
    }

    /// What a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether time still counts against it: it waits for a person, or to be used.
    pub const fn can_expire(self) -> bool {
        match self {
            Self::Pending | Self::Approved => true,
            Self::DeniedContinue
            | Self::DeniedAbort
            | Self::Expired
            | Self::Cancelled
            | Self::Orphaned
            | Self::Claimed
            | Self::Done => false,
        }
    }
}

/// One request for leave, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// What tells it from all others; see [`approval_id`].
    pub id: String,
    /// The call that waits for it.
    pub call_id: String,
    /// What exactly it is for.
    pub binding: Binding,
    /// Where it stands.
    pub state: ApprovalState,
    /// The arguments as a person may see them: JSON text without secrets, shortened.
    pub arguments_preview: String,
    /// The arguments as the caller sent them, JSON text with whatever is in it: an approver may edit
    /// them, and a call that became a task is made long after its caller is gone. Never shown.
    pub arguments: Secret,
    /// What the approver put in their place.
    pub edited_arguments: Option<Secret>,
    /// How risky the tool is, in a word.
    pub risk: String,
    /// What the tool does to the world.
    pub side_effects: Vec<String>,
    /// Why a person is asked.
    pub reasons: Vec<String>,
    /// When it was asked for.
    pub requested_at_ms: i64,
    /// From this moment on it can neither be approved nor used.
    pub expires_at_ms: i64,
    /// When it was decided, expired or cancelled.
    pub decided_at_ms: Option<i64>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// What they said about it.
    pub decision_reason: Option<String>,
    /// When the grant was used.
    pub claimed_at_ms: Option<i64>,
    /// When the call was over.
    pub finished_at_ms: Option<i64>,
    /// How it went, in a word.
    pub outcome: Option<String>,
    /// The rule that the approver had remembered with it.
    pub remembered_rule: Option<String>,
    /// The gateway that holds the waiting call.
    pub node: Option<String>,
}

impl Approval {
    /// Whether its time has passed, whoever has noticed. The last moment belongs to the past.
    pub fn is_due(&self, now_ms: i64) -> bool {
        self.state.can_expire() && now_ms >= self.expires_at_ms
    }

    /// The arguments to call with: the approver's, else the caller's.
    pub fn effective_arguments(&self) -> &Secret {
        self.edited_arguments.as_ref().unwrap_or(&self.arguments)
    }
}
