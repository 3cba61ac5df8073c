//! Handlers of operations about users.

use std::time::Duration;

use octroi_api::operations::NoArguments;
use octroi_api::operations::users::{
    AddUserRequest, Invitation, InviteUserRequest, UpdateUserRequest, User, UserList, UserRequest,
};
use octroi_core::UserRole;
use octroi_core::principal::TokenKind;
use octroi_core::time::show_time;
use octroi_gateway::{Gateway, Invitation as NewInvitation, KnownUser, UserChange, UserOrigin};

use super::context::OperationContext;
use super::handler::Plan;
use super::shape::{count, map_response};
use super::tokens::seconds;
use crate::error::OperationError;

/// How long the link of an invitation is valid.
const INVITED_FOR: Duration = Duration::from_hours(24);

pub(crate) async fn list(context: &OperationContext, _: NoArguments) -> Result<UserList, OperationError> {
    let principal = context.principal();
    let known = context.gateway.identity().users().into_iter();
    let visible = known.filter(|user| principal.is_admin() || **principal.user() == *user.name);
    let users: Vec<User> = visible.map(|user| describe(&context.gateway, user)).collect();
    Ok(UserList { count: count(users.len()), users })
}

pub(super) async fn add(context: &OperationContext, request: AddUserRequest) -> Plan<User> {
    let role = request.role.map_or(UserRole::Member, |role| role.0);
    let change = context.gateway.identity().add_user(&request.name, role, context.principal()).await?;
    let gateway = context.gateway.clone();
    Ok(map_response(change, move |user| describe(&gateway, user)))
}

pub(super) async fn invite(context: &OperationContext, request: InviteUserRequest) -> Plan<Invitation> {
    let expires_in = request.expires_in_seconds.map(seconds("expires_in_seconds")).transpose()?;
    let expires_in = expires_in.unwrap_or(INVITED_FOR);
    let role = request.role.map(|role| role.0);
    let gateway = context.gateway.clone();
    let change = gateway.identity().invite_user(&request.name, role, expires_in, context.principal()).await?;
    Ok(map_response(change, move |invitation| {
        let NewInvitation { user, code, expires_at_ms } = invitation;
        Invitation {
            link: gateway.approvals().invitation_page(&code.secret).unwrap_or(code.secret),
            id: code.id,
            expires_at: show_time(expires_at_ms),
            user: describe(&gateway, user),
        }
    }))
}

pub(super) async fn update(context: &OperationContext, request: UpdateUserRequest) -> Plan<User> {
    let change = UserChange { role: request.role.map(|role| role.0), is_disabled: request.disabled };
    if change == UserChange::default() {
        let reason = "there is nothing to change; give `role` or `disabled`";
        return Err(OperationError::InvalidArguments(reason.to_owned()));
    }
    let change = context.gateway.identity().change_user(&request.name, change, context.principal()).await?;
    let gateway = context.gateway.clone();
    let shown = gateway.clone();
    // What a user's servers may do depends on the role.
    Ok(map_response(change, move |user| describe(&shown, user))
        .then(async move { Ok(gateway.people_changed().await?) }))
}

pub(super) async fn remove(context: &OperationContext, request: UserRequest) -> Plan<User> {
    let removed = context.gateway.identity().user(&request.name).map(|user| describe(&context.gateway, user));
    let by = context.principal();
    let agents = context.gateway.governance().agents_of(&request.name);
    let change = context.gateway.identity().remove_user(&request.name, by).await?;
    let (gateway, by) = (context.gateway.clone(), by.id().to_string());
    let shown = gateway.clone();
    Ok(map_response(change, move |user| removed.unwrap_or_else(|| describe(&shown, user))).then(async move {
        gateway.agents_removed(&agents, &by).await?;
        Ok(gateway.people_changed().await?)
    }))
}

fn describe(gateway: &Gateway, user: KnownUser) -> User {
    let KnownUser { name, role, is_disabled, origin } = user;
    let (source, created) = match origin {
        UserOrigin::BuiltIn => ("built-in", None),
        UserOrigin::Configuration => ("configuration", None),
        UserOrigin::Added { at_ms, by } => ("added", Some((at_ms, by))),
    };
    let tokens = gateway.identity().tokens();
    let own = tokens
        .iter()
        .filter(|token| token.is_valid && token.record.kind == TokenKind::Human && token.record.user == name);
    let (created_at, created_by) = created.map(|(at_ms, by)| (show_time(at_ms), by)).unzip();
    User {
        tokens: count(own.count()),
        agents: gateway.governance().agents_of(&name),
        name,
        role: role.into(),
        disabled: is_disabled,
        source: source.to_owned(),
        created_at,
        created_by,
    }
}
