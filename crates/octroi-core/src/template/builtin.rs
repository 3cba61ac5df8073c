//! The templates that are part of Octroi.

use std::sync::LazyLock;

use super::{Template, TemplateSource, parse};

const TEXTS: &[&str] = &[
    include_str!("../../templates/brave-search.toml"),
    include_str!("../../templates/context7.toml"),
    include_str!("../../templates/everything.toml"),
    include_str!("../../templates/fetch.toml"),
    include_str!("../../templates/filesystem.toml"),
    include_str!("../../templates/git.toml"),
    include_str!("../../templates/github.toml"),
    include_str!("../../templates/linear.toml"),
    include_str!("../../templates/memory.toml"),
    include_str!("../../templates/notion.toml"),
    include_str!("../../templates/playwright.toml"),
    include_str!("../../templates/postgres.toml"),
    include_str!("../../templates/puppeteer.toml"),
    include_str!("../../templates/sentry.toml"),
    include_str!("../../templates/sequential-thinking.toml"),
    include_str!("../../templates/slack.toml"),
    include_str!("../../templates/sql.toml"),
    include_str!("../../templates/time.toml"),
];

/// The built-in templates.
pub fn builtin() -> &'static [Template] {
    static TEMPLATES: LazyLock<Vec<Template>> =
        LazyLock::new(|| TEXTS.iter().filter_map(|text| parse(text, TemplateSource::Builtin).ok()).collect());
    &TEMPLATES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_template_can_be_used() {
        for text in TEXTS {
            let first = text.lines().next().unwrap_or_default();
            assert_eq!(parse(text, TemplateSource::Builtin).err(), None, "{first}");
        }
        assert_eq!(builtin().len(), TEXTS.len());
    }
}
