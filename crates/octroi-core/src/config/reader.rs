//! Typed values of a table. Every value that is read is recorded with its origin for display.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map as JsonMap, Value as Json, json};

use super::fields::{Field, Fields};
use super::keys::Word;
use super::problem::ProblemLog;
use super::show::{HIDDEN, Setting};
use super::stored_secrets::{HOLDS_SECRETS, how_to_set};
use super::variables;
use crate::secret::Secret;
use crate::server::parse_duration;
use crate::substitute::{Filled, Lookup, ReferenceKind, Unresolved, substitute};
use crate::suggest::did_you_mean;
use crate::syntax::{Node, Origin, Value};

/// Reads one table.
pub(super) struct TableReader<'a> {
    pub(super) fields: Fields,
    pub(super) log: ProblemLog,
    pub(super) settings: Vec<Setting>,
    pub(super) lookup: Lookup<'a>,
    /// The keys that may hold a stored secret.
    pub(super) secret_keys: &'static [&'static str],
}

/// A parsed duration; zero and `false` mean never.
enum Period {
    Never,
    Lasting(Duration),
}

const DURATION_HINT: &str = "write 30s, 2m, 500ms or a number of milliseconds";

impl<'a> TableReader<'a> {
    pub(super) fn new(fields: Fields, log: ProblemLog, lookup: Lookup<'a>) -> Self {
        Self { fields, log, settings: Vec::new(), lookup, secret_keys: HOLDS_SECRETS }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    pub(super) fn origin(&self, name: &str) -> Origin {
        self.fields.get(name).map_or(Origin::Default, |field| field.node.origin.clone())
    }

    pub(super) fn base(&self, name: &str) -> Option<Arc<Path>> {
        self.fields.get(name).map(|field| Arc::clone(&field.base))
    }

    pub(super) fn show(&mut self, name: &'static str, value: Json) {
        self.show_from(&[name], value);
    }

    /// Records a value with the origin of the first of these keys that is present.
    pub(super) fn show_from(&mut self, names: &[&'static str], value: Json) {
        let Some(name) = names.first() else {
            return;
        };
        let written = names.iter().find_map(|name| self.fields.get(name));
        let origin = written.map_or(Origin::Default, |field| field.node.origin.clone());
        self.settings.push(Setting { name, value, origin });
    }

    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> bool {
        let value = match self.fields.get(name) {
            None => default,
            Some(Field { node: Node { value: Value::Bool(flag), .. }, .. }) => *flag,
            Some(_) => self.wrong(name, "true or false", default),
        };
        self.show(name, json!(value));
        value
    }

    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let filled = self.filled(name)?;
        self.show(name, json!(filled.redacted));
        Some(filled.value)
    }

    /// A string that is never displayed.
    pub(super) fn secret(&mut self, name: &'static str) -> Option<Secret> {
        let filled = self.filled(name)?;
        self.show(name, json!(HIDDEN));
        Some(Secret::new(filled.value))
    }

    /// A string as written; not recorded for display.
    pub(super) fn text_of(&self, name: &str) -> Option<String> {
        self.fields.get(name)?.node.as_text().map(str::to_owned)
    }

    /// A string with its references resolved; not recorded for display.
    pub(super) fn filled(&mut self, name: &'static str) -> Option<Filled> {
        let field = self.fields.get(name)?.clone();
        match field.node.as_text() {
            Some(text) => self.fill(name, text, &field.node.origin),
            None => self.wrong(name, "a text", None),
        }
    }

    pub(super) fn texts(&mut self, name: &'static str) -> Vec<String> {
        let filled = self.all_filled(name);
        self.show(name, json!(filled.iter().map(|filled| &filled.redacted).collect::<Vec<_>>()));
        filled.into_iter().map(|filled| filled.value).collect()
    }

    /// The strings of a list; not recorded for display.
    pub(super) fn all_filled(&mut self, name: &'static str) -> Vec<Filled> {
        self.all_located(name).into_iter().map(|(filled, _)| filled).collect()
    }

    /// The strings of a list with their origins; not recorded for display.
    pub(super) fn all_located(&mut self, name: &'static str) -> Vec<(Filled, Origin)> {
        let Some(Field { node, .. }) = self.fields.get(name).cloned() else {
            return Vec::new();
        };
        let Value::List(items) = &node.value else {
            return self.wrong(name, "a list of texts", Vec::new());
        };
        let mut all = Vec::new();
        for item in items {
            match item.as_text() {
                Some(text) => {
                    let filled = self.fill(name, text, &item.origin);
                    all.extend(filled.map(|filled| (filled, item.origin.clone())));
                }
                None => return self.wrong(name, "a list of texts", Vec::new()),
            }
        }
        all
    }

    /// A table of texts that are never displayed.
    pub(super) fn secrets(&mut self, name: &'static str) -> BTreeMap<String, Secret> {
        self.named_texts(name, |_, _| HIDDEN.to_owned())
    }

    /// The variables of a program's environment, displayed unless they look like secrets.
    pub(super) fn variables(&mut self, name: &'static str) -> BTreeMap<String, Secret> {
        self.named_texts(name, variables::displayed)
    }

    /// A table of texts. `display` makes what is displayed from a name and the text as it is written.
    fn named_texts(
        &mut self,
        name: &'static str,
        display: fn(&str, &str) -> String,
    ) -> BTreeMap<String, Secret> {
        let Some(Field { node, .. }) = self.fields.get(name).cloned() else {
            return BTreeMap::new();
        };
        let Some(map) = node.as_map() else {
            return self.wrong(name, "a table of texts", BTreeMap::new());
        };
        let mut texts = BTreeMap::new();
        let mut displayed = JsonMap::new();
        for member in map {
            let written = match &member.node.value {
                Value::Text(text) | Value::Other(text) => text.clone(),
                // The meaning is clear, and YAML makes it easy to forget the quotes.
                Value::Integer(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                Value::Null | Value::List(_) | Value::Map(_) => {
                    let message = format!("`{name}.{}` must be a text", member.key);
                    self.log.error(&member.origin, message);
                    continue;
                }
            };
            // Only a text can have references.
            let text = match member.node.as_text() {
                Some(text) => self.fill(name, text, &member.node.origin).map(|filled| filled.value),
                None => Some(written.clone()),
            };
            if let Some(text) = text {
                displayed.insert(member.key.clone(), json!(display(&member.key, &written)));
                texts.insert(member.key.clone(), Secret::new(text));
            }
        }
        self.show(name, Json::Object(displayed));
        texts
    }

    pub(super) fn duration(&mut self, name: &'static str, default: Duration) -> Duration {
        let value = match self.written_duration(name) {
            Some(Period::Lasting(duration)) => duration,
            Some(Period::Never) => self.wrong(name, "a duration above zero", default),
            None => default,
        };
        self.show(name, json!(show_duration(value)));
        value
    }

    /// A duration without a default.
    pub(super) fn optional_duration(&mut self, name: &'static str) -> Option<Duration> {
        self.has(name).then(|| self.duration(name, Duration::ZERO))
    }

    pub(super) fn duration_or_off(
        &mut self,
        name: &'static str,
        default: Option<Duration>,
    ) -> Option<Duration> {
        let value = match self.written_duration(name) {
            Some(Period::Lasting(duration)) => Some(duration),
            Some(Period::Never) => None,
            None => default,
        };
        self.show(name, value.map_or(json!(false), |duration| json!(show_duration(duration))));
        value
    }

    fn written_duration(&mut self, name: &'static str) -> Option<Period> {
        let Field { node, spelled, .. } = self.fields.get(name)?.clone();
        let duration = match &node.value {
            Value::Bool(false) => return Some(Period::Never),
            Value::Integer(number) => u64::try_from(*number).ok().map(Duration::from_millis),
            Value::Text(text) => parse_duration(&self.fill(name, text, &node.origin)?.value),
            Value::Bool(true) | Value::Null | Value::List(_) | Value::Map(_) | Value::Other(_) => None,
        };
        match duration {
            Some(Duration::ZERO) => Some(Period::Never),
            Some(duration) => Some(Period::Lasting(duration)),
            None => {
                let message = format!("`{spelled}` is not a duration");
                self.log.error_with_hint(&node.origin, message, DURATION_HINT.to_owned());
                None
            }
        }
    }

    pub(super) fn count(&mut self, name: &'static str, least: usize, default: usize) -> usize {
        let value = self.optional_count(name, least).unwrap_or(default);
        self.show(name, json!(value));
        value
    }

    pub(super) fn optional_count(&mut self, name: &'static str, least: usize) -> Option<usize> {
        let node = &self.fields.get(name)?.node;
        let number = match &node.value {
            Value::Integer(number) => usize::try_from(*number).ok().filter(|number| *number >= least),
            Value::Null
            | Value::Bool(_)
            | Value::Text(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Other(_) => None,
        };
        match number {
            Some(number) => Some(number),
            None => self.wrong(name, &format!("a whole number, at least {least}"), None),
        }
    }

    pub(super) fn word<T: Copy>(&mut self, name: &'static str, words: &'static [Word<T>]) -> Option<T> {
        let (word, value, _) = self.written_word(name, words)?;
        self.show(name, json!(word));
        Some(value)
    }

    /// A word; not recorded for display.
    pub(super) fn written_word<T: Copy>(
        &mut self,
        name: &'static str,
        words: &'static [Word<T>],
    ) -> Option<Word<T>> {
        let filled = self.filled(name)?;
        let origin = self.origin(name);
        self.find_word(name, &filled, words, &origin)
    }

    pub(super) fn word_or<T: Copy + PartialEq>(
        &mut self,
        name: &'static str,
        words: &'static [Word<T>],
        default: T,
    ) -> T {
        if let Some(value) = self.word(name, words) {
            return value;
        }
        let word = words.iter().find(|(_, value, _)| *value == default).map(|(word, _, _)| *word);
        self.show(name, json!(word));
        default
    }

    pub(super) fn word_map<T: Copy>(
        &mut self,
        name: &'static str,
        words: &'static [Word<T>],
    ) -> BTreeMap<String, T> {
        let Some(Field { node, .. }) = self.fields.get(name).cloned() else {
            return BTreeMap::new();
        };
        let Some(map) = node.as_map() else {
            return self.wrong(name, "a table of words", BTreeMap::new());
        };
        let mut values = BTreeMap::new();
        let mut displayed = JsonMap::new();
        for member in map {
            let text = member.node.as_text().unwrap_or_default();
            let Some(filled) = self.fill(name, text, &member.node.origin) else {
                continue;
            };
            if let Some((word, value, _)) = self.find_word(name, &filled, words, &member.node.origin) {
                displayed.insert(member.key.clone(), json!(word));
                values.insert(member.key.clone(), value);
            }
        }
        self.show(name, Json::Object(displayed));
        values
    }

    fn find_word<T: Copy>(
        &mut self,
        name: &str,
        filled: &Filled,
        words: &'static [Word<T>],
        origin: &Origin,
    ) -> Option<Word<T>> {
        let text = filled.value.as_str();
        let found =
            words.iter().find(|(word, _, synonyms)| *word == text || synonyms.contains(&text)).copied();
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _, _)| *word).collect();
            let message =
                format!("`{name}` cannot be `{}`, only one of: {}", filled.redacted, known.join(", "));
            match did_you_mean(&filled.redacted, known.into_iter()) {
                Some(hint) => self.log.error_with_hint(origin, message, hint),
                None => self.log.error(origin, message),
            }
        }
        found
    }

