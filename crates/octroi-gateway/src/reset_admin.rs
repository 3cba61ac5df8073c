//! Replaces a lost admin token, while no gateway runs.

use std::path::{Path, PathBuf};

use octroi_core::Clock;
use octroi_core::audit::{Actor, Event, Kind, Level};
use octroi_core::principal::{BUILT_IN_ADMIN, TokenKind, hash_token, token_id};
use octroi_store::{Store, StoreError, TokenRecord};
use serde_json::json;

use crate::audit::{AuditError, Durability};
use crate::lost_state::OnLoss;
use crate::persistence::key::KeyOrigin;
use crate::persistence::{Persistence, PersistenceError};

/// Why the admin token cannot be replaced. Nothing was changed then.
#[derive(Debug, thiserror::Error)]
pub enum ResetAdminError {
    /// No gateway ever used the directory.
    #[error("{} has no database of a gateway", .directory.display())]
    NoDatabase {
        /// The data directory.
        directory: PathBuf,
    },
    /// The data directory cannot be opened.
    #[error(transparent)]
    Persistence(#[from] PersistenceError),
    /// What is done cannot be recorded.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The database cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ResetAdminError {
    /// What the operator can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDatabase { .. } => {
                "name the right directory with --data DIR; the first `octroi up` makes an admin token"
                    .to_owned()
            }
            Self::Persistence(error) => error.hint_to_command(),
            Self::Audit(error) => error.hint(),
            Self::Store(error) => error.hint(),
        }
    }
}

/// Revokes all tokens of the built-in administrator and accepts this one instead, which is recorded first. Tokens of
/// agents and services stay. Returns how many were revoked.
pub async fn reset_admin(
    directory: &Path,
    token: &str,
    clock: &Clock,
    actor: Actor<'_>,
) -> Result<usize, ResetAdminError> {
    if !Store::exists(directory) {
        return Err(ResetAdminError::NoDatabase { directory: directory.to_owned() });
    }
    let by = actor.id.to_owned();
    let mut persistence =
        Persistence::open_with(directory, clock.clone(), OnLoss::Refuse, &KeyOrigin::IfThere).await?;
    let store = persistence.store().clone();
    let now_ms = clock.now_ms();
    let is_admins = |record: &TokenRecord| {
        record.kind == TokenKind::Human && record.user == BUILT_IN_ADMIN && record.revoked.is_none()
    };
    let mut changed: Vec<TokenRecord> = store.tokens().await?.into_iter().filter(is_admins).collect();
    let revoked: Vec<String> = changed.iter().map(|record| record.id.clone()).collect();
    for record in &mut changed {
        record.revoked = Some((now_ms, by.clone()));
    }
    let hash = hash_token(token);
    let id = token_id(token).map_or_else(|| hex::encode(&hash[..4]), str::to_owned);
    if let Some(opened) = persistence.take_audit() {
        let context = json!({
            "change": "admin_token_reset", "token": id, "user": BUILT_IN_ADMIN, "revoked": revoked,
        });
        let context = context.to_string();
        let at_ms = u64::try_from(now_ms).unwrap_or_default();
        let event =
            Event { level: Level::Warn, context: &context, ..Event::new(at_ms, Kind::TokenChanged, actor) };
        opened.log.append(&event, Durability::Disk).await?;
        opened.log.close().await?;
    }
    changed.push(TokenRecord {
        id,
        hash,
        kind: TokenKind::Human,
        user: BUILT_IN_ADMIN.to_owned(),
        agent: None,
        session: None,
        label: BUILT_IN_ADMIN.to_owned(),
        created_at_ms: now_ms,
        created_by: by,
        expires_at_ms: None,
        last_used_at_ms: None,
        revoked: None,
        replaced_by: None,
        browser: None,
    });
    store.save_tokens(&changed).await?;
    store.checkpoint().await?;
    Ok(revoked.len())
}
