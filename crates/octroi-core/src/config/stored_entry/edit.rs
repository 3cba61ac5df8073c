//! Entries as they are given, changed, shown and exported.

use std::collections::BTreeSet;

use serde_json::{Map as JsonMap, Value as Json, json};

use super::super::keys::NESTED;
use super::super::show::HIDDEN;
use super::canonical_name;
use crate::redact::Redactor;

/// Tables of texts whose values may be secrets.
const TABLES: [&str; 2] = ["env", "headers"];
/// The keys of an address. An address of the other kind replaces all of them.
const PLACE: [&str; 5] = ["transport", "command", "args", "cwd", "url"];

/// An entry without secrets, and what has to be set where it is imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedEntry {
    /// The entry, with references in place of what was written as it is.
    pub entry: JsonMap<String, Json>,
    /// The names of the secrets that it refers to.
    pub secrets: BTreeSet<String>,
}

/// An entry under canonical names, with nothing nested and without `null`. Two spellings of one key are an error.
pub fn canonical(entry: &JsonMap<String, Json>) -> Result<JsonMap<String, Json>, String> {
    let (nested, nested_keys) = NESTED;
    let mut members: Vec<(&str, &Json)> = Vec::new();
    for (key, value) in entry {
        match value {
            Json::Object(inner) if key == nested => {
                if let Some(unknown) = inner.keys().find(|key| !nested_keys.contains(&key.as_str())) {
                    return Err(format!("unknown key `{nested}.{unknown}`"));
                }
                members.extend(inner.iter().map(|(key, value)| (key.as_str(), value)));
            }
            Json::Null if key == nested => {}
            _ if key == nested => return Err(format!("`{nested}` must be a table")),
            _ => members.push((key, value)),
        }
    }
    let mut canonical = JsonMap::new();
    for (spelled, value) in members {
        // What is unknown is refused where the entry is read, with a suggestion.
        let name = canonical_name(spelled).unwrap_or(spelled);
        if canonical.insert(name.to_owned(), value.clone()).is_some() {
            return Err(format!("`{name}` is written twice, under two names; write it once"));
        }
    }
    Ok(canonical)
}

/// An entry with a change: variables of `env` are merged, other keys are replaced, and `null` takes a key or a variable
/// out. What is given as it is shown, with its secrets masked, stays as it is.
pub fn merged(entry: &JsonMap<String, Json>, change: &JsonMap<String, Json>) -> JsonMap<String, Json> {
    let shown = masked(entry);
    let mut new = entry.clone();
    for (given, other) in [("command", "url"), ("url", "command")] {
        let is_given = change.get(given).is_some_and(|value| !value.is_null()) && !change.contains_key(other);
        if is_given && entry.contains_key(other) {
            new.retain(|name, _| !PLACE.contains(&name.as_str()));
        }
    }
    for (name, value) in change {
        if value.is_null() {
            new.remove(name);
        } else if Some(value) == shown.get(name) {
            // As it was.
        } else if let (true, Some(table)) = (TABLES.contains(&name.as_str()), value.as_object()) {
            let old = entry.get(name).and_then(Json::as_object);
            let mut members = old.filter(|_| name == "env").cloned().unwrap_or_default();
            for (key, value) in table {
                let was_shown = shown.get(name).and_then(|shown| shown.get(key));
                match old.and_then(|old| old.get(key)) {
                    _ if value.is_null() => drop(members.remove(key)),
                    Some(old) if Some(value) == was_shown => drop(members.insert(key.clone(), old.clone())),
                    _ => drop(members.insert(key.clone(), value.clone())),
                }
            }
            new.insert(name.clone(), Json::Object(members));
        } else {
            new.insert(name.clone(), value.clone());
        }
    }
    new.retain(|name, value| !TABLES.contains(&name.as_str()) || value != &json!({}));
    new
}

/// An entry as people see it: what it refers to is shown, what could be a secret is not.
pub fn masked(entry: &JsonMap<String, Json>) -> JsonMap<String, Json> {
    let redactor = Redactor::new(std::iter::empty());
    let shown = entry.iter().map(|(name, value)| {
        let value = match (name.as_str(), value) {
            ("env" | "headers", Json::Object(table)) => {
                Json::Object(table.iter().map(|(key, value)| (key.clone(), masked_value(value))).collect())
            }
            ("oauth", Json::Object(client)) => Json::Object(
                client
                    .iter()
                    .map(|(key, value)| {
                        let value = if canonical_secret(key) { masked_value(value) } else { value.clone() };
                        (key.clone(), value)
                    })
                    .collect(),
            ),
            ("url", Json::String(url)) => json!(masked_url(&redactor.redact(url))),
            (_, value) => redacted(&redactor, value),
        };
        (name.clone(), value)
    });
    shown.collect()
}

