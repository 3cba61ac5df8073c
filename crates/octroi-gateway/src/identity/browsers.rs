//! Browsers: sessions of people who use the web interface.
//!
//! A person signs a browser in once, with a token or with a one-time code. The browser makes a key that no script can
//! read, and its session is bound to that key. For a proof that the key signed it gets access tokens, which are valid
//! for minutes, from one origin only, and are kept nowhere but in memory.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use octroi_core::Principal;
use octroi_core::principal::{NewToken, TokenHash, TokenKind, hash_token};
use octroi_core::time::show_time;
use octroi_store::{BrowserRecord, TokenRecord};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::tokens::{described, milliseconds, new_token};
use super::{Identity, TokenRefusal, TokenRequest, TokenSubject};
use crate::change::PlannedChange;
use crate::operator_error::OperatorError;

/// How long a session lasts at most.
const SESSION_LIFE: Duration = Duration::from_hours(30 * 24);
/// Sessions of one user that may exist at the same time.
const SESSIONS_MAX: usize = 100;
/// How long a one-time code is valid.
const CODE_LIFE: Duration = Duration::from_mins(2);
/// More codes than people need at once. When there are so many, the oldest is dropped.
const CODES_MAX: usize = 100;
/// How long an access token is valid.
const ACCESS_LIFE: Duration = Duration::from_mins(5);
/// Access tokens of one session at the same time: one for each tab of a browser that cannot share one.
const ACCESS_PER_SESSION_MAX: usize = 32;
/// How far the time of a proof may differ from the gateway's.
const PROOF_WINDOW: Duration = Duration::from_mins(1);
/// Proofs of one session within twice that time. More are refused.
const PROOFS_MAX: usize = 256;

/// The thumbprint of a browser's public key, as in RFC 7638.
pub type KeyThumbprint = [u8; 32];

/// A one-time code that signs a browser in. It is shown once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInCode {
    /// The code.
    pub code: NewToken,
    /// When it ends.
    pub expires_at_ms: i64,
}

/// A browser that wants a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSignIn {
    /// The thumbprint of its key.
    pub key: KeyThumbprint,
    /// Its name in the list of tokens.
    pub label: String,
}

/// The session of a browser that just signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSession {
    /// Its id, among those of tokens.
    pub id: String,
    /// When it ends.
    pub expires_at_ms: Option<i64>,
}

/// A proof that a browser has its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserProof {
    /// The thumbprint of the key that signed it.
    pub key: KeyThumbprint,
    /// Its own id, which no other proof has.
    pub id: String,
    /// When the browser made it.
    pub made_at_ms: i64,
    /// The origin of the page.
    pub origin: String,
}

/// What a browser gets for a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserAccess {
    /// The access token.
    pub token: NewToken,
    /// How long it is valid.
    pub valid_for: Duration,
    /// Who uses the browser.
    pub principal: Principal,
    /// When the session ends.
    pub session_ends_at_ms: Option<i64>,
}

/// Why a proof is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofRefusal {
    /// No session has this key.
    NoSession,
    /// It was made too long ago, or in the future.
    Untimely {
        /// The time of the gateway.
        now_ms: i64,
    },
    /// It was presented before.
    Replayed,
    /// The session has presented too many.
    TooMany,
    /// The system provides no random numbers.
    NoRandom,
}

/// What is known of browsers until the gateway ends.
#[derive(Debug)]
pub(super) struct Browsers {
    /// Proofs made before it may have been presented before.
    started_at_ms: i64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    codes: HashMap<TokenHash, Code>,
    access: HashMap<TokenHash, Access>,
    /// The proofs that each session presented, with the time until which they could be presented again.
    proofs: HashMap<Arc<str>, HashMap<TokenHash, i64>>,
}

#[derive(Debug)]
struct Code {
    /// The token of whoever asked for it.
    token: Arc<str>,
    expires_at_ms: i64,
}

#[derive(Debug)]
struct Access {
    session: Arc<str>,
    origin: Box<str>,
    expires_at_ms: i64,
}

impl Browsers {
    pub(super) fn new(now_ms: i64) -> Self {
        Self { started_at_ms: now_ms, held: Mutex::default() }
    }

    /// The session that an access token belongs to.
    fn session_of(&self, access: &TokenHash, now_ms: i64) -> Option<Arc<str>> {
        let held = self.held.lock();
        let access = held.access.get(access).filter(|access| now_ms < access.expires_at_ms)?;
        Some(Arc::clone(&access.session))
    }

