//! Approvals. Each change reads the row, applies the state machine, and writes the row, all in one
//! exclusive write transaction.

use octroi_core::Secret;
use octroi_core::approval::{Approval, ApprovalState, Approvers, Binding, CallKey, Event, Refusal};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Sqlite as Driver};

use super::sealing::SealedColumn;
use super::{Durable, Sqlite};
use crate::approval::{ApprovalFilter, ApprovalPart, PendingLimits, Requested, TooManyPending};
use crate::error::StoreError;

/// The states are spelled as in the partial index, or SQLite would not use it.
pub(super) const OPEN: &str = "
    SELECT * FROM approvals
    WHERE principal = ? AND agent IS ? AND tool = ? AND arguments_hash = ?
        AND state IN ('pending', 'approved') AND expires_at_ms > ?
    ORDER BY number DESC";

/// By agent, or by principal where there is none.
const PENDING_OF: &str = "
    SELECT count(*) AS n_pending,
        coalesce(sum(octet_length(arguments) + octet_length(arguments_preview)
            + coalesce(octet_length(other_params_sent), 0) + coalesce(octet_length(other_params), 0)), 0) AS n_bytes
    FROM approvals
    WHERE state IN ('pending', 'approved') AND state = 'pending' AND expires_at_ms > ?3
        AND agent IS ?1 AND (?1 IS NOT NULL OR principal = ?2)";

impl Sqlite {
    pub(crate) async fn request_approval(
        &self,
        approval: &Approval,
        limits: PendingLimits,
    ) -> Result<Result<Requested, TooManyPending>, StoreError> {
        let now_ms = approval.requested_at_ms;
        let mut durable = self.begin_durable().await?;
        let known =
            self.open_approvals(&mut durable.transaction, &approval.binding.call_key(), now_ms).await?;
        let is_open = |known: &&Approval| {
            let is_bound = match known.state {
                // A pending approval is bound to the policies that are active when it is decided.
                ApprovalState::Pending => known.binding.is_same_question(&approval.binding),
                _ => known.binding == approval.binding,
            };
            is_bound && known.approvers == approval.approvers
        };
        if let Some(same) = known.iter().find(is_open) {
            return Ok(Ok(Requested { approval: same.clone(), is_new: false, replaced: Vec::new() }));
        }
        let mut replaced = Vec::new();
        for mut outdated in known {
            // An operator may still be reviewing it, but its grant could not be used.
            let what = outdated.binding.differs(&approval.binding).unwrap_or("who may decide");
            let state = outdated.state;
            if outdated.apply(Event::Cancel { reason: format!("{what} has changed") }, now_ms).is_ok() {
                outdated.forget_arguments();
                self.write_approval(&mut durable, state, &outdated).await?;
                replaced.push(outdated);
            }
        }
        // After those that were replaced, which count no longer.
        let pending = self.pending_of(&mut durable.transaction, &approval.binding, now_ms).await?;
        let n_previewed =
            approval.arguments_preview.len() + approval.other_params_preview.as_ref().map_or(0, String::len);
        let n_bytes = approval.n_bytes().saturating_add(n_previewed);
        if pending.n_pending >= limits.n_pending || pending.n_bytes.saturating_add(n_bytes) > limits.n_bytes {
            return Ok(Err(pending));
        }
        // What is over counts too, and gives way to what waits.
        let n_left = limits.n_bytes - pending.n_bytes - n_bytes;
        self.make_room(&mut durable.transaction, &approval.binding, n_left).await?;
        self.insert_approval(&mut durable, approval).await?;
        self.commit_durable(durable).await?;
        Ok(Ok(Requested { approval: approval.clone(), is_new: true, replaced }))
    }

    /// What of an agent waits for a person.
    async fn pending_of(
        &self,
        connection: &mut SqliteConnection,
        binding: &Binding,
        now_ms: i64,
    ) -> Result<TooManyPending, StoreError> {
        let row = sqlx::query(PENDING_OF)
            .bind(&binding.agent)
            .bind(&binding.principal)
            .bind(now_ms)
            .fetch_one(connection)
            .await
            .map_err(|error| self.failed(error))?;
        let number =
            |column| self.column::<i64>(&row, column).map(|n| usize::try_from(n).unwrap_or_default());
        Ok(TooManyPending { n_pending: number("n_pending")?, n_bytes: number("n_bytes")? })
    }

