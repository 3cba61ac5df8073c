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

/// The columns that hold something of the arguments or other params.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SealedColumn {
    Preview,
    Arguments,
    Edited,
    ParamsPreview,
    Params,
}

impl SealedColumn {
    pub(super) const ALL: [Self; 5] =
        [Self::Preview, Self::Arguments, Self::Edited, Self::ParamsPreview, Self::Params];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Preview => "arguments_preview",
            Self::Arguments => "arguments",
            Self::Edited => "edited_arguments",
            Self::ParamsPreview => "other_params",
            Self::Params => "other_params_sent",
        }
    }

    /// Binds a text to its row and column.
    pub(super) fn place(self, id: &str) -> String {
        format!("{id}/{}", self.name())
    }
}

/// What a row holds of the arguments and other params.
pub(super) struct HeldArguments {
    pub(super) preview: String,
    pub(super) arguments: Secret,
    pub(super) edited: Option<Secret>,
    pub(super) params_preview: Option<String>,
    pub(super) params: Option<Secret>,
    pub(super) state: ArgumentsState,
}

impl HeldArguments {
    /// The same without what is shown to nobody any more, or to nobody yet.
    fn emptied(self, state: ArgumentsState) -> Self {
        let emptied = |text: Option<Secret>| text.map(|_| Secret::new(""));
        let (edited, params) = (emptied(self.edited), emptied(self.params));
        Self { arguments: Secret::new(""), edited, params, state, ..self }
    }
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
        let mut is_readable = true;
        let mut read = |column: SealedColumn| -> Result<Option<String>, StoreError> {
            let stored: Option<String> = self.column(row, column.name())?;
            Ok(stored.map(|stored| {
                let opened = self.opened(id, column, stored);
                is_readable &= opened.is_some();
                opened.unwrap_or_else(|| UNREADABLE.to_owned())
            }))
        };
        let arguments = read(SealedColumn::Arguments)?.unwrap_or_default();
        let held = HeldArguments {
            preview: read(SealedColumn::Preview)?.unwrap_or_default(),
            edited: read(SealedColumn::Edited)?.map(Secret::new),
            params_preview: read(SealedColumn::ParamsPreview)?,
            params: read(SealedColumn::Params)?.map(Secret::new),
            state: ArgumentsState::Whole,
            arguments: Secret::new(""),
        };
        // An older version stored a short version only, which is not enough to decide.
        let has_all = held.params.is_some() == held.params_preview.is_some();
        Ok(if arguments.is_empty() {
            held.emptied(ArgumentsState::Removed)
        } else if is_readable && has_all {
            HeldArguments { arguments: Secret::new(arguments), ..held }
        } else {
            held.emptied(ArgumentsState::Unreadable)
        })
    }

    /// A stored text; `None` if it is encrypted with another key.
    fn opened(&self, id: &str, column: SealedColumn, stored: String) -> Option<String> {
        if !stored.starts_with(SEALED) {
            return Some(stored);
        }
        self.arguments.as_ref()?.open(&stored, &column.place(id))
    }

    /// Removes the arguments and other params of approvals that were over by then; returns how many.
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
            "UPDATE approvals SET arguments = '', edited_arguments = iif(edited_arguments IS NULL, NULL, ''),
             other_params_sent = iif(other_params_sent IS NULL, NULL, '') WHERE {OVER}"
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
