//! Handlers of operations about the gateway itself.

use octroi_api::operations::NoArguments;
use octroi_api::operations::gateway::{GatewayData, GatewayStatus, Quota, QuotaCounter, QuotaList};
use octroi_core::Lifecycle;

use super::context::OperationContext;
use super::servers;
use super::shape::count;
use crate::error::OperationError;

pub(crate) async fn status(
    context: &OperationContext,
    _: NoArguments,
) -> Result<GatewayStatus, OperationError> {
    let gateway = &context.gateway;
    let (now_ms, started_at_ms) = (gateway.clock().now_ms(), gateway.started_at_ms());
    let servers = servers::all(context);
    let running = servers.iter().filter(|server| server.state.0 == Lifecycle::Running);
    Ok(GatewayStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at_ms: u64::try_from(started_at_ms).unwrap_or_default(),
        uptime_seconds: u64::try_from(now_ms.saturating_sub(started_at_ms) / 1_000).unwrap_or_default(),
        address: gateway.approvals().page(),
        data: data(context).await,
        clients: count(gateway.clients().list().len()),
        servers_running: count(running.count()),
        servers: count(servers.len()),
        problems: gateway.problems(),
    })
}

async fn data(context: &OperationContext) -> Option<GatewayData> {
    let audit = context.gateway.audit();
    let log = audit.log()?;
    let size = audit.size().await;
    Some(GatewayData {
        directory: log.directory().parent().unwrap_or(log.directory()).display().to_string(),
        database_bytes: size.database_bytes,
        node: log.node().to_owned(),
        audit_bytes: size.audit_bytes,
        audit_segments: size.n_segments,
        audit_position: log.position(),
        audit_error: log.health().map(|error| error.to_string()),
    })
}

pub(super) async fn quotas(context: &OperationContext, _: NoArguments) -> Result<QuotaList, OperationError> {
    let quotas = context.gateway.governance().quota_uses().into_iter().map(|used| Quota {
        name: used.spec.name.clone(),
        of: used.of,
        calls_per_minute: used.spec.calls_per_minute.map(count),
        max_in_flight: used.spec.max_in_flight.map(count),
        max_runtime_ms: used
            .spec
            .max_runtime
            .map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        each: used.spec.each,
        counters: used
            .counters
            .into_iter()
            .map(|(of, calls_last_minute, in_flight)| QuotaCounter {
                of,
                calls_last_minute: u64::from(calls_last_minute),
                in_flight: count(in_flight),
            })
            .collect(),
    });
    Ok(QuotaList { quotas: quotas.collect() })
}
