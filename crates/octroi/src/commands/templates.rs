//! Commands about templates of servers and presets of agents.

use octroi_api::operations::NoArguments;
use octroi_api::operations::presets::{Preset, PresetsList};
use octroi_api::operations::templates::{
    ListTemplatesRequest, Template, TemplateField, TemplateRequest, TemplatesGet, TemplatesList,
};
use owo_colors::Style;

use crate::cli::Target;
use crate::cli::templates::{OneTemplate, Templates, TemplatesCommand};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

pub(super) async fn run(options: &Templates) -> Result<(), Failure> {
    match &options.command {
        None => list(options).await,
        Some(TemplatesCommand::Show(one)) => show(one).await,
    }
}

async fn list(options: &Templates) -> Result<(), Failure> {
    let request = ListTemplatesRequest { category: options.category.clone() };
    let list = Client::find(&options.target)?.call::<TemplatesList>(&request).await?;
    if options.target.json {
        printer::json(&list.templates);
        return Ok(());
    }
    if list.templates.is_empty() {
        printer::say("no such templates; `octroi templates` lists all");
    } else {
        printer::table(&table(&list.templates));
        printer::say("look closer with `octroi templates show ID`");
    }
    for problem in &list.problems {
        printer::warn(&visible(problem));
    }
    Ok(())
}

async fn show(one: &OneTemplate) -> Result<(), Failure> {
    let request = TemplateRequest { id: one.id.clone() };
    let template = Client::find(&one.target)?.call::<TemplatesGet>(&request).await?;
    if one.target.json {
        printer::json(&template);
    } else {
        for line in lines(&template) {
            printer::data(&line);
        }
    }
    Ok(())
}

/// `octroi presets`.
pub(super) async fn presets(target: &Target) -> Result<(), Failure> {
    let list = Client::find(target)?.call::<PresetsList>(&NoArguments {}).await?;
    if target.json {
        printer::json(&list.presets);
        return Ok(());
    }
    printer::table(&presets_table(&list.presets));
    printer::say("create an agent from one with `octroi agents create ID --preset NAME`");
    for problem in &list.problems {
        printer::warn(&visible(problem));
    }
    Ok(())
}

fn table(templates: &[Template]) -> Table {
    let mut table = Table::new(&[
        Column::text("id"),
        Column::text("category"),
        Column::text("verified"),
        Column::text("needs"),
        Column::sentence("description"),
    ]);
    for template in templates {
        let style = if template.usable && template.deprecated.is_none() {
            Style::new().bold()
        } else {
            Style::new().dimmed()
        };
        let description = match &template.deprecated {
            Some(_) => format!("(deprecated) {}", template.description),
            None => template.description.clone(),
        };
        table.row([
            Cell::new(&template.id).styled(style),
            Cell::new(&template.category),
            Cell::new(if template.verified { "yes" } else { "no" }),
            Cell::new(template.required_fields.join(", ")),
            description.into(),
        ]);
    }
    table
}

fn lines(template: &Template) -> Vec<String> {
    let config = &template.default_config;
    let place = match (config.get("command"), config.get("url")) {
        (Some(command), _) => {
            let args = config.get("args").and_then(|args| args.as_array()).into_iter().flatten();
            let words = std::iter::once(command).chain(args).filter_map(|word| word.as_str());
            ("command", words.collect::<Vec<_>>().join(" "))
        }
        (None, url) => ("url", url.and_then(|url| url.as_str()).unwrap_or_default().to_owned()),
    };
    let mut rows = vec![
        ("id", template.id.clone()),
        ("name", template.display_name.clone()),
        ("description", template.description.clone()),
        ("category", template.category.clone()),
        ("source", format!("{}, version {}", template.source, template.version)),
        ("verified", if template.verified { "yes" } else { "no" }.to_owned()),
        place,
    ];
    rows.extend(template.note.clone().map(|note| ("note", note)));
    if let Some(deprecated) = &template.deprecated {
        let instead =
            deprecated.instead.as_ref().map(|instead| format!("; use `{instead}`")).unwrap_or_default();
        rows.push(("deprecated", format!("{}{instead}", deprecated.reason)));
    }
    if !template.usable {
        rows.push((
            "not for you",
            "it runs a command on this machine, which only administrators add".to_owned(),
        ));
    }
    let row = |(name, value): (&str, String)| format!("{name:<12} {}", visible(&value));
    let mut lines: Vec<String> = rows.into_iter().map(row).collect();
    for field in &template.fields {
        lines.push(visible(&format!("{}{}", field.name, marks(field))));
        lines.push(format!("    {}", visible(&field.label)));
        lines.extend(field.help.as_ref().map(|help| format!("    {}", visible(help))));
        lines.extend(field.placeholder.as_ref().map(|example| format!("    such as {}", visible(example))));
    }
    lines
}

/// What a field is, in brackets.
fn marks(field: &TemplateField) -> String {
    let mut marks = vec![if field.required { "required" } else { "optional" }.to_owned()];
    marks.extend(field.secret.then(|| "secret".to_owned()));
    marks.extend(field.default.as_ref().map(|default| format!("default {default}")));
    marks.extend((!field.choices.is_empty()).then(|| format!("one of {}", field.choices.join(", "))));
    format!(" ({})", marks.join(", "))
}

fn presets_table(presets: &[Preset]) -> Table {
    let mut table = Table::new(&[
        Column::text("name"),
        Column::text("servers"),
        Column::text("profile"),
        Column::text("mode"),
        Column::sentence("description"),
    ]);
    for preset in presets {
        table.row([
            Cell::new(&preset.name).styled(Style::new().bold()),
            preset.servers.join(", ").into(),
            Cell::new(preset.profile.map(|profile| profile.to_string()).unwrap_or_default()),
            Cell::new(preset.mode.map(|mode| mode.to_string()).unwrap_or_default()),
            Cell::new(preset.description.as_deref().unwrap_or_default()),
        ]);
    }
    table
}
