//! `${VAR}` in configured values.
//!
//! Grammar: `${NAME}`, `${env:NAME}`, `${NAME:-default}`; `$$` is a dollar sign. A reference that cannot be
//! resolved and has no default is an error: it is never passed on literally.

/// Why a value cannot be completed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The variable is not set.
    #[error("`${{{0}}}` is not set and has no default (write `${{{0}:-default}}` to give one)")]
    Missing(String),
    /// `${` without `}`.
    #[error("`${{` is not closed in `{0}`")]
    Unclosed(String),
    /// A source of values that does not exist.
    #[error("`${{{0}}}` names a source that is not available here (only environment variables are)")]
    Source(String),
}

/// Replaces every reference in `text`, once: what comes in is not searched again.
pub fn substitute(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, Unresolved> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        let after = &rest[dollar + 1..];
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
        } else if let Some(body) = after.strip_prefix('{') {
            let end = body.find('}').ok_or_else(|| Unresolved::Unclosed(text.to_owned()))?;
            out.push_str(&resolve(&body[..end], &lookup)?);
            rest = &body[end + 1..];
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn resolve(reference: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, Unresolved> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    let variable = match name.split_once(':') {
        Some(("env", variable)) => variable,
        Some(_) => return Err(Unresolved::Source(reference.to_owned())),
        None => name,
    };
    lookup(variable)
        .or_else(|| default.map(str::to_owned))
        .ok_or_else(|| Unresolved::Missing(variable.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        let lookup = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "NESTED" => Some("${A}".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("plain", Ok("plain")),
            ("${A}", Ok("1")),
            ("x${env:A}y${A}", Ok("x1y1")),
            ("${B:-d}", Ok("d")),
            ("${B:-}", Ok("")),
            ("${EMPTY:-d}", Ok("")),
            ("${NESTED}", Ok("${A}")),
            ("$$A $5 $", Ok("$A $5 $")),
            ("$${A}", Ok("${A}")),
            ("${B}", Err(Unresolved::Missing("B".into()))),
            ("${A", Err(Unresolved::Unclosed("${A".into()))),
            ("${vault:x}", Err(Unresolved::Source("vault:x".into()))),
        ] {
            assert_eq!(substitute(text, lookup), expected.map(str::to_owned), "{text}");
        }
    }
}
