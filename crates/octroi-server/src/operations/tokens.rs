//! Handlers of operations about tokens.

use std::time::Duration;

use octroi_api::operations::NoArguments;
use octroi_api::operations::tokens::{
    CreateTokenRequest, CreatedToken, ListTokensRequest, RotateTokenRequest, SignInCode, Token, TokenList,
    TokenRequest,
};
use octroi_core::time::show_time;
use octroi_gateway::{
    CreatedToken as NewToken, Gateway, ListedToken, NewAgent, OperatorError, TokenRequest as NewTokenRequest,
    TokenSubject,
};

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::{count, map_response};
use crate::error::OperationError;

/// How long a replaced token stays valid beside its successor.
const OVERLAP: Duration = Duration::from_hours(24);
/// A token that ends within this time is shown as expiring.
const EXPIRING_MS: i64 = 7 * 24 * 3_600_000;
/// The longest lifetime and overlap: a hundred years.
const LONGEST_SECONDS: u64 = 100 * 366 * 24 * 3_600;

pub(crate) async fn list(
    context: &OperationContext,
    request: ListTokensRequest,
) -> Result<TokenList, OperationError> {
    let principal = context.principal();
    let is_meant = |token: &ListedToken| {
        let record = &token.record;
        let is_visible = principal.is_admin() || **principal.user() == *record.user;
        is_visible
            && (request.ended || token.is_valid)
            && request.agent_id.as_ref().is_none_or(|agent| record.agent.as_ref() == Some(agent))
            && request.user.as_ref().is_none_or(|user| record.user == *user)
    };
    let tokens = context.gateway.identity().tokens().into_iter().filter(is_meant);
    let tokens: Vec<Token> = tokens.map(|token| describe(&context.gateway, token)).collect();
    Ok(TokenList { count: count(tokens.len()), tokens })
}

pub(super) async fn create(context: &OperationContext, request: CreateTokenRequest) -> Plan<CreatedToken> {
    let subject = subject(&request)?;
    let expires_in = request.expires_in_seconds.map(seconds("expires_in_seconds")).transpose()?;
    let gateway = &context.gateway;
    if let TokenSubject::Session { agent, session } = &subject {
        check_session(gateway, agent, session)?;
    }
    // A token is of no use without its agent, and an agent's first token is how most agents begin.
    let new_agent = request.agent_id.filter(|agent| !gateway.governance().knows_agent(agent));
    let request = NewTokenRequest { subject, label: request.label, expires_in };
    let change = gateway.identity().create_token(request, context.principal()).await?;
    let shown = gateway.clone();
    let change = map_response(change, move |created| describe_created(&shown, created));
    match new_agent {
        None => Ok(change),
        Some(agent) => {
            let governance = gateway.governance();
            let new = NewAgent { id: agent, ..NewAgent::default() };
            let creating = governance.create_agent(new, context.principal())?;
            Ok(change.after(creating.map(|made| Ok(made?))))
        }
    }
}

pub(super) async fn rotate(context: &OperationContext, request: RotateTokenRequest) -> Plan<CreatedToken> {
    let overlap = request.overlap_seconds.map(seconds("overlap_seconds")).transpose()?.unwrap_or(OVERLAP);
    let change = context.gateway.identity().rotate_token(&request.id, overlap, context.principal()).await?;
    let gateway = context.gateway.clone();
    Ok(map_response(change, move |created| describe_created(&gateway, created)))
}

pub(super) async fn revoke(context: &OperationContext, request: TokenRequest) -> Plan<Token> {
    let change = context.gateway.identity().revoke_token(&request.id, context.principal()).await?;
    let gateway = context.gateway.clone();
    Ok(map_response(change, move |token| describe(&gateway, token)))
}

