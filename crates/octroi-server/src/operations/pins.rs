//! Handlers of operations about definitions that are quarantined.

use octroi_api::Wire;
use octroi_api::operations::NoArguments;
use octroi_api::operations::pins::{
    AcceptPinRequest, DefinitionChange, DefinitionFinding, ForgetPinsRequest, ForgottenPins, HeldPin,
    HeldPins, ListPinsRequest, LockText, PinDecision, PinHistory, PinHistoryRequest, PinVersion,
    RejectPinRequest,
};
use octroi_core::ServerKey;
use octroi_core::diff::unified;
use octroi_core::escape_hidden;
use octroi_core::pin::{DefinitionChange as Change, DefinitionHash, PinKind, PinPolicy, difference};
use octroi_core::pool::Reach;
use octroi_core::time::show_time;
use octroi_gateway::{FiledUnder, Forgotten, HeldPin as Quarantined, PinName};
use serde_json::json;

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::{count, map_response};
use crate::error::OperationError;

pub(crate) async fn list(
    context: &OperationContext,
    request: ListPinsRequest,
) -> Result<HeldPins, OperationError> {
    let mut held = context.gateway.registry().held_pins().await?;
    let reach = Reach::of(context.principal());
    held.retain(|held| reach.includes(&held.server) && (request.all || held.kept_out_by.is_none()));
    Ok(HeldPins { count: count(held.len()), held: held.into_iter().map(describe).collect() })
}

pub(super) async fn accept(context: &OperationContext, request: AcceptPinRequest) -> Plan<PinDecision> {
    let (server, kind) = (server(&request.server)?, kind(request.kind));
    let name = request.name.unwrap_or_default();
    let hash = hash(&request.hash)?;
    let pin = PinName { server: &server, kind, name: &name };
    let change = context.gateway.registry().accept_pin(pin, &hash, context.principal())?;
    let change = change.filed_under(of_server(&server));
    let decided = PinDecision {
        server: server.to_string(),
        kind: kind.into(),
        name,
        hash: hash.to_string(),
        accepted: true,
        in_use: false,
    };
    Ok(map_response(change, move |in_use| PinDecision { in_use, ..decided }))
}

pub(super) async fn reject(context: &OperationContext, request: RejectPinRequest) -> Plan<PinDecision> {
    let (server, kind) = (server(&request.server)?, kind(request.kind));
    let name = request.name.unwrap_or_default();
    let seen = request.hash.as_deref().map(hash).transpose()?;
    let pin = PinName { server: &server, kind, name: &name };
    let change = context.gateway.registry().reject_pin(pin, seen.as_ref(), context.principal())?;
    let change = change.filed_under(of_server(&server));
    Ok(map_response(change, move |hash| PinDecision {
        server: server.to_string(),
        kind: kind.into(),
        name,
        hash: hash.to_string(),
        accepted: false,
        in_use: false,
    }))
}

pub(super) async fn forget(context: &OperationContext, request: ForgetPinsRequest) -> Plan<ForgottenPins> {
    let server = server(&request.server)?;
    let one = request.name.as_deref().map(|name| (request.kind.map(|kind| kind.0), name));
    let change = context.gateway.registry().forget_pins(&server, one, context.principal()).await?;
    let change = change.filed_under(of_server(&server));
    Ok(map_response(change, move |forgotten| ForgottenPins {
        server: server.to_string(),
        name: request.name,
        forgotten: count(forgotten.n_forgotten),
        mode: forgotten.policy.into(),
        locked: count(forgotten.n_locked),
        waiting: count(forgotten.n_waiting),
        next: next_step(&forgotten),
    }))
}

pub(super) async fn lock(context: &OperationContext, _: NoArguments) -> Result<LockText, OperationError> {
    Ok(LockText { text: context.gateway.registry().lock_text().await? })
}

