//! Reading columns by name.

use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row as _, Sqlite as Driver, Type};

use super::Sqlite;
use crate::error::StoreError;

impl Sqlite {
    /// A column of any type.
    pub(super) fn column<'row, T>(&self, row: &'row SqliteRow, name: &'static str) -> Result<T, StoreError>
    where
        T: Decode<'row, Driver> + Type<Driver>,
    {
        row.try_get(name).map_err(|error| self.failed(error))
    }

    /// A column with a SHA-256.
    pub(super) fn hash_column(&self, row: &SqliteRow, name: &'static str) -> Result<[u8; 32], StoreError> {
        let bytes: &[u8] = self.column(row, name)?;
        bytes.try_into().ok().ok_or_else(self.unreadable("hash"))
    }

    /// A list of texts, stored as a JSON array.
    pub(super) fn list_column(&self, row: &SqliteRow, name: &'static str) -> Result<Vec<String>, StoreError> {
        self.list(self.column(row, name)?)
    }

    /// The texts of a JSON array.
    pub(super) fn list(&self, text: &str) -> Result<Vec<String>, StoreError> {
        serde_json::from_str(text).ok().ok_or_else(self.unreadable("list"))
    }
}