    pub(crate) async fn approval(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let row = sqlx::query("SELECT * FROM approvals WHERE id = ?")
            .bind(id)
            .fetch_optional(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        row.map(|row| self.read_approval(&row)).transpose()
    }

    pub(crate) async fn approvals(
        &self,
        filter: &ApprovalFilter,
        before: Option<&str>,
        n_max: u32,
    ) -> Result<Vec<Approval>, StoreError> {
        // Agents take turns, so that none hides the questions of another behind many of its own.
        let is_shared = filter.part == ApprovalPart::Pending && before.is_none();
        let mut query = QueryBuilder::<Driver>::new(if is_shared {
            "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY coalesce(agent, principal) \
             ORDER BY number DESC) AS turn FROM approvals WHERE "
        } else {
            "SELECT * FROM (SELECT *, 0 AS turn FROM approvals WHERE "
        });
        query.push(match filter.part {
            ApprovalPart::All => "TRUE",
            ApprovalPart::Pending => "state = 'pending'",
            ApprovalPart::History => "state <> 'pending'",
            ApprovalPart::Open => "state IN ('pending', 'approved')",
        });
        if let Some(agent) = &filter.agent {
            query.push(" AND agent = ").push_bind(agent.clone());
        }
        if let Some(before) = before {
            query
                .push(" AND number < (SELECT number FROM approvals WHERE id = ")
                .push_bind(before.to_owned())
                .push(")");
        }
        query.push(" ORDER BY number DESC");
        // Without turns, what is left out need not be read.
        if !is_shared {
            query.push(" LIMIT ").push_bind(n_max);
        }
        query.push(") ORDER BY turn, number DESC LIMIT ").push_bind(n_max);
        let rows = query.build().fetch_all(&self.readers).await.map_err(|error| self.failed(error))?;
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            found.push((self.column::<i64>(row, "number")?, self.read_approval(row)?));
        }
        found.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        Ok(found.into_iter().map(|(_, approval)| approval).collect())
    }

    pub(crate) async fn find_grant(
        &self,
        key: &CallKey,
        now_ms: i64,
    ) -> Result<Option<Approval>, StoreError> {
        let mut connection = self.readers.acquire().await.map_err(|error| self.failed(error))?;
        let open = self.open_approvals(&mut connection, key, now_ms).await?;
        Ok(open.into_iter().find(|approval| approval.state == ApprovalState::Approved))
    }

