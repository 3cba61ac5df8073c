//! `octroi audit purge`: removes old records, through the running gateway or, if none runs, directly.

use octroi_api::Exit;
use octroi_api::operations::audit::{AuditPurge, AuditPurgeRequest, AuditPurged};
use octroi_core::audit::{Actor, ActorKind};
use octroi_core::time::show_time;
use octroi_gateway::audit::{AuditError, AuditLog, Options, PurgeLimits};

use super::files::check_exists;
use super::{directory, moment};
use crate::cli::audit::PurgeRecords;
use crate::client::Client;
use crate::commands::Failure;
use crate::printer;

pub(super) async fn purge(options: &PurgeRecords) -> Result<(), Failure> {
    let before_ms = moment(&options.before)?;
    let when = show_time(i64::try_from(before_ms).unwrap_or(i64::MAX));
    if !options.yes {
        confirm(&when)?;
    }
    let purged = match by_gateway(options, before_ms).await {
        Err(failure) if failure.exit == Exit::Unreachable && options.target.url.is_none() => {
            directly(options, before_ms).await?
        }
        purged => purged?,
    };
    if options.target.json {
        printer::json(&purged);
        return Ok(());
    }
    match purged.records {
        0 => printer::say(&format!(
            "nothing to remove: no segment has only records from before {when}, besides the one in use"
        )),
        n_records => {
            let records = printer::count(n_records, "record");
            printer::data(&format!("{records} in {} removed", printer::count(purged.segments, "segment")));
        }
    }
    Ok(())
}

async fn by_gateway(options: &PurgeRecords, before_ms: u64) -> Result<AuditPurged, Failure> {
    Client::find(&options.target)?.call::<AuditPurge>(&AuditPurgeRequest { before_ms }).await
}

/// Purges the files directly. The log can only be opened if no gateway uses it.
async fn directly(options: &PurgeRecords, before_ms: u64) -> Result<AuditPurged, Failure> {
    let directory = directory(options.target.data.as_ref());
    check_exists(&directory)?;
    let failed = |error: AuditError| Failure::from_error(&error).hint(error.hint());
    let opened = AuditLog::open(&directory, &Options::new(crate::clock::system())).map_err(failed)?;
    let limits = PurgeLimits { before_ms: Some(before_ms), max_bytes: None };
    let purged = opened.log.purge(limits, Actor::new(ActorKind::User, "local")).await;
    // Also after a failed purge, what was written must be on disk.
    let closed = opened.log.close().await;
    let purged = purged.map_err(failed)?;
    closed.map_err(failed)?;
    Ok(AuditPurged { segments: u64::from(purged.n_segments), records: purged.n_records })
}

fn confirm(when: &str) -> Result<(), Failure> {
    match printer::confirm(&format!("remove all segments with records from before {when} only?")) {
        Some(true) => Ok(()),
        Some(false) | None => Err(Failure::new("nothing was removed").hint("confirm with --yes")),
    }
}
