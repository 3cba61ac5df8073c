//! Handlers of operations about the configuration.

use std::sync::Arc;

use octroi_api::operations::NoArguments;
use octroi_api::operations::config::ConfigChanges;

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::answering;

pub(super) async fn reload(context: &OperationContext, _: NoArguments) -> Plan<ConfigChanges> {
    let change = Arc::clone(&context.control).reload(Arc::clone(&context.gateway)).await?;
    Ok(answering(change, |changes| changes))
}
