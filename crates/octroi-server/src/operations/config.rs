//! Handlers of operations about the configuration.

use std::sync::Arc;

use octroi_api::operations::NoArguments;
use octroi_api::operations::config::{ConfigChanges, ReloadRequest, ShownConfig};

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::map_response;
use crate::control::Agreed;
use crate::error::OperationError;

pub(super) async fn reload(context: &OperationContext, request: ReloadRequest) -> Plan<ConfigChanges> {
    let agreed = request.digest.map_or(Agreed::ToNothing, Agreed::ToDigest);
    let change = Arc::clone(&context.control).reload(Arc::clone(&context.gateway), agreed).await?;
    Ok(map_response(change, |changes| changes))
}

pub(super) async fn show(context: &OperationContext, _: NoArguments) -> Result<ShownConfig, OperationError> {
    Ok(ShownConfig { configuration: context.control.configuration() })
}