/// Fails unless the session is open, and one of the agent and its owner. One of somebody else does not exist.
fn check_session(gateway: &Gateway, agent: &str, id: &str) -> Result<(), OperationError> {
    let owner = gateway.identity().owner_of(agent);
    let session = gateway.choices().session(id).filter(|session| {
        session.user == *owner && session.agent.as_ref().is_none_or(|of_session| of_session == agent)
    });
    let session = session.ok_or_else(|| OperatorError::UnknownSession(id.to_owned()))?;
    match session.closed {
        None => Ok(()),
        Some(_) => Err(OperatorError::SessionClosed(id.to_owned()).into()),
    }
}

pub(super) async fn sign_in_code(context: &OperationContext, _: NoArguments) -> Plan<SignInCode> {
    let change = context.gateway.identity().create_sign_in_code(context.principal())?;
    Ok(map_response(change, |made| SignInCode {
        path: format!("/#code={}", made.code.secret),
        code: made.code.secret,
        expires_at: show_time(made.expires_at_ms),
    }))
}

/// What the token is for: exactly one thing.
fn subject(request: &CreateTokenRequest) -> Result<TokenSubject, OperationError> {
    let CreateTokenRequest { agent_id, session_id, user, service, .. } = request.clone();
    match (agent_id, session_id, user, service) {
        (Some(agent), None, None, false) => Ok(TokenSubject::Agent(agent)),
        (Some(agent), Some(session), None, false) => Ok(TokenSubject::Session { agent, session }),
        (None, None, Some(user), false) => Ok(TokenSubject::Person(user)),
        (None, None, None, true) => Ok(TokenSubject::Service),
        (None, Some(_), ..) => {
            Err(OperationError::InvalidArguments("a session needs the `agent_id` it belongs to".to_owned()))
        }
        _ => Err(OperationError::InvalidArguments(
            "a token is for one of `agent_id`, `user` and `service`".to_owned(),
        )),
    }
}

pub(super) fn seconds(name: &'static str) -> impl Fn(u64) -> Result<Duration, OperationError> {
    move |seconds| {
        if seconds > LONGEST_SECONDS {
            return Err(OperationError::InvalidArguments(format!("`{name}` is more than a hundred years")));
        }
        Ok(Duration::from_secs(seconds))
    }
}

fn describe_created(gateway: &Gateway, created: NewToken) -> CreatedToken {
    let NewToken { token, record } = created;
    let details = ListedToken { record, is_configured: false, is_valid: true };
    CreatedToken { token: token.secret, details: describe(gateway, details) }
}

fn describe(gateway: &Gateway, token: ListedToken) -> Token {
    let now_ms = gateway.clock().now_ms();
    let state = state(&token, now_ms).to_owned();
    let ListedToken { record, is_configured, .. } = token;
    let created = (!is_configured).then(|| (show_time(record.created_at_ms), record.created_by));
    let (created_at, created_by) = created.unzip();
    let (revoked_at, revoked_by) = record.revoked.map(|(at_ms, by)| (show_time(at_ms), by)).unzip();
    Token {
        id: record.id,
        kind: record.kind.into(),
        user: record.user,
        agent_id: record.agent,
        session_id: record.session,
        label: record.label,
        state,
        source: if is_configured { "configuration" } else { "created" }.to_owned(),
        created_at,
        created_by,
        expires_at: record.expires_at_ms.map(show_time),
        last_used_at: record.last_used_at_ms.map(show_time),
        revoked_at,
        revoked_by,
        replaced_by: record.replaced_by,
    }
}

fn state(token: &ListedToken, now_ms: i64) -> &'static str {
    let expires_at_ms = token.record.expires_at_ms;
    match (&token.record.revoked, expires_at_ms) {
        (Some(_), _) => "revoked",
        (None, Some(at_ms)) if at_ms <= now_ms => "expired",
        (None, _) if !token.is_valid => "locked_out",
        (None, Some(at_ms)) if at_ms.saturating_sub(now_ms) < EXPIRING_MS => "expiring",
        (None, _) => "valid",
    }
}
