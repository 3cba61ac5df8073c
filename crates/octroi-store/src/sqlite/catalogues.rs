//! Stored catalogues: what each server last offered.

use std::collections::HashMap;

use tracing::warn;

use super::Sqlite;
use crate::catalogue::{Catalogue, List, Saved, StoredCatalogue};
use crate::error::StoreError;
use crate::hash::ContentHash;
use crate::server::ServerKey;

impl Sqlite {
    pub(crate) async fn save_catalogue(
        &self,
        key: &ServerKey,
        catalogue: &Catalogue,
        now_ms: i64,
    ) -> Result<Saved, StoreError> {
        let (scope, name) = (key.scope.to_string(), key.name.as_str());
        let hash = catalogue.content_hash();
        let mut transaction = self.begin().await?;
        let known: Option<String> =
            sqlx::query_scalar("SELECT content_hash FROM catalogues WHERE scope = ? AND name = ?")
                .bind(&scope)
                .bind(name)
                .fetch_optional(&mut *transaction)
                .await
                .map_err(|error| self.failed(error))?;
        if known.as_deref() == Some(hash.as_str()) {
            return Ok(Saved::Unchanged);
        }
        // The items are deleted with it.
        sqlx::query("DELETE FROM catalogues WHERE scope = ? AND name = ?")
            .bind(&scope)
            .bind(name)
            .execute(&mut *transaction)
            .await
            .map_err(|error| self.failed(error))?;
        sqlx::query(
            "INSERT INTO catalogues (scope, name, identity, content_hash, saved_at_ms) VALUES (?, ?, ?, ?, ?)",
        )
        .bind(&scope)
        .bind(name)
        .bind(&catalogue.identity)
        .bind(hash.as_str())
        .bind(now_ms)
        .execute(&mut *transaction)
        .await
        .map_err(|error| self.failed_for(key, error))?;
        for list in List::ALL {
            // One statement for the whole list: a server may have thousands of tools.
            sqlx::query(
                "INSERT INTO catalogue_items (scope, name, list, position, item)
                 SELECT ?, ?, ?, key, value FROM json_each(?)",
            )
            .bind(&scope)
            .bind(name)
            .bind(list.as_str())
            .bind(serde_json::Value::from(catalogue.list(list)).to_string())
            .execute(&mut *transaction)
            .await
            .map_err(|error| self.failed(error))?;
        }
        self.commit(transaction).await?;
        Ok(Saved::Written)
    }

    pub(crate) async fn catalogues(&self) -> Result<Vec<StoredCatalogue>, StoreError> {
        let mut sound = Vec::new();
        for stored in self.read_catalogues().await? {
            if stored.catalogue.content_hash() == stored.content_hash {
                sound.push(stored);
            } else {
                warn!(server.name = %stored.key, "stored catalogue does not match its hash, dropped");
                self.delete_catalogue(&stored.key).await?;
            }
        }
        Ok(sound)
    }

    pub(crate) async fn delete_catalogue(&self, key: &ServerKey) -> Result<bool, StoreError> {
        self.delete("DELETE FROM catalogues WHERE scope = ? AND name = ?", key).await
    }

    async fn read_catalogues(&self) -> Result<Vec<StoredCatalogue>, StoreError> {
        // Both tables in one snapshot.
        let mut transaction = self.readers.begin().await.map_err(|error| self.failed(error))?;
        let rows: Vec<(String, String, String, String, i64)> = sqlx::query_as(
            "SELECT scope, name, identity, content_hash, saved_at_ms FROM catalogues ORDER BY scope, name",
        )
        .fetch_all(&mut *transaction)
        .await
        .map_err(|error| self.failed(error))?;
        let items: Vec<(String, String, String, String)> = sqlx::query_as(
            "SELECT scope, name, list, item FROM catalogue_items ORDER BY scope, name, list, position",
        )
        .fetch_all(&mut *transaction)
        .await
        .map_err(|error| self.failed(error))?;
        drop(transaction);

        let mut positions = HashMap::new();
        let mut catalogues: Vec<StoredCatalogue> = Vec::with_capacity(rows.len());
        for (scope, name, identity, content_hash, saved_at_ms) in rows {
            let key = self.server_key(&scope, &name)?;
            positions.insert((scope, name), catalogues.len());
            catalogues.push(StoredCatalogue {
                key,
                catalogue: Catalogue { identity, ..Catalogue::default() },
                content_hash: ContentHash::stored(content_hash),
                saved_at_ms,
            });
        }
        for (scope, name, list, item) in items {
            let list = List::parse(&list).ok_or_else(self.unreadable("list name"))?;
            let position = positions.get(&(scope, name)).copied();
            if let Some(stored) = position.and_then(|position| catalogues.get_mut(position)) {
                stored.catalogue.list_mut(list).push(item);
            }
        }
        Ok(catalogues)
    }
}
