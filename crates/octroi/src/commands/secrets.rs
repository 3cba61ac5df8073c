//! Commands about stored secrets.
//!
//! A value comes from standard input, a file or a variable, and never from the command line: other users of the machine
//! see that, and shells remember it.

use std::io::{IsTerminal as _, Read as _};

use octroi_api::operations::secrets::{
    ChangedSecret, ListSecretsRequest, RemoveSecretRequest, Secret, SecretValue, SecretsList, SecretsRemove,
    SecretsSet, SetSecretRequest,
};
use octroi_core::Secret as Value;
use octroi_core::audit::{Actor, ActorKind};
use octroi_gateway::{Rekeyed, rekey};
use owo_colors::Style;
use serde_json::json;

use super::master_key::{NEW_VARIABLE, from_variable};
use super::run::key_origin;
use crate::cli::Target;
use crate::cli::secrets::{Rekey, SecretCommand, SetSecret};
use crate::client::Client;
use crate::clock;
use crate::config::{Sources, data_directory};
use crate::failure::Failure;
use crate::hidden_input;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

pub(super) async fn run(command: SecretCommand) -> Result<(), Failure> {
    match command {
        SecretCommand::List(options) => {
            let request = ListSecretsRequest { user: options.user };
            let list = Client::find(&options.target)?.call::<SecretsList>(&request).await?;
            if options.target.json {
                printer::json(&list.secrets);
            } else if list.secrets.is_empty() {
                printer::say("there are no secrets; `octroi secret set NAME` stores one");
            } else {
                printer::table(&table(&list.secrets));
            }
            Ok(())
        }
        SecretCommand::Set(options) => set(options).await,
        SecretCommand::Remove(options) => {
            let request =
                RemoveSecretRequest { name: options.name, user: options.user, force: options.force };
            let changed = Client::find(&options.target)?.call::<SecretsRemove>(&request).await?;
            show(&options.target, &changed, "removed");
            Ok(())
        }
        SecretCommand::Rekey(options) => change_key(options).await,
    }
}

async fn set(options: SetSecret) -> Result<(), Failure> {
    if !options.value.is_empty() {
        // What was given is not repeated.
        return Err(Failure::usage("the value of a secret is no argument: every user of this machine sees arguments, \
            and the shell remembers them")
        .hint("if what you wrote is the value, it is no secret any more: replace it where it comes from; then run the \
               command without it, and enter it when asked"));
    }
    let client = Client::find(&options.target)?;
    let value = value(&options)?;
    let request =
        SetSecretRequest { name: options.name, value: SecretValue(Value::new(value)), user: options.user };
    let changed = client.call::<SecretsSet>(&request).await?;
    show(&options.target, &changed, "set");
    Ok(())
}

/// The value, without the line break that ends it.
fn value(options: &SetSecret) -> Result<String, Failure> {
    let text = match (&options.file, &options.env) {
        (Some(path), _) => std::fs::read_to_string(path).map_err(|error| {
            // The error about what is not UTF-8 does not show it.
            Failure::new(format!("cannot read {}", path.display()))
                .cause(error)
                .hint("name a text file that can be read with --file PATH")
        })?,
        (None, Some(variable)) => std::env::var(variable).map_err(|_| {
            Failure::new(format!("the variable `{variable}` is not set, or is not UTF-8"))
                .hint("export it, or leave out --env to enter the value")
        })?,
        (None, None) if std::io::stdin().is_terminal() => {
            hidden_input::read(&format!("Value of `{}` (not shown): ", visible(&options.name)))
                .map_err(|error| Failure::new("cannot read the value from the terminal").cause(error))?
        }
        (None, None) => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .read_to_string(&mut text)
                .map_err(|error| Failure::new("cannot read the value from standard input").cause(error))?;
            text
        }
    };
    Ok(text
        .strip_suffix('\n')
        .map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text))
        .to_owned())
}

/// Works on the data directory itself: a gateway has the old key in memory.
async fn change_key(options: Rekey) -> Result<(), Failure> {
    let data = options.data.unwrap_or_else(data_directory);
    let sources = Sources { config: options.config, data: data.clone(), ..Sources::default() };
    let origin = key_origin(&sources)?;
    let new = from_variable(NEW_VARIABLE)?;
    let actor = Actor::new(ActorKind::User, "local");
    let (rekeyed, file) = rekey(&data, &origin, new, &clock::system(), actor)
        .await
        .map_err(|error| Failure::from_error(&error).hint(error.hint()))?;
    let Rekeyed { n_secrets, n_approvals, n_entries, n_unreadable } = rekeyed;
    if options.json {
        printer::json(&json!({
            "secrets": n_secrets, "approvals": n_approvals, "servers": n_entries, "unreadable": n_unreadable, "file": file,
        }));
        return Ok(());
    }
    let secrets = printer::count(n_secrets, "secret");
    printer::data(&format!("{secrets} and {} encrypted again", printer::count(n_approvals, "approval")));
    if n_unreadable > 0 {
        printer::warn(&format!("{n_unreadable} could not be read with the old key and stay as they are"));
    }
    printer::say("sessions of clients begin anew; backups of the database still need the old key");
    match file {
        Some(file) => printer::say(&format!("the new key is in {}; start with `octroi up`", file.display())),
        None => printer::say(&format!("start with OCTROI_MASTER_KEY as {NEW_VARIABLE} is now")),
    }
    Ok(())
}

fn show(target: &Target, changed: &ChangedSecret, done: &str) {
    if target.json {
        printer::json(changed);
        return;
    }
    let ChangedSecret { secret, added, changed, removed, problems, waiting } = changed;
    printer::data(&format!("{} {done}", visible(&secret.name)));
    for (servers, what) in [
        (added, "started, which waited for it"),
        (changed, "started again with it"),
        (removed, "stopped, which needs what is not set"),
    ] {
        for server in servers {
            printer::say(&format!("  server {} {what}", visible(server)));
        }
    }
    if secret.servers.is_empty() && !secret.used_elsewhere && secret.user.is_none() && done == "set" {
        printer::say(&format!("nothing refers to it yet; write `${{secret:{}}}`", visible(&secret.name)));
    }
    for problem in problems {
        printer::warn(&visible(problem));
    }
    if !waiting.is_empty() {
        let n_waiting = printer::count(waiting.len(), "change");
        printer::warn(&format!("{n_waiting} of the configuration wait for you: octroi reload"));
    }
}

fn table(secrets: &[Secret]) -> Table {
    let mut table = Table::new(&[
        Column::text("name"),
        Column::text("owner"),
        Column::text("updated_at"),
        Column::text("by"),
        Column::sentence("used by"),
    ]);
    for secret in secrets {
        let mut users: Vec<&str> = secret.servers.iter().map(String::as_str).collect();
        users.extend(secret.used_elsewhere.then_some("the configuration"));
        users.extend((!secret.readable).then_some("(encrypted with another key: set it again)"));
        table.row([
            Cell::new(&secret.name).styled(Style::new().bold()),
            Cell::new(secret.user.as_deref().unwrap_or("gateway")),
            Cell::new(&secret.updated_at),
            Cell::new(&secret.updated_by),
            users.join(", ").into(),
        ]);
    }
    table
}
