//! What a template must be besides well-formed.

use std::collections::BTreeSet;

use super::read::TemplateProblem;
use super::{Binding, FieldKind, PackageRegistry, Provider, Template, TemplateField};
use crate::name::ServerName;

/// Settings of an entry that a template may have defaults for. Nothing in them decides what runs, where a request goes,
/// or what it carries: a template that changes must not change that for servers that were made from it.
const DEFAULTS: &[&str] = &[
    "title",
    "description",
    "start",
    "sharing",
    "reconnect",
    "timeout",
    "max_call_timeout",
    "connect_timeout",
    "list_timeout",
    "shutdown_grace",
    "max_concurrency",
    "queue",
    "health_interval",
    "idle_stop",
    "era",
];
const LONGEST_FIELD_NAME: usize = 31;

pub(super) fn check(template: &Template) -> Result<(), TemplateProblem> {
    if let Err(error) = ServerName::parse(&template.id) {
        return Err(TemplateProblem::at("id", error.to_string()));
    }
    for (place, text) in [
        ("display_name", &template.display_name),
        ("description", &template.description),
        ("category", &template.category),
        ("version", &template.version),
    ] {
        if text.trim().is_empty() {
            return Err(TemplateProblem::at(place, "is empty"));
        }
    }
    if let Some(key) = template.defaults.keys().find(|key| !DEFAULTS.contains(&key.as_str())) {
        let message = format!("cannot be a default; only these can: {}", DEFAULTS.join(", "));
        return Err(TemplateProblem::at(format!("defaults.{key}"), message));
    }
    check_provider(&template.provider)?;
    let mut names = BTreeSet::new();
    for field in &template.fields {
        if !names.insert(&field.name) {
            return Err(TemplateProblem::at(format!("fields.{}", field.name), "is there twice"));
        }
        check_field(field, &template.provider)?;
    }
    check_url(template)
}

fn check_provider(provider: &Provider) -> Result<(), TemplateProblem> {
    match provider {
        Provider::Package { registry, package, version, program, args, env } => {
            let is_name = |text: &str| {
                let (scope, name) = match text.strip_prefix('@').and_then(|scoped| scoped.split_once('/')) {
                    Some((scope, name)) if *registry == PackageRegistry::Npm => (Some(scope), name),
                    Some(_) | None => (None, text),
                };
                let is_part = |part: &str| {
                    !part.is_empty()
                        && part.starts_with(|first: char| first.is_ascii_alphanumeric())
                        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
                };
                is_part(name) && scope.is_none_or(is_part)
            };
            if !is_name(package) {
                return Err(TemplateProblem::at("provider.package", "is not the name of a package"));
            }
            if program.as_deref().is_some_and(|program| !is_name(program)) {
                return Err(TemplateProblem::at("provider.program", "is not the name of a program"));
            }
            let is_version = version.starts_with(|first: char| first.is_ascii_digit())
                && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte))
                && version.contains('.');
            if !is_version {
                let message = "must be one exact version, such as 1.2.3";
                return Err(TemplateProblem::at("provider.version", message));
            }
            let values = args.iter().chain(env.values());
            refuse_references("provider", values)
        }
        Provider::Remote { url, headers } => {
            if let Err(problem) = crate::outward::host_of(url) {
                return Err(TemplateProblem::at("provider.url", problem.to_string()));
            }
            refuse_references("provider", headers.values().chain([url]))
        }
    }
}

/// A template must not read what its user cannot.
fn refuse_references<'a>(
    place: &str,
    mut values: impl Iterator<Item = &'a String>,
) -> Result<(), TemplateProblem> {
    match values.find(|value| value.contains('$')) {
        Some(_) => Err(TemplateProblem::at(place, "must not contain `$`: values come from fields")),
        None => Ok(()),
    }
}

fn check_field(field: &TemplateField, provider: &Provider) -> Result<(), TemplateProblem> {
    let problem = |message: &str| Err(TemplateProblem::at(format!("fields.{}", field.name), message));
    let is_name = (1..=LONGEST_FIELD_NAME).contains(&field.name.len())
        && field.name.starts_with(|first: char| first.is_ascii_lowercase())
        && field.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_name {
        return problem("needs a name of a-z, 0-9 and `_` with at most 31 characters");
    }
    if field.label.trim().is_empty() {
        return problem("needs a label");
    }
    let is_package = matches!(provider, Provider::Package { .. });
    match &field.binding {
        Binding::Env(_) | Binding::Argument(_) if !is_package => {
            return problem("is for a program, and this server is remote");
        }
        Binding::Header { .. } | Binding::Url if is_package => {
            return problem("is for a remote server, and this is a program");
        }
        Binding::Argument(_) | Binding::Url if field.secret => {
            return problem("is a secret, and others can see arguments and URLs");
        }
        Binding::Env(variable) if !is_variable(variable) => {
            return problem("names no environment variable");
        }
        Binding::Header { name, text } if !is_header(name) || text.matches("{}").count() != 1 => {
            return problem("needs the name of a header, and a text with one `{}`");
        }
        Binding::Header { text, .. } if text.contains('$') => return problem("must not contain `$`"),
        Binding::Argument(option) if option.contains('$') => return problem("must not contain `$`"),
        Binding::Env(_) | Binding::Argument(_) | Binding::Header { .. } | Binding::Url => {}
    }
    if field.secret && field.default.is_some() {
        return problem("is a secret, which has no default");
    }
    if field.kind == FieldKind::Paths && !matches!(field.binding, Binding::Argument(_)) {
        return problem("is a list of paths, which are arguments");
    }
    match (&field.kind, &field.default) {
        (FieldKind::Choice(choices), Some(default)) if !choices.contains(default) => {
            problem("has a default that is none of its choices")
        }
        _ => Ok(()),
    }
}

/// Variables that decide what runs are none of a template's business.
fn is_variable(name: &str) -> bool {
    const NEVER: &[&str] =
        &["PATH", "HOME", "NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "BASH_ENV", "ENV"];
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && !name.starts_with("LD_")
        && !NEVER.contains(&name)
}

fn is_header(name: &str) -> bool {
    const NEVER: &[&str] = &["host", "content-length", "transfer-encoding", "connection"];
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && !name.to_ascii_lowercase().starts_with("mcp-")
        && !NEVER.contains(&name.to_ascii_lowercase().as_str())
}

/// Every `{…}` of the URL is a field, and every field of the URL stands in it, behind the host.
fn check_url(template: &Template) -> Result<(), TemplateProblem> {
    let Provider::Remote { url, .. } = &template.provider else { return Ok(()) };
    let path = url.split_once("://").and_then(|(_, rest)| rest.find(['/', '?']).map(|at| &rest[at..]));
    let path = path.unwrap_or_default();
    for field in template.fields.iter().filter(|field| field.binding == Binding::Url) {
        if !path.contains(&format!("{{{}}}", field.name)) {
            let message = format!("does not contain `{{{}}}` behind its host", field.name);
            return Err(TemplateProblem::at("provider.url", message));
        }
        if !field.required && field.default.is_none() {
            let message = "is a part of the URL, so it must be required or have a default";
            return Err(TemplateProblem::at(format!("fields.{}", field.name), message));
        }
    }
    let n_fields = template.fields.iter().filter(|field| field.binding == Binding::Url).count();
    if url.matches('{').count() != n_fields {
        return Err(TemplateProblem::at("provider.url", "has a `{…}` that is no field of the URL, or twice"));
    }
    Ok(())
}
