//! The verdict of policies on one call.
//!
//! Cedar skips a policy whose evaluation fails; here any failure denies, because a failing `forbid` must
//! still forbid.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use cedar_policy::{
    Context, Entities, Entity, EntityUid, Request as CedarRequest, Response,
    RestrictedExpression as Expression,
};
use octroi_core::PrincipalKind;
use octroi_core::approval::Approvers;
use octroi_core::arguments::Exactness;
use octroi_core::facts::Facts;
use octroi_core::tool::Risk;
use octroi_core::trust::Trust;
use serde_json::Value;

use crate::argument::{self, Parts, texts};
use crate::effect::CedarEffect;
use crate::needs::{Needs, UsedParts};
use crate::policies::{Policies, Prepared, Slice};
use crate::schema::risk_name;

/// A call to be judged.
#[derive(Clone, Copy)]
pub struct CallToJudge<'a> {
    /// The caller.
    pub agent: Agent<'a>,
    /// The called tool.
    pub tool: Tool<'a>,
    /// The arguments of the call.
    pub arguments: &'a Value,
    /// Whether the arguments show how their numbers are written.
    pub exactness: Exactness,
    /// Computes the facts; called at most once, and only if a policy uses one of them.
    pub facts: &'a dyn Fn() -> Facts,
    /// The agent's session state.
    pub session: SessionState<'a>,
}

/// A caller.
#[derive(Clone, Copy, Debug)]
pub struct Agent<'a> {
    /// Its id, as policies name it.
    pub id: &'a str,
    /// Person or program.
    pub kind: PrincipalKind,
    /// The profile it runs under; empty if it has none.
    pub profile: &'a str,
}

/// A called tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    /// The server's name.
    pub server: &'a str,
    /// The tool's own name.
    pub name: &'a str,
    /// Its risk level.
    pub risk: Risk,
    /// Its side effects.
    pub side_effects: &'a [String],
    /// The trust in its server.
    pub trust: Trust,
    /// Whether it only reads.
    pub is_read_only: bool,
}

/// The agent's session state.
#[derive(Clone, Copy, Debug)]
pub struct SessionState<'a> {
    /// The mode of the agent.
    pub mode: &'a str,
    /// The project it works on.
    pub project: Option<&'a str>,
    /// Whether the specification is frozen.
    pub is_spec_frozen: bool,
    /// The hash of the specification.
    pub spec_hash: Option<&'a str>,
}

/// The verdict of policies, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CedarVerdict {
    /// No policy matched.
    Silent,
    /// The call is allowed.
    Allow,
    /// The call needs approval.
    Ask,
    /// The call is denied.
    Deny,
    /// The call is denied, and the agent should stop.
    Abort,
}

/// A verdict and its explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The resulting verdict.
    pub verdict: CedarVerdict,
    /// The policies that determined it, in the order of the text. If any forbids, permits are left out.
    pub determining: Vec<Clause>,
    /// Evaluation errors; with any, the verdict is [`CedarVerdict::Deny`] or stricter.
    pub errors: Vec<String>,
}

/// A policy that determined a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Its id.
    pub id: String,
    /// Its reason, for people.
    pub reason: Option<String>,
    /// Who may decide, if it asks and says it.
    pub approvers: Approvers,
    /// Whether it is a `permit`.
    pub is_permit: bool,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Policies {
    /// Judges one call. Only the arguments and facts that policies use are converted.
    pub fn judge(&self, request: &CallToJudge<'_>) -> Judgement {
        let tool = &request.tool;
        let Some(prepared) = self.tools.get(tool.server).and_then(|tools| tools.get(tool.name)) else {
            // Policies may apply to every tool; whether they match this unknown one cannot be evaluated.
            return if self.is_empty() {
                silent()
            } else {
                failed("the policies' schema does not contain this tool")
            };
        };
        let Some(slice) = &prepared.slice else {
            return silent();
        };
        match self.respond(request, prepared, slice) {
            Ok(response) => self.judgement(&response),
            Err(error) => failed(&error.to_string()),
        }
    }

    fn respond(
        &self,
        request: &CallToJudge<'_>,
        prepared: &Prepared,
        slice: &Slice,
    ) -> Result<Response, Failure> {
        let agent = self.types.agent(request.agent.id);
        let context = context(request, prepared, &slice.needs)?;
        let entities = entities(request, prepared, &slice.needs, &agent)?;
        let request =
            CedarRequest::new(agent, prepared.action.clone(), prepared.tool.clone(), context, None)?;
        Ok(self.authorizer.is_authorized(&request, &slice.policies, &entities))
    }

    fn judgement(&self, response: &Response) -> Judgement {
        let matched = response.diagnostics().reason().map(|id| self.by_id.get(AsRef::<str>::as_ref(id)));
        let mut errors: Vec<String> = response.diagnostics().errors().map(ToString::to_string).collect();
        errors.sort();
        let mut indices: Vec<usize> = matched.flatten().copied().collect();
        indices.sort_unstable();
        let matched = || indices.iter().filter_map(|index| self.loaded.get(*index));
        let failure = (!errors.is_empty()).then_some(CedarVerdict::Deny);
        let verdicts = matched().map(|loaded| verdict(loaded.effect));
        let verdict = verdicts.chain(failure).max().unwrap_or(CedarVerdict::Silent);
        let determining = matched()
            .map(|loaded| Clause {
                id: loaded.id.clone(),
                reason: loaded.reason.clone(),
                approvers: loaded.approvers.clone(),
                is_permit: loaded.effect == CedarEffect::Permit,
            })
            .filter(|clause| !clause.is_permit || verdict == CedarVerdict::Allow)
            .collect();
        Judgement { verdict, determining, errors }
    }
}

