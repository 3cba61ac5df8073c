//! Users, their tokens, and invitations.

use octroi_core::principal::{TokenHash, TokenKind};
use octroi_core::{Scope, UserRole};
use sqlx::sqlite::SqliteRow;

use super::{Durable, Sqlite};
use crate::agent::FormerAgent;
use crate::error::StoreError;
use crate::user::{BrowserRecord, InviteRecord, TokenRecord, UserRecord};

impl Sqlite {
    pub(crate) async fn users(&self) -> Result<Vec<UserRecord>, StoreError> {
        let rows = sqlx::query("SELECT * FROM users ORDER BY name")
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.read_user(row)).collect()
    }

    pub(crate) async fn save_user(&self, user: &UserRecord) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        sqlx::query(
            "INSERT OR REPLACE INTO users (name, role, is_disabled, created_at_ms, created_by)
             VALUES (?, ?, ?, ?, ?)",
        )
        .bind(&user.name)
        .bind(user.role.as_str())
        .bind(user.is_disabled)
        .bind(user.created_at_ms)
        .bind(&user.created_by)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await
    }

    pub(crate) async fn remove_user(&self, name: &str, by: &str, now_ms: i64) -> Result<bool, StoreError> {
        let mut durable = self.begin_durable().await?;
        let agents: Vec<String> = sqlx::query_scalar("SELECT id FROM agents WHERE owner = ?")
            .bind(name)
            .fetch_all(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        let tokens =
            "DELETE FROM tokens WHERE user = ?1 OR agent IN (SELECT id FROM agents WHERE owner = ?1)";
        sqlx::query(tokens)
            .bind(name)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        for id in agents {
            let (owner, removed_by) = (Some(name.to_owned()), by.to_owned());
            let former = FormerAgent { id, owner, removed_at_ms: now_ms, removed_by };
            self.forget_agent(&mut durable, &former).await?;
        }
        sqlx::query("DELETE FROM invites WHERE user = ?")
            .bind(name)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        // What was configured of the user's servers goes as well: it has the user's tokens.
        for sql in [
            "DELETE FROM secrets WHERE scope = ?1",
            "DELETE FROM server_preferences WHERE server IN (SELECT id FROM server_entries WHERE scope = ?1)",
            "DELETE FROM session_servers WHERE server IN (SELECT id FROM server_entries WHERE scope = ?1)",
            "DELETE FROM agent_servers WHERE server IN (SELECT id FROM server_entries WHERE scope = ?1)",
            "DELETE FROM server_entries WHERE scope = ?1",
            "DELETE FROM server_revisions WHERE scope = ?1",
            "DELETE FROM servers WHERE scope = ?1",
            "DELETE FROM server_preferences WHERE user = ?2",
            "DELETE FROM sessions WHERE user = ?2",
        ] {
            sqlx::query(sql)
                .bind(Scope::User(name.into()).to_string())
                .bind(name)
                .execute(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        }
        let removed = sqlx::query("DELETE FROM users WHERE name = ?")
            .bind(name)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await?;
        Ok(removed.rows_affected() > 0)
    }

    pub(crate) async fn tokens(&self) -> Result<Vec<TokenRecord>, StoreError> {
        let rows = sqlx::query("SELECT * FROM tokens ORDER BY created_at_ms, id")
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.read_token(row)).collect()
    }

    pub(crate) async fn save_tokens(&self, tokens: &[TokenRecord]) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        for token in tokens {
            self.write_token(&mut durable, token).await?;
        }
        self.commit_durable(durable).await
    }

    pub(crate) async fn record_token_uses(&self, uses: &[(String, i64)]) -> Result<(), StoreError> {
        let mut transaction = self.begin().await?;
        for (id, at_ms) in uses {
            sqlx::query(
                "UPDATE tokens SET last_used_at_ms = max(coalesce(last_used_at_ms, 0), ?2) WHERE id = ?1",
            )
            .bind(id)
            .bind(at_ms)
            .execute(&mut *transaction)
            .await
            .map_err(|error| self.failed(error))?;
        }
        self.commit(transaction).await
    }

    pub(crate) async fn invite(&self, hash: &TokenHash) -> Result<Option<InviteRecord>, StoreError> {
        let row = sqlx::query("SELECT * FROM invites WHERE hash = ?")
            .bind(hash.as_slice())
            .fetch_optional(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        row.map(|row| self.read_invite(&row)).transpose()
    }

    pub(crate) async fn save_invite(&self, invite: &InviteRecord) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        sqlx::query("DELETE FROM invites WHERE user = ? AND used_at_ms IS NULL")
            .bind(&invite.user)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        sqlx::query(
            "INSERT INTO invites (id, hash, user, created_at_ms, created_by, expires_at_ms, used_at_ms)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&invite.id)
        .bind(invite.hash.as_slice())
        .bind(&invite.user)
        .bind(invite.created_at_ms)
        .bind(&invite.created_by)
        .bind(invite.expires_at_ms)
        .bind(invite.used_at_ms)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await
    }

    pub(crate) async fn use_invite(
        &self,
        id: &str,
        token: &TokenRecord,
        now_ms: i64,
    ) -> Result<bool, StoreError> {
        let mut durable = self.begin_durable().await?;
        let used = sqlx::query(
            "UPDATE invites SET used_at_ms = ?2 WHERE id = ?1 AND used_at_ms IS NULL AND expires_at_ms > ?2",
        )
        .bind(id)
        .bind(now_ms)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        if used.rows_affected() != 1 {
            return Ok(false);
        }
        self.write_token(&mut durable, token).await?;
        self.commit_durable(durable).await?;
        Ok(true)
    }

    async fn write_token(&self, durable: &mut Durable, token: &TokenRecord) -> Result<(), StoreError> {
        let (revoked_at_ms, revoked_by) = token.revoked.as_ref().map(|(at_ms, by)| (*at_ms, by)).unzip();
        sqlx::query(
            "INSERT OR REPLACE INTO tokens
                (id, hash, kind, user, agent, session, label, created_at_ms, created_by, expires_at_ms,
                 last_used_at_ms, revoked_at_ms, revoked_by, replaced_by, browser_key, signed_in_with)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&token.id)
        .bind(token.hash.as_slice())
        .bind(token.kind.as_str())
        .bind(&token.user)
        .bind(&token.agent)
        .bind(&token.session)
        .bind(&token.label)
        .bind(token.created_at_ms)
        .bind(&token.created_by)
        .bind(token.expires_at_ms)
        .bind(token.last_used_at_ms)
        .bind(revoked_at_ms)
        .bind(revoked_by)
        .bind(&token.replaced_by)
        .bind(token.browser.as_ref().map(|browser| browser.key.as_slice()))
        .bind(token.browser.as_ref().map(|browser| &browser.signed_in_with))
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        Ok(())
    }

    fn read_user(&self, row: &SqliteRow) -> Result<UserRecord, StoreError> {
        let role: &str = self.column(row, "role")?;
        Ok(UserRecord {
            name: self.column(row, "name")?,
            role: UserRole::parse(role).ok_or_else(self.unreadable("role"))?,
            is_disabled: self.column(row, "is_disabled")?,
            created_at_ms: self.column(row, "created_at_ms")?,
            created_by: self.column(row, "created_by")?,
        })
    }

    fn read_invite(&self, row: &SqliteRow) -> Result<InviteRecord, StoreError> {
        Ok(InviteRecord {
            id: self.column(row, "id")?,
            hash: self.hash_column(row, "hash")?,
            user: self.column(row, "user")?,
            created_at_ms: self.column(row, "created_at_ms")?,
            created_by: self.column(row, "created_by")?,
            expires_at_ms: self.column(row, "expires_at_ms")?,
            used_at_ms: self.column(row, "used_at_ms")?,
        })
    }

    fn read_token(&self, row: &SqliteRow) -> Result<TokenRecord, StoreError> {
        let kind: &str = self.column(row, "kind")?;
        let revoked_at_ms: Option<i64> = self.column(row, "revoked_at_ms")?;
        let revoked_by: Option<String> = self.column(row, "revoked_by")?;
        let signed_in_with: Option<String> = self.column(row, "signed_in_with")?;
        let browser = match signed_in_with {
            Some(signed_in_with) => {
                Some(BrowserRecord { key: self.hash_column(row, "browser_key")?, signed_in_with })
            }
            None => None,
        };
        Ok(TokenRecord {
            id: self.column(row, "id")?,
            hash: self.hash_column(row, "hash")?,
            kind: TokenKind::parse(kind).ok_or_else(self.unreadable("kind of token"))?,
            user: self.column(row, "user")?,
            agent: self.column(row, "agent")?,
            session: self.column(row, "session")?,
            label: self.column(row, "label")?,
            created_at_ms: self.column(row, "created_at_ms")?,
            created_by: self.column(row, "created_by")?,
            expires_at_ms: self.column(row, "expires_at_ms")?,
            last_used_at_ms: self.column(row, "last_used_at_ms")?,
            revoked: revoked_at_ms.map(|at_ms| (at_ms, revoked_by.unwrap_or_default())),
            replaced_by: self.column(row, "replaced_by")?,
            browser,
        })
    }
}
