//! Warnings about quotas that are nearly used up.

use octroi_core::audit::{Kind, Level};
use octroi_core::tool::ToolDescriptor;
use serde_json::json;

use super::Pipeline;
use crate::audit_recorder::Initiator;

impl Pipeline {
    pub(super) fn warn_of_quotas(&self, initiator: &Initiator, tool: &ToolDescriptor, warnings: &[String]) {
        for warning in warnings {
            tracing::warn!(agent = initiator.agent.as_deref(), tool = %tool.id, warning, "a quota is nearly used up");
            let context = json!({ "quota": warning }).to_string();
            let mut event = self.recorder.system_event(Kind::QuotaWarning, &context);
            event.level = Level::Warn;
            event.agent = initiator.agent.as_deref();
            event.tool = Some(tool.id.as_str());
            self.recorder.record_later(&event);
        }
    }
}
