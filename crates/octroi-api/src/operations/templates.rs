//! Operations on templates: servers that are known, to add by filling in a few fields.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::{Access, ObjectRef};
use crate::error::ErrorCode;
use crate::operation::{Effect, Operation, OperationEntry};
use crate::route::Route;

/// In listing order.
pub static OPERATIONS: &[OperationEntry] =
    &[OperationEntry::of::<TemplatesList>(), OperationEntry::of::<TemplatesGet>()];

/// A server that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Template {
    /// Its id
    pub id: String,
    /// The name of a server made from it, unless another is given
    pub name: String,
    /// Its name for people
    pub display_name: String,
    /// What the server is for
    pub description: String,
    /// What it belongs to, such as development, database, communication or search
    pub category: String,
    /// The name of an icon
    pub icon: Option<String>,
    /// The version of the template
    pub version: String,
    /// builtin, or file for one of your own
    pub source: String,
    /// Whether this package, in this version, was installed, and its tools were listed through Octroi
    pub verified: bool,
    /// What to know before choosing it
    pub note: Option<String>,
    /// Why it should not be used any more
    pub deprecated: Option<TemplateDeprecation>,
    /// Whether a server made from it runs a command on this machine
    pub needs_command: bool,
    /// Whether you may add a server from it
    pub usable: bool,
    /// Its entry before any field is filled in
    pub default_config: Map<String, Value>,
    /// The names of fields that must be filled in
    pub required_fields: Vec<String>,
    /// The names of all other fields
    pub optional_fields: Vec<String>,
    /// The label of each field
    pub field_labels: BTreeMap<String, String>,
    /// The placeholder of fields that have one
    pub field_placeholders: BTreeMap<String, String>,
    /// The help of fields that have some
    pub field_help_texts: BTreeMap<String, String>,
    /// All of each field, in the order of filling in
    pub fields: Vec<TemplateField>,
}

/// Why a template should not be used any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateDeprecation {
    /// The reason
    pub reason: String,
    /// The template to use instead
    pub instead: Option<String>,
}

/// What a person fills in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateField {
    /// Its name
    pub name: String,
    /// Its name for people
    pub label: String,
    /// An example of a value
    pub placeholder: Option<String>,
    /// What it is and where to get it
    pub help: Option<String>,
    /// Whether it must be filled in
    pub required: bool,
    /// Whether its value is stored as a secret
    pub secret: bool,
    /// What is used if it is not filled in
    pub default: Option<String>,
    /// text, paths or choice
    pub kind: String,
    /// The possible values of a choice
    pub choices: Vec<String>,
    /// Where the value goes: env, argument, header or url
    pub binding: String,
    /// The variable, option or header
    pub binds_to: Option<String>,
}

/// Lists templates.
pub struct TemplatesList;

/// Which templates to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListTemplatesRequest {
    /// Only those of this category
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

/// Templates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateList {
    /// The templates, by category and id
    pub templates: Vec<Template>,
    /// The number of templates
    pub count: u64,
    /// Files that cannot be used, and why; only administrators see them
    pub problems: Vec<String>,
}

impl Operation for TemplatesList {
    type Request = ListTemplatesRequest;
    type Response = TemplateList;

    const NAME: &'static str = "templates_list";
    const TITLE: &'static str = "List templates";
    const DESCRIPTION: &'static str =
        "Servers that are known, and what must be filled in to add one: built-in ones and files of your own.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[];
    const REST: &'static [Route] = &[Route::get("/api/mcp/templates")];

    fn object(_: &ListTemplatesRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}

/// Shows one template.
pub struct TemplatesGet;

/// One template, by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplateRequest {
    /// The template
    pub id: String,
}

impl Operation for TemplatesGet {
    type Request = TemplateRequest;
    type Response = Template;

    const NAME: &'static str = "templates_get";
    const TITLE: &'static str = "Show a template";
    const DESCRIPTION: &'static str = "One template and its fields.";
    const ACCESS: Access = Access::People;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [ErrorCode] = &[ErrorCode::NotFound];

    fn object(_: &TemplateRequest) -> ObjectRef<'_> {
        ObjectRef::Gateway
    }
}
