//! Handlers of operations about stored secrets.

use std::sync::Arc;

use octroi_api::operations::config::ConfigChanges;
use octroi_api::operations::secrets::{
    ChangedSecret, ListSecretsRequest, RemoveSecretRequest, Secret, SecretList, SetSecretRequest,
};
use octroi_core::Scope;
use octroi_core::time::show_time;
use octroi_gateway::{ListedSecret, OperatorError, PlannedChange, SecretRecord};

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::count;
use crate::error::OperationError;

pub(super) async fn list(
    context: &OperationContext,
    request: ListSecretsRequest,
) -> Result<SecretList, OperationError> {
    let principal = context.principal();
    let is_meant = |secret: &ListedSecret| {
        let user = user_of(&secret.record.scope);
        let is_visible = principal.is_admin() || user.as_deref() == Some(&**principal.user());
        is_visible && (request.user.is_none() || request.user == user)
    };
    let secrets = context.gateway.secrets().list().await?;
    let secrets: Vec<Secret> = secrets.into_iter().filter(is_meant).map(describe).collect();
    Ok(SecretList { count: count(secrets.len()), secrets })
}

pub(super) async fn set(context: &OperationContext, request: SetSecretRequest) -> Plan<ChangedSecret> {
    let SetSecretRequest { name, value, user } = request;
    let secrets = context.gateway.secrets();
    let change = secrets.set(scope(user), &name, value.0, context.principal()).await?;
    Ok(with_servers(context, change))
}

pub(super) async fn remove(context: &OperationContext, request: RemoveSecretRequest) -> Plan<ChangedSecret> {
    let RemoveSecretRequest { name, user, force } = request;
    let change = context.gateway.secrets().remove(scope(user), &name, force).await?;
    Ok(with_servers(context, change))
}

/// The same change, after which the configuration is read again with the secrets as they are then.
fn with_servers(
    context: &OperationContext,
    change: PlannedChange<ListedSecret, OperatorError>,
) -> PlannedChange<ChangedSecret, OperationError> {
    let (control, gateway) = (Arc::clone(&context.control), Arc::clone(&context.gateway));
    change.and_then(move |secret| async move {
        let changes = control.secrets_changed(gateway).await?;
        // What else is new in the configuration is not for members.
        let is_users = matches!(secret.record.scope, Scope::User(_));
        let changes = if is_users { ConfigChanges::default() } else { changes };
        let ConfigChanges { added, changed, removed, problems, waiting, .. } = changes;
        Ok(ChangedSecret { secret: describe(secret), added, changed, removed, problems, waiting })
    })
}

fn scope(user: Option<String>) -> Scope {
    user.map_or(Scope::System, |user| Scope::User(user.into()))
}

fn user_of(scope: &Scope) -> Option<String> {
    match scope {
        Scope::System => None,
        Scope::User(user) => Some(user.to_string()),
    }
}

fn describe(secret: ListedSecret) -> Secret {
    let ListedSecret { record, uses } = secret;
    let SecretRecord {
        scope,
        name,
        revision,
        created_at_ms,
        created_by,
        updated_at_ms,
        updated_by,
        is_readable,
    } = record;
    Secret {
        name,
        user: user_of(&scope),
        revision: u64::try_from(revision).unwrap_or_default(),
        created_at: show_time(created_at_ms),
        created_by,
        updated_at: show_time(updated_at_ms),
        updated_by,
        readable: is_readable,
        used_elsewhere: uses.iter().any(|one| one.server.is_none()),
        servers: uses.into_iter().filter_map(|one| one.server).collect(),
    }
}
