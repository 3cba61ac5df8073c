//! `[[tokens]]`, and the admin token of `[server]`. Only hashes are kept.

use std::sync::Arc;

use serde_json::json;

use super::keys::governance::DENIAL_STYLES;
use super::keys::{ROLES, TOKEN};
use super::policy::DenialStyle;
use super::problem::ProblemLog;
use super::reader::TableReader;
use super::settings::{Context, Read};
use super::show::{HIDDEN, Setting};
use crate::principal::{AdminToken, Principal, Role, TokenHash, hash_token};
use crate::syntax::{Node, Origin};

/// Settings of a token, besides its principal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSettings {
    /// Its name in quotas: its `label`, else the id of its principal.
    pub label: Arc<str>,
    /// How denials are reported to its clients.
    pub errors: DenialStyle,
}

/// An accepted token.
pub(super) struct Token {
    pub(super) hash: TokenHash,
    pub(super) principal: Principal,
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
        let principal = principal(&mut reader, &node.origin, number);
        let label = label(&mut reader, principal.as_ref());
        let errors = match reader.word("errors", &DENIAL_STYLES) {
            Some(errors) => errors,
            None => {
                reader.settings.extend(errors.1.cloned());
                errors.0
            }
        };
        let token = hash.zip(principal).zip(label).filter(|_| !reader.log.has_errors());
        let token = token.map(|((hash, principal), label)| Token {
            hash,
            principal: Principal { token: Arc::clone(&label), ..principal },
            settings: TokenSettings { label, errors },
        });
        (token, reader.settings, reader.log.problems)
    }
}

fn principal(reader: &mut TableReader<'_>, origin: &Origin, number: usize) -> Option<Principal> {
    let role = reader.word("role", &ROLES);
    if role.is_none() && !reader.has("role") {
        reader.log.error(origin, "it needs a `role`: human or agent");
    }
    let agent = reader.text("agent_id");
    if role == Some(Role::Agent) && agent.is_none() {
        reader.log.error(origin, "an agent's token needs `agent_id`");
    }
    match (role, agent) {
        (Some(Role::Human), _) => {
            let id: Arc<str> = format!("human-{number}").into();
            Some(Principal { token: Arc::clone(&id), id, role: Role::Human, agent_id: None })
        }
        (Some(Role::Agent), Some(agent)) => {
            let id: Arc<str> = format!("agent:{agent}").into();
            Some(Principal { token: Arc::clone(&id), id, role: Role::Agent, agent_id: Some(agent.into()) })
        }
        (Some(Role::Agent) | None, _) => None,
    }
}

fn label(reader: &mut TableReader<'_>, principal: Option<&Principal>) -> Option<Arc<str>> {
    if reader.has("label") {
        return reader.some_text("label").map(Into::into);
    }
    let label = Arc::clone(&principal?.id);
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
