//! Options of commands about templates and presets.

use clap::{Args, Subcommand};

use super::Target;

/// Options of `octroi templates`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Templates {
    #[command(subcommand)]
    pub(crate) command: Option<TemplatesCommand>,

    /// Only of this category.
    #[arg(long, value_name = "NAME")]
    pub(crate) category: Option<String>,

    #[command(flatten)]
    pub(crate) target: Target,
}

/// What to do with templates.
#[derive(Debug, Subcommand)]
pub(crate) enum TemplatesCommand {
    /// Show one template: what it runs or reaches, and its fields.
    Show(OneTemplate),
}

/// One template.
#[derive(Debug, Args)]
pub(crate) struct OneTemplate {
    /// The template.
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) target: Target,
}
