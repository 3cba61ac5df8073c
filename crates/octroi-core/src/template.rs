//! Templates: servers that are known, so that adding one takes a few fields instead of an entry.
//!
//! A template is data: what provides the server, which fields a person fills in, and where each of them goes. Pure: files
//! are read elsewhere.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map as JsonMap, Value as Json};

use crate::name::ServerName;

mod builtin;
mod check;
mod instance;
mod read;

pub use builtin::builtin;
pub use instance::{FieldValues, TemplateInstance, ValueProblem};
pub use read::{TemplateProblem, parse};

/// A server that is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// Its id.
    pub id: String,
    /// The name that a server made from it has unless another is given.
    pub name: ServerName,
    /// Its name for people.
    pub display_name: String,
    /// What the server is for.
    pub description: String,
    /// What it belongs to.
    pub category: String,
    /// The name of an icon.
    pub icon: Option<String>,
    /// The version of the template.
    pub version: String,
    /// Where it comes from.
    pub source: TemplateSource,
    /// Whether this package, in this version, was installed, and its tools were listed through Octroi.
    pub verified: bool,
    /// What a person should know before choosing it.
    pub note: Option<String>,
    /// Why it should not be used any more.
    pub deprecated: Option<Deprecation>,
    /// What provides the server.
    pub provider: Provider,
    /// Settings of the entry unless it has its own: nothing that decides what runs.
    pub defaults: JsonMap<String, Json>,
    /// What a person fills in.
    pub fields: Vec<TemplateField>,
}

/// Where a template comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateSource {
    /// It is part of Octroi.
    Builtin,
    /// A file of one's own.
    File(PathBuf),
}

/// Why a template should not be used any more.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecation {
    /// The reason.
    pub reason: String,
    /// The template to use instead, if there is one.
    pub instead: Option<String>,
}

/// What provides a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// A package in one version, which is installed when the server starts.
    Package {
        /// Where it comes from.
        registry: PackageRegistry,
        /// Its name.
        package: String,
        /// Its exact version.
        version: String,
        /// The program in it, if that is named differently.
        program: Option<String>,
        /// Arguments before those of the fields.
        args: Vec<String>,
        /// Variables besides those of the fields.
        env: BTreeMap<String, String>,
    },
    /// A server that somebody runs.
    Remote {
        /// Its address; `{field}` stands for the value of a field.
        url: String,
        /// Headers besides those of the fields.
        headers: BTreeMap<String, String>,
    },
}

/// Where packages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PackageRegistry {
    /// Node packages, run by `npx`.
    Npm,
    /// Python packages, run by `uvx`.
    Pypi,
}

/// What a person fills in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateField {
    /// Its key.
    pub name: String,
    /// Its name for people.
    pub label: String,
    /// An example of a value.
    pub placeholder: Option<String>,
    /// What it is and where to get it.
    pub help: Option<String>,
    /// Whether it must be filled in.
    pub required: bool,
    /// Whether its value is stored as a secret.
    pub secret: bool,
    /// What is used if it is not filled in.
    pub default: Option<String>,
    /// What a value is.
    pub kind: FieldKind,
    /// Where the value goes.
    pub binding: Binding,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// One line of text.
    Text,
    /// Absolute paths, at least one.
    Paths,
    /// One of these.
    Choice(Vec<String>),
}

/// Where a value goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Into this environment variable.
    Env(String),
    /// Behind the arguments, each after this option; alone if it is empty.
    Argument(String),
    /// Into this header, where `{}` stands in the text.
    Header {
        /// The header.
        name: String,
        /// The text.
        text: String,
    },
    /// Into the URL, where `{field}` stands.
    Url,
}

/// All templates that there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateCatalogue {
    /// By category and id. A file with the id of a built-in one replaces it.
    pub templates: Vec<Template>,
    /// Files that cannot be used, and why.
    pub problems: Vec<String>,
}

impl TemplateCatalogue {
    /// The built-in templates and those of files.
    pub fn new(own: Vec<Template>, problems: Vec<String>) -> Self {
        let mut by_id: BTreeMap<String, Template> = BTreeMap::new();
        for template in builtin().iter().cloned().chain(own) {
            by_id.insert(template.id.clone(), template);
        }
        let mut templates: Vec<Template> = by_id.into_values().collect();
        templates.sort_by(|left, right| (&left.category, &left.id).cmp(&(&right.category, &right.id)));
        Self { templates, problems }
    }

    /// The template with this id.
    pub fn find(&self, id: &str) -> Option<&Template> {
        self.templates.iter().find(|template| template.id == id)
    }
}

impl Template {
    /// Whether a server made from it runs a command on this machine.
    pub fn needs_command(&self) -> bool {
        match self.provider {
            Provider::Package { .. } => true,
            Provider::Remote { .. } => false,
        }
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&TemplateField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Adds the settings of the template that an entry does not have itself.
    pub fn inherit(&self, entry: &mut JsonMap<String, Json>) {
        for (key, value) in &self.defaults {
            if !entry.contains_key(key) {
                entry.insert(key.clone(), value.clone());
            }
        }
    }
}

impl TemplateSource {
    /// The name of the source.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::File(_) => "file",
        }
    }
}

impl PackageRegistry {
    /// The name of the registry.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
        }
    }

    /// The program that runs its packages.
    pub fn runner(self) -> &'static str {
        match self {
            Self::Npm => "npx",
            Self::Pypi => "uvx",
        }
    }
}

#[cfg(test)]
mod tests;
