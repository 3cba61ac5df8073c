//! A template as it is written: TOML.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map as JsonMap, Value as Json};

use super::{
    Binding, Deprecation, FieldKind, PackageRegistry, Provider, Template, TemplateField, TemplateSource,
    check,
};
use crate::name::ServerName;

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateProblem {
    /// It cannot be read.
    #[error("{0}")]
    Syntax(String),
    /// Something in it is not possible.
    #[error("`{place}` {message}")]
    Content {
        /// Where.
        place: String,
        /// What is wrong.
        message: String,
    },
}

impl TemplateProblem {
    pub(super) fn at(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Content { place: place.into(), message: message.into() }
    }
}

/// Reads a template.
pub fn parse(text: &str, source: TemplateSource) -> Result<Template, TemplateProblem> {
    let written: Written = toml::from_str(text).map_err(|error| {
        // The excerpt of a file of somebody's own may hold anything.
        let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        TemplateProblem::Syntax(format!("{line}{}", error.message()))
    })?;
    let template = written.into_template(source)?;
    check::check(&template)?;
    Ok(template)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: String,
    name: Option<String>,
    display_name: String,
    description: String,
    category: String,
    icon: Option<String>,
    #[serde(default = "first_version")]
    version: String,
    #[serde(default)]
    verified: bool,
    note: Option<String>,
    deprecated: Option<Deprecation>,
    provider: WrittenProvider,
    #[serde(default)]
    defaults: JsonMap<String, Json>,
    #[serde(default)]
    fields: Vec<WrittenField>,
}

fn first_version() -> String {
    "1".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProvider {
    registry: Option<PackageRegistry>,
    package: Option<String>,
    version: Option<String>,
    program: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenField {
    name: String,
    label: String,
    placeholder: Option<String>,
    help: Option<String>,
    #[serde(default)]
    required: bool,
    #[serde(default)]
    secret: bool,
    default: Option<String>,
    #[serde(default)]
    kind: WrittenKind,
    #[serde(default)]
    choices: Vec<String>,
    env: Option<String>,
    argument: Option<String>,
    header: Option<String>,
    text: Option<String>,
    #[serde(default)]
    url: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenKind {
    #[default]
    Text,
    Paths,
    Choice,
}

impl Written {
    fn into_template(self, source: TemplateSource) -> Result<Template, TemplateProblem> {
        let name = self.name.as_deref().unwrap_or(&self.id);
        let name = ServerName::parse(name).map_err(|error| TemplateProblem::at("name", error.to_string()))?;
        Ok(Template {
            name,
            provider: self.provider.into_provider()?,
            fields: self.fields.into_iter().map(WrittenField::into_field).collect::<Result<_, _>>()?,
            id: self.id,
            display_name: self.display_name,
            description: self.description,
            category: self.category,
            icon: self.icon,
            version: self.version,
            // What was tried is known of built-in ones only.
            verified: self.verified && source == TemplateSource::Builtin,
            source,
            note: self.note,
            deprecated: self.deprecated,
            defaults: self.defaults,
        })
    }
}

impl WrittenProvider {
    fn into_provider(self) -> Result<Provider, TemplateProblem> {
        let Self { registry, package, version, program, args, env, url, headers } = self;
        match (registry, package, version, url) {
            (Some(registry), Some(package), Some(version), None) if headers.is_empty() => {
                Ok(Provider::Package { registry, package, version, program, args, env })
            }
            (None, None, None, Some(url)) if args.is_empty() && env.is_empty() && program.is_none() => {
                Ok(Provider::Remote { url, headers })
            }
            _ => Err(TemplateProblem::at(
                "provider",
                "needs `registry`, `package` and `version` with `program`, `args` and `env` if wanted, \
                 or `url` with `headers` if wanted",
            )),
        }
    }
}

impl WrittenField {
    fn into_field(self) -> Result<TemplateField, TemplateProblem> {
        let place = format!("fields.{}", self.name);
        let binding = match (self.env, self.argument, self.header, self.url) {
            (Some(variable), None, None, false) => Binding::Env(variable),
            (None, Some(option), None, false) => Binding::Argument(option),
            (None, None, Some(name), false) => {
                Binding::Header { name, text: self.text.clone().unwrap_or_else(|| "{}".to_owned()) }
            }
            (None, None, None, true) => Binding::Url,
            _ => {
                return Err(TemplateProblem::at(place, "needs one of `env`, `argument`, `header` and `url`"));
            }
        };
        if self.text.is_some() && !matches!(binding, Binding::Header { .. }) {
            return Err(TemplateProblem::at(place, "has a `text`, which only a `header` can have"));
        }
        let kind = match self.kind {
            WrittenKind::Text => FieldKind::Text,
            WrittenKind::Paths => FieldKind::Paths,
            WrittenKind::Choice => FieldKind::Choice(self.choices.clone()),
        };
        if (self.kind == WrittenKind::Choice) == self.choices.is_empty() {
            return Err(TemplateProblem::at(place, "needs `choices` exactly if its kind is `choice`"));
        }
        Ok(TemplateField {
            name: self.name,
            label: self.label,
            placeholder: self.placeholder,
            help: self.help,
            required: self.required,
            secret: self.secret,
            default: self.default,
            kind,
            binding,
        })
    }
}
