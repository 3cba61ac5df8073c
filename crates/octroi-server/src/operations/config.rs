//! Handlers of operations about the configuration.

use std::sync::Arc;

use octroi_api::operations::NoArguments;
use octroi_api::operations::config::ConfigChanges;

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::map_response;
use crate::control::ReloadedBy;

pub(super) async fn reload(context: &OperationContext, _: NoArguments) -> Plan<ConfigChanges> {
    let change =
        Arc::clone(&context.control).reload(Arc::clone(&context.gateway), ReloadedBy::Person).await?;
    Ok(map_response(change, |changes| changes))
}
