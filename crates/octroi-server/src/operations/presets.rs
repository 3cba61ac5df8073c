//! Handlers of operations about presets.

use octroi_api::operations::NoArguments;
use octroi_api::operations::presets::{Preset, PresetList};
use octroi_core::preset;
use octroi_core::time::show_time;

use super::context::OperationContext;
use super::shape::count;
use crate::error::OperationError;

pub(crate) async fn list(context: &OperationContext, _: NoArguments) -> Result<PresetList, OperationError> {
    let catalogue = context.gateway.offers().presets();
    let is_admin = context.principal().is_admin();
    let describe = |preset: &preset::Preset| Preset {
        name: preset.name.clone(),
        description: preset.description.clone(),
        system_prompt: preset.system_prompt.clone(),
        servers: preset.servers.iter().map(ToString::to_string).collect(),
        policy: preset.policy.clone(),
        project: preset.project.clone(),
        mode: preset.mode.map(Into::into),
        profile: preset.profile.map(Into::into),
        file: preset.file.as_ref().filter(|_| is_admin).map(|file| file.display().to_string()),
        modified_at: preset.modified_at_ms.map(show_time),
    };
    let presets: Vec<Preset> = catalogue.presets.iter().map(describe).collect();
    let problems = if is_admin { catalogue.problems.clone() } else { Vec::new() };
    Ok(PresetList { count: count(presets.len()), presets, problems })
}
