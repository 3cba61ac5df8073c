//! Handlers of operations about templates.

use octroi_api::operations::templates::{
    ListTemplatesRequest, Template, TemplateDeprecation, TemplateField, TemplateList, TemplateRequest,
};
use octroi_core::template::{self, Binding, FieldKind, Provider};
use serde_json::{Map, Value, json};

use super::context::OperationContext;
use super::shape::count;
use crate::error::OperationError;

pub(crate) async fn list(
    context: &OperationContext,
    request: ListTemplatesRequest,
) -> Result<TemplateList, OperationError> {
    let catalogue = context.gateway.offers().templates();
    let is_meant = |template: &&template::Template| {
        request.category.as_ref().is_none_or(|category| *category == template.category)
    };
    let templates: Vec<Template> =
        catalogue.templates.iter().filter(is_meant).map(|template| describe(context, template)).collect();
    let is_admin = context.principal().is_admin();
    let problems = if is_admin { catalogue.problems.clone() } else { Vec::new() };
    Ok(TemplateList { count: count(templates.len()), templates, problems })
}

pub(super) async fn get(
    context: &OperationContext,
    request: TemplateRequest,
) -> Result<Template, OperationError> {
    let catalogue = context.gateway.offers().templates();
    match catalogue.find(&request.id) {
        Some(template) => Ok(describe(context, template)),
        None => {
            let message = format!("there is no template `{}`", request.id);
            Err(OperationError::not_found_in(message, "list them with `octroi templates`"))
        }
    }
}

fn describe(context: &OperationContext, template: &template::Template) -> Template {
    let may_run_commands =
        context.principal().is_admin() || context.gateway.offers().members().allow_host_commands;
    let names = |is_required: bool| {
        let fields = template.fields.iter().filter(|field| field.required == is_required);
        fields.map(|field| field.name.clone()).collect::<Vec<_>>()
    };
    let texts = |text: fn(&template::TemplateField) -> Option<&String>| {
        let texts =
            template.fields.iter().filter_map(|field| Some((field.name.clone(), text(field)?.clone())));
        texts.collect()
    };
    Template {
        id: template.id.clone(),
        name: template.name.to_string(),
        display_name: template.display_name.clone(),
        description: template.description.clone(),
        category: template.category.clone(),
        icon: template.icon.clone(),
        version: template.version.clone(),
        source: template.source.as_str().to_owned(),
        verified: template.verified,
        note: template.note.clone(),
        deprecated: template.deprecated.as_ref().map(|deprecated| TemplateDeprecation {
            reason: deprecated.reason.clone(),
            instead: deprecated.instead.clone(),
        }),
        needs_command: template.needs_command(),
        usable: may_run_commands || !template.needs_command(),
        default_config: default_config(template),
        required_fields: names(true),
        optional_fields: names(false),
        field_labels: texts(|field| Some(&field.label)),
        field_placeholders: texts(|field| field.placeholder.as_ref()),
        field_help_texts: texts(|field| field.help.as_ref()),
        fields: template.fields.iter().map(describe_field).collect(),
    }
}

fn default_config(template: &template::Template) -> Map<String, Value> {
    let mut config = Map::new();
    match &template.provider {
        Provider::Package { env, .. } => {
            let mut words = template.command_line();
            let command = words.remove(0);
            config.insert("command".to_owned(), json!(command));
            config.insert("args".to_owned(), json!(words));
            if !env.is_empty() {
                config.insert("env".to_owned(), json!(env));
            }
        }
        Provider::Remote { url, headers } => {
            config.insert("url".to_owned(), json!(url));
            if !headers.is_empty() {
                config.insert("headers".to_owned(), json!(headers));
            }
        }
    }
    template.inherit(&mut config);
    config
}

fn describe_field(field: &template::TemplateField) -> TemplateField {
    let (kind, choices) = match &field.kind {
        FieldKind::Text => ("text", Vec::new()),
        FieldKind::Paths => ("paths", Vec::new()),
        FieldKind::Choice(choices) => ("choice", choices.clone()),
    };
    let (binding, binds_to) = match &field.binding {
        Binding::Env(variable) => ("env", Some(variable.clone())),
        Binding::Argument(option) => ("argument", Some(option.clone()).filter(|option| !option.is_empty())),
        Binding::Header { name, .. } => ("header", Some(name.clone())),
        Binding::Url => ("url", None),
    };
    TemplateField {
        name: field.name.clone(),
        label: field.label.clone(),
        placeholder: field.placeholder.clone(),
        help: field.help.clone(),
        required: field.required,
        secret: field.secret,
        default: field.default.clone(),
        kind: kind.to_owned(),
        choices,
        binding: binding.to_owned(),
        binds_to,
    }
}
