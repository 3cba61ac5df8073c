//! A person's approval of one exact call.
//!
//! An approval is requested, decided once, and used once. [`Approval::next`] is the complete state table. The
//! store calls it inside the transaction that makes the change, so that a denied, expired, cancelled,
//! orphaned or used approval never executes.

mod approvers;
mod binding;
#[cfg(test)]
mod tests;
mod transition;

use serde_json::Value;

use crate::arguments::{Exactness, read_exactly};
use crate::secret::Secret;

pub use approvers::Approvers;
pub use binding::{Binding, CallKey};
pub use transition::{Answer, ApprovalVerdict, Event, Refusal};

/// Number of random bytes in an id.
pub const ID_BYTES: usize = 13;

/// Number of characters after the prefix of an id.
const ID_LETTERS: usize = 20;

/// Makes an approval id: `ap_` and twenty characters from unguessable random bytes.
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

/// The state of an approval.
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
    /// The caller disconnected, or someone withdrew the request.
    Cancelled,
    /// The call was running when Octroi stopped. How far it got is unknown, so it is never made again.
    Orphaned,
    /// The call is being made: the grant is used up.
    Claimed,
    /// The call was made.
    Done,
}

impl ApprovalState {
    /// All states.
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

    /// The word that is stored and displayed.
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

    /// Parses the stored word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether it can still expire: it is pending, or approved and not yet used.
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

/// Longer previews go with the arguments of a cancelled call: who cancels again and again must not fill the disk.
const KEPT_PREVIEW_BYTES: usize = 1024;
/// What is shown instead of them; the audit log has them.
const REMOVED: &str = "\"[removed: the call was cancelled]\"";

/// Whether the store still has the arguments and other params of an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArgumentsState {
    /// They are there, whole.
    #[default]
    Whole,
    /// The approval is finished, and its arguments were removed. Their digest is in the binding.
    Removed,
    /// They are encrypted with another key than the one in use.
    Unreadable,
}

/// One approval request and its history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Its unique id; see [`approval_id`].
    pub id: String,
    /// The id of the call that waits for it.
    pub call_id: String,
    /// The exact call that it covers.
    pub binding: Binding,
    /// Its current state.
    pub state: ApprovalState,
    /// The arguments as shown to a person: JSON text, redacted and shortened.
    pub arguments_preview: String,
    /// The same for what the call sends beside its tool and its arguments: `params` and `_meta`. `None` if there is
    /// nothing.
    pub other_params_preview: Option<String>,
    /// The arguments as the caller sent them, unredacted JSON text: an approver may edit them, and a call
    /// that became a task is made long after its caller is gone. Never shown.
    pub arguments: Secret,
    /// What the call sends beside its tool and its arguments, unredacted JSON text with `params` and `_meta`. `None` if
    /// there is nothing. Never shown.
    pub other_params: Option<Secret>,
    /// Whether the arguments and other params are there; their texts are empty if not.
    pub arguments_state: ArgumentsState,
    /// The arguments that the approver replaced them with.
    pub edited_arguments: Option<Secret>,
    /// The risk level of the tool.
    pub risk: String,
    /// The side effect tags of the tool.
    pub side_effects: Vec<String>,
    /// Why approval is needed, one reason for each gate that asked.
    pub reasons: Vec<String>,
    /// Who may decide, where the rules that ask say it.
    pub approvers: Approvers,
    /// When it was requested.
    pub requested_at_ms: i64,
    /// From this moment on it can be neither approved nor used.
    pub expires_at_ms: i64,
    /// When it was decided, expired or cancelled.
    pub decided_at_ms: Option<i64>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// The reason that the approver gave.
    pub decision_reason: Option<String>,
    /// When the approval was used.
    pub claimed_at_ms: Option<i64>,
    /// When the call ended.
    pub finished_at_ms: Option<i64>,
    /// The outcome of the call, as one word.
    pub outcome: Option<String>,
    /// The rule that the approver saved together with the approval.
    pub remembered_rule: Option<String>,
    /// The node that holds the pending call.
    pub node: Option<String>,
}

impl Approval {
    /// Whether it has expired, even if no one has recorded that yet. The last moment counts as expired.
    pub fn is_due(&self, now_ms: i64) -> bool {
        self.state.can_expire() && now_ms >= self.expires_at_ms
    }

    /// The preview of the arguments as a value; as text if they were cut, or if a value would round their numbers.
    pub fn shown_arguments(&self) -> Value {
        shown_value(&self.arguments_preview)
    }

    /// The same for its other params; null if there are none.
    pub fn shown_params(&self) -> Value {
        self.other_params_preview.as_deref().map_or(Value::Null, shown_value)
    }

    /// How many bytes a person has to be shown.
    pub fn n_bytes(&self) -> usize {
        self.arguments.expose().len() + self.other_params.as_ref().map_or(0, |others| others.expose().len())
    }

    /// Forgets what the call would have sent, once it can no longer be made: all but a short preview.
    pub fn forget_arguments(&mut self) {
        let emptied = |text: Option<Secret>| text.map(|_| Secret::new(""));
        self.arguments = Secret::new("");
        self.edited_arguments = emptied(self.edited_arguments.take());
        self.other_params = emptied(self.other_params.take());
        self.arguments_state = ArgumentsState::Removed;
        for preview in std::iter::once(&mut self.arguments_preview).chain(&mut self.other_params_preview) {
            if preview.len() > KEPT_PREVIEW_BYTES {
                REMOVED.clone_into(preview);
            }
        }
    }

    /// The arguments to call with: the approver's, else the caller's.
    pub fn effective_arguments(&self) -> &Secret {
        self.edited_arguments.as_ref().unwrap_or(&self.arguments)
    }
}

/// What people are shown, as a value; as text if it was cut, or if a value would round its numbers.
pub fn shown_value(json: &str) -> Value {
    match read_exactly(json.as_bytes()) {
        Ok((value, Exactness::Exact)) => value,
        Ok((_, Exactness::Rounded)) | Err(_) => Value::from(json),
    }
}
