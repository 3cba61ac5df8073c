//! Handlers of operations about servers that are added at run time.

use std::collections::BTreeMap;
use std::sync::Arc;

use octroi_api::operations::servers::{
    AddServerRequest, DeleteServerRequest, DeletedServer, RollbackServerRequest, ServerDetail, ServerHistory,
    ServerRequest, ServerRevision, ServerScope, SwitchManyRequest, SwitchedServers, UpdateServerRequest,
};
use octroi_core::config::stored_entry::masked;
use octroi_core::time::show_time;
use octroi_core::{Scope, ServerKey, ServerName};
use octroi_gateway::{EntryChange, OperatorError, PlannedChange, ServerChange, StoredEntry};
use serde_json::{Map, Value, json};

use super::{OperationContext, Plan, detail, find_key, may_see};
use crate::error::OperationError;

/// What nobody sets in an entry: it follows from who adds the server.
const PROTECTED: [&str; 9] =
    ["id", "name", "user_id", "owner", "scope", "managed_by", "revision", "created_at", "updated_at"];

pub(crate) async fn add(context: &OperationContext, request: AddServerRequest) -> Plan<ServerDetail> {
    let AddServerRequest { name, entry, scope } = request;
    refuse_protected(&entry)?;
    let scope = match scope {
        // The access rule lets administrators come here only.
        Some(ServerScope::System) => Scope::System,
        Some(ServerScope::User) | None => Scope::User(Arc::clone(context.principal().user())),
    };
    let key = ServerKey { scope, name: parse(&name)? };
    let stored = context.gateway.stored_servers();
    let change = stored.add(key, &entry, EntryChange::Added, context.principal()).await?;
    Ok(shown(context, change))
}

pub(crate) async fn update(context: &OperationContext, request: UpdateServerRequest) -> Plan<ServerDetail> {
    let UpdateServerRequest { name, entry, new_name } = request;
    refuse_protected(&entry)?;
    let key = find_key(context, &name)?;
    let change = ServerChange { name: new_name.as_deref().map(parse).transpose()?, entry };
    let change = context.gateway.stored_servers().update(&key, change, context.principal()).await?;
    Ok(shown(context, change))
}

pub(crate) async fn delete(context: &OperationContext, request: DeleteServerRequest) -> Plan<DeletedServer> {
    let key = find_key(context, &request.name)?;
    let change = context.gateway.choices().delete_server(&key, request.force, context.principal()).await?;
    Ok(change.map(|deleted| {
        let record = &deleted?.record;
        Ok(DeletedServer {
            id: record.id.clone(),
            name: record.key.name.to_string(),
            owner: match &record.key.scope {
                Scope::System => None,
                Scope::User(owner) => Some(owner.to_string()),
            },
            last_revision: number(record.revision),
        })
    }))
}

pub(crate) async fn history(
    context: &OperationContext,
    request: ServerRequest,
) -> Result<ServerHistory, OperationError> {
    let id = past_id(context, &request.name).await?;
    let all = context.gateway.stored_servers().history(&id).await?;
    let entry = |text: &str| match serde_json::from_str(text) {
        Ok(Value::Object(entry)) => entry,
        _ => Map::new(),
    };
    let entries: Vec<Option<Map<String, Value>>> =
        all.iter().map(|one| one.entry.as_ref().map(|text| entry(text.as_str()))).collect();
    let revisions = all.iter().enumerate().map(|(place, one)| {
        let new = entries.get(place).cloned().flatten();
        // The newest comes first, so the state before follows.
        let old = entries.get(place + 1..).unwrap_or_default().iter().flatten().next();
        ServerRevision {
            revision: number(one.revision),
            change: one.change.as_str().to_owned(),
            name: one.key.name.to_string(),
            changed: changed(old, new.as_ref()),
            entry: new.as_ref().map(masked),
            at: show_time(one.at_ms),
            by: one.by.clone(),
        }
    });
    Ok(ServerHistory { id, revisions: revisions.collect() })
}

pub(crate) async fn roll_back(
    context: &OperationContext,
    request: RollbackServerRequest,
) -> Plan<ServerDetail> {
    let id = past_id(context, &request.name).await?;
    let revision = i64::try_from(request.revision).unwrap_or(i64::MAX);
    let change = context.gateway.stored_servers().roll_back(&id, revision, context.principal()).await?;
    Ok(shown(context, change))
}

