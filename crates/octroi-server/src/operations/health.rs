//! Handlers of operations about the health of servers.

use octroi_api::operations::NoArguments;
use octroi_api::operations::health::{HealthByServer, HealthReport, ServerHealth};

use super::context::OperationContext;
use super::servers;
use crate::error::OperationError;

pub(super) async fn check_all(
    context: &OperationContext,
    _: NoArguments,
) -> Result<HealthReport, OperationError> {
    context.gateway.servers().check_all(context.principal()).await;
    Ok(HealthReport { servers: by_server(context) })
}

/// The last known health of every server.
pub(crate) fn by_server(context: &OperationContext) -> HealthByServer {
    let servers = servers::all(context).into_iter().map(|server| {
        let health = ServerHealth {
            health: server.health,
            state: server.state,
            response_time_ms: server.latency_ms,
            consecutive_failures: server.consecutive_failures,
            error: server.error,
        };
        (server.name, health)
    });
    servers.collect()
}
