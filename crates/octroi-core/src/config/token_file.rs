//! The file of tokens that `token_file` names, for development: plain JSON, the token first.
//!
//! It is `{"TOKEN": {"role": "human" | "agent", "agent_id": "…"}}`, or tokens by their holders:
//! `{"users": {"NAME": "TOKEN"}, "agents": {"ID": "TOKEN"}}`. A token may be written as `sha256:` and its hash.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::problem::{Problem, Severity};
use super::tokens::TokenSettings;
use super::{Config, left_out};
use crate::principal::{
    BUILT_IN_ADMIN, TokenEntry, TokenHash, TokenHolder, UserName, hash_token, is_agent_id,
};
use crate::secret::Secret;
use crate::syntax::Origin;

/// Begins the hash of a token.
const HASHED: &str = "sha256:";

/// The tokens in such a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenFile {
    tokens: Vec<(TokenHash, TokenHolder)>,
    /// The tokens that were not written as hashes, which are shown nowhere.
    secrets: Vec<Secret>,
}

impl TokenFile {
    /// Reads such a file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let root: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            format!("it is no JSON object: line {}, column {}", error.line(), error.column())
        })?;
        let mut file = Self::default();
        for (number, (key, value)) in (1..).zip(&root) {
            match (key.as_str(), value.as_object()) {
                ("users" | "agents", Some(holders)) if !holders.contains_key("role") => {
                    for (name, token) in holders {
                        let token =
                            token.as_str().ok_or_else(|| format!("the token of `{name}` is no text"))?;
                        let holder = if key == "users" { user(name)? } else { agent(name)? };
                        file.add(token, holder)?;
                    }
                }
                (token, Some(record)) => {
                    let holder = holder(record).map_err(|error| format!("token {number}: {error}"))?;
                    file.add(token, holder)?;
                }
                (_, None) => return Err(format!("token {number}: it needs an object with a `role`")),
            }
        }
        Ok(file)
    }

    fn add(&mut self, token: &str, holder: TokenHolder) -> Result<(), String> {
        let token = token.trim();
        let hash = match token.strip_prefix(HASHED) {
            Some(digits) => {
                let mut hash = TokenHash::default();
                hex::decode_to_slice(digits, &mut hash)
                    .map_err(|_| format!("`{HASHED}` needs 64 hexadecimal digits behind it"))?;
                hash
            }
            None if token.is_empty() => return Err("a token is empty".to_owned()),
            None => {
                self.secrets.push(Secret::new(token));
                hash_token(token)
            }
        };
        self.tokens.push((hash, holder));
        Ok(())
    }

    /// The same file without secrets.
    pub fn hashed(&self) -> String {
        let record = |(hash, holder): &(TokenHash, TokenHolder)| {
            let record = match holder {
                TokenHolder::Person { user, .. } => json!({"role": "human", "user": **user}),
                TokenHolder::Agent(agent) => json!({"role": "agent", "agent_id": **agent}),
                TokenHolder::Service => json!({"role": "service"}),
            };
            (format!("{HASHED}{}", hex::encode(hash)), record)
        };
        Value::Object(self.tokens.iter().map(record).collect()).to_string()
    }
}

/// Whom a token of the first form stands for.
fn holder(record: &Map<String, Value>) -> Result<TokenHolder, String> {
    if let Some(unknown) = record.keys().find(|key| !["role", "agent_id", "user"].contains(&key.as_str())) {
        return Err(format!("unknown key `{unknown}`; known are role, agent_id, user"));
    }
    let text = |key: &str| match record.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(format!("`{key}` must be a text")),
    };
    match (text("role")?, text("agent_id")?, text("user")?) {
        (Some("human"), None, None) => Ok(TokenHolder::admin()),
        (Some("human"), None, Some(name)) => user(name),
        (Some("agent"), Some(id), None) => agent(id),
        (Some("service"), None, None) => Ok(TokenHolder::Service),
        (Some("human"), Some(_), _) => Err("`agent_id` is for agents, and this is a human".to_owned()),
        (Some("agent"), None, _) => Err("an agent's token needs `agent_id`".to_owned()),
        (Some("agent" | "service"), ..) => Err("`user` is for people's tokens".to_owned()),
        (Some(role), ..) => Err(format!("there is no role `{role}`: human, agent or service")),
        (None, ..) => Err("it needs a `role`: human, agent or service".to_owned()),
    }
}

fn user(name: &str) -> Result<TokenHolder, String> {
    let name = UserName::parse(name).map_err(|error| error.to_string())?;
    let is_admin = name.as_str() == BUILT_IN_ADMIN;
    Ok(TokenHolder::Person { user: name.as_str().into(), is_admin })
}

fn agent(id: &str) -> Result<TokenHolder, String> {
    if is_agent_id(id) {
        Ok(TokenHolder::Agent(id.into()))
    } else {
        Err(format!("`{id}` is no id of an agent"))
    }
}

impl Config {
    /// The file of tokens that it names, if any.
    pub fn token_file(&self) -> Option<&PathBuf> {
        self.server.token_file.as_ref()
    }

