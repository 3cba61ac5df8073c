//! Policies.

use sqlx::sqlite::SqliteRow;

use super::{Durable, Sqlite};
use crate::error::StoreError;
use crate::policy::{
    ActivePolicies, PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal, PolicyStatus, ProposalVerdict,
};

impl Sqlite {
    pub(crate) async fn activate_policy(
        &self,
        draft: &PolicyDraft,
        expected_version: Option<i64>,
        now_ms: i64,
    ) -> Result<Result<PolicyRecord, PolicyRefusal>, StoreError> {
        let mut durable = self.begin_durable().await?;
        let active: Option<i64> = sqlx::query_scalar(
            "SELECT version FROM policies WHERE level = ? AND agent = ? AND status = 'active'",
        )
        .bind(draft.level.as_str())
        .bind(draft.level.agent().unwrap_or_default())
        .fetch_optional(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        let now = active.unwrap_or_default();
        if let Some(expected) = expected_version.filter(|&expected| expected != now) {
            return Ok(Err(PolicyRefusal::Changed { expected, now }));
        }
        let id = self.insert_policy(&mut durable, draft, false, now_ms).await?;
        self.make_active(&mut durable, id, &draft.level).await?;
        self.policy_after(durable, id).await.map(Ok)
    }

    pub(crate) async fn active_policies(&self) -> Result<ActivePolicies, StoreError> {
        // Both in one snapshot.
        let mut transaction = self.readers.begin().await.map_err(|error| self.failed(error))?;
        let revision: i64 = sqlx::query_scalar("SELECT revision FROM policy_revision")
            .fetch_one(&mut *transaction)
            .await
            .map_err(|error| self.failed(error))?;
        let rows = sqlx::query(
            "SELECT * FROM policies WHERE status = 'active'
             ORDER BY CASE level WHEN 'floor' THEN 0 WHEN 'global' THEN 1 ELSE 2 END, agent",
        )
        .fetch_all(&mut *transaction)
        .await
        .map_err(|error| self.failed(error))?;
        Ok(ActivePolicies { revision: revision.cast_unsigned(), policies: self.read_policies(&rows)? })
    }

    pub(crate) async fn policy(&self, id: i64) -> Result<Option<PolicyRecord>, StoreError> {
        let row = sqlx::query("SELECT * FROM policies WHERE id = ?")
            .bind(id)
            .fetch_optional(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        row.map(|row| self.read_policy(&row)).transpose()
    }

    pub(crate) async fn policy_history(
        &self,
        level: &PolicyLevel,
        n_max: u32,
    ) -> Result<Vec<PolicyRecord>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM policies WHERE level = ? AND agent = ? AND version IS NOT NULL
             ORDER BY version DESC LIMIT ?",
        )
        .bind(level.as_str())
        .bind(level.agent().unwrap_or_default())
        .bind(n_max)
        .fetch_all(&self.readers)
        .await
        .map_err(|error| self.failed(error))?;
        self.read_policies(&rows)
    }

    pub(crate) async fn propose_policy(
        &self,
        draft: &PolicyDraft,
        now_ms: i64,
    ) -> Result<PolicyRecord, StoreError> {
        let mut durable = self.begin_durable().await?;
        let id = self.insert_policy(&mut durable, draft, true, now_ms).await?;
        self.policy_after(durable, id).await
    }

    pub(crate) async fn proposals(
        &self,
        agent: Option<&str>,
        status: Option<PolicyStatus>,
        n_max: u32,
    ) -> Result<Vec<PolicyRecord>, StoreError> {
        let rows = sqlx::query(
            "SELECT * FROM policies
             WHERE was_proposed = 1 AND (?1 IS NULL OR agent = ?1 OR author = ?1) AND (?2 IS NULL OR status = ?2)
             ORDER BY id DESC LIMIT ?3",
        )
        .bind(agent)
        .bind(status.map(PolicyStatus::as_str))
        .bind(n_max)
        .fetch_all(&self.readers)
        .await
        .map_err(|error| self.failed(error))?;
        self.read_policies(&rows)
    }

    pub(crate) async fn decide_proposal(
        &self,
        id: i64,
        verdict: ProposalVerdict,
        by: &str,
        reason: Option<&str>,
        now_ms: i64,
    ) -> Result<Result<PolicyRecord, PolicyRefusal>, StoreError> {
        let mut durable = self.begin_durable().await?;
        let proposal = match self.waiting_proposal(&mut durable, id, None).await? {
            Ok(proposal) => proposal,
            Err(refusal) => return Ok(Err(refusal)),
        };
        match verdict {
            ProposalVerdict::Approve => self.make_active(&mut durable, id, &proposal.draft.level).await?,
            ProposalVerdict::Reject => self.set_status(&mut durable, id, PolicyStatus::Rejected).await?,
        }
        self.sign(&mut durable, id, by, reason, now_ms).await?;
        self.policy_after(durable, id).await.map(Ok)
    }

    pub(crate) async fn withdraw_proposal(
        &self,
        id: i64,
        author: &str,
        now_ms: i64,
    ) -> Result<Result<PolicyRecord, PolicyRefusal>, StoreError> {
        let mut durable = self.begin_durable().await?;
        // Other agents must not learn of this proposal.
        if let Err(refusal) = self.waiting_proposal(&mut durable, id, Some(author)).await? {
            return Ok(Err(refusal));
        }
        self.set_status(&mut durable, id, PolicyStatus::Withdrawn).await?;
        self.sign(&mut durable, id, author, None, now_ms).await?;
        self.policy_after(durable, id).await.map(Ok)
    }

