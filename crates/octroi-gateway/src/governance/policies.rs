//! Policies: reading, checking and putting them into effect.

use std::path::PathBuf;
use std::sync::Arc;

use octroi_api::Change;
use octroi_core::decision::Call;
use octroi_core::facts::Facts;
use octroi_core::policy::{
    Complaint, Document, Known, Level, Policies, Policy, PolicyVerdict, Program, Tested,
};
use octroi_core::tool::infer::{self, infer};
use octroi_core::tool::{Annotations, Risk, Source, ToolDescriptor};
use octroi_core::{CanonicalId, ServerKey};
use octroi_store::{PolicyDraft, PolicyLevel, PolicyRecord, StoreError};
use serde_json::Value;

use super::{Governance, cedar};
use crate::catalogue::Catalogue;
use crate::policy_error::PolicyError;
use crate::subscriptions::Subscriber;

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

impl Governance {
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
            Some(text) => Some(cedar::compile(text, document.cedar_line, &self.catalogue.load())?),
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
        let catalogue = self.catalogue.load();
        let tools: Vec<ToolDescriptor> = catalogue
            .offers()
            .values()
            .flat_map(|offer| offer.tools.values().map(|tool| tool.descriptor.clone()))
            .collect();
        let servers = self.servers.load();
        let facts = |arguments: &Value| Facts::of(arguments, arguments.to_string().len() as u64, None);
        let now_ms = self.now_ms();
        let known = Known { tools: &tools, servers: &servers, facts: &facts, imagine: &imagine, now_ms };
        check(&known)
    }

    /// What Cedar policies may say of the tools that there are.
    pub fn policy_schema(&self) -> Result<String, octroi_cedar::SchemaError> {
        cedar::schema(&self.catalogue.load()).map(|schema| schema.to_text().to_owned())
    }

    /// Fails if this policy cannot become active: a file holds its place, or there is something wrong with it.
    pub(crate) fn check_draft(&self, draft: &PolicyDraft) -> Result<(), PolicyError> {
        if let Some(file) = self.policy_file(&draft.level) {
            return Err(PolicyError::InFile(file));
        }
        let complaints = self.check_policy(level_of(&draft.level), &draft.source);
        if complaints.is_empty() { Ok(()) } else { Err(PolicyError::Unusable(complaints)) }
    }

    /// Makes a policy active, if it is in order.
    pub(crate) async fn set_policy(
        &self,
        draft: &PolicyDraft,
        expected_version: Option<i64>,
    ) -> Result<PolicyRecord, PolicyError> {
        self.check_draft(draft)?;
        let store = self.policy_store()?;
        let record = store.activate_policy(draft, expected_version, self.now_ms()).await??;
        self.load_policies().await?;
        Ok(record)
    }

    /// The file in which a level's policy stands, if it does.
    pub fn policy_file(&self, level: &PolicyLevel) -> Option<PathBuf> {
        let settings = self.settings();
        settings.policies.iter().find(|file| file.level == *level).map(|file| file.path.clone())
    }

    /// Takes over the policies of files: each that changed becomes a new version.
    pub(crate) async fn adopt_files(&self, files: &[PolicyFile]) -> Result<(), PolicyError> {
        for file in files {
            let complaints: Vec<Complaint> = match Document::parse(&file.source) {
                Err(complaints) => complaints,
                // Servers may not have said yet what they offer, so what needs their lists is reported later.
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

    /// Without a store, what stands in files is all there is.
    fn hold_files(&self, files: &[PolicyFile]) -> Result<(), PolicyError> {
        let mut policies = Policies::default();
        for file in files {
            let policy = self.compile(&file.source, 1).map_err(PolicyError::Unusable)?;
            place(&mut policies, &file.level, policy);
        }
        self.policies.store(Arc::new(policies));
        Ok(())
    }

    /// Puts the active policies into effect.
    pub(crate) async fn load_policies(&self) -> Result<(), StoreError> {
        let Some(persistence) = &self.persistence else {
            return Ok(());
        };
        let active = persistence.store().active_policies().await?;
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
        let before = self.policies.swap(Arc::new(policies));
        self.announce_policies(&before);
        Ok(())
    }

    /// Tells whoever watches them that policies are not what they were. Under these names an agent reads its own, so
    /// it does not hear of others'.
    fn announce_policies(&self, before: &Policies) {
        let now = self.policies.load();
        let version = |policies: &Policies, agent: &str| policies.agents.get(agent).map(|own| own.version);
        let is_meant = |subscriber: &Subscriber| match &subscriber.agent {
            Some(agent) => version(before, agent) != version(&now, agent),
            None => true,
        };
        self.subscriptions.announce_to(&Change::Policies, is_meant);
    }

    /// Takes over the tools that there are now, and makes the programs ready again that speak of them.
    pub(crate) fn set_tools(&self, catalogue: &Arc<Catalogue>) {
        self.catalogue.store(Arc::clone(catalogue));
        let is_simple = |policy: &Policy| policy.document.cedar.is_none();
        let old = self.policies.load();
        if is_simple(&old.floor) && is_simple(&old.global) && old.agents.values().all(is_simple) {
            return;
        }
        drop(old);
        // Somebody may change the policies meanwhile; that must not be lost.
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

fn renewed(policy: &Policy, catalogue: &Catalogue) -> Policy {
    let Some(text) = &policy.document.cedar else {
        return policy.clone();
    };
    let program = cedar::compile(text, policy.document.cedar_line, catalogue).unwrap_or_else(|complaints| {
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
    fn judge(&self, _call: &Call<'_>) -> Result<Option<PolicyVerdict>, String> {
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
        trust: octroi_core::server::Trust::default(),
        timeout: std::time::Duration::from_secs(30),
        version: None,
        definition_hash: [0; 32],
    }
}
