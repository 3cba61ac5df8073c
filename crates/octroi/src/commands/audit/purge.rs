//! `octroi audit purge`: takes old records away, by the gateway that writes the log or, if none does, here.

use std::io::{self, IsTerminal as _};

use octroi_core::audit::{Actor, ActorKind};
use octroi_core::time::show_time;
use octroi_gateway::audit::{AuditLog, Options};
use serde_json::{Value, json};

use super::{directory, moment};
use crate::cli::audit::PurgeOptions;
use crate::client::{Client, UNREACHABLE};
use crate::commands::Failure;
use crate::printer;

pub(super) async fn purge(options: &PurgeOptions) -> Result<(), Failure> {
    let before_ms = u64::try_from(moment(&options.before)?).unwrap_or_default();
    let when = show_time(i64::try_from(before_ms).unwrap_or(i64::MAX));
    if !options.yes {
        confirm(&when)?;
    }
    let told = match by_gateway(options, before_ms).await {
        Err(failure) if failure.exit_code == UNREACHABLE && options.target.url.is_none() => {
            here(options, before_ms).await?
        }
        told => told?,
    };
    if options.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    match told["records"].as_u64().unwrap_or_default() {
        0 => printer::say(&format!(
            "nothing to take away: no segment has only records from before {when}, besides the one in use"
        )),
        n_records => {
            printer::data(&format!("{n_records} records in {} segments taken away", told["segments"]));
        }
    }
    Ok(())
}

async fn by_gateway(options: &PurgeOptions, before_ms: u64) -> Result<Value, Failure> {
    Client::find(&options.target)?.call("audit_purge", json!({ "before_ms": before_ms })).await
}

/// The log can only be opened if no gateway has it.
async fn here(options: &PurgeOptions, before_ms: u64) -> Result<Value, Failure> {
    let directory = directory(options.target.data.as_ref());
    if !directory.is_dir() {
        return Err(Failure::new(format!("there is no audit log in {}", directory.display()))
            .hint("name the gateway's data directory with --data DIR"));
    }
    let told = |error: octroi_gateway::audit::AuditError| Failure::from_error(&error).hint(error.hint());
    let opened = AuditLog::open(&directory, &Options::default()).map_err(told)?;
    let purged = opened.log.purge(before_ms, Actor::new(ActorKind::User, "local")).await;
    let closed = opened.log.close().await;
    let purged = purged.map_err(told)?;
    closed.map_err(told)?;
    Ok(json!({"segments": purged.n_segments, "records": purged.n_records}))
}

fn confirm(when: &str) -> Result<(), Failure> {
    let refused = || Failure::new("nothing was taken away").hint("say --yes if you mean it");
    if !io::stdin().is_terminal() {
        return Err(refused());
    }
    printer::say(&format!("take away all segments with records from before {when} only? [y/N]"));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(|error| refused().cause(error))?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(refused()) }
}
