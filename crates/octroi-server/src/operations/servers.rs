//! Handlers of operations about servers.

mod ownership;
mod stored;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use octroi_api::operations::NoArguments;
use octroi_api::operations::servers::{
    GateStatus, LOG_LINES, LogLine, LogLines, LogsRequest, RefreshRequest, Refreshed, RefreshedServers,
    ServerCheck, ServerDetail, ServerList, ServerRequest, ServerStatus, ToggleRequest,
};
use octroi_core::pool::is_within_reach;
use octroi_core::suggest::did_you_mean;
use octroi_core::{Principal, Scope, ServerKey};
use octroi_gateway::{ErrorDetail, FiledUnder, Gateway, PlannedChange, Upstream, UpstreamError};
use serde_json::json;

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::count;
use crate::error::OperationError;
use ownership::status_of_entry;
pub(super) use stored::{add, delete, history, roll_back, switch_many, update};

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

/// The status of every server that a principal may see.
pub(super) fn all(context: &OperationContext) -> Vec<ServerStatus> {
    let (gateway, principal) = (&context.gateway, context.principal());
    let running = gateway.servers().status(ErrorDetail::of(principal));
    let known: HashSet<String> = running.iter().map(|status| status.name.clone()).collect();
    let entries = gateway.stored_servers().entries();
    let unusable = entries.iter().filter(|entry| !known.contains(&entry.record.key.to_string()));
    let all = running.into_iter().chain(unusable.map(|entry| status_of_entry(entry)));
    let mut all: Vec<ServerStatus> =
        all.filter_map(|status| ownership::complete(gateway, principal, status)).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
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
    status(&context.gateway, key, context.principal())
}

/// The status of a server, as a principal sees it.
pub(super) fn status(
    gateway: &Gateway,
    key: &ServerKey,
    reader: &Principal,
) -> Result<ServerStatus, OperationError> {
    let running = gateway.servers().server_status(key, ErrorDetail::of(reader));
    let entries = gateway.stored_servers().entries();
    let status = running.or_else(|| entries.get(key).map(|entry| status_of_entry(entry)));
    let status = status.and_then(|status| ownership::complete(gateway, reader, status));
    status.ok_or_else(|| unknown(gateway, reader, &key.to_string()))
}

pub(super) async fn get(
    context: &OperationContext,
    request: ServerRequest,
) -> Result<ServerDetail, OperationError> {
    detail(&context.gateway, &find_key(context, &request.name)?, context.principal()).await
}

/// Everything about a server, as a principal sees it.
pub(super) async fn detail(
    gateway: &Gateway,
    key: &ServerKey,
    reader: &Principal,
) -> Result<ServerDetail, OperationError> {
    let checks = match gateway.persistence() {
        Some(persistence) => persistence.checks(key, CHECKS_SHOWN).await?,
        None => Vec::new(),
    };
    let checks = checks.into_iter().map(|check| ServerCheck {
        at: check.at_ms,
        health: check.health.into(),
        latency_ms: check.latency_ms,
        // The recorded text contains what the server wrote.
        error: check.error.filter(|_| reader.is_admin()),
    });
    let entry = gateway.stored_servers().entries().get(key).map(|entry| entry.masked());
    // Arguments and addresses of what everybody shares are the administrators' business.
    let entry = entry.filter(|_| reader.is_admin() || matches!(key.scope, Scope::User(_)));
    Ok(ServerDetail { status: status(gateway, key, reader)?, checks: checks.collect(), entry })
}

