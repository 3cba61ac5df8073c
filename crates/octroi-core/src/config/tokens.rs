//! `[[tokens]]`, and the admin token of `[server]`. Only hashes are kept.

use std::sync::Arc;

use serde_json::json;

use super::keys::governance::DENIAL_STYLES;
use super::keys::{TOKEN, TOKEN_ROLES};
use super::policy::DenialStyle;
use super::problem::ProblemLog;
use super::reader::TableReader;
use super::settings::{Context, Read};
use super::show::{HIDDEN, Setting};
use crate::principal::{
    AdminToken, BUILT_IN_ADMIN, TokenEntry, TokenHash, TokenHolder, TokenKind, UserName, hash_token,
    is_agent_id,
};
use crate::syntax::{Node, Origin};

/// Settings of a token, besides whom it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// Its name in quotas: its `label`, else whom it stands for.
    pub label: Arc<str>,
    /// How denials are reported to its clients.
    pub errors: DenialStyle,
}

/// An accepted token.
pub(super) struct Token {
    pub(super) hash: TokenHash,
    pub(super) entry: TokenEntry,
    pub(super) settings: TokenSettings,
}

impl Context<'_> {
    /// One of `[[tokens]]`; `number` counts from 1, and `errors` is the default denial style.
    pub(super) fn token(
        &self,
        node: &Node,
        number: usize,
        errors: (DenialStyle, Option<&Setting>),
    ) -> Read<Option<Token>> {
        let mut log = ProblemLog::of_entry(format!("token {number}"), self.unknown);
        let Some(map) = node.as_map() else {
            log.error(&node.origin, "it must be a table");
            return (None, Vec::new(), log.problems);
        };
        let mut reader = self.reader(map, TOKEN, log);
        let hash = hash(&mut reader, &node.origin, ("token", "sha256"));
        let holder = holder(&mut reader, &node.origin);
        let label = label(&mut reader, holder.as_ref());
        let errors = match reader.word("errors", &DENIAL_STYLES) {
            Some(errors) => errors,
            None => {
                reader.settings.extend(errors.1.cloned());
                errors.0
            }
        };
        let token = hash.zip(holder).zip(label).filter(|_| !reader.log.has_errors());
        let token = token.map(|((hash, holder), label)| Token {
            hash,
            entry: TokenEntry { holder, label: Arc::clone(&label) },
            settings: TokenSettings { label, errors },
        });
        (token, reader.settings, reader.log.problems)
    }
}

fn holder(reader: &mut TableReader<'_>, origin: &Origin) -> Option<TokenHolder> {
    let role = reader.word("role", &TOKEN_ROLES);
    if role.is_none() && !reader.has("role") {
        reader.log.error(origin, "it needs a `role`: human, agent or service");
    }
    let (agent, user, is_admin) = (reader.text("agent_id"), reader.text("user"), reader.flag("admin", false));
    match role? {
        TokenKind::Human => person(reader, origin, user.as_deref(), is_admin),
        TokenKind::Agent => {
            let Some(agent) = agent else {
                reader.log.error(origin, "an agent's token needs `agent_id`");
                return None;
            };
            if !is_agent_id(&agent) {
                reader.log.error(
                    origin,
                    format!("`{agent}` cannot be the id of an agent: use up to 64 letters, digits, `.`, `_` and `-`"),
                );
            }
            refuse_person_keys(reader, origin, "agent");
            Some(TokenHolder::Agent(agent.into()))
        }
        TokenKind::Service => {
            refuse_person_keys(reader, origin, "service");
            Some(TokenHolder::Service)
        }
        // It is bound to a session, which only a running gateway knows.
        TokenKind::Session => None,
    }
}

/// A token without a user is one of the built-in administrator's.
fn person(
    reader: &mut TableReader<'_>,
    origin: &Origin,
    user: Option<&str>,
    is_admin: bool,
) -> Option<TokenHolder> {
    match user.map(UserName::parse) {
        None => Some(TokenHolder::admin()),
        Some(Ok(user)) => {
            let is_admin = is_admin || user.as_str() == BUILT_IN_ADMIN;
            Some(TokenHolder::Person { user: user.as_str().into(), is_admin })
        }
        Some(Err(error)) => {
            reader.log.error(origin, error.to_string());
            None
        }
    }
}

/// An agent or a service that is an administrator would not be what its entry says.
fn refuse_person_keys(reader: &mut TableReader<'_>, origin: &Origin, role: &str) {
    for key in ["user", "admin"] {
        if reader.has(key) {
            let message = format!("`{key}` is for people's tokens, and this one has `role = \"{role}\"`");
            reader.log.error(origin, message);
        }
    }
}

fn label(reader: &mut TableReader<'_>, holder: Option<&TokenHolder>) -> Option<Arc<str>> {
    if reader.has("label") {
        return reader.some_text("label").map(Into::into);
    }
    let label = TokenEntry::default_label(holder?);
    reader.show("label", json!(&*label));
    Some(label)
}

/// Reads the admin token of `[server]`, if configured.
pub(super) fn admin_token(reader: &mut TableReader<'_>) -> Option<AdminToken> {
    const KEYS: (&str, &str) = ("admin_token", "admin_token_sha256");
    let written = [KEYS.0, KEYS.1].into_iter().find(|key| reader.has(key))?;
    let origin = reader.origin(written);
    if reader.text_of(written).is_none_or(|text| text.trim().is_empty()) {
        reader.log.error(&origin, format!("`{written}` must be a text, and not an empty one"));
        return None;
    }
    hash(reader, &origin, KEYS).map(AdminToken::new)
}

/// The hash of a token, written as the token itself or, under the second key, as its hash.
fn hash(
    reader: &mut TableReader<'_>,
    origin: &Origin,
    (token_key, hash_key): (&'static str, &'static str),
) -> Option<TokenHash> {
    let hash = match (token_text(reader, token_key), reader.has(token_key), reader.text_of(hash_key)) {
        (Some(token), _, None) if !token.trim().is_empty() => {
            reader.show(token_key, json!(HIDDEN));
            return Some(hash_token(token.trim()));
        }
        (_, true, Some(_)) => Err(format!("give `{token_key}` or `{hash_key}`, not both")),
        (None, false, Some(digits)) => {
            parse_hash(&digits).ok_or_else(|| format!("`{hash_key}` must be 64 hexadecimal digits"))
        }
        // An unresolvable reference is reported already.
        (None, true, None) if reader.log.has_errors() => return None,
        (Some(_) | None, _, None) | (Some(_), false, Some(_)) => {
            Err(format!("it needs `{token_key}` or `{hash_key}`"))
        }
    };
    match hash {
        Ok(hash) => {
            reader.show(hash_key, json!(HIDDEN));
            Some(hash)
        }
        Err(message) => {
            reader.log.error(origin, message);
            None
        }
    }
}

/// Without `${` a token is literal: a dollar sign in it stays.
fn token_text(reader: &mut TableReader<'_>, key: &'static str) -> Option<String> {
    let text = reader.text_of(key)?;
    if !text.contains("${") {
        return Some(text);
    }
    reader.filled(key).map(|filled| filled.value)
}

fn parse_hash(digits: &str) -> Option<TokenHash> {
    let mut hash = TokenHash::default();
    hex::decode_to_slice(digits, &mut hash).ok()?;
    Some(hash)
}