    /// Resolves the references in a value of this key.
    pub(super) fn fill(&mut self, name: &str, text: &str, origin: &Origin) -> Option<Filled> {
        let lookup = |kind: ReferenceKind, reference: &str| match kind {
            ReferenceKind::Secret if !self.secret_keys.contains(&name) => {
                Err(format!("`{name}` must not hold a stored secret, because others can see it"))
            }
            ReferenceKind::Secret
            | ReferenceKind::Env
            | ReferenceKind::Auth
            | ReferenceKind::File
            | ReferenceKind::Input => (self.lookup)(kind, reference),
        };
        let error = match substitute(text, &lookup) {
            Ok(filled) => return Some(filled),
            Err(error) => error,
        };
        let unset = match &error {
            Unresolved::Missing(reference) => reference.strip_prefix("secret:"),
            Unresolved::Unreadable { .. } | Unresolved::Unclosed | Unresolved::Source(_) => None,
        };
        match unset {
            Some(secret) => self.log.error_with_hint(
                origin,
                format!("the secret `{secret}` is not set"),
                how_to_set(secret),
            ),
            None => self.log.error(origin, error.to_string()),
        }
        None
    }

    pub(super) fn wrong<T>(&mut self, name: &str, expected: &str, otherwise: T) -> T {
        if let Some(field) = self.fields.get(name) {
            let written = match &field.node.value {
                Value::Integer(number) => number.to_string(),
                other => other.kind().to_owned(),
            };
            let message = format!("`{}` must be {expected}, not {written}", field.spelled);
            self.log.error(&field.node.origin, message);
        }
        otherwise
    }
}

/// Formats a duration the way it is configured.
pub(super) fn show_duration(duration: Duration) -> String {
    let milliseconds = duration.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
    match units.iter().find(|(length, _)| milliseconds.is_multiple_of(*length)) {
        Some((length, unit)) => format!("{}{unit}", milliseconds / length),
        None => format!("{milliseconds}ms"),
    }
}
