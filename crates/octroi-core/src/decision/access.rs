//! The tools that a server's entry allows and denies.

use crate::glob::Glob;
use crate::server::ToolAccess;
use crate::tool::ToolDescriptor;

/// Whether the entry allows this tool at all; if not, clients do not even see it.
pub fn is_allowed(tool: &ToolDescriptor, access: &ToolAccess) -> bool {
    objection(tool, access).is_none()
}

pub(super) fn objection(tool: &ToolDescriptor, access: &ToolAccess) -> Option<String> {
    let is_named =
        |patterns: &[String]| patterns.iter().any(|pattern| Glob::new(pattern).matches(&tool.name));
    if is_named(&access.deny_tools) {
        return Some(format!("`deny_tools` of server `{}` names it", tool.source_id));
    }
    if !access.allow_tools.is_empty() && !is_named(&access.allow_tools) {
        return Some(format!("`allow_tools` of server `{}` does not name it", tool.source_id));
    }
    let denied = tool
        .side_effects
        .iter()
        .find(|tag| access.deny_side_effect_tags.iter().any(|pattern| Glob::new(pattern).matches(tag)))?;
    Some(format!("side effect {denied} is denied for server `{}`", tool.source_id))
}
