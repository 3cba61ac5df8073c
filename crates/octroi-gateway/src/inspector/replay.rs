//! What another policy would have changed: recorded calls, decided under the policies that hold and with
//! a candidate in the place of one of them.
//!
//! Both decisions are made now, with the agents and tools of now. What depends on the moment of the call
//! (switches, arguments, pins, custom gates, quotas) is taken as passed, so that only policies count;
//! mode and project are those of the record.

use std::collections::BTreeMap;
use std::sync::Arc;

use octroi_core::audit::{ActorKind, Entry, Kind};
use octroi_core::decision::{AgentContext, Circumstances, Decision, Mode, Outcome};
use octroi_core::facts::Facts;
use octroi_core::policy::{Complaint, Policies};
use octroi_core::redact::REDACTED;
use octroi_core::{CanonicalId, Principal, Role};
use octroi_store::{PolicyLevel, ToolUses};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Inspector;
use super::why::reason_of;
use crate::audit::{AuditError, Reader};
use crate::catalogue::{Catalogue, Tool};
use crate::governance::{Considered, Uses, place};

/// Rules may ask how much an agent called within the last minute, so reading begins that much earlier.
const LATELY_MS: i64 = 60_000;
/// So many calls are listed; all are counted.
const FLIPS_MAX: usize = 1_000;

/// What to replay.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// In whose place it stands.
    pub level: PolicyLevel,
    /// What it says.
    pub source: String,
    /// Calls before this are left out.
    pub since_ms: i64,
    /// Only calls of this agent, if one is given.
    pub agent: Option<String>,
}

/// What the candidate would have changed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Replay {
    /// Calls that were decided twice.
    pub n_calls: u64,
    /// Those of them that come out otherwise.
    pub n_flipped: u64,
    /// How many of each kind, as in `allow → deny_continue`.
    pub kinds: BTreeMap<String, u64>,
    /// The first of them.
    pub flips: Vec<Flip>,
    /// Calls of which nothing can be told.
    pub cannot_tell: CannotTell,
    /// Records that were read for it.
    pub n_read: u64,
}

/// Why nothing can be told of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CannotTell {
    /// Their arguments were cut or hold secrets that were taken out.
    pub arguments_not_kept: u64,
    /// Their tool is not there any more.
    pub tool_gone: u64,
    /// Their record cannot be read.
    pub unreadable: u64,
}

/// A call that comes out otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Flip {
    /// The number of its record.
    pub seq: u64,
    /// When it was made.
    pub at_ms: u64,
    /// By which agent; none for a person.
    pub agent: Option<String>,
    /// The tool.
    pub tool: String,
    /// What becomes of it now.
    pub from: &'static str,
    /// What would become of it.
    pub to: &'static str,
    /// The rule or clause that makes the difference, if one does.
    pub rule: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// Why nothing was replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The candidate cannot be read.
    #[error("the policy is not usable: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unusable(Vec<Complaint>),
    /// There is no log.
    #[error("this gateway keeps no audit log, so there are no calls to replay")]
    NoLog,
    /// The log cannot be read.
    #[error("the audit log cannot be read")]
    Log(#[from] AuditError),
    /// The work was cut off.
    #[error("the replay was cut off")]
    CutOff,
}

impl Inspector {
    /// Decides recorded calls again, with and without the candidate. Reads the log from the segment on in
    /// which the first of them may stand, with little memory, on a thread of its own.
    pub async fn replay(self: &Arc<Self>, candidate: Candidate) -> Result<Replay, ReplayError> {
        let inspector = Arc::clone(self);
        let used = self.first_uses().await;
        let work =
            self.context.tasks.spawn_blocking("replay", move || inspector.replay_now(&candidate, used));
        work.await.map_err(|_| ReplayError::CutOff)?
    }

