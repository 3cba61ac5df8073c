//! What people chose about servers: preferences, sessions, and the servers of agents.

use std::collections::BTreeMap;

use super::Sqlite;
use crate::entry::{AgentServers, AttachedServer, PreferenceRecord, SessionRecord};
use crate::error::StoreError;

impl Sqlite {
    pub(crate) async fn preferences(&self) -> Result<Vec<PreferenceRecord>, StoreError> {
        let rows: Vec<(String, String, bool)> =
            sqlx::query_as("SELECT user, server, is_enabled FROM server_preferences ORDER BY user, server")
                .fetch_all(&self.readers)
                .await
                .map_err(|error| self.failed(error))?;
        let preference = |(user, server, is_enabled)| PreferenceRecord { user, server, is_enabled };
        Ok(rows.into_iter().map(preference).collect())
    }

    pub(crate) async fn save_preferences(
        &self,
        preferences: &[PreferenceRecord],
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        for PreferenceRecord { user, server, is_enabled } in preferences {
            sqlx::query(
                "INSERT OR REPLACE INTO server_preferences (user, server, is_enabled, at_ms)
                 VALUES (?, ?, ?, ?)",
            )
            .bind(user)
            .bind(server)
            .bind(is_enabled)
            .bind(now_ms)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        }
        self.commit_durable(durable).await
    }

    pub(crate) async fn sessions(&self) -> Result<Vec<SessionRecord>, StoreError> {
        // One snapshot of both tables.
        let mut reading = self.readers.begin().await.map_err(|error| self.failed(error))?;
        let rows = sqlx::query("SELECT * FROM sessions ORDER BY created_at_ms, id")
            .fetch_all(&mut *reading)
            .await
            .map_err(|error| self.failed(error))?;
        let chosen: Vec<(String, String)> =
            sqlx::query_as("SELECT session, server FROM session_servers ORDER BY session, server")
                .fetch_all(&mut *reading)
                .await
                .map_err(|error| self.failed(error))?;
        let mut servers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (session, server) in chosen {
            servers.entry(session).or_default().push(server);
        }
        let read = rows.iter().map(|row| {
            let id: String = self.column(row, "id")?;
            let has_list: bool = self.column(row, "has_list")?;
            let closed_at_ms: Option<i64> = self.column(row, "closed_at_ms")?;
            let closed_by: Option<String> = self.column(row, "closed_by")?;
            Ok(SessionRecord {
                user: self.column(row, "user")?,
                agent: self.column(row, "agent")?,
                title: self.column(row, "title")?,
                servers: has_list.then(|| servers.remove(&id).unwrap_or_default()),
                created_at_ms: self.column(row, "created_at_ms")?,
                created_by: self.column(row, "created_by")?,
                updated_at_ms: self.column(row, "updated_at_ms")?,
                closed: closed_at_ms.map(|at_ms| (at_ms, closed_by.unwrap_or_default())),
                id,
            })
        });
        read.collect()
    }

    pub(crate) async fn save_session(
        &self,
        session: &SessionRecord,
        n_closed_max: u32,
    ) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        let (closed_at_ms, closed_by) = session.closed.as_ref().map(|(at_ms, by)| (*at_ms, by)).unzip();
        sqlx::query(
            "INSERT INTO sessions (id, user, agent, title, has_list, created_at_ms, created_by, updated_at_ms,
                closed_at_ms, closed_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (id) DO UPDATE SET user = ?2, agent = ?3, title = ?4, has_list = ?5,
                updated_at_ms = ?8, closed_at_ms = ?9, closed_by = ?10",
        )
        .bind(&session.id)
        .bind(&session.user)
        .bind(&session.agent)
        .bind(&session.title)
        .bind(session.servers.is_some())
        .bind(session.created_at_ms)
        .bind(&session.created_by)
        .bind(session.updated_at_ms)
        .bind(closed_at_ms)
        .bind(closed_by)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        sqlx::query("DELETE FROM session_servers WHERE session = ?")
            .bind(&session.id)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        for server in session.servers.iter().flatten() {
            sqlx::query("INSERT OR IGNORE INTO session_servers (session, server) VALUES (?, ?)")
                .bind(&session.id)
                .bind(server)
                .execute(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        }
        if let Some((at_ms, by)) = &session.closed {
            sqlx::query(
                "UPDATE tokens SET revoked_at_ms = ?2, revoked_by = ?3
                 WHERE session = ?1 AND revoked_at_ms IS NULL",
            )
            .bind(&session.id)
            .bind(at_ms)
            .bind(by)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        }
        sqlx::query(
            "DELETE FROM sessions WHERE id IN
                (SELECT id FROM sessions WHERE user = ? AND closed_at_ms IS NOT NULL
                 ORDER BY closed_at_ms DESC, id DESC LIMIT -1 OFFSET ?)",
        )
        .bind(&session.user)
        .bind(n_closed_max)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await
    }

    pub(crate) async fn agent_servers(&self) -> Result<Vec<AgentServers>, StoreError> {
        type Row = (String, Option<String>, Option<bool>, Option<i64>, Option<String>);
        let rows: Vec<Row> = sqlx::query_as(
            "SELECT agent_lists.agent, server, is_pinned, at_ms, by FROM agent_lists
             LEFT JOIN agent_servers ON agent_servers.agent = agent_lists.agent
             ORDER BY agent_lists.agent, server",
        )
        .fetch_all(&self.readers)
        .await
        .map_err(|error| self.failed(error))?;
        let mut lists: BTreeMap<String, Vec<AttachedServer>> = BTreeMap::new();
        for (agent, server, is_pinned, at_ms, by) in rows {
            let servers = lists.entry(agent).or_default();
            if let (Some(server), Some(is_pinned), Some(at_ms), Some(by)) = (server, is_pinned, at_ms, by) {
                servers.push(AttachedServer { server, is_pinned, at_ms, by });
            }
        }
        Ok(lists.into_iter().map(|(agent, servers)| AgentServers { agent, servers }).collect())
    }

    pub(crate) async fn save_agent_servers(
        &self,
        agent: &str,
        servers: Option<&[AttachedServer]>,
    ) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        let delete = "DELETE FROM agent_lists WHERE agent = ?";
        let insert = "INSERT INTO agent_lists (agent) VALUES (?)";
        for sql in [Some(delete), servers.map(|_| insert)].into_iter().flatten() {
            sqlx::query(sql)
                .bind(agent)
                .execute(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        }
        for one in servers.unwrap_or_default() {
            sqlx::query(
                "INSERT INTO agent_servers (agent, server, is_pinned, at_ms, by) VALUES (?, ?, ?, ?, ?)",
            )
            .bind(agent)
            .bind(&one.server)
            .bind(one.is_pinned)
            .bind(one.at_ms)
            .bind(&one.by)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        }
        self.commit_durable(durable).await
    }
}
