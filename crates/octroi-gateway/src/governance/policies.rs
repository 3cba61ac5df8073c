//! Policies: parsing, checking and activating them.

use std::path::PathBuf;
use std::sync::Arc;

use octroi_api::ResourceChange;
use octroi_core::call::Call;
use octroi_core::facts::Facts;
use octroi_core::policy::{
    CheckContext, Complaint, Document, Level, Policies, Policy, PolicyVerdict, Program, Tested,
};
use octroi_core::pool::Reach;
use octroi_core::tool::infer::{self, infer};
use octroi_core::tool::{Annotations, Risk, Source, ToolDescriptor};
use octroi_core::{CanonicalId, ServerKey};
use octroi_store::{PolicyDraft, PolicyLevel, PolicyRecord, StoreError};
use serde_json::Value;

use super::{Governance, cedar};
use crate::catalogue::{Catalogue, Offer};
use crate::policy_error::PolicyError;
use crate::subscriptions::Subscriber;

/// A policy from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    /// The level it applies to.
    pub level: PolicyLevel,
    /// The path of the file.
    pub path: PathBuf,
    /// The content of the file.
    pub source: String,
}

/// The first complaint and the number of others, for denied callers.
fn in_short(complaints: &[Complaint]) -> String {
    match complaints {
        [] => String::new(),
        [only] => only.to_string(),
        [first, others @ ..] => format!("{first}; and {} more, see `octroi policy show`", others.len()),
    }
}

/// The core level of a stored policy's level.
pub fn level_of(level: &PolicyLevel) -> Level {
    match level {
        PolicyLevel::Floor => Level::Floor,
        PolicyLevel::Global => Level::Global,
        PolicyLevel::Agent(_) => Level::Agent,
    }
}

impl Governance {
    /// All complaints that prevent this policy from becoming active. They name nothing beyond the reach of who is told.
    pub async fn check_policy(self: &Arc<Self>, level: Level, source: &str, reach: Reach) -> Vec<Complaint> {
        let source = source.to_owned();
        let check = move |governance: &Self| {
            let catalogue = governance.catalogue.load().within(&reach);
            match compile(&source, 0, &catalogue) {
                Err(complaints) => complaints,
                Ok(policy) => governance.with_known(&catalogue, &reach, |known| policy.check(level, known)),
            }
        };
        self.elsewhere("policy-check", check).await
    }

    /// Parses a policy and compiles its program for the current tools.
    pub(crate) fn compile(&self, source: &str, version: u64) -> Result<Policy, Vec<Complaint>> {
        compile(source, version, &self.catalogue.load())
    }

    /// Of which servers a policy of this level may speak: an agent's of those that its owner has.
    pub(crate) fn reach_of(&self, level: &PolicyLevel) -> Reach {
        level.agent().map_or(Reach::All, |agent| Reach::User(self.identity.owner_of(agent)))
    }

    /// Runs the tests in a policy.
    pub async fn test_policy(
        self: &Arc<Self>,
        source: &str,
        reach: Reach,
    ) -> Result<Vec<Tested>, Vec<Complaint>> {
        let source = source.to_owned();
        let test = move |governance: &Self| {
            let catalogue = governance.catalogue.load().within(&reach);
            let policy = compile(&source, 0, &catalogue)?;
            Ok(governance.with_known(&catalogue, &reach, |known| policy.run_tests(known)))
        };
        self.elsewhere("policy-test", test).await
    }

