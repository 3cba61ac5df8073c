//! `${…}` references in configured values.
//!
//! Grammar: `${NAME}` or `${env:NAME}` for an environment variable, `${auth:NAME}` for a credential of another
//! program's file, `${secret:NAME}` for a stored secret, `${file:PATH}` for the content of a file, `${input:ID}` for an input that the same file
//! declares; each may end in `:-default`. `$$` is a dollar sign. A reference that cannot be resolved and has
//! no default is an error: it is never passed on literally.

/// The source of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// Environment variables.
    Env,
    /// Credentials in `auth.json`.
    Auth,
    /// Stored secrets.
    Secret,
    /// Files.
    File,
    /// Inputs declared by the same configuration.
    Input,
}

impl ReferenceKind {
    fn parse(prefix: &str) -> Option<Self> {
        match prefix {
            "env" => Some(Self::Env),
            "auth" => Some(Self::Auth),
            "secret" => Some(Self::Secret),
            "file" => Some(Self::File),
            "input" => Some(Self::Input),
            _ => None,
        }
    }
}

/// Resolves a reference: the value, `None`, or why it cannot be read.
pub type Lookup<'a> = &'a dyn Fn(ReferenceKind, &str) -> Result<Option<String>, String>;

/// A text with its references resolved.
#[derive(Clone, PartialEq, Eq)]
pub struct Filled {
    /// The complete text, with secrets.
    pub value: String,
    /// The text for display, with `***` for every resolved reference.
    pub redacted: String,
}

impl std::fmt::Debug for Filled {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.redacted.fmt(formatter)
    }
}

/// Why a reference cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// There is no such value.
    #[error("`${{{0}}}` is not set and has no default (write `${{{0}:-default}}` to give one)")]
    Missing(String),
    /// The value cannot be read.
    #[error("`${{{reference}}}` cannot be read: {reason}")]
    Unreadable {
        /// The reference.
        reference: String,
        /// Why it cannot be read, for the message.
        reason: String,
    },
    /// `${` without `}`.
    #[error("`${{` is not closed")]
    Unclosed,
    /// An unknown source.
    #[error("`${{{0}}}` names no source of values: there are env, auth, secret, file and input")]
    Source(String),
}

/// Resolves every reference in `text`, once: resolved values are not searched again.
pub fn substitute(text: &str, lookup: Lookup<'_>) -> Result<Filled, Unresolved> {
    let mut filled =
        Filled { value: String::with_capacity(text.len()), redacted: String::with_capacity(text.len()) };
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        filled.push(&rest[..dollar]);
        let after = &rest[dollar + 1..];
        if let Some(tail) = after.strip_prefix('$') {
            filled.push("$");
            rest = tail;
        } else if let Some(body) = after.strip_prefix('{') {
            let end = body.find('}').ok_or(Unresolved::Unclosed)?;
            filled.value.push_str(&resolve(&body[..end], lookup)?);
            filled.redacted.push_str("***");
            rest = &body[end + 1..];
        } else {
            filled.push("$");
            rest = after;
        }
    }
    filled.push(rest);
    Ok(filled)
}

impl Filled {
    fn push(&mut self, text: &str) {
        self.value.push_str(text);
        self.redacted.push_str(text);
    }
}

fn resolve(reference: &str, lookup: Lookup<'_>) -> Result<String, Unresolved> {
    let (whole, default) = match reference.split_once(":-") {
        Some((whole, default)) => (whole, Some(default)),
        None => (reference, None),
    };
    let (kind, name) = match whole.split_once(':') {
        Some((prefix, name)) => (ReferenceKind::parse(prefix), name),
        None => (Some(ReferenceKind::Env), whole),
    };
    let kind = kind.filter(|_| !name.is_empty()).ok_or_else(|| Unresolved::Source(whole.to_owned()))?;
    match (lookup(kind, name), default) {
        (Ok(Some(value)), _) => Ok(value),
        (Ok(None) | Err(_), Some(default)) => Ok(default.to_owned()),
        (Ok(None), None) => Err(Unresolved::Missing(whole.to_owned())),
        (Err(reason), None) => Err(Unresolved::Unreadable { reference: whole.to_owned(), reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        let lookup = |kind: ReferenceKind, name: &str| match (kind, name) {
            (ReferenceKind::Env, "A") => Ok(Some("1".to_owned())),
            (ReferenceKind::Env, "NESTED") => Ok(Some("${A}".to_owned())),
            (ReferenceKind::Env, "EMPTY") => Ok(Some(String::new())),
            (ReferenceKind::Auth, "hub") => Ok(Some("key".to_owned())),
            (ReferenceKind::Secret, "hub") => Ok(Some("hush".to_owned())),
            (ReferenceKind::File, "/etc/it") => Ok(Some("text".to_owned())),
            (ReferenceKind::File, _) => Err("it is not there".to_owned()),
            (ReferenceKind::Input, "port") => Ok(Some("80".to_owned())),
            (_, _) => Ok(None),
        };
        for (text, value, redacted) in [
            ("plain", "plain", "plain"),
            ("${A}", "1", "***"),
            ("x${env:A}y${A}", "x1y1", "x***y***"),
            ("Bearer ${auth:hub}", "Bearer key", "Bearer ***"),
            ("${secret:hub}", "hush", "***"),
            ("${file:/etc/it}", "text", "***"),
            ("${file:/else:-d}", "d", "***"),
            ("${input:port}", "80", "***"),
            ("${B:-d}", "d", "***"),
            ("${B:-}", "", "***"),
            ("${B:-a:-b}", "a:-b", "***"),
            ("${EMPTY:-d}", "", "***"),
            ("${NESTED}", "${A}", "***"),
            ("${B:-$A}", "$A", "***"),
            ("$$A $5 $", "$A $5 $", "$A $5 $"),
            ("$${A}", "${A}", "${A}"),
        ] {
            let filled = substitute(text, &lookup).unwrap();
            assert_eq!((filled.value.as_str(), filled.redacted.as_str()), (value, redacted), "{text}");
        }
        for (text, expected) in [
            ("${B}", Unresolved::Missing("B".into())),
            ("${auth:none}", Unresolved::Missing("auth:none".into())),
            ("${A", Unresolved::Unclosed),
            ("${vault:x}", Unresolved::Source("vault:x".into())),
            ("${}", Unresolved::Source(String::new())),
            ("${env:}", Unresolved::Source("env:".into())),
            (
                "${file:/else}",
                Unresolved::Unreadable { reference: "file:/else".into(), reason: "it is not there".into() },
            ),
        ] {
            assert_eq!(substitute(text, &lookup), Err(expected), "{text}");
        }
    }
}
