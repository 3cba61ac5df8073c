//! Handlers of operations about servers.

use std::sync::Arc;

use octroi_api::operations::NoArguments;
use octroi_api::operations::servers::{
    GateStatus, LOG_LINES, LogLine, LogLines, LogsRequest, RefreshRequest, Refreshed, RefreshedServers,
    ServerCheck, ServerDetail, ServerList, ServerRequest, ServerStatus, ToggleRequest,
};
use octroi_core::ServerKey;
use octroi_core::suggest::did_you_mean;
use octroi_gateway::{FiledUnder, Gateway, PlannedChange, Upstream, UpstreamError};
use serde_json::json;

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::count;
use crate::error::OperationError;

/// How many past health checks are shown.
const CHECKS_SHOWN: u32 = 10;

pub(super) async fn list(context: &OperationContext, _: NoArguments) -> Result<ServerList, OperationError> {
    let gateway = &context.gateway;
    let waiting = gateway.waiting_changes();
    Ok(ServerList {
        servers: all(gateway),
        problems: gateway.problems(),
        waiting: waiting.changes.clone(),
        waiting_digest: waiting.digest.clone(),
        gates: gates(gateway),
    })
}

/// The status of every server.
pub(crate) fn all(gateway: &Gateway) -> Vec<ServerStatus> {
    gateway.servers().status()
}

/// The status of every custom gate.
pub(super) fn gates(gateway: &Gateway) -> Vec<GateStatus> {
    gateway.governance().gate_status()
}

/// The status of one server.
pub(crate) fn status(gateway: &Gateway, key: &ServerKey) -> Result<ServerStatus, OperationError> {
    let status = gateway.servers().server_status(key);
    status.ok_or_else(|| unknown(gateway, &key.to_string()))
}

pub(super) async fn get(
    context: &OperationContext,
    request: ServerRequest,
) -> Result<ServerDetail, OperationError> {
    let gateway = &context.gateway;
    let upstream = find(gateway, &request.name)?;
    let key = &upstream.spec().key;
    let checks = match gateway.persistence() {
        Some(persistence) => persistence.checks(key, CHECKS_SHOWN).await?,
        None => Vec::new(),
    };
    let checks = checks.into_iter().map(|check| ServerCheck {
        at: check.at_ms,
        health: check.health.into(),
        latency_ms: check.latency_ms,
        error: check.error,
    });
    Ok(ServerDetail { status: status(gateway, key)?, checks: checks.collect() })
}

pub(super) async fn toggle(context: &OperationContext, request: ToggleRequest) -> Plan<ServerStatus> {
    let gateway = Arc::clone(&context.gateway);
    let upstream = find(&gateway, &request.name)?;
    let key = upstream.spec().key.clone();
    let by = Arc::clone(context.requester.principal.id());
    let change = gateway.servers().switch(&upstream, request.enabled, by).filed_under(of_server(&key));
    Ok(change.map(move |switched| {
        switched?;
        status(&gateway, &key)
    }))
}

pub(super) async fn restart(context: &OperationContext, request: ServerRequest) -> Plan<ServerStatus> {
    let gateway = Arc::clone(&context.gateway);
    let upstream = find(&gateway, &request.name)?;
    let key = upstream.spec().key.clone();
    let subject = json!({"change": "server_restarted", "server": key.to_string()});
    let before = json!({"state": upstream.condition().lifecycle.as_str()});
    let filed_under = of_server(&key);
    let change = PlannedChange::new(subject, before, json!({"state": "running"}), async move {
        upstream.restart().await.map_err(|error| unavailable(&key, error))?;
        status(&gateway, &key)
    });
    Ok(change.filed_under(filed_under))
}

pub(super) async fn test(
    context: &OperationContext,
    request: ServerRequest,
) -> Result<ServerStatus, OperationError> {
    let upstream = find(&context.gateway, &request.name)?;
    let key = &upstream.spec().key;
    upstream.check_now().await.map_err(|error| unavailable(key, error))?;
    status(&context.gateway, key)
}

pub(super) async fn refresh(
    context: &OperationContext,
    request: RefreshRequest,
) -> Result<Refreshed, OperationError> {
    let gateway = &context.gateway;
    let Some(name) = request.name else {
        let refreshed = gateway.servers().refresh_servers().await;
        let (refreshed, failed) = (count(refreshed.n_servers), refreshed.failed);
        return Ok(Refreshed::All(RefreshedServers { refreshed, failed }));
    };
    let upstream = find(gateway, &name)?;
    let key = &upstream.spec().key;
    gateway.servers().refresh_all(&upstream).await.map_err(|error| unavailable(key, error))?;
    Ok(Refreshed::One(Box::new(status(gateway, key)?)))
}

pub(super) async fn logs(
    context: &OperationContext,
    request: LogsRequest,
) -> Result<LogLines, OperationError> {
    let upstream = find(&context.gateway, &request.name)?;
    let n_max = usize::try_from(request.lines.unwrap_or(LOG_LINES)).unwrap_or(usize::MAX);
    let lines = upstream.logs().last(n_max, request.from.unwrap_or_default());
    let lines = lines.into_iter().map(|line| LogLine { number: line.number, at: line.at, text: line.text });
    Ok(LogLines { lines: lines.collect() })
}

/// The server of a name. If there is none, the error lists those that exist.
fn find(gateway: &Gateway, name: &str) -> Result<Arc<Upstream>, OperationError> {
    let found = ServerKey::parse(name).and_then(|key| gateway.servers().upstream(&key));
    found.ok_or_else(|| unknown(gateway, name))
}

/// The error for a name that no server has: the one that was probably meant, else all.
pub(super) fn unknown(gateway: &Gateway, name: &str) -> OperationError {
    let known: Vec<String> = gateway.servers().status().into_iter().map(|server| server.name).collect();
    let suggestion = did_you_mean(name, known.iter().map(String::as_str));
    let suggestion = suggestion.unwrap_or_else(|| match known.as_slice() {
        [] => "no server is configured".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    });
    OperationError::not_found_in(
        format!("there is no server `{name}`; {suggestion}"),
        "`octroi list` shows all servers",
    )
}

fn of_server(key: &ServerKey) -> FiledUnder {
    FiledUnder { server: Some(key.to_string()), ..FiledUnder::default() }
}

fn unavailable(key: &ServerKey, source: UpstreamError) -> OperationError {
    OperationError::ServerUnavailable { server: key.to_string(), source: Box::new(source) }
}
