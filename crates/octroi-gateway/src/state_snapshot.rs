//! What the database must not forget, as records of the audit log: accepted and rejected definitions,
//! policies, settings of agents, users, tokens, and switches of servers.
//!
//! A snapshot is one or more `state_snapshot` records. `octroi db rebuild` makes a lost database again from
//! the last complete one.

use octroi_core::ServerKey;
use octroi_core::audit::{Entry, Kind};
use octroi_core::pin::{PinKey, PinKind};
use octroi_store::{
    AgentPreset, AgentRecord, CanonicalJson, FormerAgent, KeptOut, ManagedBy, Pause, PinRecord, PolicyDraft,
    PolicyLevel, Store, StoreError,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

mod people;

/// A record holds about as many bytes.
const PART_BYTES: usize = 256 << 10;

/// One thing to remember.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum SnapshotItem {
    /// A definition that was accepted.
    Pin {
        server: String,
        kind: String,
        name: String,
        hash: String,
        definition: String,
        at_ms: i64,
        by: String,
    },
    /// A definition that was rejected.
    KeptOut { server: String, kind: String, name: String, hash: String, at_ms: i64, by: String },
    /// An active policy. If a secret was redacted from it, it cannot be used again.
    Policy {
        level: String,
        agent: Option<String>,
        language: String,
        source: String,
        author: String,
        redacted: bool,
    },
    /// The settings of an agent that an operator made.
    Agent {
        id: String,
        profile: Option<String>,
        mode: Option<String>,
        project: Option<String>,
        project_root: Option<String>,
        spec_hash: Option<String>,
        spec_frozen_at_ms: Option<i64>,
        blacklist: Option<Vec<String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        paused_by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preset: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system_prompt: Option<String>,
        at_ms: i64,
        by: String,
    },
    /// An agent that was removed, whose id stays reserved.
    FormerAgent { id: String, owner: Option<String>, at_ms: i64, by: String },
    /// A user.
    User { name: String, role: String, disabled: bool, at_ms: i64, by: String },
    /// A token, without its secret: one that was revoked must not be accepted again.
    Token {
        id: String,
        hash: String,
        kind: String,
        user: String,
        agent: Option<String>,
        session: Option<String>,
        label: String,
        at_ms: i64,
        by: String,
        expires_at_ms: Option<i64>,
        revoked_at_ms: Option<i64>,
        revoked_by: Option<String>,
        replaced_by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        browser_key: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signed_in_with: Option<String>,
    },
    /// A server that an operator enabled or disabled.
    Switch {
        server: String,
        enabled: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A server that an admin has said yes to.
    Agreed { server: String },
}

/// Reads everything to remember. `redact` removes secrets from a text.
pub(crate) async fn read_state(
    store: &Store,
    redact: impl Fn(&str) -> String,
) -> Result<Vec<SnapshotItem>, StoreError> {
    let mut items = Vec::new();
    for pin in store.pins().await? {
        items.push(SnapshotItem::Pin {
            server: pin.key.server.to_string(),
            kind: pin.key.kind.as_str().to_owned(),
            name: pin.key.name,
            hash: hex::encode(pin.hash),
            // Decisions need the hash only; the definition is for people, who compare.
            definition: redact(&pin.definition),
            at_ms: pin.accepted_at_ms,
            by: pin.accepted_by,
        });
    }
    for one in store.kept_out().await? {
        items.push(SnapshotItem::KeptOut {
            server: one.key.server.to_string(),
            kind: one.key.kind.as_str().to_owned(),
            name: one.key.name,
            hash: hex::encode(one.hash),
            at_ms: one.decided_at_ms,
            by: one.decided_by,
        });
    }
    for policy in store.active_policies().await?.policies {
        let source = redact(&policy.draft.source);
        items.push(SnapshotItem::Policy {
            level: policy.draft.level.as_str().to_owned(),
            agent: policy.draft.level.agent().map(str::to_owned),
            language: policy.draft.language,
            redacted: source != policy.draft.source,
            source,
            author: policy.draft.author,
        });
    }
    items.extend(store.agents().await?.into_iter().map(agent_item));
    items.extend(store.former_agents().await?.into_iter().map(|former| SnapshotItem::FormerAgent {
        id: former.id,
        owner: former.owner,
        at_ms: former.removed_at_ms,
        by: former.removed_by,
    }));
    items.extend(store.users().await?.into_iter().map(people::user_item));
    items.extend(store.tokens().await?.into_iter().filter_map(people::token_item));
    for server in store.servers().await? {
        if server.is_agreed {
            items.push(SnapshotItem::Agreed { server: server.key.to_string() });
        }
        if let Some(enabled) = server.enabled_override {
            let by = server.switched_by;
            items.push(SnapshotItem::Switch { server: server.key.to_string(), enabled, by });
        }
    }
    Ok(items)
}

fn agent_item(agent: AgentRecord) -> SnapshotItem {
    let AgentRecord {
        id,
        profile,
        mode,
        project,
        project_root,
        spec_hash,
        spec_frozen_at_ms,
        blacklist,
        title,
        owner,
        created: _,
        paused,
        preset,
        updated_at_ms: at_ms,
        updated_by: by,
    } = agent;
    let (preset, system_prompt) = preset.map(|preset| (preset.name, preset.system_prompt)).unzip();
    SnapshotItem::Agent {
        title,
        owner,
        paused_by: paused.map(|paused| paused.by),
        preset,
        system_prompt: system_prompt.flatten(),
        id,
        profile,
        mode,
        project,
        project_root,
        spec_hash,
        spec_frozen_at_ms,
        blacklist,
        at_ms,
        by,
    }
}

/// What identifies the content of a snapshot.
pub(crate) fn digest(items: &[SnapshotItem]) -> String {
    hex::encode(&Sha256::digest(json!(items).to_string())[..16])
}

/// A snapshot as the contexts of its records. Its number tells an older database.
pub(crate) fn to_records(items: &[SnapshotItem], number: u64) -> Vec<String> {
    let digest = digest(items);
    let texts: Vec<Value> = items.iter().map(|item| json!(item)).collect();
    let mut parts: Vec<Vec<Value>> = Vec::new();
    let mut n_bytes = 0;
    for text in texts {
        let length = text.to_string().len();
        match parts.last_mut().filter(|_| n_bytes + length <= PART_BYTES) {
            Some(part) => part.push(text),
            None => {
                parts.push(vec![text]);
                n_bytes = 0;
            }
        }
        n_bytes += length;
    }
    // An empty state is a snapshot as well: it says that nothing else counts any more.
    let n_parts = parts.len().max(1);
    parts.resize(n_parts, Vec::new());
    let record = |(items, part): (Vec<Value>, usize)| {
        json!({"snapshot": digest, "number": number, "part": part, "parts": n_parts, "items": items})
            .to_string()
    };
    parts.into_iter().zip(1..).map(record).collect()
}

/// Finds the last complete snapshot in a sequence of records.
#[derive(Debug, Default)]
pub(crate) struct SnapshotReader {
    current: Option<(String, Vec<SnapshotItem>, usize)>,
    complete: Option<Vec<SnapshotItem>>,
}

#[derive(Deserialize)]
struct SnapshotRecord {
    snapshot: String,
    part: usize,
    parts: usize,
    items: Vec<SnapshotItem>,
}

impl SnapshotReader {
    /// Reads the next record. Returns whether it completes a snapshot.
    pub(crate) fn take(&mut self, entry: &Entry<'_>) -> bool {
        if entry.kind != Kind::StateSnapshot {
            return false;
        }
        let Ok(part) = serde_json::from_str::<SnapshotRecord>(entry.context) else { return false };
        let before = self.current.take().filter(|(id, _, n)| *id == part.snapshot && n + 1 == part.part);
        let mut items = match before {
            Some((_, items, _)) => items,
            None if part.part == 1 => Vec::new(),
            None => return false,
        };
        items.extend(part.items);
        if part.part == part.parts {
            self.complete = Some(items);
            return true;
        }
        self.current = Some((part.snapshot, items, part.part));
        false
    }

    /// The last complete snapshot.
    pub(crate) fn into_complete(self) -> Option<Vec<SnapshotItem>> {
        self.complete
    }
}

/// What was put into a new database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilt {
    /// Accepted definitions.
    pub n_pins: usize,
    /// Rejected definitions.
    pub n_kept_out: usize,
    /// Active policies.
    pub n_policies: usize,
    /// Settings of agents.
    pub n_agents: usize,
    /// Users.
    pub n_users: usize,
    /// Tokens, also revoked ones.
    pub n_tokens: usize,
    /// Switched servers.
    pub n_switches: usize,
    /// What could not be rebuilt.
    pub lost: Vec<String>,
}

