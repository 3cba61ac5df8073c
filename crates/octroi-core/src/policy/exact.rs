//! The one call that a rule with `exact_args` matches.

use serde_json::Value;

use super::predicate::{Lean, equals};
use crate::arguments::{Exactness, read_exactly};
use crate::call::Call;

/// The complete arguments of the calls that a rule matches, and their other params.
#[derive(Clone, Debug)]
pub(super) struct ExactArguments {
    pub(super) value: ExactValue,
    /// `exact_params`; without it the calls send no other params.
    pub(super) params: Option<ExactValue>,
}

/// A JSON object that is compared as a whole.
#[derive(Clone, Debug)]
pub(super) struct ExactValue {
    value: Value,
    /// Whether the value shows how its numbers are written.
    exactness: Exactness,
}

impl ExactArguments {
    /// Whether a call sends exactly this. A rule that denies or asks and does not name other params matches whatever
    /// they are: a call that was denied is not made by adding one.
    pub(super) fn are_those_of(&self, call: &Call<'_>, lean: Lean) -> bool {
        let has_params = match (&self.params, call.other_params) {
            (None, None) => true,
            (None, Some(_)) => lean == Lean::Match,
            (Some(_), None) => false,
            (Some(params), Some(sent)) => params.is(&sent.value, sent.exactness, lean),
        };
        has_params && self.value.is(call.arguments, call.exactness, lean)
    }
}

impl ExactValue {
    pub(super) fn read(json: &[u8]) -> Result<Self, String> {
        let (value, exactness) = read_exactly(json)?;
        Ok(Self { value, exactness })
    }

    /// A rule that allows never matches numbers that were rounded: their digits may differ from those it means.
    fn is(&self, value: &Value, exactness: Exactness, lean: Lean) -> bool {
        let are_exact = self.exactness == Exactness::Exact && exactness == Exactness::Exact;
        (lean == Lean::Match || are_exact) && equals(&self.value, value, lean)
    }
}