    pub(crate) async fn policy_revision(&self) -> Result<u64, StoreError> {
        let revision: i64 = sqlx::query_scalar("SELECT revision FROM policy_revision")
            .fetch_one(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(revision.cast_unsigned())
    }

    async fn insert_policy(
        &self,
        durable: &mut Durable,
        draft: &PolicyDraft,
        was_proposed: bool,
        now_ms: i64,
    ) -> Result<i64, StoreError> {
        sqlx::query_scalar(
            "INSERT INTO policies
                (level, agent, language, source, status, was_proposed, author, rationale, check_result,
                 created_at_ms)
             VALUES (?, ?, ?, ?, 'proposed', ?, ?, ?, ?, ?) RETURNING id",
        )
        .bind(draft.level.as_str())
        .bind(draft.level.agent().unwrap_or_default())
        .bind(&draft.language)
        .bind(&draft.source)
        .bind(was_proposed)
        .bind(&draft.author)
        .bind(&draft.rationale)
        .bind(&draft.check_result)
        .bind(now_ms)
        .fetch_one(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))
    }

    /// Replaces the active policy, and increases the revision.
    async fn make_active(
        &self,
        durable: &mut Durable,
        id: i64,
        level: &PolicyLevel,
    ) -> Result<(), StoreError> {
        let (level, agent) = (level.as_str(), level.agent().unwrap_or_default());
        sqlx::query(
            "UPDATE policies SET status = 'superseded' WHERE level = ? AND agent = ? AND status = 'active'",
        )
        .bind(level)
        .bind(agent)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        sqlx::query(
            "UPDATE policies SET status = 'active', version = (
                SELECT coalesce(max(version), 0) + 1 FROM policies
                WHERE level = ?2 AND agent = ?3 AND version IS NOT NULL
             ) WHERE id = ?1",
        )
        .bind(id)
        .bind(level)
        .bind(agent)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        sqlx::query("UPDATE policy_revision SET revision = revision + 1")
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(())
    }

    async fn set_status(
        &self,
        durable: &mut Durable,
        id: i64,
        status: PolicyStatus,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE policies SET status = ? WHERE id = ?")
            .bind(status.as_str())
            .bind(id)
            .execute(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        Ok(())
    }

    async fn sign(
        &self,
        durable: &mut Durable,
        id: i64,
        by: &str,
        reason: Option<&str>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE policies SET decided_at_ms = ?, decided_by = ?, decision_reason = ? WHERE id = ?",
        )
        .bind(now_ms)
        .bind(by)
        .bind(reason)
        .bind(id)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// A pending proposal; of this author, if one is given.
    async fn waiting_proposal(
        &self,
        durable: &mut Durable,
        id: i64,
        author: Option<&str>,
    ) -> Result<Result<PolicyRecord, PolicyRefusal>, StoreError> {
        let row = sqlx::query(
            "SELECT * FROM policies WHERE id = ?1 AND was_proposed = 1 AND (?2 IS NULL OR author = ?2)",
        )
        .bind(id)
        .bind(author)
        .fetch_optional(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        let Some(row) = row else { return Ok(Err(PolicyRefusal::Unknown)) };
        let proposal = self.read_policy(&row)?;
        Ok(match proposal.status {
            PolicyStatus::Proposed => Ok(proposal),
            PolicyStatus::Active
            | PolicyStatus::Rejected
            | PolicyStatus::Superseded
            | PolicyStatus::Withdrawn => Err(PolicyRefusal::Decided {
                status: proposal.status,
                by: proposal.decided_by,
                at_ms: proposal.decided_at_ms,
            }),
        })
    }

    /// Commits, and returns the policy as stored.
    async fn policy_after(&self, mut durable: Durable, id: i64) -> Result<PolicyRecord, StoreError> {
        let row = sqlx::query("SELECT * FROM policies WHERE id = ?")
            .bind(id)
            .fetch_one(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        let policy = self.read_policy(&row)?;
        self.commit_durable(durable).await?;
        Ok(policy)
    }

    fn read_policies(&self, rows: &[SqliteRow]) -> Result<Vec<PolicyRecord>, StoreError> {
        rows.iter().map(|row| self.read_policy(row)).collect()
    }

    fn read_policy(&self, row: &SqliteRow) -> Result<PolicyRecord, StoreError> {
        let level = PolicyLevel::parse(self.column(row, "level")?, self.column(row, "agent")?);
        let status = PolicyStatus::parse(self.column(row, "status")?);
        Ok(PolicyRecord {
            id: self.column(row, "id")?,
            draft: PolicyDraft {
                level: level.ok_or_else(self.unreadable("level of a policy"))?,
                language: self.column(row, "language")?,
                source: self.column(row, "source")?,
                author: self.column(row, "author")?,
                rationale: self.column(row, "rationale")?,
                check_result: self.column(row, "check_result")?,
            },
            version: self.column(row, "version")?,
            status: status.ok_or_else(self.unreadable("status of a policy"))?,
            was_proposed: self.column(row, "was_proposed")?,
            created_at_ms: self.column(row, "created_at_ms")?,
            decided_at_ms: self.column(row, "decided_at_ms")?,
            decided_by: self.column(row, "decided_by")?,
            decision_reason: self.column(row, "decision_reason")?,
        })
    }
}