    /// Accepts the tokens of that file beside those of `[[tokens]]`, which win.
    pub fn add_token_file(&mut self, path: &Path, file: TokenFile) {
        let origin = Origin::File { path: Arc::from(path), line: 0 };
        let TokenFile { tokens, secrets } = file;
        self.effective.hide(secrets);
        for (number, (hash, holder)) in (1..).zip(tokens) {
            if self.tokens.contains(&hash) {
                let subject = format!("token {number} of the token file");
                self.problems.push(left_out(&origin, subject, "it is the same as another one"));
                continue;
            }
            let entry = TokenEntry::of(holder);
            let settings = TokenSettings { label: Arc::clone(&entry.label), errors: self.policy.errors };
            self.tokens.insert(hash, entry);
            self.token_settings.insert(hash, settings);
        }
        self.problems.extend(self.admin_token_problem());
    }

    /// Reports that there is no file of tokens, so that nobody in it gets in.
    pub fn miss_token_file(&mut self, path: &Path) {
        self.problems.push(Problem {
            severity: Severity::Warning,
            origin: Origin::File { path: Arc::from(path), line: 0 },
            subject: None,
            message: "there is no token file".to_owned(),
            hint: None,
        });
    }

    /// Reports that the file of tokens cannot be used.
    pub fn refuse_token_file(&mut self, path: &Path, error: &str) {
        self.problems.push(Problem {
            severity: Severity::Fatal,
            origin: Origin::File { path: Arc::from(path), line: 0 },
            subject: None,
            message: format!("the token file cannot be used: {error}"),
            hint: Some(
                r#"write {"TOKEN": {"role": "agent", "agent_id": "NAME"}}, or remove `token_file`"#
                    .to_owned(),
            ),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<Vec<String>, String> {
        let mut file = TokenFile::parse(text)?;
        let mut again = TokenFile::parse(&file.hashed()).unwrap();
        for one in [&mut file, &mut again] {
            one.tokens.sort_by_key(|(hash, _)| *hash);
        }
        assert_eq!(again.tokens, file.tokens, "{text}");
        assert!(!file.hashed().contains("secret"), "{text}");
        let holder = |(hash, holder): &(TokenHash, TokenHolder)| {
            let token = ["secret-1", "secret-2"].into_iter().find(|token| hash_token(token) == *hash);
            let holder = match holder {
                TokenHolder::Person { user, is_admin } => format!("{user} admin={is_admin}"),
                TokenHolder::Agent(agent) => format!("agent {agent}"),
                TokenHolder::Service => "service".to_owned(),
            };
            format!("{} {holder}", token.unwrap_or("?"))
        };
        Ok(file.tokens.iter().map(holder).collect())
    }

    #[test]
    fn both_forms_are_read() {
        for (text, expected) in [
            ("{}", Vec::new()),
            (
                r#"{"secret-1": {"role": "human"}, "secret-2": {"role": "agent", "agent_id": "agent-1"}}"#,
                vec!["secret-1 admin admin=true", "secret-2 agent agent-1"],
            ),
            (
                r#"{"secret-1": {"role": "human", "agent_id": null, "user": "ana"}}"#,
                vec!["secret-1 ana admin=false"],
            ),
            (r#"{"secret-1": {"role": "service"}}"#, vec!["secret-1 service"]),
            (
                r#"{"users": {"admin": "secret-1"}, "agents": {"coder": "secret-2"}}"#,
                vec!["secret-2 agent coder", "secret-1 admin admin=true"],
            ),
        ] {
            let mut found = shown(text).unwrap();
            found.sort();
            let mut expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            expected.sort();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_token() {
        for (text, expected) in [
            ("[]", "it is no JSON object: line 1, column 0"),
            (r#"{"secret-1": "human"}"#, "token 1: it needs an object with a `role`"),
            (r#"{"secret-1": {}}"#, "token 1: it needs a `role`: human, agent or service"),
            (
                r#"{"secret-1": {"role": "root"}}"#,
                "token 1: there is no role `root`: human, agent or service",
            ),
            (r#"{"secret-1": {"role": "agent"}}"#, "token 1: an agent's token needs `agent_id`"),
            (r#"{"secret-1": {"role": "agent", "agent_id": "a b"}}"#, "token 1: `a b` is no id of an agent"),
            (
                r#"{"secret-1": {"role": "human", "agent_id": "a"}}"#,
                "token 1: `agent_id` is for agents, and this is a human",
            ),
            (r#"{"secret-1": {"role": 1}}"#, "token 1: `role` must be a text"),
            (
                r#"{"secret-1": {"role": "human", "scope": 1}}"#,
                "token 1: unknown key `scope`; known are role, agent_id, user",
            ),
            (r#"{"agents": {"coder": 1}}"#, "the token of `coder` is no text"),
            (r#"{"agents": {"coder": ""}}"#, "a token is empty"),
            (r#"{"sha256:12": {"role": "human"}}"#, "`sha256:` needs 64 hexadecimal digits behind it"),
        ] {
            assert_eq!(TokenFile::parse(text), Err(expected.to_owned()), "{text}");
        }
    }
}
