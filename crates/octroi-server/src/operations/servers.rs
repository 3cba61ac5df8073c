//! Handlers of operations about servers.

use std::sync::Arc;

use octroi_api::operations::NoArguments;
use octroi_api::operations::servers::{
    GateStatus, LOG_LINES, LogLine, LogLines, LogsRequest, RefreshRequest, Refreshed, RefreshedServers,
    ServerCheck, ServerDetail, ServerList, ServerRequest, ServerStatus, ToggleRequest,
};
use octroi_core::ServerKey;
use octroi_core::suggest::did_you_mean;
use octroi_gateway::{ErrorDetail, FiledUnder, Gateway, PlannedChange, Upstream, UpstreamError};
use serde_json::json;

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::count;
use crate::error::OperationError;

/// How many past health checks are shown.
const CHECKS_SHOWN: u32 = 10;

/// All servers and gates as a principal sees them. The resource shows a part of the same.
pub(crate) async fn list(context: &OperationContext, _: NoArguments) -> Result<ServerList, OperationError> {
    let gateway = &context.gateway;
    let all = ServerList { servers: all(context), gates: gates(context), ..ServerList::default() };
    if !context.principal().is_admin() {
        // Problems and changes of the configuration name files, and what belongs to others.
        return Ok(all);
    }
    let waiting = gateway.waiting_changes();
    Ok(ServerList {
        problems: gateway.problems(),
        waiting: waiting.changes.clone(),
        waiting_digest: waiting.digest.clone(),
        ..all
    })
}

/// The status of every server that the reader may know of.
pub(super) fn all(context: &OperationContext) -> Vec<ServerStatus> {
    context.gateway.servers().status_for(context.principal())
}

/// The status of every custom gate. What its program wrote is for administrators, like a server's log.
pub(super) fn gates(context: &OperationContext) -> Vec<GateStatus> {
    let mut gates = context.gateway.governance().gate_status();
    if !context.principal().is_admin() {
        for gate in &mut gates {
            gate.last_error = None;
        }
    }
    gates
}

/// The status of one server.
pub(crate) fn get_status(
    context: &OperationContext,
    key: &ServerKey,
) -> Result<ServerStatus, OperationError> {
    let detail = ErrorDetail::of(context.principal());
    let known = context.gateway.pools().key_for(context.principal(), &key.to_string());
    let found = known.and_then(|key| context.gateway.servers().server_status(&key, detail));
    found.ok_or_else(|| unknown(context, &key.to_string()))
}

/// The status of a server that was there a moment ago.
fn status(gateway: &Gateway, key: &ServerKey, detail: ErrorDetail) -> Result<ServerStatus, OperationError> {
    let status = gateway.servers().server_status(key, detail);
    status.ok_or_else(|| OperationError::not_found(format!("there is no server `{key}` any more")))
}

pub(super) async fn get(
    context: &OperationContext,
    request: ServerRequest,
) -> Result<ServerDetail, OperationError> {
    let gateway = &context.gateway;
    let upstream = find(context, &request.name)?;
    let key = &upstream.spec().key;
    let checks = match gateway.persistence() {
        Some(persistence) => persistence.checks(key, CHECKS_SHOWN).await?,
        None => Vec::new(),
    };
    let checks = checks.into_iter().map(|check| ServerCheck {
        at: check.at_ms,
        health: check.health.into(),
        latency_ms: check.latency_ms,
        // The recorded text contains what the server wrote.
        error: check.error.filter(|_| context.principal().is_admin()),
    });
    Ok(ServerDetail { status: get_status(context, key)?, checks: checks.collect() })
}

pub(super) async fn toggle(context: &OperationContext, request: ToggleRequest) -> Plan<ServerStatus> {
    let gateway = Arc::clone(&context.gateway);
    let upstream = find(context, &request.name)?;
    let key = upstream.spec().key.clone();
    let detail = ErrorDetail::of(context.principal());
    let by = Arc::clone(context.requester.principal.id());
    let change = gateway.servers().switch(&upstream, request.enabled, by).filed_under(of_server(&key));
    Ok(change.map(move |switched| {
        switched?;
        status(&gateway, &key, detail)
    }))
}

pub(super) async fn restart(context: &OperationContext, request: ServerRequest) -> Plan<ServerStatus> {
    let gateway = Arc::clone(&context.gateway);
    let upstream = find(context, &request.name)?;
    let key = upstream.spec().key.clone();
    let subject = json!({"change": "server_restarted", "server": key.to_string()});
    let before = json!({"state": upstream.condition().lifecycle.as_str()});
    let filed_under = of_server(&key);
    let detail = ErrorDetail::of(context.principal());
    let change = PlannedChange::new(subject, before, json!({"state": "running"}), async move {
        upstream.restart().await.map_err(|error| unavailable(&key, error))?;
        status(&gateway, &key, detail)
    });
    Ok(change.filed_under(filed_under))
}