/// The quarantined definition, the accepted one, and those before it.
pub(super) async fn history(
    context: &OperationContext,
    request: PinHistoryRequest,
) -> Result<PinHistory, OperationError> {
    // Of a server that is gone, the name is its key.
    let known = context.gateway.pools().key_for(context.principal(), &request.server);
    let server = known.map_or_else(|| server(&request.server), Ok)?;
    let kind = kind(request.kind);
    let name = request.name.unwrap_or_default();
    let registry = context.gateway.registry();
    let reach = Reach::of(context.principal());
    let mut held = registry.held_pins().await?;
    held.retain(|held| reach.includes(&held.server));
    let held = held.into_iter().find(|held| held.server == server && held.kind == kind && held.name == name);
    let mut past = registry.pin_history(PinName { server: &server, kind, name: &name }).await?;
    // Another user's definitions are as if they never were.
    past.retain(|_| reach.includes(&server));
    let mut texts: Vec<(PinVersion, String)> = Vec::new();
    if let Some(held) = held {
        let state = if held.kept_out_by.is_some() { "rejected" } else { "quarantined" };
        let version = PinVersion { by: held.kept_out_by, ..version(&held.hash, state, &held.definition) };
        texts.push((version, held.definition));
    }
    for past in past {
        let state = if past.ended_at_ms.is_some() { "replaced" } else { "accepted" };
        let version = PinVersion {
            accepted_at: Some(show_time(past.accepted_at_ms)),
            by: Some(past.accepted_by),
            ended_at: past.ended_at_ms.map(show_time),
            ..version(&past.hash, state, &past.definition)
        };
        texts.push((version, past.definition));
    }
    if texts.is_empty() {
        let message = format!(
            "nothing of {kind} `{name}` of server `{server}` was ever accepted",
            kind = kind.as_str()
        );
        return Err(OperationError::not_found_in(message, "`octroi tools` lists the tools of all servers"));
    }
    for newer in 1..texts.len() {
        let (old, new) = (texts[newer].1.clone(), texts[newer - 1].1.clone());
        let changes = difference(old.as_bytes(), new.as_bytes());
        texts[newer - 1].0.changes = changes.into_iter().map(change).collect();
        let (old_name, new_name) = (texts[newer].0.hash.clone(), texts[newer - 1].0.hash.clone());
        texts[newer - 1].0.diff = unified(&lines(&old), &lines(&new), &old_name, &new_name);
    }
    Ok(PinHistory { versions: texts.into_iter().map(|(version, _)| version).collect() })
}

fn version(hash: &DefinitionHash, state: &str, definition: &str) -> PinVersion {
    PinVersion {
        hash: hash.to_string(),
        state: state.to_owned(),
        accepted_at: None,
        by: None,
        ended_at: None,
        changes: Vec::new(),
        diff: String::new(),
        definition: serde_json::from_str(definition).unwrap_or_else(|_| json!(definition)),
    }
}

/// A definition in lines, with hidden characters escaped.
fn lines(definition: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(definition);
    let text = value.and_then(|value| serde_json::to_string_pretty(&value));
    escape_hidden(&text.unwrap_or_else(|_| definition.to_owned())).into_owned()
}

fn change(change: Change) -> DefinitionChange {
    DefinitionChange { path: change.path, old: change.old, new: change.new, class: change.class.into() }
}

fn server(name: &str) -> Result<ServerKey, OperationError> {
    let key = ServerKey::parse(name);
    key.ok_or_else(|| {
        OperationError::not_found_in(
            format!("there is no server `{name}`"),
            "`octroi list` shows all servers",
        )
    })
}

fn kind(kind: Option<Wire<PinKind>>) -> PinKind {
    kind.map_or(PinKind::Tool, |kind| kind.0)
}

fn hash(text: &str) -> Result<DefinitionHash, OperationError> {
    text.parse().map_err(|_| {
        OperationError::InvalidArguments(format!("`hash` must be 64 hexadecimal digits, not `{text}`"))
    })
}

fn of_server(server: &ServerKey) -> FiledUnder {
    FiledUnder { server: Some(server.to_string()), ..FiledUnder::default() }
}

fn next_step(forgotten: &Forgotten) -> String {
    let next = match forgotten.policy {
        PinPolicy::TrustFirst => {
            "what the server lists is treated as seen for the first time: it is accepted as it is, \
             unless something about it is suspicious"
        }
        PinPolicy::Ask => "what the server lists waits for a person before it can be used",
        PinPolicy::Strict => "only what the lock file holds can be used, as before",
    };
    match forgotten.n_locked {
        0 => next.to_owned(),
        n_locked => format!("{next}; {n_locked} are in the lock file, which stays in effect"),
    }
}

fn describe(held: Quarantined) -> HeldPin {
    let changes = held.changes.into_iter().map(change);
    let findings = held.findings.into_iter().map(|finding| DefinitionFinding {
        kind: finding.kind.as_str().to_owned(),
        severity: finding.severity.into(),
        path: finding.path,
        excerpt: finding.excerpt,
    });
    let (accepted_at, accepted_by) = held.accepted.map(|(at_ms, by)| (show_time(at_ms), by)).unzip();
    HeldPin {
        server: held.server.to_string(),
        kind: held.kind.into(),
        name: held.name,
        hash: held.hash.to_string(),
        reason: held.reason,
        kept_out_by: held.kept_out_by,
        accepted_at,
        accepted_by,
        changes: changes.collect(),
        findings: findings.collect(),
        look_alikes: held.look_alikes,
        definition: serde_json::from_str(&held.definition).unwrap_or_else(|_| json!(held.definition)),
    }
}
