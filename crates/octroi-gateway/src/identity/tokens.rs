//! Creating, rotating and revoking tokens.

use std::sync::Arc;
use std::time::Duration;

use octroi_api::ResourceChange;
use octroi_core::Principal;
use octroi_core::principal::{
    BUILT_IN_ADMIN, NewToken, TokenEntry, TokenHash, TokenHolder, TokenKind, hash_token, token_id,
};
use octroi_core::time::show_time;
use octroi_store::TokenRecord;
use serde_json::{Value, json};

use super::Identity;
use crate::change::{FiledUnder, PlannedChange};
use crate::operator_error::OperatorError;

/// The longest label.
const LABEL_MAX: usize = 64;

/// What a new token stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSubject {
    /// A user.
    Person(String),
    /// An agent.
    Agent(String),
    /// A session of an agent.
    Session {
        /// The agent.
        agent: String,
        /// The session.
        session: String,
    },
    /// A service.
    Service,
}

impl TokenSubject {
    const fn kind(&self) -> TokenKind {
        match self {
            Self::Person(_) => TokenKind::Human,
            Self::Agent(_) => TokenKind::Agent,
            Self::Session { .. } => TokenKind::Session,
            Self::Service => TokenKind::Service,
        }
    }

    fn default_label(&self) -> String {
        match self {
            Self::Person(user) => user.clone(),
            Self::Agent(agent) => format!("agent:{agent}"),
            Self::Session { session, .. } => format!("session:{session}"),
            Self::Service => "service".to_owned(),
        }
    }

    fn agent(&self) -> Option<&str> {
        match self {
            Self::Agent(agent) | Self::Session { agent, .. } => Some(agent),
            Self::Person(_) | Self::Service => None,
        }
    }
}

/// A token to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRequest {
    /// What it stands for.
    pub subject: TokenSubject,
    /// Its name in quotas, limits and lists; whom it stands for, if none is given.
    pub label: Option<String>,
    /// How long it is valid; for ever, if nothing is given.
    pub expires_in: Option<Duration>,
}

/// A new token. It is shown once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedToken {
    /// The token itself.
    pub token: NewToken,
    /// What is kept of it.
    pub record: TokenRecord,
}

/// A token as people see it: one of the store, or one of the configuration, of which only its hash is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedToken {
    /// What is known of it.
    pub record: TokenRecord,
    /// Whether the configuration has it.
    pub is_configured: bool,
    /// Whether it is accepted now.
    pub is_valid: bool,
}

impl Identity {
    /// All tokens: those of the configuration first, then those of the store by age.
    pub fn tokens(&self) -> Vec<ListedToken> {
        let (snapshot, now_ms) = (self.snapshot.load(), self.clock.now_ms());
        let sources = self.sources.lock();
        let mut configured: Vec<TokenRecord> =
            sources.entries.iter().map(|(hash, entry)| self.entry_record(hash, entry)).collect();
        configured.sort_by(|one, other| (&one.label, &one.id).cmp(&(&other.label, &other.id)));
        let stored = sources.stored_tokens.iter().map(|record| {
            let last_used_at_ms = snapshot.last_use(&record.id).or(record.last_used_at_ms);
            (TokenRecord { last_used_at_ms, ..record.clone() }, false)
        });
        let all = configured.into_iter().map(|record| (record, true)).chain(stored);
        let listed = |(record, is_configured): (TokenRecord, bool)| {
            let is_valid = snapshot.is_current(&record.id, now_ms);
            let user = record.agent.as_deref().map(|agent| snapshot.owner_of(agent).to_string());
            let user = user.unwrap_or_else(|| record.user.clone());
            ListedToken { record: TokenRecord { user, ..record }, is_configured, is_valid }
        };
        all.map(listed).collect()
    }

    /// One token, by id.
    pub fn token(&self, id: &str) -> Option<ListedToken> {
        self.tokens().into_iter().find(|token| token.record.id == id)
    }

    /// Whether the store knows this token, also one that has ended.
    pub fn knows(&self, token: &str) -> bool {
        let hash = hash_token(token);
        self.sources.lock().stored_tokens.iter().any(|record| record.hash == hash)
    }

    /// Creates a token.
    pub async fn create_token(
        self: &Arc<Self>,
        request: TokenRequest,
        by: &Principal,
    ) -> Result<PlannedChange<CreatedToken, OperatorError>, OperatorError> {
        let token = new_token(request.subject.kind())?;
        let record = self.record_of(&token, request, by.id())?;
        let created = CreatedToken { token, record: record.clone() };
        let identity = Arc::clone(self);
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let subject = json!({"change": "token_created", "token": record.id});
        let filed_under = filed_under(&record);
        let change = PlannedChange::new(subject, Value::Null, described(&record), async move {
            let _changing = changing;
            identity.store()?.save_tokens(std::slice::from_ref(&record)).await?;
            identity.tokens_changed().await?;
            Ok(created)
        });
        Ok(change.filed_under(filed_under))
    }

