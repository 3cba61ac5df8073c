//! Commands about users and their tokens.

use octroi_api::operations::NoArguments;
use octroi_api::operations::tokens::{
    CreateTokenRequest, CreatedToken, ListTokensRequest, RotateTokenRequest, Token, TokenRequest,
    TokensCreate, TokensList, TokensRevoke, TokensRotate,
};
use octroi_api::operations::users::{
    AddUserRequest, Invitation, InviteUserRequest, UpdateUserRequest, User, UserRequest, UsersAdd,
    UsersInvite, UsersList, UsersRemove, UsersUpdate,
};
use octroi_core::UserRole;
use octroi_core::audit::{Actor, ActorKind};
use octroi_core::principal::TokenKind;
use octroi_gateway::reset_admin;
use owo_colors::Style;
use serde_json::json;

use crate::cli::Target;
use crate::cli::people::{ResetAdmin, TokenCommand, UserCommand};
use crate::client::Client;
use crate::config::data_directory;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};
use crate::{clock, token};

pub(super) async fn users(command: UserCommand) -> Result<(), Failure> {
    let update = |name: &str| UpdateUserRequest { name: name.to_owned(), role: None, disabled: None };
    match command {
        UserCommand::List(target) => {
            let list = Client::find(&target)?.call::<UsersList>(&NoArguments {}).await?;
            if target.json {
                printer::json(&list.users);
            } else {
                printer::table(&user_table(&list.users));
            }
            Ok(())
        }
        UserCommand::Add(options) => {
            let role = if options.admin { UserRole::Admin } else { UserRole::Member };
            let request = AddUserRequest { name: options.name, role: Some(role.into()) };
            let user = Client::find(&options.target)?.call::<UsersAdd>(&request).await?;
            let name = visible(&user.name);
            show_user(
                &options.target,
                &user,
                &format!("added; a link to their token: octroi user invite {name}"),
            );
            Ok(())
        }
        UserCommand::Invite(options) => {
            let request = InviteUserRequest {
                name: options.name,
                role: options.role.map(Into::into),
                expires_in_seconds: options.expires.map(|expires| expires.as_secs()),
            };
            let invitation = Client::find(&options.target)?.call::<UsersInvite>(&request).await?;
            show_invitation(&options.target, &invitation);
            Ok(())
        }
        UserCommand::Set(options) => {
            let request = UpdateUserRequest { role: Some(options.role.into()), ..update(&options.name) };
            let user = Client::find(&options.target)?.call::<UsersUpdate>(&request).await?;
            show_user(&options.target, &user, &format!("is {} now", user.role));
            Ok(())
        }
        UserCommand::Disable(options) => {
            let request = UpdateUserRequest { disabled: Some(true), ..update(&options.name) };
            let user = Client::find(&options.target)?.call::<UsersUpdate>(&request).await?;
            let undo = format!("locked out; undo with `octroi user enable {}`", visible(&user.name));
            show_user(&options.target, &user, &undo);
            Ok(())
        }
        UserCommand::Enable(options) => {
            let request = UpdateUserRequest { disabled: Some(false), ..update(&options.name) };
            let user = Client::find(&options.target)?.call::<UsersUpdate>(&request).await?;
            show_user(&options.target, &user, "may come in again");
            Ok(())
        }
        UserCommand::Remove(options) => {
            let request = UserRequest { name: options.name };
            let user = Client::find(&options.target)?.call::<UsersRemove>(&request).await?;
            let agents = printer::count(user.agents.len(), "agent");
            show_user(&options.target, &user, &format!("removed, with {agents} and all tokens"));
            Ok(())
        }
    }
}

