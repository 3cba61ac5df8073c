//! `[policy]` and `[[agents]]`: which policies apply, and the settings of each agent.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::keys::governance::{AGENT, DENIAL_STYLES, MODES, POLICY, PROFILES};
use super::listed::{Entries, Listed};
use super::problem::ProblemLog;
use super::reader::TableReader;
use super::settings::{Context, Read};
use super::show::Setting;
use crate::agent::{AgentContext, DEFAULT_BLACKLIST, Mode, Profile};
use crate::principal::UserName;
use crate::syntax::{Map, Node, Origin};

/// `[policy]`: what is allowed, needs approval, or is denied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicySection {
    /// The profile of agents without their own.
    pub profile: Profile,
    /// The policy file that no other policy can loosen.
    pub floor: Option<PathBuf>,
    /// The policy file for all agents.
    pub global: Option<PathBuf>,
    /// How denials are reported to clients, unless their token says otherwise.
    pub errors: DenialStyle,
    /// Whether agents may propose policies for themselves.
    pub proposals: bool,
}

/// How a denial is reported to a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DenialStyle {
    /// A JSON-RPC error.
    #[default]
    Rpc,
    /// A result with `isError`, for clients that do not show errors to their model.
    Result,
}

/// One of `[[agents]]`: the settings of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSpec {
    /// Its id, as in `agent_id` of its token.
    pub id: Arc<str>,
    /// How strict the gates are, if set.
    pub profile: Option<Profile>,
    /// Planning or execution, if set.
    pub mode: Option<Mode>,
    /// The project it works on.
    pub project: Option<Arc<str>>,
    /// The directory of the project: an absolute path.
    pub project_root: Option<PathBuf>,
    /// The hash of its specification.
    pub spec_hash: Option<Arc<str>>,
    /// Whether its specification is frozen.
    pub is_spec_frozen: bool,
    /// Side effects it must not have, if set.
    pub blacklist: Option<BTreeSet<Arc<str>>>,
    /// The user it belongs to, if not the built-in administrator.
    pub owner: Option<Arc<str>>,
    /// Its own policy file.
    pub policy: Option<PathBuf>,
}

impl AgentSpec {
    /// The state of this agent that the gates check; `profile` applies if it has none of its own.
    pub fn context(&self, profile: Profile) -> AgentContext {
        let defaults = AgentContext::default();
        AgentContext {
            profile: self.profile.unwrap_or(profile),
            mode: self.mode.unwrap_or_default(),
            is_spec_frozen: self.is_spec_frozen,
            spec_hash: self.spec_hash.clone(),
            project: self.project.clone(),
            project_root: self.project_root.as_ref().map(|root| root.to_string_lossy().into()),
            blacklist: self.blacklist.clone().unwrap_or(defaults.blacklist),
        }
    }
}

impl Context<'_> {
    pub(super) fn policy(&self, map: &Map) -> Read<PolicySection> {
        let mut reader = self.reader(map, POLICY, ProblemLog::of_restriction(None));
        let section = PolicySection {
            profile: reader.word_or("profile", &PROFILES, Profile::default()),
            floor: reader.path("floor"),
            global: reader.path("global"),
            errors: reader.word_or("errors", &DENIAL_STYLES, DenialStyle::default()),
            proposals: reader.flag("proposals", false),
        };
        (section, reader.settings, reader.log.problems)
    }

    /// `policy_settings` holds the inherited profile and its origin.
    pub(super) fn agents(&self, nodes: &[Node], policy_settings: &[Setting]) -> Entries<AgentSpec> {
        let inherited = policy_settings.iter().find(|setting| setting.name == "profile");
        let listed = Listed { what: "agent", name: Some("id"), keys: AGENT };
        self.each(nodes, &listed, |reader, _, _| agent(reader, inherited))
    }
}

fn agent(reader: &mut TableReader<'_>, inherited: Option<&Setting>) -> Option<AgentSpec> {
    let id = reader.identifier("id");
    let profile = reader.word("profile", &PROFILES);
    if !reader.has("profile") {
        reader.settings.extend(inherited.cloned());
    }
    let mode = reader.has("mode");
    let mode = Some(reader.word_or("mode", &MODES, Mode::default())).filter(|_| mode);
    Some(AgentSpec {
        profile,
        mode,
        project: reader.some_text("project").map(Into::into),
        project_root: reader.whole_path("project_root"),
        spec_hash: reader.some_text("spec_hash").map(Into::into),
        is_spec_frozen: reader.flag("spec_frozen", false),
        blacklist: blacklist(reader),
        owner: owner(reader),
        policy: reader.path("policy"),
        id: id?.into(),
    })
}

fn owner(reader: &mut TableReader<'_>) -> Option<Arc<str>> {
    let owner = reader.some_text("owner")?;
    match UserName::parse(&owner) {
        Ok(owner) => Some(owner.as_str().into()),
        Err(error) => {
            let origin = reader.origin("owner");
            reader.log.error(&origin, error.to_string());
            None
        }
    }
}

fn blacklist(reader: &mut TableReader<'_>) -> Option<BTreeSet<Arc<str>>> {
    if !reader.has("blacklist") {
        let value = json!(DEFAULT_BLACKLIST);
        reader.settings.push(Setting { name: "blacklist", value, origin: Origin::Default });
        return None;
    }
    Some(reader.tags("blacklist").into_iter().map(Into::into).collect())
}
