//! Conversions from the gateway's types to those that the table declares.

use octroi_gateway::PlannedChange;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::OperationError;

/// A value of the gateway as the type that the table declares for it. Both have the same JSON.
pub(super) fn reshape<T: DeserializeOwned>(value: impl Serialize) -> Result<T, OperationError> {
    serde_json::to_value(value).and_then(serde_json::from_value).map_err(|error| {
        OperationError::Internal(format!("the gateway's value does not have the declared shape: {error}"))
    })
}

/// A change planned by the gateway, whose result becomes the response of an operation.
pub(super) fn map_response<T: 'static, E: 'static, R>(
    change: PlannedChange<T, E>,
    response: impl FnOnce(T) -> R + Send + 'static,
) -> PlannedChange<R, OperationError>
where
    OperationError: From<E>,
{
    change.map(|made| Ok(response(made?)))
}

/// A size as the table declares it.
pub(super) fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
