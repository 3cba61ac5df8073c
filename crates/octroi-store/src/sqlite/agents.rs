//! Operator-set context of agents, and their use of tools.

use std::collections::BTreeMap;

use sqlx::sqlite::SqliteRow;

use super::{Durable, Sqlite};
use crate::agent::{AgentPreset, AgentRecord, FormerAgent, Pause, ToolUse, ToolUses};
use crate::error::StoreError;

impl Sqlite {
    pub(crate) async fn agent(&self, id: &str) -> Result<Option<AgentRecord>, StoreError> {
        let row = sqlx::query("SELECT * FROM agents WHERE id = ?")
            .bind(id)
            .fetch_optional(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        row.map(|row| self.read_agent(&row)).transpose()
    }

    pub(crate) async fn agents(&self) -> Result<Vec<AgentRecord>, StoreError> {
        let rows = sqlx::query("SELECT * FROM agents ORDER BY id")
            .fetch_all(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.read_agent(row)).collect()
    }

    pub(crate) async fn save_agent(&self, agent: &AgentRecord) -> Result<(), StoreError> {
        let blacklist = agent.blacklist.as_deref().map(|tags| serde_json::Value::from(tags).to_string());
        let (created_at_ms, created_by) = agent.created.as_ref().map(|(at_ms, by)| (*at_ms, by)).unzip();
        let paused = agent.paused.as_ref();
        let mut durable = self.begin_durable().await?;
        sqlx::query(
            "INSERT OR REPLACE INTO agents
                (id, profile, mode, project, project_root, spec_hash, spec_frozen_at_ms, blacklist,
                 updated_at_ms, updated_by, title, owner, created_at_ms, created_by, paused_at_ms, paused_by,
                 pause_reason, preset, system_prompt)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&agent.id)
        .bind(&agent.profile)
        .bind(&agent.mode)
        .bind(&agent.project)
        .bind(&agent.project_root)
        .bind(&agent.spec_hash)
        .bind(agent.spec_frozen_at_ms)
        .bind(blacklist)
        .bind(agent.updated_at_ms)
        .bind(&agent.updated_by)
        .bind(&agent.title)
        .bind(&agent.owner)
        .bind(created_at_ms)
        .bind(created_by)
        .bind(paused.map(|paused| paused.at_ms))
        .bind(paused.map(|paused| &paused.by))
        .bind(paused.and_then(|paused| paused.reason.as_ref()))
        .bind(agent.preset.as_ref().map(|preset| &preset.name))
        .bind(agent.preset.as_ref().and_then(|preset| preset.system_prompt.as_ref()))
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        sqlx::query("DELETE FROM former_agents WHERE id = ?")
            .bind(&agent.id)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        self.commit_durable(durable).await
    }

    pub(crate) async fn remove_agent(&self, former: &FormerAgent) -> Result<(), StoreError> {
        let mut durable = self.begin_durable().await?;
        self.forget_agent(&mut durable, former).await?;
        self.commit_durable(durable).await
    }

    /// What was decided about it stays: approvals, policies that were in effect, the audit log.
    pub(super) async fn forget_agent(
        &self,
        durable: &mut Durable,
        former: &FormerAgent,
    ) -> Result<(), StoreError> {
        for sql in [
            "DELETE FROM tool_uses WHERE agent = ?1",
            "DELETE FROM agents WHERE id = ?1",
            "DELETE FROM agent_lists WHERE agent = ?1",
            "DELETE FROM sessions WHERE agent = ?1",
            "UPDATE tokens SET revoked_at_ms = ?3, revoked_by = ?4 WHERE agent = ?1 AND revoked_at_ms IS NULL",
            "UPDATE policy_revision SET revision = revision + 1
             WHERE EXISTS (SELECT 1 FROM policies WHERE level = 'agent' AND agent = ?1 AND status = 'active')",
            "UPDATE policies SET status = 'superseded' WHERE level = 'agent' AND agent = ?1 AND status = 'active'",
            "UPDATE policies SET status = 'withdrawn', decided_at_ms = ?3, decided_by = ?4
             WHERE level = 'agent' AND agent = ?1 AND status = 'proposed'",
            "INSERT OR REPLACE INTO former_agents (id, owner, removed_at_ms, removed_by) VALUES (?1, ?2, ?3, ?4)",
        ] {
            sqlx::query(sql)
                .bind(&former.id)
                .bind(&former.owner)
                .bind(former.removed_at_ms)
                .bind(&former.removed_by)
                .execute(&mut *durable.transaction)
                .await
                .map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    pub(crate) async fn former_agents(&self) -> Result<Vec<FormerAgent>, StoreError> {
        let rows: Vec<(String, Option<String>, i64, String)> =
            sqlx::query_as("SELECT id, owner, removed_at_ms, removed_by FROM former_agents ORDER BY id")
                .fetch_all(&self.readers)
                .await
                .map_err(|error| self.failed(error))?;
        let former =
            |(id, owner, removed_at_ms, removed_by)| FormerAgent { id, owner, removed_at_ms, removed_by };
        Ok(rows.into_iter().map(former).collect())
    }

    pub(crate) async fn record_uses(&self, uses: &[ToolUse]) -> Result<(), StoreError> {
        // Agents use few tools many times, so uses are summed per tool before they are written.
        let mut sums: BTreeMap<(&str, &str), (i64, i64, i64)> = BTreeMap::new();
        for ToolUse { agent, tool, at_ms } in uses {
            let (first, last, n_uses) = sums.entry((agent, tool)).or_insert((*at_ms, *at_ms, 0));
            *first = (*first).min(*at_ms);
            *last = (*last).max(*at_ms);
            *n_uses += 1;
        }
        let mut transaction = self.begin().await?;
        for ((agent, tool), (first, last, n_uses)) in sums {
            sqlx::query(
                "INSERT INTO tool_uses (agent, tool, first_at_ms, last_at_ms, n_uses) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE SET first_at_ms = min(first_at_ms, ?3),
                    last_at_ms = max(last_at_ms, ?4), n_uses = n_uses + ?5",
            )
            .bind(agent)
            .bind(tool)
            .bind(first)
            .bind(last)
            .bind(n_uses)
            .execute(&mut *transaction)
            .await
            .map_err(|error| self.failed(error))?;
        }
        self.commit(transaction).await
    }

    pub(crate) async fn tool_uses(&self) -> Result<Vec<ToolUses>, StoreError> {
        let rows: Vec<(String, String, i64, i64, i64)> = sqlx::query_as(
            "SELECT agent, tool, first_at_ms, last_at_ms, n_uses FROM tool_uses ORDER BY agent, tool",
        )
        .fetch_all(&self.readers)
        .await
        .map_err(|error| self.failed(error))?;
        let uses = |(agent, tool, first_at_ms, last_at_ms, n_uses): (String, String, i64, i64, i64)| {
            ToolUses { agent, tool, first_at_ms, last_at_ms, n_uses: n_uses.cast_unsigned() }
        };
        Ok(rows.into_iter().map(uses).collect())
    }

    fn read_agent(&self, row: &SqliteRow) -> Result<AgentRecord, StoreError> {
        let blacklist: Option<&str> = self.column(row, "blacklist")?;
        let created_at_ms: Option<i64> = self.column(row, "created_at_ms")?;
        let paused_at_ms: Option<i64> = self.column(row, "paused_at_ms")?;
        let (created_by, paused_by): (Option<String>, Option<String>) =
            (self.column(row, "created_by")?, self.column(row, "paused_by")?);
        let reason = self.column(row, "pause_reason")?;
        let (preset, system_prompt): (Option<String>, Option<String>) =
            (self.column(row, "preset")?, self.column(row, "system_prompt")?);
        Ok(AgentRecord {
            id: self.column(row, "id")?,
            profile: self.column(row, "profile")?,
            mode: self.column(row, "mode")?,
            project: self.column(row, "project")?,
            project_root: self.column(row, "project_root")?,
            spec_hash: self.column(row, "spec_hash")?,
            spec_frozen_at_ms: self.column(row, "spec_frozen_at_ms")?,
            blacklist: blacklist.map(|tags| self.list(tags)).transpose()?,
            title: self.column(row, "title")?,
            owner: self.column(row, "owner")?,
            created: created_at_ms.map(|at_ms| (at_ms, created_by.unwrap_or_default())),
            paused: paused_at_ms.map(|at_ms| Pause { at_ms, by: paused_by.unwrap_or_default(), reason }),
            preset: preset.map(|name| AgentPreset { name, system_prompt }),
            updated_at_ms: self.column(row, "updated_at_ms")?,
            updated_by: self.column(row, "updated_by")?,
        })
    }
}
