//! A server made from a template.

use std::collections::BTreeMap;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map as JsonMap, Value as Json, json};

use super::{Binding, FieldKind, PackageRegistry, Provider, Template, TemplateField};
use crate::config::is_secret_name;
use crate::name::ServerName;
use crate::secret::Secret;
use crate::suggest::did_you_mean;

/// What a person filled in, by field. Only paths may be several.
pub type FieldValues = BTreeMap<String, Vec<String>>;

/// A server made from a template.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateInstance {
    /// Its entry, without the settings that it inherits from the template, and without any secret.
    pub entry: JsonMap<String, Json>,
    /// The secrets to store before, by name. The entry refers to them.
    pub secrets: BTreeMap<String, Secret>,
}

/// Why values do not fit a template. No text contains a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueProblem {
    /// A required field is missing.
    #[error("{label} is missing (field `{field}`)")]
    Missing {
        /// Its name for people.
        label: String,
        /// Its key.
        field: String,
    },
    /// There is no such field.
    #[error("there is no field `{field}`{hint}")]
    Unknown {
        /// Its key.
        field: String,
        /// Which there are.
        hint: String,
    },
    /// A value is not possible.
    #[error("{label} cannot be used (field `{field}`): {reason}")]
    Invalid {
        /// Its name for people.
        label: String,
        /// Its key.
        field: String,
        /// Why.
        reason: String,
    },
}

impl ValueProblem {
    fn invalid(field: &TemplateField, reason: impl Into<String>) -> Self {
        Self::Invalid { label: field.label.clone(), field: field.name.clone(), reason: reason.into() }
    }
}

/// A value on its way into an entry.
enum Placed {
    /// As it is, with every dollar sign doubled: it is no reference.
    Literal(String),
    /// A reference to a stored secret.
    Reference(String),
}

impl Placed {
    fn text(&self) -> String {
        match self {
            Self::Literal(text) => text.replace('$', "$$"),
            Self::Reference(name) => format!("${{secret:{name}}}"),
        }
    }
}

impl Template {
    /// Makes the entry of a server with this name.
    pub fn instantiate(
        &self,
        server: &ServerName,
        values: &FieldValues,
    ) -> Result<TemplateInstance, ValueProblem> {
        self.refuse_unknown(values)?;
        let mut secrets = BTreeMap::new();
        let mut args = Vec::new();
        let (mut env, mut headers, mut url) = match &self.provider {
            Provider::Package { env, .. } => (env.clone(), BTreeMap::new(), String::new()),
            Provider::Remote { url, headers } => (BTreeMap::new(), headers.clone(), url.clone()),
        };
        for field in &self.fields {
            for value in given(field, values)? {
                let placed = place(field, value, server, &mut secrets)?;
                match &field.binding {
                    Binding::Env(variable) => drop(env.insert(variable.clone(), placed.text())),
                    Binding::Argument(option) => {
                        args.extend((!option.is_empty()).then(|| option.clone()));
                        args.push(placed.text());
                    }
                    Binding::Header { name, text } => {
                        headers.insert(name.clone(), text.replace("{}", &placed.text()));
                    }
                    Binding::Url => {
                        let encoded = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
                        url = url.replace(&format!("{{{}}}", field.name), &encoded);
                    }
                }
            }
        }
        let mut entry = JsonMap::new();
        let mut set = |key: &str, value: Json| entry.insert(key.to_owned(), value);
        set("name", json!(server.as_str()));
        set("template_id", json!(self.id));
        match &self.provider {
            Provider::Package { .. } => {
                let mut words = self.command_line();
                words.extend(args);
                let command = words.remove(0);
                set("command", json!(command));
                set("args", json!(words));
                if !env.is_empty() {
                    set("env", json!(env));
                }
            }
            Provider::Remote { .. } => {
                set("url", json!(url));
                if !headers.is_empty() {
                    set("headers", json!(headers));
                }
            }
        }
        Ok(TemplateInstance { entry, secrets })
    }