/// Connects to a server and checks it. A change, because it starts a stopped server.
pub(super) async fn test(context: &OperationContext, request: ServerRequest) -> Plan<ServerStatus> {
    let gateway = Arc::clone(&context.gateway);
    let upstream = find(context, &request.name)?;
    let key = upstream.spec().key.clone();
    let subject = json!({"change": "server_tested", "server": key.to_string()});
    let before = json!({"state": upstream.condition().lifecycle.as_str()});
    let filed_under = of_server(&key);
    let detail = ErrorDetail::of(context.principal());
    let change = PlannedChange::new(subject, before, json!({"state": "running"}), async move {
        upstream.check_now().await.map_err(|error| unavailable(&key, error))?;
        status(&gateway, &key, detail)
    });
    Ok(change.filed_under(filed_under))
}

/// Fetches the lists of running servers again. It starts nothing.
pub(super) async fn refresh_running(
    context: &OperationContext,
    request: RefreshRequest,
) -> Result<Refreshed, OperationError> {
    let gateway = &context.gateway;
    let Some(name) = request.name else {
        let n_servers = gateway.servers().refresh_running_servers(context.principal()).await;
        return Ok(Refreshed::All(RefreshedServers {
            refreshed: count(n_servers),
            ..RefreshedServers::default()
        }));
    };
    let upstream = find(context, &name)?;
    let key = &upstream.spec().key;
    if !gateway.servers().refresh_running(&upstream).await {
        let state = upstream.condition().lifecycle.as_str();
        return Err(unavailable(key, UpstreamError::Idle(state)));
    }
    Ok(Refreshed::One(Box::new(get_status(context, key)?)))
}

/// Fetches lists again, of servers that do not run as well. They are started for it.
pub(super) async fn start_and_refresh(
    context: &OperationContext,
    request: RefreshRequest,
) -> Plan<Refreshed> {
    let gateway = Arc::clone(&context.gateway);
    let Some(name) = request.name else {
        let servers = gateway.servers();
        let upstreams = servers.upstreams();
        let enabled = || upstreams.iter().filter(|upstream| upstream.spec().is_enabled());
        let running = enabled().filter(|upstream| upstream.current().is_some());
        let before = json!({"running": keys(running)});
        let after = json!({"running": keys(enabled())});
        let subject = json!({"change": "servers_started_and_refreshed"});
        return Ok(PlannedChange::new(subject, before, after, async move {
            let refreshed = gateway.servers().refresh_servers().await;
            let (refreshed, failed) = (count(refreshed.n_servers), refreshed.failed);
            Ok(Refreshed::All(RefreshedServers { refreshed, failed }))
        }));
    };
    let upstream = find(context, &name)?;
    let key = upstream.spec().key.clone();
    let subject = json!({"change": "server_started_and_refreshed", "server": key.to_string()});
    let before = json!({"state": upstream.condition().lifecycle.as_str()});
    let filed_under = of_server(&key);
    let detail = ErrorDetail::of(context.principal());
    let change = PlannedChange::new(subject, before, json!({"state": "running"}), async move {
        gateway.servers().refresh_all(&upstream).await.map_err(|error| unavailable(&key, error))?;
        Ok(Refreshed::One(Box::new(status(&gateway, &key, detail)?)))
    });
    Ok(change.filed_under(filed_under))
}

fn keys<'a>(upstreams: impl Iterator<Item = &'a Arc<Upstream>>) -> Vec<String> {
    upstreams.map(|upstream| upstream.spec().key.to_string()).collect()
}

pub(super) async fn logs(
    context: &OperationContext,
    request: LogsRequest,
) -> Result<LogLines, OperationError> {
    let upstream = find(context, &request.name)?;
    let n_max = usize::try_from(request.lines.unwrap_or(LOG_LINES)).unwrap_or(usize::MAX);
    Ok(lines(&upstream, n_max, request.from.unwrap_or_default()))
}

/// The newest lines of a server's log.
pub(crate) fn newest_lines(context: &OperationContext, key: &ServerKey) -> Result<LogLines, OperationError> {
    let upstream = find(context, &key.to_string())?;
    Ok(lines(&upstream, usize::try_from(LOG_LINES).unwrap_or(usize::MAX), 0))
}

fn lines(upstream: &Upstream, n_max: usize, from: u64) -> LogLines {
    let lines = upstream.logs().last(n_max, from).into_iter();
    let lines = lines.map(|line| LogLine { number: line.number, at: line.at, text: line.text });
    LogLines { lines: lines.collect() }
}

/// The server of a name. If to the requester there is none, the error lists those that there are.
fn find(context: &OperationContext, name: &str) -> Result<Arc<Upstream>, OperationError> {
    let key = context.gateway.pools().key_for(context.principal(), name);
    let found = key.and_then(|key| context.gateway.servers().upstream(&key));
    found.ok_or_else(|| unknown(context, name))
}

/// The error for a name that no server has: the one that was probably meant, else all.
pub(super) fn unknown(context: &OperationContext, name: &str) -> OperationError {
    let known = context.gateway.servers().names_for(context.principal());
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