/// Puts a snapshot into a new database.
pub(crate) async fn write_state(
    store: &Store,
    items: Vec<SnapshotItem>,
    now_ms: i64,
) -> Result<Rebuilt, StoreError> {
    let mut rebuilt = Rebuilt::default();
    for item in items {
        write_item(store, item, now_ms, &mut rebuilt).await?;
    }
    Ok(rebuilt)
}

async fn write_item(
    store: &Store,
    item: SnapshotItem,
    now_ms: i64,
    rebuilt: &mut Rebuilt,
) -> Result<(), StoreError> {
    match item {
        SnapshotItem::Pin { server, kind, name, hash, definition, at_ms, by } => {
            let Some((key, hash)) = pin_key(&server, &kind, &name, &hash) else {
                rebuilt.lost.push(format!("the definition {server}.{name}, which cannot be read"));
                return Ok(());
            };
            store
                .save_pins(&[PinRecord { key, hash, definition, accepted_at_ms: at_ms, accepted_by: by }])
                .await?;
            rebuilt.n_pins += 1;
        }
        SnapshotItem::KeptOut { server, kind, name, hash, at_ms, by } => {
            let Some((key, hash)) = pin_key(&server, &kind, &name, &hash) else {
                rebuilt.lost.push(format!("the rejected definition {server}.{name}, which cannot be read"));
                return Ok(());
            };
            store.keep_out(&KeptOut { key, hash, decided_at_ms: at_ms, decided_by: by }).await?;
            rebuilt.n_kept_out += 1;
        }
        SnapshotItem::Policy { level, redacted: true, .. } => {
            rebuilt.lost.push(format!("the policy of the level {level}: a secret was redacted from it"));
        }
        SnapshotItem::Policy { level, agent, language, source, author, redacted: false } => {
            let draft = policy_draft(&level, agent, language, source, author);
            match store.activate_policy(&draft, None, now_ms).await? {
                Ok(_) => rebuilt.n_policies += 1,
                Err(refusal) => rebuilt.lost.push(format!("the policy of the level {level}: {refusal}")),
            }
        }
        item @ SnapshotItem::Agent { .. } => {
            if let Some(agent) = agent_record(item) {
                store.save_agent(&agent).await?;
                rebuilt.n_agents += 1;
            }
        }
        item @ SnapshotItem::User { .. } => match people::user_record(item) {
            Some(user) => {
                store.save_user(&user).await?;
                rebuilt.n_users += 1;
            }
            None => rebuilt.lost.push("a user who cannot be read".to_owned()),
        },
        item @ SnapshotItem::Token { .. } => match people::token_record(item) {
            Some(token) => {
                store.save_tokens(&[token]).await?;
                rebuilt.n_tokens += 1;
            }
            None => rebuilt.lost.push("a token that cannot be read".to_owned()),
        },
        SnapshotItem::FormerAgent { id, owner, at_ms: removed_at_ms, by: removed_by } => {
            store.remove_agent(&FormerAgent { id, owner, removed_at_ms, removed_by }).await?;
        }
        SnapshotItem::Agreed { server } => {
            if let Some(key) = rebuild_server(store, &server, now_ms).await? {
                store.agree_to_server(&key).await?;
            }
        }
        SnapshotItem::Switch { server, enabled, by } => {
            let Some(key) = rebuild_server(store, &server, now_ms).await? else { return Ok(()) };
            store.set_enabled_override(&key, Some((enabled, by.as_deref().unwrap_or("an operator")))).await?;
            rebuilt.n_switches += 1;
        }
    }
    Ok(())
}