/// An entry for another gateway. What is written into it as it is becomes a reference to a secret, which has to be set
/// there.
pub fn exported(name: &str, entry: &JsonMap<String, Json>) -> ExportedEntry {
    let shown = masked(entry);
    let mut entry = entry.clone();
    let secret = |path: &str| {
        let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
        let path: String = path.chars().map(|letter| if allowed(letter) { letter } else { '-' }).collect();
        let name: String = format!("{name}.{path}").chars().take(64).collect();
        json!(format!("${{secret:{name}}}"))
    };
    for (key, value) in &mut entry {
        let was_shown = shown.get(key);
        match value {
            Json::Object(table) if TABLES.contains(&key.as_str()) || key == "oauth" => {
                for (member, value) in table {
                    if was_shown.and_then(|shown| shown.get(member)) != Some(&*value) {
                        *value = secret(member);
                    }
                }
            }
            value if was_shown != Some(&*value) => {
                *value = match value {
                    Json::String(_) => secret(key),
                    // A part of a list or a table: where a secret stands in it is not known.
                    _ => was_shown.cloned().unwrap_or_default(),
                };
            }
            _ => {}
        }
    }
    let secrets = referred_secrets(&entry);
    ExportedEntry { entry, secrets }
}

/// The stored secrets that an entry refers to.
pub fn referred_secrets(entry: &JsonMap<String, Json>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    entry.values().for_each(|value| collect_secrets(value, &mut found));
    found
}

fn collect_secrets(value: &Json, found: &mut BTreeSet<String>) {
    match value {
        Json::String(text) => {
            let references = text.split("${secret:").skip(1);
            found.extend(references.filter_map(|rest| {
                let name = rest.split_once('}')?.0;
                Some(name.split_once(":-").map_or(name, |(name, _)| name).to_owned())
            }));
        }
        Json::Array(items) => items.iter().for_each(|item| collect_secrets(item, found)),
        Json::Object(members) => members.values().for_each(|value| collect_secrets(value, found)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn canonical_secret(key: &str) -> bool {
    matches!(key, "client_secret" | "clientSecret")
}

/// A value that may be a secret. One that only refers to something is shown.
fn masked_value(value: &Json) -> Json {
    match value.as_str() {
        Some(text) if is_reference(text) => value.clone(),
        _ => json!(HIDDEN),
    }
}

/// Whether a text is one reference without a default, such as `${secret:hub}`, perhaps after the scheme of a header.
fn is_reference(text: &str) -> bool {
    let text =
        ["Bearer ", "Basic ", "token "].iter().find_map(|scheme| text.strip_prefix(scheme)).unwrap_or(text);
    let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|inner| !inner.contains(['{', '}', '$']) && !inner.contains(":-"))
}

/// A URL without the user and the values of its query, which often are keys.
fn masked_url(url: &str) -> String {
    let (address, query) = match url.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (url, None),
    };
    let address = match address.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            match rest[..end].rfind('@') {
                Some(at) => format!("{scheme}://{HIDDEN}{}", &rest[at..]),
                None => address.to_owned(),
            }
        }
        None => address.to_owned(),
    };
    let Some(query) = query else {
        return address;
    };
    let members = query.split('&').map(|member| match member.split_once('=') {
        Some((name, value)) if !value.is_empty() && !is_reference(value) => format!("{name}={HIDDEN}"),
        _ => member.to_owned(),
    });
    format!("{address}?{}", members.collect::<Vec<_>>().join("&"))
}

fn redacted(redactor: &Redactor, value: &Json) -> Json {
    match value {
        Json::String(text) => json!(redactor.redact(text)),
        Json::Array(items) => Json::Array(items.iter().map(|item| redacted(redactor, item)).collect()),
        Json::Object(members) => Json::Object(
            members.iter().map(|(key, value)| (key.clone(), redacted(redactor, value))).collect(),
        ),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}
