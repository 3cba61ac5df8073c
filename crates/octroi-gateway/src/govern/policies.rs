//! Policies: reading, checking and putting them into effect.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use octroi_core::decision::Call;
use octroi_core::facts::Facts;
use octroi_core::policy::{Complaint, Document, Known, Level, Policies, Policy, Program, Said, Tested, Word};
use octroi_core::tool::infer::{self, infer};
use octroi_core::tool::{Annotations, Risk, Source, ToolDescriptor};
use octroi_core::{CanonicalId, ServerName};
use octroi_store::{PolicyDraft, PolicyLevel, PolicyRecord, PolicyRefusal, StoreError};
use serde_json::Value;

use crate::catalogue::Catalogue;
use crate::gateway::Gateway;
use crate::time::now_ms;

/// A policy that stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    /// Where it holds.
    pub level: PolicyLevel,
    /// The file.
    pub path: PathBuf,
    /// What stands in it.
    pub source: String,
}

/// Why a policy is not in effect.
#[derive(Debug, thiserror::Error)]
pub enum PolicyProblem {
    /// There is something wrong with it.
    #[error("the policy is not usable: {}", shown(.0))]
    Unusable(Vec<Complaint>),
    /// Somebody else was faster, or the proposal is decided.
    #[error(transparent)]
    Refused(#[from] PolicyRefusal),
    /// It stands in a file.
    #[error("this policy stands in {}; change the file", .0.display())]
    InFile(PathBuf),
    /// The same, told to an agent.
    #[error("this agent's policy stands in a file of its owner's and cannot be changed by proposals")]
    InSomeFile,
    /// Only agents propose, and only for themselves.
    #[error("only a token that names an agent can propose policies")]
    NoAgent,
    /// It is too long.
    #[error("a proposal may have {0} bytes at most")]
    TooLong(usize),
    /// Nobody will read all of them.
    #[error("{0} proposals wait already; withdraw one first")]
    TooMany(usize),
    /// It cannot be written down, so it is not done; or it was done and the record of it failed.
    #[error("the change cannot be recorded")]
    NotRecorded(#[source] crate::audit::AuditError),
    /// Nothing can be kept.
    #[error("this gateway keeps nothing, so its policies cannot be changed")]
    NoStore,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn shown(complaints: &[Complaint]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The first of them, for whoever is refused by it.
fn in_short(complaints: &[Complaint]) -> String {
    match complaints {
        [] => String::new(),
        [only] => only.to_string(),
        [first, others @ ..] => format!("{first}; and {} more, see `octroi policy show`", others.len()),
    }
}

/// The level that a stored policy holds at.
pub fn level_of(level: &PolicyLevel) -> Level {
    match level {
        PolicyLevel::Floor => Level::Floor,
        PolicyLevel::Global => Level::Global,
        PolicyLevel::Agent(_) => Level::Agent,
    }
}

impl Gateway {
    /// Everything that speaks against making this policy active.
    pub fn check_policy(&self, level: Level, source: &str) -> Vec<Complaint> {
        match self.compile(source, 0) {
            Err(complaints) => complaints,
            Ok(policy) => self.complaints(&policy, level),
        }
    }

    /// Reads a policy and makes its program ready for the tools that there are.
    pub(crate) fn compile(&self, source: &str, version: u64) -> Result<Policy, Vec<Complaint>> {
        let document = Document::parse(source)?;
        let program = match &document.cedar {
            None => None,
            Some(text) => Some(cedar(text, document.cedar_line, &self.catalogue())?),
        };
        Ok(Policy { document, program, version })
    }

    fn complaints(&self, policy: &Policy, level: Level) -> Vec<Complaint> {
        self.with_known(|known| policy.check(level, known))
    }

    /// Runs the tests that stand in a policy.
    pub fn test_policy(&self, source: &str) -> Result<Vec<Tested>, Vec<Complaint>> {
        let policy = self.compile(source, 0)?;
        Ok(self.with_known(|known| policy.run_tests(known)))
    }

    /// What policies are checked against now.
    fn with_known<T>(&self, check: impl FnOnce(&Known<'_>) -> T) -> T {
        let catalogue = self.catalogue();
        let tools: Vec<ToolDescriptor> = catalogue
            .offers()
            .values()
            .flat_map(|offer| offer.tools.values().map(|tool| tool.descriptor.clone()))
            .collect();
        let servers: Vec<String> = self.fleet.members().keys().map(ToString::to_string).collect();
        let facts = |arguments: &Value| Facts::of(arguments, arguments.to_string().len() as u64, None);
        let known =
            Known { tools: &tools, servers: &servers, facts: &facts, imagine: &imagine, now_ms: now_ms() };
        check(&known)
    }

    /// What Cedar policies may say of the tools that there are.
    pub fn policy_schema(&self) -> Result<String, octroi_cedar::SchemaError> {
        schema(&self.catalogue()).map(|schema| schema.to_text().to_owned())
    }

    /// Makes a policy active, if it is in order.
    pub async fn set_policy(
        &self,
        draft: &PolicyDraft,
        expected_version: Option<i64>,
    ) -> Result<PolicyRecord, PolicyProblem> {
        if let Some(file) = self.policy_file(&draft.level) {
            return Err(PolicyProblem::InFile(file));
        }
        let complaints = self.check_policy(level_of(&draft.level), &draft.source);
        if !complaints.is_empty() {
            return Err(PolicyProblem::Unusable(complaints));
        }
        self.activate(draft, expected_version).await
    }

    async fn activate(
        &self,
        draft: &PolicyDraft,
        expected_version: Option<i64>,
    ) -> Result<PolicyRecord, PolicyProblem> {
        let memory = self.memory.as_ref().ok_or(PolicyProblem::NoStore)?;
        let record = memory.store().activate_policy(draft, expected_version, now_ms()).await??;
        self.load_policies().await?;
        Ok(record)
    }

    /// The file in which a level's policy stands, if it does.
    pub fn policy_file(&self, level: &PolicyLevel) -> Option<PathBuf> {
        let settings = self.governor.settings();
        settings.policies.iter().find(|file| file.level == *level).map(|file| file.path.clone())
    }

    /// Takes over the policies of files: each that changed becomes a new version.
    pub(crate) async fn adopt_files(&self, files: &[PolicyFile]) -> Result<(), PolicyProblem> {
        for file in files {
            let complaints: Vec<Complaint> = match Document::parse(&file.source) {
                Err(complaints) => complaints,
                // Servers may not have said yet what they offer, so what needs their lists is told later.
                Ok(_) => Vec::new(),
            };
            if !complaints.is_empty() {
                return Err(PolicyProblem::Unusable(complaints));
            }
        }
        let Some(memory) = &self.memory else {
            return self.hold_files(files);
        };
        let active = memory.store().active_policies().await?;
        for file in files {
            let current = active.policies.iter().find(|record| record.draft.level == file.level);
            if current.is_some_and(|record| record.draft.source == file.source) {
                continue;
            }
            let draft = PolicyDraft {
                level: file.level.clone(),
                language: "rules".to_owned(),
                source: file.source.clone(),
                author: format!("file {}", file.path.display()),
                rationale: None,
                check_result: None,
            };
            memory.store().activate_policy(&draft, None, now_ms()).await??;
        }
        self.load_policies().await?;
        Ok(())
    }

    /// Without a store, what stands in files is all there is.
    fn hold_files(&self, files: &[PolicyFile]) -> Result<(), PolicyProblem> {
        let mut policies = Policies::default();
        for file in files {
            let policy = self.compile(&file.source, 1).map_err(PolicyProblem::Unusable)?;
            place(&mut policies, &file.level, policy);
        }
        self.governor.policies.store(Arc::new(policies));
        Ok(())
    }

    /// Puts the active policies into effect.
    pub(crate) async fn load_policies(&self) -> Result<(), StoreError> {
        let Some(memory) = &self.memory else {
            return Ok(());
        };
        let active = memory.store().active_policies().await?;
        let mut policies = Policies::default();
        for record in &active.policies {
            let version = u64::try_from(record.id).unwrap_or_default();
            let policy = self.compile(&record.draft.source, version).unwrap_or_else(|complaints| {
                let reason = in_short(&complaints);
                tracing::error!(level = ?record.draft.level, reason, "a policy cannot be used; what it governs is denied");
                // Its text is kept: it may speak of tools that no server has shown yet.
                let document = Document::parse(&record.draft.source).unwrap_or_default();
                Policy { document, program: Some(Arc::new(Unusable(reason))), version }
            });
            place(&mut policies, &record.draft.level, policy);
        }
        let before = self.governor.policies.swap(Arc::new(policies));
        self.policies_changed(&before);
        Ok(())
    }

    /// Makes programs ready again, because the tools that they speak of changed.
    pub(crate) fn recompile(&self) {
        let is_simple = |policy: &Policy| policy.document.cedar.is_none();
        let old = self.governor.policies.load();
        if is_simple(&old.floor) && is_simple(&old.global) && old.agents.values().all(is_simple) {
            return;
        }
        drop(old);
        let catalogue = self.catalogue();
        // Somebody may change the policies meanwhile; that must not be lost.
        self.governor.policies.rcu(|old| {
            let agents =
                old.agents.iter().map(|(agent, policy)| (Arc::clone(agent), renewed(policy, &catalogue)));
            Policies {
                floor: renewed(&old.floor, &catalogue),
                global: renewed(&old.global, &catalogue),
                agents: agents.collect(),
            }
        });
    }
}

fn renewed(policy: &Policy, catalogue: &Catalogue) -> Policy {
    let Some(text) = &policy.document.cedar else {
        return policy.clone();
    };
    let program = cedar(text, policy.document.cedar_line, catalogue).unwrap_or_else(|complaints| {
        let reason = in_short(&complaints);
        tracing::error!(reason, "a policy no longer fits the tools; what it governs is denied");
        Arc::new(Unusable(reason)) as Arc<dyn Program>
    });
    Policy { document: policy.document.clone(), program: Some(program), version: policy.version }
}

pub(crate) fn place(policies: &mut Policies, level: &PolicyLevel, policy: Policy) {
    match level {
        PolicyLevel::Floor => policies.floor = policy,
        PolicyLevel::Global => policies.global = policy,
        PolicyLevel::Agent(agent) => {
            policies.agents.insert(agent.as_str().into(), policy);
        }
    }
}

/// A policy that cannot be asked. Whatever it would have said, it denies.
#[derive(Debug)]
struct Unusable(String);

impl Program for Unusable {
    fn judge(&self, _call: &Call<'_>) -> Result<Option<Said>, String> {
        Err(self.0.clone())
    }
}

/// A tool that is not there, as far as its name tells.
pub fn imagine(server: &str, name: &str) -> ToolDescriptor {
    let known = infer::Known {
        server,
        name,
        description: "",
        annotations: Annotations::default(),
        trust: octroi_core::server::Trust::default(),
    };
    let (risk, side_effects) = infer(known, &[]);
    let id = match ServerName::parse(server) {
        Ok(server) => CanonicalId::mcp(&server, name),
        Err(_) => CanonicalId::builtin(name),
    };
    ToolDescriptor {
        id,
        source: Source::Mcp,
        source_id: server.into(),
        name: name.into(),
        risk,
        side_effects,
        requires_admin: risk == Risk::Critical,
        enabled: true,
        off_because: None,
        trust: octroi_core::server::Trust::default(),
        timeout: std::time::Duration::from_secs(30),
        version: None,
        definition_hash: [0; 32],
    }
}

/// Cedar policies as a program.
struct Cedar(octroi_cedar::Policies);

impl fmt::Debug for Cedar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Cedar").field(&self.0.text().len()).finish()
    }
}

fn cedar(text: &str, line: usize, catalogue: &Catalogue) -> Result<Arc<dyn Program>, Vec<Complaint>> {
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

/// What Cedar policies may say, made from the definitions of the tools that there are.
pub(crate) fn schema(catalogue: &Catalogue) -> Result<octroi_cedar::Schema, octroi_cedar::SchemaError> {
    let tools: Vec<(&ToolDescriptor, Vec<String>, Value)> = catalogue
        .offers()
        .values()
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
    fn judge(&self, call: &Call<'_>) -> Result<Option<Said>, String> {
        let tool = call.tool;
        let side_effects: Vec<String> = tool.side_effects.iter().map(str::to_owned).collect();
        let facts = || call.facts().clone();
        let judgement = self.0.judge(&octroi_cedar::Request {
            agent: octroi_cedar::Agent {
                id: call.agent(),
                role: call.role,
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
            facts: &facts,
            session: octroi_cedar::Session {
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
            octroi_cedar::Verdict::Silent => return Ok(None),
            octroi_cedar::Verdict::Allow => Word::Allow,
            octroi_cedar::Verdict::Ask => Word::Ask,
            octroi_cedar::Verdict::Deny => Word::Deny,
            octroi_cedar::Verdict::Abort => Word::Abort,
        };
        let by: Vec<&str> = judgement.determining.iter().map(|clause| clause.id.as_str()).collect();
        let reason = judgement.determining.iter().find_map(|clause| clause.reason.clone());
        Ok(Some(Said { word, by: format!("cedar {}", by.join(", ")), reason }))
    }
}
