//! What another policy would have changed: recorded calls, decided under the active policies and with a
//! candidate in the place of one of them.
//!
//! Both decisions are made now, with the current agents and tools. Conditions of the time of the call
//! (switches, arguments, pins, custom gates, quotas) count as passed, so that only policies matter;
//! mode and project are those of the record.

use std::collections::BTreeMap;
use std::sync::Arc;

use octroi_core::agent::{AgentContext, Mode};
use octroi_core::arguments::Exactness;
use octroi_core::audit::{Entry, Kind};
use octroi_core::call::ReadOtherParams;
use octroi_core::decision::{Circumstances, Decision, Outcome};
use octroi_core::facts::Facts;
use octroi_core::policy::{Complaint, Policies};
use octroi_core::principal::{BUILT_IN_ADMIN, TokenName};
use octroi_core::redact::REDACTED;
use octroi_core::{CanonicalId, Principal, UserRole};
use octroi_store::{PolicyLevel, ToolUses};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Inspector;
use super::why::reason_of;
use crate::audit::{AuditError, LogReader};
use crate::catalogue::{Catalogue, Tool};
use crate::governance::{Considered, Uses, place};

/// Rules may use an agent's calls in the last minute, so reading begins that much earlier.
const LATELY_MS: i64 = 60_000;
/// The maximum number of listed calls; all are counted.
const FLIPS_MAX: usize = 1_000;

/// A policy to replay.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The level at which it replaces the active policy.
    pub level: PolicyLevel,
    /// The policy text.
    pub source: String,
    /// Calls before this time are left out.
    pub since_ms: i64,
    /// Only calls of this agent, if one is given.
    pub agent: Option<String>,
}

/// What the candidate would have changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Replay {
    /// The number of calls that were decided twice.
    pub n_calls: u64,
    /// How many of them have another decision.
    pub n_flipped: u64,
    /// How many of each kind, as in `allow → deny_continue`.
    pub kinds: BTreeMap<String, u64>,
    /// The first changed calls.
    pub flips: Vec<Flip>,
    /// Calls that could not be decided again.
    pub cannot_tell: CannotTell,
    /// The number of records that were read.
    pub n_read: u64,
}

/// Why calls could not be decided again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CannotTell {
    /// Their arguments were truncated or redacted.
    pub arguments_not_kept: u64,
    /// Their tool no longer exists.
    pub tool_gone: u64,
    /// Their record cannot be read.
    pub unreadable: u64,
}

/// A call with another decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flip {
    /// The number of its record.
    pub seq: u64,
    /// When it was made.
    pub at_ms: u64,
    /// The agent that made it; `None` for a person.
    pub agent: Option<String>,
    /// The canonical id of the tool.
    pub tool: String,
    /// The decision under the active policies.
    pub from: &'static str,
    /// The decision with the candidate.
    pub to: &'static str,
    /// The rule or clause that makes the difference, if any.
    pub rule: Option<String>,
    /// The reason of the new decision.
    pub reason: Option<String>,
}

/// Why the replay failed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The candidate is invalid.
    #[error("the policy is not usable: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unusable(Vec<Complaint>),
    /// There is no audit log.
    #[error("this gateway has no audit log, so there are no calls to replay")]
    NoLog,
    /// The log cannot be read.
    #[error("the audit log cannot be read")]
    Log(#[from] AuditError),
    /// The replay was interrupted.
    #[error("the replay was interrupted")]
    CutOff,
}

impl Inspector {
    /// Decides recorded calls again, with and without the candidate. Reads the log from the segment of the
    /// first one on, with little memory, on a separate thread.
    pub async fn replay(self: &Arc<Self>, candidate: Candidate) -> Result<Replay, ReplayError> {
        let inspector = Arc::clone(self);
        let used = self.first_uses().await;
        let work =
            self.context.tasks.spawn_blocking("replay", move || inspector.replay_now(&candidate, used));
        work.await.map_err(|_| ReplayError::CutOff)?
    }

    /// When each agent used each tool for the first time; `None` if that is not known.
    async fn first_uses(&self) -> Option<Vec<ToolUses>> {
        let persistence = self.persistence.as_ref()?;
        self.governance.keep_uses();
        let _ = persistence.flush().await;
        persistence.store().tool_uses().await.ok()
    }