    /// Runs a check with these tools, and the servers within reach.
    fn with_known<T>(
        &self,
        catalogue: &Catalogue,
        reach: &Reach,
        check: impl FnOnce(&CheckContext<'_>) -> T,
    ) -> T {
        let of_offer = |offer: &Arc<Offer>| -> Vec<ToolDescriptor> {
            offer.tools.values().map(|tool| tool.descriptor.clone()).collect()
        };
        let tools: Vec<ToolDescriptor> = catalogue.offers().flat_map(of_offer).collect();
        let servers = self.servers.load();
        let servers: Vec<String> =
            servers.iter().filter(|key| reach.includes(key)).map(ToString::to_string).collect();
        let facts = |arguments: &Value| Facts::of(arguments, arguments.to_string().len() as u64, None);
        let now_ms = self.now_ms();
        let known =
            CheckContext { tools: &tools, servers: &servers, facts: &facts, imagine: &imagine, now_ms };
        check(&known)
    }

    /// The Cedar schema for the current tools within reach.
    pub async fn policy_schema(self: &Arc<Self>, reach: Reach) -> Result<String, octroi_cedar::SchemaError> {
        let schema = move |governance: &Self| {
            cedar::schema(&governance.catalogue.load().within(&reach))
                .map(|schema| schema.to_text().to_owned())
        };
        self.elsewhere("policy-schema", schema).await
    }

    /// Fails if this policy cannot become active: its level is managed in a file, or it is invalid.
    pub(crate) async fn check_draft(self: &Arc<Self>, draft: &PolicyDraft) -> Result<(), PolicyError> {
        if let Some(file) = self.policy_file(&draft.level) {
            return Err(PolicyError::InFile(file));
        }
        let complaints =
            self.check_policy(level_of(&draft.level), &draft.source, self.reach_of(&draft.level)).await;
        if complaints.is_empty() { Ok(()) } else { Err(PolicyError::Unusable(complaints)) }
    }

    /// Activates a policy, if it is valid.
    pub(crate) async fn set_policy(
        self: &Arc<Self>,
        draft: &PolicyDraft,
        expected_version: Option<i64>,
    ) -> Result<PolicyRecord, PolicyError> {
        self.check_draft(draft).await?;
        let store = self.policy_store()?;
        let record = store.activate_policy(draft, expected_version, self.now_ms()).await??;
        self.load_policies().await?;
        Ok(record)
    }

    /// The file of a level's policy, if there is one.
    pub fn policy_file(&self, level: &PolicyLevel) -> Option<PathBuf> {
        let settings = self.settings();
        settings.policies.iter().find(|file| file.level == *level).map(|file| file.path.clone())
    }

    /// Activates the policies of files: each changed one becomes a new version.
    pub(crate) async fn adopt_files(self: &Arc<Self>, files: &[PolicyFile]) -> Result<(), PolicyError> {
        for file in files {
            let complaints: Vec<Complaint> = match Document::parse(&file.source) {
                Err(complaints) => complaints,
                // Servers may not have listed their tools yet, so checks that need them are done later.
                Ok(_) => Vec::new(),
            };
            if !complaints.is_empty() {
                return Err(PolicyError::Unusable(complaints));
            }
        }
        let Some(persistence) = &self.persistence else {
            return self.hold_files(files);
        };
        let store = persistence.store();
        let active = store.active_policies().await?;
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
            store.activate_policy(&draft, None, self.now_ms()).await??;
        }
        self.load_policies().await?;
        Ok(())
    }

    /// Without a store, the policies of files are all there are.
    fn hold_files(&self, files: &[PolicyFile]) -> Result<(), PolicyError> {
        let mut policies = Policies::default();
        for file in files {
            let policy = self.compile(&file.source, 1).map_err(PolicyError::Unusable)?;
            place(&mut policies, &file.level, policy);
        }
        self.policies.store(Arc::new(policies));
        Ok(())
    }

    /// Loads the active policies from the store.
    pub(crate) async fn load_policies(self: &Arc<Self>) -> Result<(), StoreError> {
        let Some(persistence) = &self.persistence else {
            return Ok(());
        };
        let active = persistence.store().active_policies().await?;
        let policies =
            self.elsewhere("policy-load", move |governance| governance.compile_all(&active.policies)).await;
        let before = self.policies.swap(Arc::new(policies));
        self.announce_policies(&before);
        Ok(())
    }