pub(crate) async fn switch_many(
    context: &OperationContext,
    request: SwitchManyRequest,
) -> Plan<SwitchedServers> {
    let SwitchManyRequest { names, prefix, enabled, for_me } = request;
    let (gateway, principal) = (&context.gateway, context.principal());
    if names.is_empty() && prefix.is_none() {
        let reason = "name the servers in `names`, or the beginning of their names in `prefix`";
        return Err(OperationError::InvalidArguments(reason.to_owned()));
    }
    let mut keys = Vec::new();
    let mut failed = BTreeMap::new();
    for name in names {
        match find_key(context, &name) {
            Ok(key) => keys.push(key),
            Err(error) => drop(failed.insert(name, error.to_string())),
        }
    }
    if let Some(prefix) = prefix {
        let all = super::all(context).into_iter();
        let begins = |key: &ServerKey| key.name.as_str().starts_with(&prefix) && may_see(principal, key);
        // An administrator does not switch what others have by a prefix.
        let is_own = |key: &ServerKey| octroi_core::pool::is_within_reach(principal.user(), key);
        let found = all.filter_map(|status| ServerKey::parse(&status.name));
        keys.extend(found.filter(|key| begins(key) && is_own(key)));
    }
    keys.sort();
    keys.dedup();
    let is_for_me = |key: &ServerKey| for_me || (key.scope == Scope::System && !principal.is_admin());
    let (mine, shared): (Vec<ServerKey>, Vec<ServerKey>) = keys.into_iter().partition(is_for_me);
    let by = Arc::clone(principal.id());
    let names = |keys: &[ServerKey]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
    let subject = json!({"change": "servers_switched", "servers": names(&shared), "for_me": names(&mine)});
    let state = |key: &ServerKey| {
        let upstream = gateway.servers().upstream(key);
        (key.to_string(), json!(upstream.is_some_and(|upstream| upstream.spec().is_enabled())))
    };
    let before: Map<String, Value> = shared.iter().map(state).collect();
    let preferring = if mine.is_empty() {
        None
    } else {
        Some(gateway.choices().prefer(principal.user(), &mine, enabled).await?)
    };
    let gateway = Arc::clone(gateway);
    let mut switched = names(&mine);
    let change =
        PlannedChange::new(subject, Value::Object(before), json!({"enabled": enabled}), async move {
            for key in shared {
                let made = match gateway.servers().upstream(&key) {
                    Some(upstream) => gateway
                        .servers()
                        .switch_now(&upstream, enabled, &by)
                        .await
                        .map_err(OperatorError::from),
                    None => Err(OperatorError::UnknownServer(key.to_string())),
                };
                match made {
                    Ok(()) => switched.push(key.to_string()),
                    Err(error) => drop(failed.insert(key.to_string(), error.to_string())),
                }
            }
            switched.sort();
            Ok::<_, OperatorError>(SwitchedServers { switched, failed })
        });
    let change = match preferring {
        Some(preferring) => change.after(preferring),
        None => change,
    };
    Ok(change.map(|made| Ok(made?)))
}

/// The server as the principal sees it, once it is changed.
fn shown(
    context: &OperationContext,
    change: PlannedChange<Arc<StoredEntry>, OperatorError>,
) -> PlannedChange<ServerDetail, OperationError> {
    let (gateway, reader) = (Arc::clone(&context.gateway), context.principal().clone());
    change.and_then(move |entry| async move {
        // Its name may be that of another now.
        gateway.choices().renew();
        detail(&gateway, &entry.record.key, &reader).await
    })
}

/// The id of a server, also of one that was deleted.
async fn past_id(context: &OperationContext, name: &str) -> Result<String, OperationError> {
    let stored = context.gateway.stored_servers();
    let user = context.principal().user();
    if let Some(key) = stored.find(user, name) {
        return match stored.entries().get(&key) {
            Some(entry) => Ok(entry.record.id.clone()),
            None => Err(OperatorError::ServerInFile(key.to_string()).into()),
        };
    }
    match deleted(context, name).await? {
        Some((id, _)) => Ok(id),
        None => Err(super::unknown(&context.gateway, context.principal(), name)),
    }
}

/// A deleted server that a principal may see, by name: its own, or for administrators any.
async fn deleted(
    context: &OperationContext,
    name: &str,
) -> Result<Option<(String, ServerKey)>, OperationError> {
    let Some(key) = ServerKey::parse(name) else {
        return Ok(None);
    };
    let own =
        ServerKey { scope: Scope::User(Arc::clone(context.principal().user())), name: key.name.clone() };
    let keys = [key, own].into_iter().filter(|key| {
        may_see(context.principal(), key) && (key.scope != Scope::System || context.principal().is_admin())
    });
    for key in keys {
        if let Some(id) = context.gateway.stored_servers().deleted(&key).await? {
            return Ok(Some((id, key)));
        }
    }
    Ok(None)
}

fn refuse_protected(entry: &Map<String, Value>) -> Result<(), OperationError> {
    match PROTECTED.into_iter().find(|name| entry.contains_key(*name)) {
        Some(name) => Err(OperationError::ProtectedField(name)),
        None => Ok(()),
    }
}

fn parse(name: &str) -> Result<ServerName, OperationError> {
    ServerName::parse(name).map_err(|error| OperationError::InvalidArguments(error.to_string()))
}

/// The keys that differ.
fn changed(old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>) -> Vec<String> {
    let (Some(old), Some(new)) = (old, new) else {
        return Vec::new();
    };
    let mut keys: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
    keys.sort();
    keys.dedup();
    keys.retain(|key| old.get(key) != new.get(key));
    keys
}

fn number(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