    fn replay_now(&self, candidate: &Candidate, used: Option<Vec<ToolUses>>) -> Result<Replay, ReplayError> {
        let policy = self.governance.compile(&candidate.source, 0).map_err(ReplayError::Unusable)?;
        let log = self.recorder.log().ok_or(ReplayError::NoLog)?;
        let active = self.governance.policies.load_full();
        let mut changed = Policies::clone(&active);
        place(&mut changed, &candidate.level, policy);
        let mut reader = LogReader::open(log.directory())?;
        reader.set_limit(log.position());
        let catalogue = self.registry.catalogue();
        let mut progress = ReplayProgress { replay: Replay::default(), uses: Uses::default() };
        let from_ms = candidate.since_ms.saturating_sub(LATELY_MS);
        let records = match used {
            Some(used) => {
                let before = used.into_iter().filter(|used| used.first_at_ms < from_ms);
                progress.uses.recall(before.map(|used| (used.agent, used.tool)));
                reader.records_since(u64::try_from(from_ms).unwrap_or_default())?
            }
            // Then the log is the only source for earlier uses.
            None => reader.records(1)?,
        };
        for record in records {
            progress.replay.n_read += 1;
            let record = match record {
                Ok(record) => record,
                Err(AuditError::Unreadable { .. }) => {
                    progress.replay.cannot_tell.unreadable += 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Ok(entry) = record.entry() else {
                progress.replay.cannot_tell.unreadable += 1;
                continue;
            };
            let agent = entry.agent.as_deref();
            let concerns = match (&candidate.level, &candidate.agent) {
                (PolicyLevel::Agent(of), _) => agent == Some(of.as_str()),
                (_, Some(only)) => agent == Some(only.as_str()),
                (PolicyLevel::Floor | PolicyLevel::Global, None) => true,
            };
            let is_late = i64::try_from(entry.at_ms).is_ok_and(|at_ms| at_ms >= candidate.since_ms);
            let compared = if concerns && is_late { Some([&*active, &changed]) } else { None };
            self.replay_entry(&mut progress, &catalogue, record.seq, &entry, compared);
        }
        Ok(progress.replay)
    }

    /// Decides one record with both sets of policies, if given, and keeps the history that rules may use.
    fn replay_entry(
        &self,
        progress: &mut ReplayProgress,
        catalogue: &Catalogue,
        seq: u64,
        entry: &Entry<'_>,
        compared: Option<[&Policies; 2]>,
    ) {
        let is_made = entry.kind == Kind::ToolInvocationStart;
        if !is_made && !matches!(entry.kind, Kind::PolicyViolation | Kind::ApprovalRequested) {
            return;
        }
        // No policy applies to Octroi's own tools.
        let id = entry.tool.as_deref().filter(|id| id.starts_with("mcp:"));
        let Some(id) = id else {
            return;
        };
        let Ok(recorded) = serde_json::from_str::<RecordedContext<'_>>(entry.context) else {
            progress.replay.cannot_tell.unreadable += u64::from(compared.is_some());
            return;
        };
        let upstream = CanonicalId::parse_mcp(id).and_then(|(server, _)| self.servers.upstream(&server));
        let (Some(upstream), Some(tool)) = (upstream, catalogue.tool_by_id(id)) else {
            // An approved call is in the log twice: where approval was requested, and where it was made.
            let counts = compared.is_some() && recorded.approval.is_none_or(|_| !is_made);
            progress.replay.cannot_tell.tool_gone += u64::from(counts);
            return;
        };
        let (agent, at_ms) = (entry.agent.as_deref().unwrap_or_default(), signed(entry.at_ms));
        if let Some(policies) = compared.filter(|_| !is_made || recorded.approval.is_none()) {
            let text = recorded.arguments.map_or("{}", RawValue::get);
            match serde_json::from_str::<Value>(text).ok().filter(|_| is_whole(text)) {
                None => progress.replay.cannot_tell.arguments_not_kept += 1,
                Some(arguments) => {
                    let context = self.context_then(entry, &recorded);
                    let principal = principal_of(entry);
                    let facts = || {
                        let root = context.project_root.as_deref();
                        let mut facts = Facts::of(&arguments, text.len() as u64, root);
                        facts.is_first_use = progress.uses.is_first(agent, &tool.descriptor);
                        facts.calls_last_minute = progress.uses.lately(agent, at_ms);
                        facts
                    };
                    let call = RecordedCall {
                        principal: &principal,
                        context: &context,
                        tool,
                        arguments: &arguments,
                        other_params: recorded.other_params(),
                    };
                    let [before, after] = policies
                        .map(|policies| call.decide(upstream.spec(), policies, &facts, self.now_ms()));
                    progress.replay.compare(seq, entry, &before, &after);
                }
            }
        }
        if is_made {
            progress.uses.count(agent, &tool.descriptor, at_ms);
        }
    }

    /// The current context of the agent, in the mode and project of the record.
    fn context_then(&self, entry: &Entry<'_>, recorded: &RecordedContext<'_>) -> AgentContext {
        let mut context = match entry.agent.as_deref() {
            Some(agent) => AgentContext::clone(&self.governance.context_of(agent)),
            None => AgentContext::clone(&self.governance.context(&principal_of(entry))),
        };
        if let Some(mode) = recorded.mode.and_then(Mode::parse) {
            context.mode = mode;
            context.project = entry.project.as_deref().map(Into::into);
        }
        context
    }
}

/// The replay, and the call history so far.
struct ReplayProgress {
    replay: Replay,
    uses: Uses,
}

/// The recorded context of a call.
#[derive(Deserialize)]
struct RecordedContext<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    /// Other params of a call.
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    /// The same where approval was requested.
    #[serde(borrow)]
    other_params: Option<&'a RawValue>,
    mode: Option<&'a str>,
    approval: Option<&'a str>,
}

