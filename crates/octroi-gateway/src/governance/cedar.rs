//! Cedar policies, compiled for the current tools.

use std::fmt;
use std::sync::Arc;

use octroi_core::approval::Approvers;
use octroi_core::call::Call;
use octroi_core::policy::{Complaint, PolicyVerdict, Program, Word};
use octroi_core::tool::{Risk, ToolDescriptor};
use serde_json::Value;

use crate::catalogue::Catalogue;

/// A compiled set of Cedar policies.
struct Cedar(octroi_cedar::Policies);

impl fmt::Debug for Cedar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Cedar").field(&self.0.text().len()).finish()
    }
}

/// Compiles Cedar policies; line numbers of complaints refer to the whole policy.
pub(super) fn compile(
    text: &str,
    line: usize,
    catalogue: &Catalogue,
) -> Result<Arc<dyn Program>, Vec<Complaint>> {
    let schema = schema(catalogue).map_err(|error| vec![complaint(line, error.to_string())])?;
    let policies = octroi_cedar::Policies::load(text, &schema).map_err(|problems| {
        problems
            .iter()
            .map(|problem| complaint(line + problem.line - 1, problem.to_string()))
            .collect::<Vec<_>>()
    })?;
    Ok(Arc::new(Cedar(policies)))
}

fn complaint(line: usize, message: String) -> Complaint {
    Complaint { line, message }
}

/// The Cedar schema, generated from the definitions of the current tools.
pub(super) fn schema(catalogue: &Catalogue) -> Result<octroi_cedar::Schema, octroi_cedar::SchemaError> {
    let tools: Vec<(&ToolDescriptor, Vec<String>, Value)> = catalogue
        .offers()
        .flat_map(|offer| offer.tools.values())
        .map(|tool| {
            let effects = tool.descriptor.side_effects.iter().map(str::to_owned).collect();
            (&tool.descriptor, effects, tool.input_schema())
        })
        .collect();
    let shapes: Vec<octroi_cedar::ToolShape<'_>> = tools
        .iter()
        .map(|(descriptor, side_effects, input_schema)| octroi_cedar::ToolShape {
            server: &descriptor.source_id,
            tool: &descriptor.name,
            risk: descriptor.risk,
            side_effects,
            input_schema,
        })
        .collect();
    octroi_cedar::Schema::new(&shapes)
}

impl Program for Cedar {
    fn judge(&self, call: &Call<'_>) -> Result<Option<PolicyVerdict>, String> {
        let tool = call.tool;
        let side_effects: Vec<String> = tool.side_effects.iter().map(str::to_owned).collect();
        let facts = || call.facts().clone();
        let judgement = self.0.judge(&octroi_cedar::CallToJudge {
            agent: octroi_cedar::Agent {
                id: call.agent(),
                kind: call.kind,
                profile: call.context.profile.as_str(),
            },
            tool: octroi_cedar::Tool {
                server: &tool.source_id,
                name: &tool.name,
                risk: tool.risk,
                side_effects: &side_effects,
                trust: tool.trust,
                is_read_only: tool.side_effects.is_empty() && tool.risk == Risk::Low,
            },
            arguments: call.arguments,
            exactness: call.exactness,
            facts: &facts,
            session: octroi_cedar::SessionState {
                mode: call.context.mode.as_str(),
                project: call.context.project.as_deref(),
                is_spec_frozen: call.context.is_spec_frozen,
                spec_hash: call.context.spec_hash.as_deref(),
            },
        });
        if !judgement.errors.is_empty() {
            return Err(judgement.errors.join("; "));
        }
        let word = match judgement.verdict {
            octroi_cedar::CedarVerdict::Silent => return Ok(None),
            octroi_cedar::CedarVerdict::Allow => Word::Allow,
            octroi_cedar::CedarVerdict::Ask => Word::Ask,
            octroi_cedar::CedarVerdict::Deny => Word::Deny,
            octroi_cedar::CedarVerdict::Abort => Word::Abort,
        };
        let by: Vec<&str> = judgement.determining.iter().map(|clause| clause.id.as_str()).collect();
        let reason = judgement.determining.iter().find_map(|clause| clause.reason.clone());
        let mut approvers = Approvers::default();
        for clause in &judgement.determining {
            approvers.add(&clause.approvers);
        }
        Ok(Some(PolicyVerdict { word, by: format!("cedar {}", by.join(", ")), reason, approvers }))
    }
}