    /// The command and the arguments that do not depend on fields; empty for a remote server.
    pub fn command_line(&self) -> Vec<String> {
        let Provider::Package { registry, package, version, program, args, .. } = &self.provider else {
            return Vec::new();
        };
        let runner = registry.runner().to_owned();
        let mut words = match (registry, program) {
            (PackageRegistry::Npm, None) => vec![runner, "-y".to_owned(), format!("{package}@{version}")],
            (PackageRegistry::Npm, Some(program)) => {
                vec![runner, "-y".to_owned(), format!("--package={package}@{version}"), program.clone()]
            }
            (PackageRegistry::Pypi, program) => {
                let program = program.clone().unwrap_or_else(|| package.clone());
                vec![runner, "--from".to_owned(), format!("{package}=={version}"), program]
            }
        };
        words.extend(args.iter().cloned());
        words
    }

    /// The first required field that nobody filled in.
    pub fn missing(&self, values: &FieldValues) -> Option<&TemplateField> {
        self.fields.iter().find(|field| {
            let is_given =
                values.get(&field.name).is_some_and(|values| values.iter().any(|one| !one.is_empty()));
            field.required && field.default.is_none() && !is_given
        })
    }

    fn refuse_unknown(&self, values: &FieldValues) -> Result<(), ValueProblem> {
        let Some(unknown) = values.keys().find(|name| self.field(name).is_none()) else { return Ok(()) };
        let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        let hint = match did_you_mean(unknown, names.iter().copied()) {
            Some(hint) => format!("; {hint}"),
            None if names.is_empty() => "; this template has none".to_owned(),
            None => format!("; there are {}", names.join(", ")),
        };
        Err(ValueProblem::Unknown { field: unknown.clone(), hint })
    }
}

/// The values of a field, without empty ones.
fn given<'a>(field: &'a TemplateField, values: &'a FieldValues) -> Result<Vec<&'a str>, ValueProblem> {
    let given = values.get(&field.name).map(Vec::as_slice).unwrap_or_default();
    let mut found: Vec<&str> = given.iter().map(String::as_str).filter(|value| !value.is_empty()).collect();
    if found.is_empty() {
        found.extend(field.default.as_deref());
    }
    if found.is_empty() && field.required {
        return Err(ValueProblem::Missing { label: field.label.clone(), field: field.name.clone() });
    }
    if found.len() > 1 && field.kind != FieldKind::Paths {
        return Err(ValueProblem::invalid(field, "it can have one value only"));
    }
    Ok(found)
}

fn place(
    field: &TemplateField,
    value: &str,
    server: &ServerName,
    secrets: &mut BTreeMap<String, Secret>,
) -> Result<Placed, ValueProblem> {
    let invalid = |reason: &str| Err(ValueProblem::invalid(field, reason));
    if value.chars().any(char::is_control) {
        return invalid("it contains a line break or another control character");
    }
    match &field.kind {
        FieldKind::Choice(choices) if !choices.iter().any(|choice| choice == value) => {
            return invalid(&format!("it must be one of: {}", choices.join(", ")));
        }
        FieldKind::Paths if !value.starts_with('/') => return invalid("it must be an absolute path"),
        FieldKind::Choice(_) | FieldKind::Paths | FieldKind::Text => {}
    }
    if matches!(field.binding, Binding::Argument(_)) && value.starts_with('-') {
        return invalid("it begins with `-`, as options do");
    }
    if !field.secret {
        return Ok(Placed::Literal(value.to_owned()));
    }
    let stored = value.strip_prefix("${secret:").and_then(|rest| rest.strip_suffix('}'));
    match stored {
        Some(name) if is_secret_name(name) => Ok(Placed::Reference(name.to_owned())),
        Some(_) => invalid("it does not name a stored secret"),
        None => {
            let name = format!("{server}.{}", field.name);
            secrets.insert(name.clone(), Secret::new(value));
            Ok(Placed::Reference(name))
        }
    }
}