impl RecordedContext<'_> {
    fn other_params(&self) -> Option<ReadOtherParams> {
        #[derive(Deserialize)]
        struct Requested<'a> {
            #[serde(borrow)]
            params: Option<&'a RawValue>,
        }
        let requested = self.other_params.filter(|others| others.get() != "null").map(RawValue::get);
        let params = match requested.map(serde_json::from_str::<Requested<'_>>) {
            None => self.params.map(RawValue::get),
            Some(Ok(requested)) => requested.params.map(RawValue::get),
            // They were cut.
            Some(Err(_)) => requested,
        };
        params.map(|params| ReadOtherParams::read(params.as_bytes()))
    }
}

/// A recorded call.
struct RecordedCall<'a> {
    principal: &'a Principal,
    context: &'a AgentContext,
    tool: &'a Tool,
    arguments: &'a Value,
    other_params: Option<ReadOtherParams>,
}

impl RecordedCall<'_> {
    fn decide(
        &self,
        spec: &octroi_core::server::ServerSpec,
        policies: &Policies,
        find_facts: &dyn Fn() -> Facts,
        now_ms: i64,
    ) -> Decision {
        Considered {
            principal: self.principal,
            context: self.context,
            has_admin_token: false,
            tool: self.tool,
            arguments: self.arguments,
            // Records contain redacted arguments, so a replay is an estimate anyway.
            exactness: Exactness::Exact,
            other_params: self.other_params.as_ref(),
            circumstances: Circumstances {
                server: &spec.key,
                paused: None,
                switched_off: None,
                invalid_arguments: None,
                access: &spec.access,
                held: None,
                custom: &[],
                exceeded: None,
                policies,
            },
            find_facts,
            now_ms,
        }
        .decide()
    }
}

impl Replay {
    fn compare(&mut self, seq: u64, entry: &Entry<'_>, before: &Decision, after: &Decision) {
        self.n_calls += 1;
        let (from, to) = (before.as_str(), after.as_str());
        if from == to {
            return;
        }
        self.n_flipped += 1;
        *self.kinds.entry(format!("{from} → {to}")).or_default() += 1;
        if self.flips.len() < FLIPS_MAX {
            self.flips.push(Flip {
                seq,
                at_ms: entry.at_ms,
                agent: entry.agent.as_deref().map(str::to_owned),
                tool: entry.tool.as_deref().unwrap_or_default().to_owned(),
                from,
                to,
                rule: rule_of(after).or_else(|| rule_of(before)),
                reason: reason_of(after),
            });
        }
    }
}

/// The rule that a decision is based on: the last one named.
fn rule_of(decision: &Decision) -> Option<String> {
    let is_allowed = matches!(decision, Decision::Allow(_));
    let verdicts = decision.trace().verdicts().iter().rev();
    let deciding = verdicts.filter(|verdict| is_allowed || verdict.outcome != Outcome::Pass);
    deciding
        .into_iter()
        .find_map(|verdict| Some(format!("{} {}", verdict.gate.as_str(), verdict.by.as_ref()?)))
}

/// Whether recorded arguments are complete. Arguments that contain the redaction mark themselves count as
/// incomplete, which does no harm.
fn is_whole(arguments: &str) -> bool {
    let mark = REDACTED.trim_end_matches(']');
    !arguments.contains(mark) && !arguments.contains('…')
}

fn principal_of(entry: &Entry<'_>) -> Principal {
    let token = TokenName::labelled("");
    match entry.agent.as_deref() {
        Some(agent) => Principal::agent(agent, BUILT_IN_ADMIN, token),
        None => Principal::person(&entry.actor_id, UserRole::Member, token),
    }
}

fn signed(at_ms: u64) -> i64 {
    i64::try_from(at_ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use octroi_core::redact::Redactor;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::is_whole;

    #[test]
    fn redacted_arguments_are_incomplete() {
        let redactor = Redactor::new(["correct horse battery"].into_iter());
        for (arguments, expected) in [
            (r#"{"text":"plain"}"#, true),
            (r#"{"text":"correct horse battery"}"#, false),
            (r#"{"text":"AKIAIOSFODNN7EXAMPLE"}"#, false),
            (r#"{"password":"x1"}"#, false),
            (r#"{"n":[1,2,3],"s":"\u00e9\n"}"#, true),
        ] {
            let preview = redactor.preview(arguments.as_bytes(), 4096);
            assert_eq!(is_whole(&preview), expected, "{preview}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-zé\\\\\" ]{0,60}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 60, 12, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
                proptest::collection::btree_map("[a-z]{1,4}", inner, 0..12)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// No call is decided again with arguments that it did not have.
        #[test]
        fn arguments_that_count_as_complete_are_complete(value in json(), max_bytes in 0_usize..400) {
            let redactor = Redactor::new(std::iter::empty());
            let preview = redactor.preview(value.to_string().as_bytes(), max_bytes);
            if is_whole(&preview) {
                prop_assert_eq!(serde_json::from_str::<Value>(&preview).unwrap(), value);
            }
        }
    }
}