    fn compile_all(&self, records: &[PolicyRecord]) -> Policies {
        let mut policies = Policies::default();
        for record in records {
            let version = u64::try_from(record.id).unwrap_or_default();
            let policy = self.compile(&record.draft.source, version).unwrap_or_else(|complaints| {
                let reason = in_short(&complaints);
                tracing::error!(level = ?record.draft.level, reason, "policy cannot be used; the calls it governs are denied");
                // Its document is kept: it may refer to tools that no server has listed yet.
                let document = Document::parse(&record.draft.source).unwrap_or_default();
                Policy { document, program: Some(Arc::new(Unusable(reason))), version }
            });
            place(&mut policies, &record.draft.level, policy);
        }
        policies
    }

    /// Notifies subscribers that policies changed. These URIs show an agent its own policies, so it is not
    /// notified of others'.
    fn announce_policies(&self, before: &Policies) {
        let now = self.policies.load();
        let version = |policies: &Policies, agent: &str| policies.agents.get(agent).map(|own| own.version);
        let is_meant = |subscriber: &Subscriber| match subscriber.principal.agent_id() {
            Some(agent) => version(before, agent) != version(&now, agent),
            None => true,
        };
        self.subscriptions.announce_to(&ResourceChange::Policies, is_meant);
    }

    /// Sets the current tools, and compiles the programs that refer to them again.
    pub(crate) fn set_tools(&self, catalogue: &Arc<Catalogue>) {
        self.catalogue.store(Arc::clone(catalogue));
        let is_simple = |policy: &Policy| policy.document.cedar.is_none();
        let old = self.policies.load();
        if is_simple(&old.floor) && is_simple(&old.global) && old.agents.values().all(is_simple) {
            return;
        }
        drop(old);
        // A concurrent change of the policies must not be lost.
        self.policies.rcu(|old| {
            let agents =
                old.agents.iter().map(|(agent, policy)| (Arc::clone(agent), renewed(policy, catalogue)));
            Policies {
                floor: renewed(&old.floor, catalogue),
                global: renewed(&old.global, catalogue),
                agents: agents.collect(),
            }
        });
    }
}

fn compile(source: &str, version: u64, catalogue: &Catalogue) -> Result<Policy, Vec<Complaint>> {
    let document = Document::parse(source)?;
    let program = match &document.cedar {
        None => None,
        Some(text) => Some(cedar::compile(text, document.cedar_line, catalogue)?),
    };
    Ok(Policy { document, program, version })
}

fn renewed(policy: &Policy, catalogue: &Catalogue) -> Policy {
    let Some(text) = &policy.document.cedar else {
        return policy.clone();
    };
    let program = cedar::compile(text, policy.document.cedar_line, catalogue).unwrap_or_else(|complaints| {
        let reason = in_short(&complaints);
        tracing::error!(reason, "policy no longer fits the tools; the calls it governs are denied");
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

/// A policy that failed to compile. It denies every call.
#[derive(Debug)]
struct Unusable(String);

impl Program for Unusable {
    fn judge(&self, _call: &Call<'_>) -> Result<Option<PolicyVerdict>, String> {
        Err(self.0.clone())
    }
}

/// A descriptor for a tool that does not exist, inferred from its name.
pub fn imagine(server: &str, name: &str) -> ToolDescriptor {
    let known = infer::ToolFacts {
        server,
        name,
        description: "",
        arguments: &[],
        annotations: Annotations::default(),
        trust: octroi_core::trust::Trust::default(),
    };
    let (risk, side_effects) = infer(known, &[]);
    let id = match ServerKey::parse(server) {
        Some(server) => CanonicalId::mcp(&server, name),
        None => CanonicalId::builtin(name),
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
        trust: octroi_core::trust::Trust::default(),
        timeout: std::time::Duration::from_secs(30),
        version: None,
        definition_hash: [0; 32],
    }
}
