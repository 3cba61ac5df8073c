//! From what the gateway shows to what the table declares.

use octroi_gateway::PlannedChange;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::OperationError;

/// What the gateway shows, in the shape that the table declares for it. Both are written as the same JSON.
pub(super) fn reshaped<T: DeserializeOwned>(shown: impl Serialize) -> Result<T, OperationError> {
    serde_json::to_value(shown).and_then(serde_json::from_value).map_err(|error| {
        OperationError::Internal(format!("what the gateway shows is not of the declared shape: {error}"))
    })
}

/// A change that the gateway plans, with the answer of an operation to it.
pub(super) fn answering<T: 'static, E: 'static, R>(
    change: PlannedChange<T, E>,
    answer: impl FnOnce(T) -> R + Send + 'static,
) -> PlannedChange<R, OperationError>
where
    OperationError: From<E>,
{
    change.map(|made| Ok(answer(made?)))
}

/// A size as it travels.
pub(super) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