/// Records a server under its name; the next start records its real definition.
async fn rebuild_server(store: &Store, server: &str, now_ms: i64) -> Result<Option<ServerKey>, StoreError> {
    let Some(key) = ServerKey::parse(server) else { return Ok(None) };
    let definition = CanonicalJson::of(json!({"name": server}));
    store.record_server(&key, ManagedBy::File, &definition, now_ms).await?;
    Ok(Some(key))
}

fn policy_draft(
    level: &str,
    agent: Option<String>,
    language: String,
    source: String,
    author: String,
) -> PolicyDraft {
    let level = match (level, agent) {
        ("floor", _) => PolicyLevel::Floor,
        ("global", _) => PolicyLevel::Global,
        (_, agent) => PolicyLevel::Agent(agent.unwrap_or_default()),
    };
    let rationale = Some("rebuilt from the audit log".to_owned());
    PolicyDraft { level, language, source, author, rationale, check_result: None }
}

fn agent_record(item: SnapshotItem) -> Option<AgentRecord> {
    match item {
        SnapshotItem::Agent {
            id,
            profile,
            mode,
            project,
            project_root,
            spec_hash,
            spec_frozen_at_ms,
            blacklist,
            title,
            owner,
            paused_by,
            preset,
            system_prompt,
            at_ms: updated_at_ms,
            by: updated_by,
        } => Some(AgentRecord {
            title,
            owner,
            created: None,
            // A paused agent must not go on because the database was lost.
            paused: paused_by.map(|by| Pause { at_ms: updated_at_ms, by, reason: None }),
            preset: preset.map(|name| AgentPreset { name, system_prompt }),
            id,
            profile,
            mode,
            project,
            project_root,
            spec_hash,
            spec_frozen_at_ms,
            blacklist,
            updated_at_ms,
            updated_by,
        }),
        SnapshotItem::Pin { .. }
        | SnapshotItem::KeptOut { .. }
        | SnapshotItem::Policy { .. }
        | SnapshotItem::FormerAgent { .. }
        | SnapshotItem::Agreed { .. }
        | SnapshotItem::User { .. }
        | SnapshotItem::Token { .. }
        | SnapshotItem::Switch { .. } => None,
    }
}

fn pin_key(server: &str, kind: &str, name: &str, hash: &str) -> Option<(PinKey, [u8; 32])> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(hash, &mut bytes).ok()?;
    let key =
        PinKey { server: ServerKey::parse(server)?, kind: PinKind::parse(kind)?, name: name.to_owned() };
    Some((key, bytes))
}

#[cfg(test)]
mod tests;