    fn keep_code(&self, code: TokenHash, kept: Code, now_ms: i64) {
        let codes = &mut self.held.lock().codes;
        codes.retain(|_, code| now_ms < code.expires_at_ms);
        if codes.len() >= CODES_MAX {
            let oldest = codes.iter().min_by_key(|(_, code)| code.expires_at_ms).map(|(hash, _)| *hash);
            oldest.and_then(|oldest| codes.remove(&oldest));
        }
        codes.insert(code, kept);
    }

    /// Uses up a code: the token of whoever asked for it.
    fn redeem_code(&self, code: &TokenHash, now_ms: i64) -> Option<Arc<str>> {
        let code = self.held.lock().codes.remove(code)?;
        (now_ms < code.expires_at_ms).then_some(code.token)
    }

    /// Uses up a proof.
    fn use_proof(&self, session: &Arc<str>, proof: &BrowserProof, now_ms: i64) -> Result<(), ProofRefusal> {
        let window_ms = milliseconds(PROOF_WINDOW);
        let is_timely = now_ms.saturating_sub(proof.made_at_ms).saturating_abs() <= window_ms;
        if !is_timely || proof.made_at_ms < self.started_at_ms {
            return Err(ProofRefusal::Untimely { now_ms });
        }
        let mut held = self.held.lock();
        held.proofs.retain(|_, proofs| {
            proofs.retain(|_, until_ms| now_ms <= *until_ms);
            !proofs.is_empty()
        });
        let proofs = held.proofs.entry(Arc::clone(session)).or_default();
        let id = hash_token(&proof.id);
        if proofs.contains_key(&id) {
            return Err(ProofRefusal::Replayed);
        }
        if proofs.len() >= PROOFS_MAX {
            return Err(ProofRefusal::TooMany);
        }
        proofs.insert(id, proof.made_at_ms.saturating_add(window_ms));
        Ok(())
    }

    fn grant(&self, token: TokenHash, access: Access, now_ms: i64) {
        let granted = &mut self.held.lock().access;
        granted.retain(|_, access| now_ms < access.expires_at_ms);
        let is_of_session = |other: &Access| other.session == access.session;
        if granted.values().filter(|other| is_of_session(other)).count() >= ACCESS_PER_SESSION_MAX {
            let own = granted.iter().filter(|(_, other)| is_of_session(other));
            let oldest = own.min_by_key(|(_, other)| other.expires_at_ms).map(|(hash, _)| *hash);
            oldest.and_then(|oldest| granted.remove(&oldest));
        }
        granted.insert(token, access);
    }
}

impl Identity {
    /// The only origin from which an access token of a browser is accepted; `None` for any other token.
    pub fn origin_of_access(&self, token: &str) -> Option<Box<str>> {
        let held = self.browsers.held.lock();
        held.access.get(&hash_token(token)).map(|access| access.origin.clone())
    }

    /// Makes a one-time code that signs a browser in as the person who asks for it. A browser cannot ask: whoever
    /// gets hold of an access token must not make a session of it.
    pub fn create_sign_in_code(
        self: &Arc<Self>,
        by: &Principal,
    ) -> Result<PlannedChange<SignInCode, OperatorError>, OperatorError> {
        if !by.is_person() {
            return Err(OperatorError::NotAPerson);
        }
        if self.snapshot.load().is_browser(by) {
            let problem = "a browser cannot sign another one in; run `octroi open`, or use a token";
            return Err(OperatorError::Token(problem.to_owned()));
        }
        let code = NewToken::sign_in_code(getrandom::fill).map_err(|_| OperatorError::NoRandom)?;
        let now_ms = self.clock.now_ms();
        let expires_at_ms = now_ms.saturating_add(milliseconds(CODE_LIFE));
        let token = Arc::clone(&by.token().id);
        let subject = json!({"change": "sign_in_code_created", "code": code.id, "token": token});
        let after = json!({"user": by.user(), "expires": show_time(expires_at_ms)});
        let identity = Arc::clone(self);
        Ok(PlannedChange::new(subject, Value::Null, after, async move {
            identity.browsers.keep_code(code.hash(), Code { token, expires_at_ms }, now_ms);
            Ok(SignInCode { code, expires_at_ms })
        }))
    }