    pub(crate) async fn change_approval(
        &self,
        id: &str,
        event: Event,
        now_ms: i64,
    ) -> Result<Result<Approval, Refusal>, StoreError> {
        let mut durable = self.begin_durable().await?;
        let row = sqlx::query("SELECT * FROM approvals WHERE id = ?")
            .bind(id)
            .fetch_optional(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        let Some(row) = row else { return Ok(Err(Refusal::Unknown)) };
        let mut approval = self.read_approval(&row)?;
        let state = approval.state;
        if let Err(refusal) = approval.apply(event, now_ms) {
            return Ok(Err(refusal));
        }
        // Nobody will make the call, and no person asked for it to be kept.
        if approval.state == ApprovalState::Cancelled {
            approval.forget_arguments();
        }
        self.write_approval(&mut durable, state, &approval).await?;
        self.commit_durable(durable).await?;
        Ok(Ok(approval))
    }

    pub(crate) async fn expire_approvals(&self, now_ms: i64) -> Result<Vec<Approval>, StoreError> {
        let due = "SELECT * FROM approvals WHERE state IN ('pending', 'approved') AND expires_at_ms <= ?1
                   ORDER BY number";
        // Usually there are none, and then no write transaction is needed.
        let first = sqlx::query(due)
            .bind(now_ms)
            .fetch_optional(&self.readers)
            .await
            .map_err(|error| self.failed(error))?;
        if first.is_none() {
            return Ok(Vec::new());
        }
        let mut durable = self.begin_durable().await?;
        let rows = sqlx::query(due)
            .bind(now_ms)
            .fetch_all(&mut *durable.transaction)
            .await
            .map_err(|error| self.failed(error))?;
        self.change_all(durable, &rows, &Event::Expire, now_ms).await
    }

    pub(crate) async fn orphan_claimed(
        &self,
        node: Option<&str>,
        now_ms: i64,
    ) -> Result<Vec<Approval>, StoreError> {
        let mut durable = self.begin_durable().await?;
        let rows = sqlx::query(
            "SELECT * FROM approvals WHERE state = 'claimed' AND (?1 IS NULL OR node = ?1) ORDER BY number",
        )
        .bind(node)
        .fetch_all(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        self.change_all(durable, &rows, &Event::Crash, now_ms).await
    }

    /// Applies the same event to several approvals; returns those that changed.
    async fn change_all(
        &self,
        mut durable: Durable,
        rows: &[SqliteRow],
        event: &Event,
        now_ms: i64,
    ) -> Result<Vec<Approval>, StoreError> {
        let mut changed = Vec::with_capacity(rows.len());
        for row in rows {
            let mut approval = self.read_approval(row)?;
            let state = approval.state;
            if approval.apply(event.clone(), now_ms).is_ok() {
                self.write_approval(&mut durable, state, &approval).await?;
                changed.push(approval);
            }
        }
        self.commit_durable(durable).await?;
        Ok(changed)
    }

    /// The pending and approved ones of an identical call, the newest first.
    async fn open_approvals(
        &self,
        connection: &mut SqliteConnection,
        key: &CallKey,
        now_ms: i64,
    ) -> Result<Vec<Approval>, StoreError> {
        let rows = sqlx::query(OPEN)
            .bind(&key.principal)
            .bind(&key.agent)
            .bind(&key.tool)
            .bind(key.arguments_hash.as_slice())
            .bind(now_ms)
            .fetch_all(connection)
            .await
            .map_err(|error| self.failed(error))?;
        rows.iter().map(|row| self.read_approval(row)).collect()
    }

    async fn insert_approval(&self, durable: &mut Durable, approval: &Approval) -> Result<(), StoreError> {
        let binding = &approval.binding;
        let seal = |column: SealedColumn, text: Option<&str>| {
            text.map(|text| self.sealed(&approval.id, column, text)).transpose()
        };
        sqlx::query(
            "INSERT INTO approvals (
                id, call_id, principal, agent, tool, definition_hash, arguments_hash, policy_revision, state,
                arguments_preview, arguments, edited_arguments, risk, side_effects, reasons,
                requested_at_ms, expires_at_ms, decided_at_ms, decided_by, decision_reason,
                claimed_at_ms, finished_at_ms, outcome, remembered_rule, node, other_params,
                other_params_sent, approvers)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&approval.id)
        .bind(&approval.call_id)
        .bind(&binding.principal)
        .bind(&binding.agent)
        .bind(&binding.tool)
        .bind(binding.definition_hash.as_slice())
        .bind(binding.arguments_hash.as_slice())
        .bind(binding.policy_revision.cast_signed())
        .bind(approval.state.as_str())
        .bind(self.sealed(&approval.id, SealedColumn::Preview, &approval.arguments_preview)?)
        .bind(self.sealed(&approval.id, SealedColumn::Arguments, approval.arguments.expose())?)
        .bind(self.sealed_edit(approval)?)
        .bind(&approval.risk)
        .bind(serde_json::Value::from(approval.side_effects.as_slice()).to_string())
        .bind(serde_json::Value::from(approval.reasons.as_slice()).to_string())
        .bind(approval.requested_at_ms)
        .bind(approval.expires_at_ms)
        .bind(approval.decided_at_ms)
        .bind(&approval.decided_by)
        .bind(&approval.decision_reason)
        .bind(approval.claimed_at_ms)
        .bind(approval.finished_at_ms)
        .bind(&approval.outcome)
        .bind(&approval.remembered_rule)
        .bind(&approval.node)
        .bind(seal(SealedColumn::ParamsPreview, approval.other_params_preview.as_deref())?)
        .bind(seal(SealedColumn::Params, approval.other_params.as_ref().map(Secret::expose))?)
        .bind(serde_json::Value::from(approval.approvers.to_words()).to_string())
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// Writes the mutable columns, provided that the row is still in the state that was read.
    async fn write_approval(
        &self,
        durable: &mut Durable,
        before: ApprovalState,
        approval: &Approval,
    ) -> Result<(), StoreError> {
        let result = sqlx::query(
            "UPDATE approvals SET
                state = ?3, edited_arguments = coalesce(?4, edited_arguments), decided_at_ms = ?5, decided_by = ?6, decision_reason = ?7,
                claimed_at_ms = ?8, finished_at_ms = ?9, outcome = ?10, remembered_rule = ?11,
                policy_revision = ?12, expires_at_ms = ?13
             WHERE id = ?1 AND state = ?2",
        )
        .bind(&approval.id)
        .bind(before.as_str())
        .bind(approval.state.as_str())
        .bind(self.sealed_edit(approval)?)
        .bind(approval.decided_at_ms)
        .bind(&approval.decided_by)
        .bind(&approval.decision_reason)
        .bind(approval.claimed_at_ms)
        .bind(approval.finished_at_ms)
        .bind(&approval.outcome)
        .bind(&approval.remembered_rule)
        .bind(approval.binding.policy_revision.cast_signed())
        .bind(approval.expires_at_ms)
        .execute(&mut *durable.transaction)
        .await
        .map_err(|error| self.failed(error))?;
        match result.rows_affected() {
            1 if approval.state == ApprovalState::Cancelled => self.write_forgotten(durable, approval).await,
            1 => Ok(()),
            _ => Err(self.failed(sqlx::Error::RowNotFound)),
        }
    }

    /// The edited arguments as they are stored; `None` if there are none to write.
    fn sealed_edit(&self, approval: &Approval) -> Result<Option<String>, StoreError> {
        let edited = approval.edited_arguments.as_ref().filter(|edited| !edited.expose().is_empty());
        edited.map(|edited| self.sealed(&approval.id, SealedColumn::Edited, edited.expose())).transpose()
    }

    fn read_approval(&self, row: &SqliteRow) -> Result<Approval, StoreError> {
        let state: String = self.column(row, "state")?;
        let id: String = self.column(row, "id")?;
        let held = self.held_arguments(&id, row)?;
        Ok(Approval {
            id,
            call_id: self.column(row, "call_id")?,
            binding: Binding {
                principal: self.column(row, "principal")?,
                agent: self.column(row, "agent")?,
                tool: self.column(row, "tool")?,
                definition_hash: self.hash_column(row, "definition_hash")?,
                arguments_hash: self.hash_column(row, "arguments_hash")?,
                policy_revision: self.column::<i64>(row, "policy_revision")?.cast_unsigned(),
            },
            state: ApprovalState::parse(&state).ok_or_else(self.unreadable("state of an approval"))?,
            arguments_preview: held.preview,
            arguments: held.arguments,
            arguments_state: held.state,
            edited_arguments: held.edited,
            other_params_preview: held.params_preview,
            other_params: held.params,
            risk: self.column(row, "risk")?,
            side_effects: self.list_column(row, "side_effects")?,
            reasons: self.list_column(row, "reasons")?,
            approvers: Approvers::of_words(&self.list_column(row, "approvers")?)
                .ok_or_else(self.unreadable("who may decide about an approval"))?,
            requested_at_ms: self.column(row, "requested_at_ms")?,
            expires_at_ms: self.column(row, "expires_at_ms")?,
            decided_at_ms: self.column(row, "decided_at_ms")?,
            decided_by: self.column(row, "decided_by")?,
            decision_reason: self.column(row, "decision_reason")?,
            claimed_at_ms: self.column(row, "claimed_at_ms")?,
            finished_at_ms: self.column(row, "finished_at_ms")?,
            outcome: self.column(row, "outcome")?,
            remembered_rule: self.column(row, "remembered_rule")?,
            node: self.column(row, "node")?,
        })
    }
}
