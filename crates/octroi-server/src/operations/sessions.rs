//! Handlers of operations about sessions.

use std::sync::Arc;

use octroi_api::operations::sessions::{
    AvailableServer, CreateSessionRequest, ListSessionsRequest, Session, SessionList, SessionMcpConfig,
    SessionRequest, SetMcpConfigRequest,
};
use octroi_core::time::show_time;
use octroi_core::{Scope, ServerKey};
use octroi_gateway::{Gateway, NewSession, OperatorError, SessionRecord};

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::{count, map_response};
use crate::error::OperationError;

pub(crate) async fn list(
    context: &OperationContext,
    request: ListSessionsRequest,
) -> Result<SessionList, OperationError> {
    let principal = context.principal();
    let records = context.gateway.choices().records();
    let is_meant = |session: &&SessionRecord| {
        (principal.is_admin() || session.user == **principal.user())
            && (request.closed || session.closed.is_none())
            && request.agent_id.as_ref().is_none_or(|agent| session.agent.as_ref() == Some(agent))
    };
    let mut found: Vec<&SessionRecord> = records.sessions.values().filter(is_meant).collect();
    found.sort_by_key(|session| (session.created_at_ms, session.id.clone()));
    let sessions: Vec<Session> =
        found.into_iter().map(|session| describe(&context.gateway, session.clone())).collect();
    Ok(SessionList { count: count(sessions.len()), sessions })
}

pub(super) async fn get(
    context: &OperationContext,
    request: SessionRequest,
) -> Result<Session, OperationError> {
    Ok(describe(&context.gateway, find(context, &request.session_id)?))
}

pub(super) async fn create(context: &OperationContext, request: CreateSessionRequest) -> Plan<Session> {
    let CreateSessionRequest { agent_id, title, enabled_servers } = request;
    let gateway = Arc::clone(&context.gateway);
    let principal = context.principal();
    let user = match &agent_id {
        Some(agent) => gateway.identity().owner_of(agent),
        None => Arc::clone(principal.user()),
    };
    let new = NewSession { user: user.to_string(), agent: agent_id, title, servers: enabled_servers };
    let change = gateway.choices().create_session(new, principal).await?;
    Ok(map_response(change, move |session| describe(&gateway, session)))
}

pub(super) async fn close(context: &OperationContext, request: SessionRequest) -> Plan<Session> {
    let gateway = Arc::clone(&context.gateway);
    let change = gateway.choices().close_session(&request.session_id, context.principal()).await?;
    Ok(map_response(change, move |session| describe(&gateway, session)))
}

pub(super) async fn get_mcp_config(
    context: &OperationContext,
    request: SessionRequest,
) -> Result<SessionMcpConfig, OperationError> {
    mcp_config(context, &request.session_id)
}

/// The servers of a session.
pub(crate) fn mcp_config(context: &OperationContext, id: &str) -> Result<SessionMcpConfig, OperationError> {
    Ok(describe_config(&context.gateway, &find(context, id)?))
}

pub(super) async fn set_mcp_config(
    context: &OperationContext,
    request: SetMcpConfigRequest,
) -> Plan<SessionMcpConfig> {
    let SetMcpConfigRequest { session_id, enabled_servers } = request;
    let gateway = Arc::clone(&context.gateway);
    let change = gateway.choices().set_session_servers(&session_id, enabled_servers).await?;
    Ok(map_response(change, move |session| describe_config(&gateway, &session)))
}

fn find(context: &OperationContext, id: &str) -> Result<SessionRecord, OperationError> {
    let found = context.gateway.choices().session(id);
    Ok(found.ok_or_else(|| OperatorError::UnknownSession(id.to_owned()))?)
}

fn describe(gateway: &Gateway, session: SessionRecord) -> Session {
    let names = |ids: &Vec<String>| {
        let named = gateway.choices().names(&session.user, ids).into_iter();
        named.map(|(_, key)| key.name.to_string()).collect()
    };
    let enabled_servers = session.servers.as_ref().map(names);
    let (closed_at, closed_by) = session.closed.map(|(at_ms, by)| (show_time(at_ms), by)).unzip();
    Session {
        id: session.id,
        user: session.user,
        agent_id: session.agent,
        title: session.title,
        state: if closed_at.is_none() { "open" } else { "closed" }.to_owned(),
        enabled_servers,
        created_at: show_time(session.created_at_ms),
        created_by: session.created_by,
        closed_at,
        closed_by,
    }
}

fn describe_config(gateway: &Gateway, session: &SessionRecord) -> SessionMcpConfig {
    let (choices, stored) = (gateway.choices(), gateway.stored_servers());
    let chosen = session.servers.as_ref().map(|ids| choices.names(&session.user, ids));
    let is_chosen = |key: &ServerKey| chosen.as_ref().is_none_or(|all| all.iter().any(|(_, one)| one == key));
    let available = gateway.membership().members().within_reach(&session.user).into_iter();
    let available = available.map(|key| AvailableServer {
        id: stored.id_of(&key),
        name: key.name.to_string(),
        scope: match &key.scope {
            Scope::System => "system",
            Scope::User(_) => "user",
        }
        .to_owned(),
        enabled: is_chosen(&key),
    });
    let available = available.collect();
    let (ids, names) = chosen
        .map(|all| {
            all.into_iter().map(|(id, key)| (id, key.name.to_string())).unzip::<_, _, Vec<_>, Vec<_>>()
        })
        .unzip();
    SessionMcpConfig {
        session_id: session.id.clone(),
        enabled_servers: names,
        enabled_server_ids: ids,
        available,
    }
}
