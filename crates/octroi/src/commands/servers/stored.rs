//! Commands about servers that are added at run time.

use octroi_api::operations::servers::{
    AddServerRequest, DeleteServerRequest, RollbackServerRequest, ServerHistory, ServerRequest, ServerScope,
    ServersAdd, ServersDelete, ServersHistory, ServersRollback,
};
use owo_colors::Style;
use serde_json::{Map, Value, json};

use crate::cli::servers::{AddServer, OneServer, RemoveServer, RollbackServer, ServersCommand};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

pub(in crate::commands) async fn add(options: AddServer) -> Result<(), Failure> {
    let entry = entry(&options)?;
    let AddServer { name, system, target, .. } = options;
    let scope = system.then_some(ServerScope::System);
    let request = AddServerRequest { name, entry, scope };
    let added = Client::find(&target)?.call::<ServersAdd>(&request).await?;
    if target.json {
        printer::json(&added);
        return Ok(());
    }
    let name = visible(&added.status.name);
    let whose = if system { "for everybody" } else { "for you" };
    printer::data(&format!("{name} added {whose}; undo with `octroi remove {name}`"));
    added.status.warnings.iter().for_each(|warning| printer::warn(&visible(warning)));
    match &added.status.error {
        Some(error) => printer::warn(&visible(error)),
        None => printer::say(&format!("  see whether it answers: octroi test {name}")),
    }
    Ok(())
}

pub(in crate::commands) async fn remove(options: RemoveServer) -> Result<(), Failure> {
    let RemoveServer { name, force, target } = options;
    let request = DeleteServerRequest { name, force };
    let deleted = Client::find(&target)?.call::<ServersDelete>(&request).await?;
    if target.json {
        printer::json(&deleted);
        return Ok(());
    }
    let name =
        deleted.owner.as_ref().map_or(deleted.name.clone(), |owner| format!("{owner}/{}", deleted.name));
    let (name, revision) = (visible(&name), deleted.last_revision);
    printer::data(&format!("{name} removed; undo with `octroi servers rollback {name} {revision}`"));
    Ok(())
}

pub(in crate::commands) async fn run(command: ServersCommand) -> Result<(), Failure> {
    match command {
        ServersCommand::History(OneServer { name, target }) => {
            let history = Client::find(&target)?.call::<ServersHistory>(&ServerRequest { name }).await?;
            if target.json {
                printer::json(&history.revisions);
            } else {
                printer::table(&table(&history));
            }
            Ok(())
        }
        ServersCommand::Rollback(RollbackServer { name, revision, target }) => {
            let client = Client::find(&target)?;
            let before = client.call::<ServersHistory>(&ServerRequest { name: name.clone() }).await?;
            let restored = client.call::<ServersRollback>(&RollbackServerRequest { name, revision }).await?;
            if target.json {
                printer::json(&restored);
                return Ok(());
            }
            let name = visible(&restored.status.name);
            let undo = match before.revisions.first() {
                Some(newest) if newest.entry.is_some() => {
                    format!("octroi servers rollback {name} {}", newest.revision)
                }
                _ => format!("octroi remove {name}"),
            };
            printer::data(&format!("{name} is as it was in revision {revision}; undo with `{undo}`"));
            if let Some(error) = &restored.status.error {
                printer::warn(&visible(error));
            }
            Ok(())
        }
    }
}

/// The entry that the options describe.
fn entry(options: &AddServer) -> Result<Map<String, Value>, Failure> {
    let mut entry = Map::new();
    match (&options.address, options.command.as_slice()) {
        (Some(url), []) => drop(entry.insert("url".to_owned(), json!(url))),
        (None, command @ [_, ..]) => drop(entry.insert("command".to_owned(), json!(command))),
        (None, []) | (Some(_), _) => {
            return Err(Failure::usage("a server has an address or a command")
                .hint("write `octroi add NAME https://…`, or `octroi add NAME -- COMMAND ARGUMENTS`"));
        }
    }
    let table = |pairs: &[String], separator: char, shape: &str| {
        let mut table = Map::new();
        for pair in pairs {
            let Some((name, value)) = pair.split_once(separator) else {
                // What was given may be a secret, so it is not repeated.
                return Err(Failure::usage(format!("a variable or header is written as {shape}")));
            };
            table.insert(name.trim().to_owned(), json!(value.trim_start()));
        }
        Ok(table)
    };
    let env = table(&options.env, '=', "NAME=VALUE")?;
    let headers = table(&options.headers, ':', "'NAME: VALUE'")?;
    for (name, table) in [("env", env), ("headers", headers)] {
        if !table.is_empty() {
            entry.insert(name.to_owned(), Value::Object(table));
        }
    }
    for (name, text) in [("title", &options.title), ("description", &options.description)] {
        if let Some(text) = text {
            entry.insert(name.to_owned(), json!(text));
        }
    }
    Ok(entry)
}

fn table(history: &ServerHistory) -> Table {
    let mut table = Table::new(&[
        Column::text("revision"),
        Column::text("change"),
        Column::text("name"),
        Column::text("at"),
        Column::text("by"),
        Column::sentence("changed"),
    ]);
    for one in &history.revisions {
        table.row([
            Cell::new(one.revision.to_string()).styled(Style::new().bold()),
            Cell::new(&one.change),
            Cell::new(&one.name),
            Cell::new(&one.at),
            Cell::new(&one.by),
            one.changed.join(", ").into(),
        ]);
    }
    table
}