pub(super) async fn tokens(command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::List(options) => {
            let request =
                ListTokensRequest { agent_id: options.agent, user: options.user, ended: options.all };
            let list = Client::find(&options.target)?.call::<TokensList>(&request).await?;
            if options.target.json {
                printer::json(&list.tokens);
            } else if list.tokens.is_empty() {
                printer::say("there are no such tokens; `octroi token create --help` shows how to make one");
            } else {
                printer::table(&token_table(&list.tokens));
            }
            Ok(())
        }
        TokenCommand::Create(options) => {
            let request = CreateTokenRequest {
                agent_id: options.agent,
                session_id: options.session,
                user: options.user,
                service: options.service,
                label: options.label,
                expires_in_seconds: options.expires.map(|expires| expires.as_secs()),
            };
            let created = Client::find(&options.target)?.call::<TokensCreate>(&request).await?;
            show_created(&options.target, &created);
            Ok(())
        }
        TokenCommand::Rotate(options) => {
            let overlap_seconds = options.overlap.map(|overlap| overlap.as_secs());
            let request = RotateTokenRequest { id: options.id, overlap_seconds };
            let created = Client::find(&options.target)?.call::<TokensRotate>(&request).await?;
            show_created(&options.target, &created);
            Ok(())
        }
        TokenCommand::ResetAdmin(options) => reset_admin_token(options).await,
        TokenCommand::Revoke(options) => {
            let request = TokenRequest { id: options.id };
            let token = Client::find(&options.target)?.call::<TokensRevoke>(&request).await?;
            if options.target.json {
                printer::json(&token);
            } else {
                printer::data(&format!("{} ({}) revoked", visible(&token.id), visible(&token.label)));
            }
            Ok(())
        }
    }
}

/// Works on the data directory itself: whoever can read that could read the lost token as well.
async fn reset_admin_token(options: ResetAdmin) -> Result<(), Failure> {
    let data = options.data.unwrap_or_else(data_directory);
    let kept = |error: std::io::Error| {
        Failure::new(format!("cannot keep a token in {}", data.display()))
            .cause(error)
            .hint("run this again once the directory can be written")
    };
    let token = token::create(TokenKind::Human).map_err(kept)?;
    let actor = Actor::new(ActorKind::User, "local");
    let n_revoked = reset_admin(&data, &token, &clock::system(), actor)
        .await
        .map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let file = token::replace_admin(&data, &token).map_err(kept)?;
    if options.json {
        printer::json(&json!({"file": file, "revoked": n_revoked}));
        return Ok(());
    }
    printer::data(&file.display().to_string());
    let revoked = printer::count(n_revoked, "token");
    printer::say(&format!(
        "has the new admin token; {revoked} of the user admin revoked. Start with `octroi up`"
    ));
    Ok(())
}

/// The token alone goes to standard output, so that a script can take it from there.
fn show_created(target: &Target, created: &CreatedToken) {
    if target.json {
        printer::json(created);
        return;
    }
    printer::data(&created.token);
    let Token { id, label, expires_at, .. } = &created.details;
    let until = expires_at.as_ref().map_or_else(String::new, |at| format!(", valid until {at}"));
    printer::say(&format!("shown once; id {}, label {}{until}", visible(id), visible(label)));
}

/// The link alone goes to standard output, like a token.
fn show_invitation(target: &Target, invitation: &Invitation) {
    if target.json {
        printer::json(invitation);
        return;
    }
    let Invitation { link, expires_at, user, .. } = invitation;
    printer::data(link);
    printer::say(&format!(
        "for {} ({}) only, once, until {expires_at}: the page shows their token",
        visible(&user.name),
        user.role
    ));
}

fn show_user(target: &Target, user: &User, done: &str) {
    if target.json {
        printer::json(user);
    } else {
        printer::data(&format!("{} {done}", visible(&user.name)));
    }
}

fn user_table(users: &[User]) -> Table {
    let mut table = Table::new(&[
        Column::text("name"),
        Column::text("role"),
        Column::text("state"),
        Column::text("source"),
        Column::number("tokens"),
        Column::sentence("agents"),
    ]);
    for user in users {
        table.row([
            Cell::new(&user.name).styled(Style::new().bold()),
            user.role.to_string().into(),
            Cell::new(if user.disabled { "disabled" } else { "active" }),
            Cell::new(&user.source),
            user.tokens.to_string().into(),
            user.agents.join(", ").into(),
        ]);
    }
    table
}

fn token_table(tokens: &[Token]) -> Table {
    let mut table = Table::new(&[
        Column::text("id"),
        Column::text("kind"),
        Column::text("user"),
        Column::text("label"),
        Column::text("state"),
        Column::text("expires_at"),
        Column::text("last_used_at"),
    ]);
    for token in tokens {
        let text = |text: &Option<String>| Cell::new(text.as_deref().unwrap_or_default());
        table.row([
            Cell::new(&token.id).styled(Style::new().bold()),
            token.kind.to_string().into(),
            Cell::new(&token.user),
            Cell::new(&token.label),
            Cell::new(&token.state),
            text(&token.expires_at),
            text(&token.last_used_at),
        ]);
    }
    table
}
