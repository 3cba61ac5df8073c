//! The encryption of what approvals hold of a call, and its removal.

use octroi_core::Secret;
use octroi_core::approval::ArgumentsState;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{ConnectOptions as _, Connection as _};
use tracing::info;

use super::migrate::Version;
use super::{Durable, Sqlite};
use crate::error::StoreError;
use crate::key::{Cipher, SEALED};

/// What the key for arguments is made for.
pub(super) const PURPOSE: &str = "octroi approvals v1";

/// What is shown of a call whose arguments cannot be read.
const UNREADABLE: &str = "\"[unreadable: encrypted with another key]\"";

/// Spelled as in the partial index.
const PLAIN: &str = "SELECT id, arguments_preview, arguments, edited_arguments FROM approvals
    WHERE arguments <> '' AND arguments NOT LIKE 'sealed1:%'";

/// The columns that hold something of the arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum SealedColumn {
    Preview,
    Arguments,
    Edited,
}

impl SealedColumn {
    const fn name(self) -> &'static str {
        match self {
            Self::Preview => "arguments_preview",
            Self::Arguments => "arguments",
            Self::Edited => "edited_arguments",
        }
    }

    /// Binds a text to its row and column.
    fn place(self, id: &str) -> String {
        format!("{id}/{}", self.name())
    }
}

/// What a row holds of the arguments.
pub(super) struct HeldArguments {
    pub(super) preview: String,
    pub(super) arguments: Secret,
    pub(super) edited: Option<Secret>,
    pub(super) state: ArgumentsState,
}

/// Encrypts what an older version stored as plain text.
pub(super) async fn seal_plain(
    options: &SqliteConnectOptions,
    version: Version,
    cipher: &Cipher,
) -> Result<(), sqlx::Error> {
    if !version.has_approvals() {
        return Ok(());
    }
    let mut connection = options.connect().await?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let rows: Vec<(String, String, String, Option<String>)> =
        sqlx::query_as(PLAIN).fetch_all(&mut *transaction).await?;
    let n_sealed = rows.len();
    for (id, preview, arguments, edited) in rows {
        let seal = |text: &str, column: SealedColumn| {
            cipher.seal(text, &column.place(&id)).ok_or(sqlx::Error::WorkerCrashed)
        };
        let edited = edited.map(|edited| seal(&edited, SealedColumn::Edited)).transpose()?;
        sqlx::query("UPDATE approvals SET arguments_preview = ?2, arguments = ?3, edited_arguments = ?4 WHERE id = ?1")
            .bind(&id)
            .bind(seal(&preview, SealedColumn::Preview)?)
            .bind(seal(&arguments, SealedColumn::Arguments)?)
            .bind(edited)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    if n_sealed > 0 {
        // Otherwise the plain text would stay in the write-ahead log for a while.
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut connection).await?;
        info!(n_approvals = n_sealed, "arguments of approvals encrypted");
    }
    connection.close().await
}

impl Sqlite {
    pub(crate) fn has_key(&self) -> bool {
        self.arguments.is_some()
    }

    /// A text as it is stored.
    pub(super) fn sealed(&self, id: &str, column: SealedColumn, text: &str) -> Result<String, StoreError> {
        let sealed = self.arguments.as_ref().and_then(|cipher| cipher.seal(text, &column.place(id)));
        sealed.ok_or_else(|| StoreError::NoKey { path: self.path.clone() })
    }

    pub(super) fn held_arguments(&self, id: &str, row: &SqliteRow) -> Result<HeldArguments, StoreError> {
        let preview: String = self.column(row, SealedColumn::Preview.name())?;
        let arguments: String = self.column(row, SealedColumn::Arguments.name())?;
        let edited: Option<String> = self.column(row, SealedColumn::Edited.name())?;
        let preview = self.opened(id, SealedColumn::Preview, preview);
        let is_readable = preview.is_some();
        let preview = preview.unwrap_or_else(|| UNREADABLE.to_owned());
        if arguments.is_empty() {
            let (arguments, edited) = (Secret::new(""), edited.map(|_| Secret::new("")));
            return Ok(HeldArguments { preview, arguments, edited, state: ArgumentsState::Removed });
        }
        let whole = self.opened(id, SealedColumn::Arguments, arguments).filter(|_| is_readable);
        let opened_edited = edited.as_ref().map(|text| self.opened(id, SealedColumn::Edited, text.clone()));
        Ok(match (whole, opened_edited) {
            (Some(arguments), None) => {
                let arguments = Secret::new(arguments);
                HeldArguments { preview, arguments, edited: None, state: ArgumentsState::Whole }
            }
            (Some(arguments), Some(Some(edited))) => {
                let (arguments, edited) = (Secret::new(arguments), Some(Secret::new(edited)));
                HeldArguments { preview, arguments, edited, state: ArgumentsState::Whole }
            }
            (None, _) | (_, Some(None)) => {
                let (arguments, edited) = (Secret::new(""), edited.map(|_| Secret::new("")));
                HeldArguments { preview, arguments, edited, state: ArgumentsState::Unreadable }
            }
        })
    }

    /// A stored text; `None` if it is encrypted with another key.
    fn opened(&self, id: &str, column: SealedColumn, stored: String) -> Option<String> {
        if !stored.starts_with(SEALED) {
            return Some(stored);
        }
        self.arguments.as_ref()?.open(&stored, &column.place(id))
    }

    /// Removes the arguments of approvals that were over by then; returns how many.
    pub(crate) async fn remove_arguments(&self, over_before_ms: i64) -> Result<u64, StoreError> {
        const OVER: &str = "arguments <> '' AND state NOT IN ('pending', 'approved', 'claimed')
            AND coalesce(finished_at_ms, decided_at_ms, expires_at_ms) <= ?1";
        let failed = |error| self.failed(error);
        let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM approvals WHERE {OVER}"));
        let n_over: i64 =
            sqlx::query_scalar(count).bind(over_before_ms).fetch_one(&self.readers).await.map_err(failed)?;
        // Usually there are none, and then no write transaction is needed.
        if n_over == 0 {
            return Ok(0);
        }
        let remove = sqlx::AssertSqlSafe(format!(
            "UPDATE approvals SET arguments = '', edited_arguments = iif(edited_arguments IS NULL, NULL, '')
             WHERE {OVER}"
        ));
        let mut durable: Durable = self.begin_durable().await?;
        let connection: &mut SqliteConnection = &mut durable.transaction;
        let removed = sqlx::query(remove).bind(over_before_ms).execute(connection).await.map_err(failed)?;
        self.commit_durable(durable).await?;
        Ok(removed.rows_affected())
    }

    /// The number of waiting approvals whose arguments cannot be read.
    pub(crate) async fn count_unreadable(&self) -> Result<usize, StoreError> {
        let waiting = "SELECT * FROM approvals WHERE state IN ('pending', 'approved') ORDER BY number";
        let rows = sqlx::query(waiting).fetch_all(&self.readers).await.map_err(|error| self.failed(error))?;
        let mut n_unreadable = 0;
        for row in &rows {
            let id: String = self.column(row, "id")?;
            let held = self.held_arguments(&id, row)?;
            n_unreadable += usize::from(held.state == ArgumentsState::Unreadable);
        }
        Ok(n_unreadable)
    }
}