    /// Accepts a token of the data directory: one that was just made there, or that Octroi made before it had a store
    /// for tokens. `None` if the store knows it, also as one that has ended.
    pub fn adopt_token(
        self: &Arc<Self>,
        token: &str,
        subject: TokenSubject,
        label: &str,
    ) -> Result<Option<PlannedChange<(), OperatorError>>, OperatorError> {
        if self.knows(token) {
            return Ok(None);
        }
        let hash = hash_token(token);
        // A token that a person chose has no id of its own.
        let id = token_id(token).map_or_else(|| hex::encode(&hash[..4]), str::to_owned);
        let adopted = NewToken { id, secret: token.to_owned() };
        let request = TokenRequest { subject, label: Some(label.to_owned()), expires_in: None };
        let record = self.record_of(&adopted, request, BUILT_IN_ADMIN)?;
        let subject = json!({"change": "token_adopted", "token": record.id});
        let filed_under = filed_under(&record);
        let identity = Arc::clone(self);
        let change = PlannedChange::new(subject, Value::Null, described(&record), async move {
            identity.store()?.save_tokens(&[record]).await?;
            identity.reread().await
        });
        Ok(Some(change.filed_under(filed_under)))
    }

    /// Replaces a token by a new one; both are valid for a while.
    pub async fn rotate_token(
        self: &Arc<Self>,
        id: &str,
        overlap: Duration,
        by: &Principal,
    ) -> Result<PlannedChange<CreatedToken, OperatorError>, OperatorError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let old = self.changeable_token(id)?;
        if old.browser.is_some() {
            let problem =
                "the session of a browser has no secret that could be replaced; sign in again instead";
            return Err(OperatorError::Token(problem.to_owned()));
        }
        let token = new_token(old.kind)?;
        let now_ms = self.clock.now_ms();
        let lifetime_ms =
            old.expires_at_ms.map(|expires_at_ms| expires_at_ms.saturating_sub(old.created_at_ms));
        let record = TokenRecord {
            id: token.id.clone(),
            hash: token.hash(),
            created_at_ms: now_ms,
            created_by: by.id().to_string(),
            expires_at_ms: lifetime_ms.map(|lifetime_ms| now_ms.saturating_add(lifetime_ms)),
            last_used_at_ms: None,
            ..old.clone()
        };
        let ends_at_ms = now_ms.saturating_add(milliseconds(overlap));
        let replaced = TokenRecord {
            expires_at_ms: Some(old.expires_at_ms.unwrap_or(i64::MAX).min(ends_at_ms)),
            replaced_by: Some(record.id.clone()),
            ..old.clone()
        };
        let subject = json!({"change": "token_rotated", "token": old.id, "replaced_by": record.id});
        let after = json!({"old": described(&replaced), "new": described(&record)});
        let filed_under = filed_under(&record);
        let created = CreatedToken { token, record: record.clone() };
        let identity = Arc::clone(self);
        let change = PlannedChange::new(subject, described(&old), after, async move {
            let _changing = changing;
            identity.store()?.save_tokens(&[replaced, record]).await?;
            identity.tokens_changed().await?;
            Ok(created)
        });
        Ok(change.filed_under(filed_under))
    }

    /// Revokes a token, and with it everything that holds a lease of it.
    pub async fn revoke_token(
        self: &Arc<Self>,
        id: &str,
        by: &Principal,
    ) -> Result<PlannedChange<ListedToken, OperatorError>, OperatorError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let old = self.changeable_token(id)?;
        let revoked =
            TokenRecord { revoked: Some((self.clock.now_ms(), by.id().to_string())), ..old.clone() };
        let subject = json!({"change": "token_revoked", "token": old.id});
        let filed_under = filed_under(&old);
        let identity = Arc::clone(self);
        let (before, after) = (described(&old), described(&revoked));
        let change = PlannedChange::new(subject, before, after, async move {
            let _changing = changing;
            identity.store()?.save_tokens(std::slice::from_ref(&revoked)).await?;
            identity.tokens_changed().await?;
            identity.token(&revoked.id).ok_or(OperatorError::UnknownToken(revoked.id))
        });
        Ok(change.filed_under(filed_under))
    }

    /// A token of the store that has not ended.
    fn changeable_token(&self, id: &str) -> Result<TokenRecord, OperatorError> {
        let found = self.token(id).ok_or_else(|| OperatorError::UnknownToken(id.to_owned()))?;
        if found.is_configured {
            return Err(OperatorError::TokenInFile { id: id.to_owned() });
        }
        match &found.record.revoked {
            Some((at_ms, by)) => Err(OperatorError::TokenEnded {
                id: id.to_owned(),
                how: format!("{by} revoked it at {}", show_time(*at_ms)),
            }),
            None => Ok(found.record),
        }
    }

    pub(super) fn record_of(
        &self,
        token: &NewToken,
        request: TokenRequest,
        by: &str,
    ) -> Result<TokenRecord, OperatorError> {
        let TokenRequest { subject, label, expires_in } = request;
        let label = label.unwrap_or_else(|| subject.default_label());
        if label.trim().is_empty() || label.len() > LABEL_MAX || label.chars().any(char::is_control) {
            return Err(OperatorError::Token(format!("a label has 1 to {LABEL_MAX} printable characters")));
        }
        let now_ms = self.clock.now_ms();
        let user = match &subject {
            TokenSubject::Person(user) => {
                self.user(user).ok_or_else(|| OperatorError::UnknownUser(user.clone()))?.name
            }
            TokenSubject::Agent(agent) | TokenSubject::Session { agent, .. } => {
                self.owner_of(agent).to_string()
            }
            TokenSubject::Service => by.to_owned(),
        };
        let session = match &subject {
            TokenSubject::Session { session, .. } => Some(session.clone()),
            TokenSubject::Person(_) | TokenSubject::Agent(_) | TokenSubject::Service => None,
        };
        Ok(TokenRecord {
            id: token.id.clone(),
            hash: token.hash(),
            kind: subject.kind(),
            user,
            agent: subject.agent().map(str::to_owned),
            session,
            label,
            created_at_ms: now_ms,
            created_by: by.to_owned(),
            expires_at_ms: expires_in.map(|expires_in| now_ms.saturating_add(milliseconds(expires_in))),
            last_used_at_ms: None,
            revoked: None,
            replaced_by: None,
            browser: None,
        })
    }

    /// What is known of a token of the configuration.
    fn entry_record(&self, hash: &TokenHash, entry: &TokenEntry) -> TokenRecord {
        let (user, agent) = match &entry.holder {
            TokenHolder::Person { user, .. } => (user.to_string(), None),
            TokenHolder::Agent(agent) => (self.owner_of(agent).to_string(), Some(agent.to_string())),
            TokenHolder::Service => (BUILT_IN_ADMIN.to_owned(), None),
        };
        TokenRecord {
            id: super::snapshot::entry_id(hash),
            hash: *hash,
            kind: entry.holder.kind(),
            user,
            agent,
            session: None,
            label: entry.label.to_string(),
            created_at_ms: 0,
            created_by: "configuration".to_owned(),
            expires_at_ms: None,
            last_used_at_ms: None,
            revoked: None,
            replaced_by: None,
            browser: None,
        }
    }

    /// Reads tokens again after some were revoked elsewhere.
    pub(crate) async fn reread_tokens(&self) -> Result<(), OperatorError> {
        self.tokens_changed().await
    }

    pub(crate) async fn tokens_changed(&self) -> Result<(), OperatorError> {
        self.reread().await?;
        self.subscriptions.announce(&ResourceChange::Users);
        Ok(())
    }
}

pub(super) fn new_token(kind: TokenKind) -> Result<NewToken, OperatorError> {
    NewToken::create(kind, getrandom::fill).map_err(|_| OperatorError::NoRandom)
}

fn filed_under(record: &TokenRecord) -> FiledUnder {
    FiledUnder { agent: record.agent.clone(), ..FiledUnder::default() }
}

/// A token in a record of a change.
pub(super) fn described(record: &TokenRecord) -> Value {
    let mut described = json!({
        "kind": record.kind.as_str(),
        "user": record.user,
        "label": record.label,
        "expires": record.expires_at_ms.map(show_time),
    });
    for (name, value) in
        [("agent", &record.agent), ("session", &record.session), ("replaced_by", &record.replaced_by)]
    {
        if let Some(value) = value {
            described[name] = json!(value);
        }
    }
    if let Some(browser) = &record.browser {
        described["signed_in_with"] = json!(browser.signed_in_with);
    }
    if let Some((at_ms, by)) = &record.revoked {
        described["revoked"] = json!({"at": show_time(*at_ms), "by": by});
    }
    described
}

pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