pub(super) async fn toggle(context: &OperationContext, request: ToggleRequest) -> Plan<ServerStatus> {
    let gateway = Arc::clone(&context.gateway);
    let principal = context.principal().clone();
    let key = find_key(context, &request.name)?;
    // What everybody shares is switched for everybody by administrators only.
    let is_for_me = request.for_me || (key.scope == Scope::System && !principal.is_admin());
    let change = if is_for_me {
        let change =
            gateway.choices().prefer(principal.user(), std::slice::from_ref(&key), request.enabled).await?;
        change.map(|made| Ok(made?))
    } else {
        let upstream = find(context, &request.name)?;
        let by = Arc::clone(principal.id());
        let change = gateway.servers().switch(&upstream, request.enabled, by).filed_under(of_server(&key));
        change.map(|made| Ok(made?))
    };
    Ok(change.map(move |switched: Result<(), OperationError>| {
        switched?;
        status(&gateway, &key, &principal)
    }))
}

pub(super) async fn restart(context: &OperationContext, request: ServerRequest) -> Plan<ServerStatus> {
    let gateway = Arc::clone(&context.gateway);
    let upstream = find(context, &request.name)?;
    let key = upstream.spec().key.clone();
    let subject = json!({"change": "server_restarted", "server": key.to_string()});
    let before = json!({"state": upstream.condition().lifecycle.as_str()});
    let filed_under = of_server(&key);
    let reader = context.principal().clone();
    let change = PlannedChange::new(subject, before, json!({"state": "running"}), async move {
        upstream.restart().await.map_err(|error| unavailable(&key, error))?;
        status(&gateway, &key, &reader)
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
    let reader = context.principal().clone();
    let change = PlannedChange::new(subject, before, json!({"state": "running"}), async move {
        upstream.check_now().await.map_err(|error| unavailable(&key, error))?;
        status(&gateway, &key, &reader)
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
    let reader = context.principal().clone();
    let change = PlannedChange::new(subject, before, json!({"state": "running"}), async move {
        gateway.servers().refresh_all(&upstream).await.map_err(|error| unavailable(&key, error))?;
        Ok(Refreshed::One(Box::new(status(&gateway, &key, &reader)?)))
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

/// The server that a principal names, by id or name.
pub(super) fn find_key(context: &OperationContext, name: &str) -> Result<ServerKey, OperationError> {
    let found = context.gateway.stored_servers().find(context.principal().user(), name);
    let found = found.filter(|key| may_see(context.principal(), key));
    found.ok_or_else(|| unknown(&context.gateway, context.principal(), name))
}

/// Whether a principal may see a server: everything for administrators, their own and what is shared for members.
pub(super) fn may_see(principal: &Principal, key: &ServerKey) -> bool {
    principal.is_admin() || is_within_reach(principal.user(), key)
}

/// The server that a principal names, as it runs.
fn find(context: &OperationContext, name: &str) -> Result<Arc<Upstream>, OperationError> {
    let key = find_key(context, name)?;
    context.gateway.servers().upstream(&key).ok_or_else(|| {
        let entries = context.gateway.stored_servers().entries();
        let reason = entries.get(&key).and_then(|entry| entry.error.clone());
        let reason = reason.unwrap_or_else(|| "it is not running".to_owned());
        OperationError::InvalidArguments(format!("the server `{key}` cannot be used: {reason}"))
    })
}

/// The error for a name that no server has, or that of somebody else: the one that was probably meant, else all that the
/// principal may see.
pub(crate) fn unknown(gateway: &Gateway, principal: &Principal, name: &str) -> OperationError {
    let entries = gateway.stored_servers().entries();
    let stored = entries.iter().map(|entry| entry.record.key.clone());
    let known = gateway.servers().upstreams().into_iter().map(|upstream| upstream.spec().key.clone());
    let known: BTreeSet<ServerKey> = known.chain(stored).filter(|key| may_see(principal, key)).collect();
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
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

pub(super) fn of_server(key: &ServerKey) -> FiledUnder {
    FiledUnder { server: Some(key.to_string()), ..FiledUnder::default() }
}

fn unavailable(key: &ServerKey, source: UpstreamError) -> OperationError {
    OperationError::ServerUnavailable { server: key.to_string(), source: Box::new(source) }
}
