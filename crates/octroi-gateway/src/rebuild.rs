//! Makes a lost database again from the audit log.

use std::path::Path;

use octroi_core::Clock;
use octroi_core::audit::{Actor, Event, Kind, Level};
use octroi_store::Store;
use serde_json::json;

use crate::audit::{AuditError, AuditLog, Durability, LogReader, Options};
use crate::persistence::{AUDIT, PersistenceError, key};
use crate::state_snapshot::{Rebuilt, SnapshotItem, SnapshotReader, write_state};

/// Rebuilds definitions, policies, settings of agents and switches from the last snapshot in the log, and
/// records that. `None` if there is a database, or no snapshot; then nothing is changed.
pub async fn rebuild_database(
    directory: &Path,
    clock: &Clock,
    actor: Actor<'_>,
) -> Result<Option<Rebuilt>, PersistenceError> {
    let log = directory.join(AUDIT);
    if Store::exists(directory) {
        return Ok(None);
    }
    let Some(items) = last_snapshot(&log)? else { return Ok(None) };
    let store = Store::open(directory, &key::of_directory).await?;
    let rebuilt = write_state(&store, items, clock.now_ms()).await?;
    let opened = AuditLog::open(&log, &Options::new(clock.clone()))?;
    let context = json!({
        "change": "database_rebuilt",
        "definitions": rebuilt.n_pins,
        "rejected": rebuilt.n_kept_out,
        "policies": rebuilt.n_policies,
        "agents": rebuilt.n_agents,
        "switches": rebuilt.n_switches,
        "lost": rebuilt.lost,
    });
    let context = context.to_string();
    let now_ms = u64::try_from(clock.now_ms()).unwrap_or_default();
    let event = Event {
        level: Level::Warn,
        context: &context,
        ..Event::new(now_ms, Kind::AdministrativeChange, actor)
    };
    opened.log.append(&event, Durability::Disk).await?;
    opened.log.close().await?;
    store.checkpoint().await?;
    store.close().await;
    Ok(Some(rebuilt))
}

fn last_snapshot(log: &Path) -> Result<Option<Vec<SnapshotItem>>, AuditError> {
    let mut found = SnapshotReader::default();
    let mut reader = LogReader::open(log)?;
    for record in reader.records(1)? {
        // A record that cannot be read is not a snapshot; `octroi audit verify` reports it.
        if let Ok(entry) = record?.entry() {
            found.take(&entry);
        }
    }
    Ok(found.into_complete())
}