    /// When each agent used each tool for the first time; none if that is not known.
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
        let mut reader = Reader::open(log.directory())?;
        reader.set_limit(log.position());
        let catalogue = self.registry.catalogue();
        let mut course = Course { replay: Replay::default(), uses: Uses::default() };
        let from_ms = candidate.since_ms.saturating_sub(LATELY_MS);
        let records = match used {
            Some(used) => {
                let before = used.into_iter().filter(|used| used.first_at_ms < from_ms);
                course.uses.recall(before.map(|used| (used.agent, used.tool)));
                reader.records_since(u64::try_from(from_ms).unwrap_or_default())?
            }
            // Then only the log can tell what was used before.
            None => reader.records(1)?,
        };
        for record in records {
            course.replay.n_read += 1;
            let record = match record {
                Ok(record) => record,
                Err(AuditError::Unreadable { .. }) => {
                    course.replay.cannot_tell.unreadable += 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Ok(entry) = record.entry() else {
                course.replay.cannot_tell.unreadable += 1;
                continue;
            };
            let agent = entry.agent.as_deref();
            let concerns = match (&candidate.level, &candidate.agent) {
                (PolicyLevel::Agent(of), _) => agent == Some(of.as_str()),
                (_, Some(wanted)) => agent == Some(wanted.as_str()),
                (PolicyLevel::Floor | PolicyLevel::Global, None) => true,
            };
            let is_late = i64::try_from(entry.at_ms).is_ok_and(|at_ms| at_ms >= candidate.since_ms);
            let wanted = if concerns && is_late { Some([&*active, &changed]) } else { None };
            self.replay_entry(&mut course, &catalogue, record.seq, &entry, wanted);
        }
        Ok(course.replay)
    }

    /// Decides one record twice if it is wanted, and remembers what rules may ask of the past.
    fn replay_entry(
        &self,
        course: &mut Course,
        catalogue: &Catalogue,
        seq: u64,
        entry: &Entry<'_>,
        wanted: Option<[&Policies; 2]>,
    ) {
        let is_made = entry.kind == Kind::ToolInvocationStart;
        if !is_made && !matches!(entry.kind, Kind::PolicyViolation | Kind::ApprovalRequested) {
            return;
        }
        // No policy speaks of what Octroi itself offers.
        let id = entry.tool.as_deref().filter(|id| id.starts_with("mcp:"));
        let Some(id) = id else {
            return;
        };
        let Ok(kept) = serde_json::from_str::<Kept<'_>>(entry.context) else {
            course.replay.cannot_tell.unreadable += u64::from(wanted.is_some());
            return;
        };
        let upstream = CanonicalId::parse_mcp(id).and_then(|(server, _)| self.servers.upstream(&server));
        let (Some(upstream), Some(tool)) = (upstream, catalogue.tool_by_id(id)) else {
            // An approved call stands in the log twice: where it was asked about, and where it was made.
            let counts = wanted.is_some() && kept.approval.is_none_or(|_| !is_made);
            course.replay.cannot_tell.tool_gone += u64::from(counts);
            return;
        };
        let (agent, at_ms) = (entry.agent.as_deref().unwrap_or_default(), signed(entry.at_ms));
        if let Some(policies) = wanted.filter(|_| !is_made || kept.approval.is_none()) {
            let text = kept.arguments.map_or("{}", RawValue::get);
            match serde_json::from_str::<Value>(text).ok().filter(|_| is_whole(text)) {
                None => course.replay.cannot_tell.arguments_not_kept += 1,
                Some(arguments) => {
                    let context = self.context_then(entry, &kept);
                    let principal = principal_of(entry);
                    let facts = || {
                        let root = context.project_root.as_deref();
                        let mut facts = Facts::of(&arguments, text.len() as u64, root);
                        facts.is_first_use = course.uses.is_first(agent, &tool.descriptor);
                        facts.calls_last_minute = course.uses.lately(agent, at_ms);
                        facts
                    };
                    let call = Then { principal: &principal, context: &context, tool, arguments: &arguments };
                    let [before, after] = policies
                        .map(|policies| call.decide(upstream.spec(), policies, &facts, self.now_ms()));
                    course.replay.compare(seq, entry, &before, &after);
                }
            }
        }
        if is_made {
            course.uses.count(agent, &tool.descriptor, at_ms);
        }
    }

    /// The agent as it is now, in the mode and project of then.
    fn context_then(&self, entry: &Entry<'_>, kept: &Kept<'_>) -> AgentContext {
        let mut context = match entry.agent.as_deref() {
            Some(agent) => AgentContext::clone(&self.governance.context_of(agent)),
            None => AgentContext::clone(&self.governance.context(&principal_of(entry))),
        };
        if let Some(mode) = kept.mode.and_then(Mode::parse) {
            context.mode = mode;
            context.project = entry.project.as_deref().map(Into::into);
        }
        context
    }
}

/// What is known on the way through the log.
struct Course {
    replay: Replay,
    uses: Uses,
}

/// What a record keeps of a call.
#[derive(Deserialize)]
struct Kept<'a> {
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    mode: Option<&'a str>,
    approval: Option<&'a str>,
}

/// A call of then.
struct Then<'a> {
    principal: &'a Principal,
    context: &'a AgentContext,
    tool: &'a Tool,
    arguments: &'a Value,
}

impl Then<'_> {
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
            circumstances: Circumstances {
                server: &spec.key,
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

/// The rule that a decision rests on: the last that is named.
fn rule_of(decision: &Decision) -> Option<String> {
    let is_allowed = matches!(decision, Decision::Allow(_));
    let verdicts = decision.trace().verdicts().iter().rev();
    let deciding = verdicts.filter(|verdict| is_allowed || verdict.outcome != Outcome::Pass);
    deciding
        .into_iter()
        .find_map(|verdict| Some(format!("{} {}", verdict.gate.as_str(), verdict.by.as_ref()?)))
}

/// Whether recorded arguments are all of them. Whoever wrote the marks himself is told nothing, which does
/// no harm.
fn is_whole(arguments: &str) -> bool {
    let mark = REDACTED.trim_end_matches(']');
    !arguments.contains(mark) && !arguments.contains('…')
}

fn principal_of(entry: &Entry<'_>) -> Principal {
    let is_person = entry.agent.is_none() && entry.actor_kind == ActorKind::User;
    Principal {
        id: entry.actor_id.as_ref().into(),
        role: if is_person { Role::Human } else { Role::Agent },
        agent_id: entry.agent.as_deref().map(Into::into),
        token: "".into(),
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
    fn what_was_taken_out_is_noticed() {
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
        /// No call is decided again by arguments that it did not have.
        #[test]
        fn what_passes_for_whole_is_whole(value in json(), max_bytes in 0_usize..400) {
            let redactor = Redactor::new(std::iter::empty());
            let preview = redactor.preview(value.to_string().as_bytes(), max_bytes);
            if is_whole(&preview) {
                prop_assert_eq!(serde_json::from_str::<Value>(&preview).unwrap(), value);
            }
        }
    }
}