    /// Signs a browser in with a person's token or a one-time code, which is used up; returns who signs in, too.
    pub async fn sign_in_browser(
        self: &Arc<Self>,
        credential: &str,
        browser: BrowserSignIn,
    ) -> Result<(Principal, PlannedChange<BrowserSession, OperatorError>), OperatorError> {
        let changing = Arc::clone(&self.changing).lock_owned().await;
        let now_ms = self.clock.now_ms();
        let with = self.credential_holder(credential, now_ms).ok_or(OperatorError::UnknownCredential)?;
        if !with.is_person() {
            return Err(OperatorError::NotAPerson);
        }
        self.check_room(&with, &browser.key, now_ms)?;
        // Its secret is thrown away: only the key opens the session.
        let token = new_token(TokenKind::Human)?;
        let request = TokenRequest {
            subject: TokenSubject::Person(with.user().to_string()),
            label: Some(browser.label),
            expires_in: Some(SESSION_LIFE),
        };
        let record = self.record_of(&token, request, with.id())?;
        let signed_in_with = with.token().id.to_string();
        let record =
            TokenRecord { browser: Some(BrowserRecord { key: browser.key, signed_in_with }), ..record };
        let subject = json!({"change": "browser_signed_in", "token": record.id});
        let identity = Arc::clone(self);
        let change = PlannedChange::new(subject, Value::Null, described(&record), async move {
            let _changing = changing;
            identity.store()?.save_tokens(std::slice::from_ref(&record)).await?;
            identity.tokens_changed().await?;
            Ok(BrowserSession { id: record.id, expires_at_ms: record.expires_at_ms })
        });
        Ok((with, change))
    }

    /// Exchanges a proof for an access token.
    pub fn browser_access(&self, proof: &BrowserProof) -> Result<BrowserAccess, ProofRefusal> {
        let (snapshot, now_ms) = (self.snapshot.load(), self.clock.now_ms());
        let session = snapshot.find_browser(&proof.key).filter(|session| !session.is_expired(now_ms));
        let session = session.ok_or(ProofRefusal::NoSession)?;
        let id = Arc::clone(&session.principal.token().id);
        self.browsers.use_proof(&id, proof, now_ms)?;
        let token = new_token(TokenKind::Human).map_err(|_| ProofRefusal::NoRandom)?;
        let expires_at_ms = now_ms.saturating_add(milliseconds(ACCESS_LIFE));
        let access = Access { session: id, origin: proof.origin.as_str().into(), expires_at_ms };
        self.browsers.grant(token.hash(), access, now_ms);
        session.used(now_ms);
        let (principal, session_ends_at_ms) = (session.principal.clone(), session.expires_at_ms);
        Ok(BrowserAccess { token, valid_for: ACCESS_LIFE, principal, session_ends_at_ms })
    }

    /// The principal that presents an access token of a browser.
    pub(super) fn authenticate_access(&self, token: &TokenHash) -> Result<Principal, TokenRefusal> {
        let now_ms = self.clock.now_ms();
        let session = self.browsers.session_of(token, now_ms).ok_or(TokenRefusal::Unknown)?;
        let snapshot = self.snapshot.load();
        let session = snapshot.by_id(&session).filter(|session| !session.is_expired(now_ms));
        let session = session.ok_or(TokenRefusal::Unknown)?;
        session.used(now_ms);
        Ok(session.principal.clone())
    }

    /// Whose token or one-time code this is.
    fn credential_holder(&self, credential: &str, now_ms: i64) -> Option<Principal> {
        let (hash, snapshot) = (hash_token(credential), self.snapshot.load());
        let accepted = match self.browsers.redeem_code(&hash, now_ms) {
            Some(token) => snapshot.by_id(&token),
            None => snapshot.find(&hash),
        };
        let accepted = accepted.filter(|accepted| !accepted.is_expired(now_ms))?;
        Some(accepted.principal.clone())
    }

    /// A key opens one session only, and nobody has more sessions than browsers.
    fn check_room(&self, user: &Principal, key: &KeyThumbprint, now_ms: i64) -> Result<(), OperatorError> {
        let sources = self.sources.lock();
        let mut n_sessions = 0;
        for token in &sources.stored_tokens {
            let Some(browser) = &token.browser else { continue };
            if browser.key == *key {
                let problem = "this key has a session already; the browser has to make a new one";
                return Err(OperatorError::Token(problem.to_owned()));
            }
            let is_over = token.revoked.is_some() || token.expires_at_ms.is_some_and(|at_ms| at_ms <= now_ms);
            n_sessions += usize::from(!is_over && *token.user == **user.user());
        }
        if n_sessions >= SESSIONS_MAX {
            return Err(OperatorError::Token(format!(
                "{SESSIONS_MAX} browsers are signed in as `{}`; end some with `octroi token revoke ID`",
                user.user()
            )));
        }
        Ok(())
    }
}