const fn verdict(effect: CedarEffect) -> CedarVerdict {
    match effect {
        CedarEffect::Permit => CedarVerdict::Allow,
        CedarEffect::Ask => CedarVerdict::Ask,
        CedarEffect::Deny => CedarVerdict::Deny,
        CedarEffect::Abort => CedarVerdict::Abort,
    }
}

fn silent() -> Judgement {
    Judgement { verdict: CedarVerdict::Silent, determining: Vec::new(), errors: Vec::new() }
}

fn failed(error: &str) -> Judgement {
    Judgement { verdict: CedarVerdict::Deny, determining: Vec::new(), errors: vec![error.to_owned()] }
}

fn context(request: &CallToJudge<'_>, prepared: &Prepared, needs: &Needs) -> Result<Context, Failure> {
    let mut pairs = Vec::with_capacity(3);
    if !needs.arguments.is_nothing() {
        let arguments =
            argument::arguments(&prepared.arguments, request.arguments, &needs.arguments, request.exactness)?;
        pairs.push(("args".to_owned(), arguments));
    }
    if !needs.facts.is_nothing() {
        pairs.push(("facts".to_owned(), facts(&(request.facts)(), &needs.facts)?));
    }
    if !needs.session.is_nothing() {
        pairs.push(("session".to_owned(), session(&request.session, &needs.session)?));
    }
    Ok(Context::from_pairs(pairs)?)
}

fn facts(facts: &Facts, used: &UsedParts) -> Result<Expression, Failure> {
    let Facts {
        paths,
        paths_outside_project,
        hosts,
        sql_verbs,
        shell_heads,
        secrets,
        payload_bytes,
        is_first_use,
        calls_last_minute,
    } = facts;
    let mut parts = Parts::new(used);
    parts.put_texts("paths", paths);
    parts.put_texts("paths_outside_project", paths_outside_project);
    parts.put_texts("hosts", hosts);
    parts.put_texts("sql_verbs", sql_verbs);
    parts.put_texts("shell_heads", shell_heads);
    parts.put_texts("secrets", secrets);
    parts.put("payload_bytes", || Expression::new_long(i64::try_from(*payload_bytes).unwrap_or(i64::MAX)));
    parts.put("is_first_use", || Expression::new_bool(*is_first_use));
    parts.put("calls_last_minute", || Expression::new_long(i64::from(*calls_last_minute)));
    Ok(parts.into_record()?)
}

fn session(session: &SessionState<'_>, used: &UsedParts) -> Result<Expression, Failure> {
    let mut parts = Parts::new(used);
    parts.put_text("mode", session.mode);
    parts.put("spec_frozen", || Expression::new_bool(session.is_spec_frozen));
    if let Some(project) = session.project {
        parts.put_text("project", project);
    }
    if let Some(hash) = session.spec_hash {
        parts.put_text("spec_hash", hash);
    }
    Ok(parts.into_record()?)
}

/// The attributes of caller and tool, if a policy uses them; otherwise nothing is built. Extending the
/// prepared entities is several times faster than building them anew.
fn entities<'a>(
    request: &CallToJudge<'_>,
    prepared: &'a Prepared,
    needs: &Needs,
    agent: &EntityUid,
) -> Result<Cow<'a, Entities>, Failure> {
    let mut added = Vec::with_capacity(2);
    if !needs.agent.is_nothing() {
        let attributes = agent_attributes(&request.agent, &needs.agent);
        added.push(Entity::new(agent.clone(), attributes, HashSet::new())?);
    }
    if needs.tool.is_nothing() && added.is_empty() {
        return Ok(Cow::Borrowed(&prepared.entities));
    }
    if needs.tool.is_nothing() {
        return Ok(Cow::Owned(prepared.entities.clone().add_entities(added, None)?));
    }
    let attributes = tool_attributes(&request.tool, &needs.tool);
    let servers = HashSet::from([prepared.server.clone()]);
    added.push(Entity::new(prepared.tool.clone(), attributes, servers)?);
    Ok(Cow::Owned(prepared.entities_without_tool.clone().add_entities(added, None)?))
}

fn agent_attributes(agent: &Agent<'_>, used: &UsedParts) -> HashMap<String, Expression> {
    let mut parts = Parts::new(used);
    parts.put_text("role", agent.kind.as_str());
    parts.put_text("profile", agent.profile);
    parts.pairs.into_iter().collect()
}

fn tool_attributes(tool: &Tool<'_>, used: &UsedParts) -> HashMap<String, Expression> {
    let (risk, trust) = (risk_number(tool.risk), trust_name(tool.trust));
    let mut parts = Parts::new(used);
    parts.put_text("server", tool.server);
    parts.put_text("name", tool.name);
    parts.put("risk", || Expression::new_long(risk));
    parts.put_text("risk_name", risk_name(tool.risk));
    parts.put("side_effects", || texts(tool.side_effects));
    parts.put_text("trust", trust);
    parts.put("read_only", || Expression::new_bool(tool.is_read_only));
    parts.pairs.into_iter().collect()
}

const fn risk_number(risk: Risk) -> i64 {
    match risk {
        Risk::Low => 0,
        Risk::Medium => 1,
        Risk::High => 2,
        Risk::Critical => 3,
    }
}

const fn trust_name(trust: Trust) -> &'static str {
    match trust {
        Trust::Low => "low",
        Trust::Medium => "medium",
        Trust::High => "high",
    }
}

#[cfg(test)]
mod tests;
