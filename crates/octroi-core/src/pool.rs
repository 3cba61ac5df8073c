//! What people chose about servers: preferences, servers attached to agents, sessions. Together with who owns a server
//! they decide what a principal sees.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::name::{Scope, ServerKey};
use crate::principal::Principal;
use crate::switched_off::SwitchedOff;

/// How a server is attached to an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attachment {
    /// Whether it cannot be detached.
    pub is_pinned: bool,
}

/// Which servers a session uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionChoice {
    /// The chosen ones; `None` for all that its agent has.
    pub enabled: Option<BTreeSet<ServerKey>>,
}

type Preferences = HashMap<ServerKey, bool>;
type Attachments = BTreeMap<ServerKey, Attachment>;

/// Everything that people chose. Cloning it copies no choice, so that a change of one is cheap.
#[derive(Clone, Debug, Default)]
pub struct PoolChoices {
    /// By user. What nobody chose is on.
    preferences: HashMap<Arc<str>, Arc<Preferences>>,
    /// By session. One without a choice has what its agent has.
    sessions: HashMap<Arc<str>, Arc<SessionChoice>>,
    /// By agent. One to which nothing was ever attached has its owner's whole pool.
    attachments: HashMap<Arc<str>, Arc<Attachments>>,
}

impl PoolChoices {
    /// The first switch that says no to this principal: its owner's preference, what is attached to the agent, what the
    /// session uses. The switches of the server itself come before all of them.
    pub fn switched_off(&self, principal: &Principal, server: &ServerKey) -> Option<SwitchedOff> {
        let user = principal.user();
        if self.preference(user, server) == Some(false) {
            return Some(SwitchedOff::Preference { user: Arc::clone(user) });
        }
        if let Some(agent) = principal.agent_id()
            && self.attachments.get(agent).is_some_and(|attached| !attached.contains_key(server))
        {
            return Some(SwitchedOff::NotAttached { agent: Arc::clone(agent) });
        }
        let id = principal.session_id()?;
        let enabled = self.sessions.get(id)?.enabled.as_ref()?;
        (!enabled.contains(server)).then(|| SwitchedOff::Session { id: Arc::clone(id) })
    }

    /// Whether a choice that concerns this principal differs.
    pub fn differs_for(&self, other: &Self, principal: &Principal) -> bool {
        let (agent, session) = (principal.agent_id(), principal.session_id());
        !is_same(self.preferences.get(principal.user()), other.preferences.get(principal.user()))
            || agent.is_some_and(|id| !is_same(self.attachments.get(id), other.attachments.get(id)))
            || session.is_some_and(|id| !is_same(self.sessions.get(id), other.sessions.get(id)))
    }

    /// What a user chose about a server.
    pub fn preference(&self, user: &str, server: &ServerKey) -> Option<bool> {
        self.preferences.get(user)?.get(server).copied()
    }

    /// Sets what a user chose about a server; `None` takes the choice back.
    pub fn prefer(&mut self, user: &str, server: &ServerKey, enabled: Option<bool>) {
        let preferences = Arc::make_mut(self.preferences.entry(user.into()).or_default());
        match enabled {
            Some(enabled) => preferences.insert(server.clone(), enabled),
            None => preferences.remove(server),
        };
        if preferences.is_empty() {
            self.preferences.remove(user);
        }
    }

    /// Everything that people chose about servers.
    pub fn all_preferences(&self) -> impl Iterator<Item = (Arc<str>, ServerKey)> + '_ {
        let of_user = |(user, preferences): (&Arc<str>, &Arc<Preferences>)| {
            preferences.keys().map(|key| (Arc::clone(user), key.clone())).collect::<Vec<_>>()
        };
        self.preferences.iter().flat_map(of_user)
    }

    /// How many choices people made about servers.
    pub fn n_preferences(&self) -> usize {
        self.preferences.values().map(|preferences| preferences.len()).sum()
    }

    /// The sessions about which something was chosen.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.sessions.keys().map(|id| &**id)
    }

    /// The agents that have some servers only.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.attachments.keys().map(|id| &**id)
    }

    /// What a session uses, if that was ever chosen.
    pub fn session(&self, id: &str) -> Option<&SessionChoice> {
        self.sessions.get(id).map(|choice| &**choice)
    }

    /// Sets what a session uses.
    pub fn choose(&mut self, session: &str, choice: SessionChoice) {
        self.sessions.insert(session.into(), Arc::new(choice));
    }

    /// Forgets a session that is over.
    pub fn forget_session(&mut self, id: &str) {
        self.sessions.remove(id);
    }

    /// The servers that are attached to an agent; `None` if it has its owner's whole pool.
    pub fn attachments(&self, agent: &str) -> Option<&BTreeMap<ServerKey, Attachment>> {
        self.attachments.get(agent).map(|attached| &**attached)
    }

    /// Attaches a server to an agent, which from then on has only what is attached to it.
    pub fn attach(&mut self, agent: &str, server: &ServerKey, attachment: Attachment) {
        let attached = Arc::make_mut(self.attachments.entry(agent.into()).or_default());
        attached.insert(server.clone(), attachment);
    }

    /// Detaches a server from an agent, which keeps what else is attached to it, if only nothing.
    pub fn detach(&mut self, agent: &str, server: &ServerKey) {
        if let Some(attached) = self.attachments.get_mut(agent) {
            Arc::make_mut(attached).remove(server);
        }
    }

    /// Replaces all that is attached to an agent; `None` gives it its owner's whole pool.
    pub fn set_attachments(&mut self, agent: &str, attached: Option<BTreeMap<ServerKey, Attachment>>) {
        match attached {
            Some(attached) => self.attachments.insert(agent.into(), Arc::new(attached)),
            None => self.attachments.remove(agent),
        };
    }

    /// Forgets all choices about a server that is gone. An agent or a session that used nothing else uses nothing then.
    pub fn forget_server(&mut self, server: &ServerKey) {
        self.preferences.retain(|_, preferences| {
            if preferences.contains_key(server) {
                Arc::make_mut(preferences).remove(server);
            }
            !preferences.is_empty()
        });
        for attached in self.attachments.values_mut().filter(|attached| attached.contains_key(server)) {
            Arc::make_mut(attached).remove(server);
        }
        for choice in self.sessions.values_mut() {
            if choice.enabled.as_ref().is_some_and(|enabled| enabled.contains(server))
                && let Some(enabled) = &mut Arc::make_mut(choice).enabled
            {
                enabled.remove(server);
            }
        }
    }
}

/// Of which servers somebody may learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Of all.
    All,
    /// Of what everybody shares, and of this user's own.
    User(Arc<str>),
}

impl Reach {
    /// The reach of a principal: all for an administrator, else its user's.
    pub fn of(principal: &Principal) -> Self {
        if principal.is_admin() { Self::All } else { Self::User(Arc::clone(principal.user())) }
    }

    /// Whether it includes a server.
    pub fn includes(&self, server: &ServerKey) -> bool {
        match self {
            Self::All => true,
            Self::User(user) => is_within_reach(user, server),
        }
    }
}

/// Whether a server may be seen by this user at all: it is shared by everybody, or the user's own.
pub fn is_within_reach(user: &str, server: &ServerKey) -> bool {
    match &server.scope {
        Scope::System => true,
        Scope::User(owner) => **owner == *user,
    }
}

fn is_same<T>(one: Option<&Arc<T>>, other: Option<&Arc<T>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::principal::{TokenName, UserRole};

    fn key(text: &str) -> ServerKey {
        ServerKey::parse(text).unwrap()
    }

    fn session() -> Principal {
        Principal::session("s1", "coder", "ana", TokenName::labelled("t"))
    }

    fn agent() -> Principal {
        Principal::agent("coder", "ana", TokenName::labelled("t"))
    }

    #[test]
    fn the_first_switch_that_says_no_is_named() {
        let notes = key("ana/notes");
        let mut choices = PoolChoices::default();
        assert_eq!(choices.switched_off(&session(), &notes), None, "without a choice all is on");
        choices.choose("s1", SessionChoice { enabled: Some(BTreeSet::from([key("files")])) });
        assert_eq!(choices.switched_off(&session(), &notes), Some(SwitchedOff::Session { id: "s1".into() }));
        assert_eq!(choices.switched_off(&agent(), &notes), None, "only in that session");
        choices.attach("coder", &key("files"), Attachment::default());
        let not_attached = Some(SwitchedOff::NotAttached { agent: "coder".into() });
        assert_eq!(choices.switched_off(&session(), &notes), not_attached);
        choices.prefer("ana", &notes, Some(false));
        let preference = Some(SwitchedOff::Preference { user: "ana".into() });
        for principal in
            [session(), agent(), Principal::person("ana", UserRole::Member, TokenName::labelled("t"))]
        {
            assert_eq!(choices.switched_off(&principal, &notes), preference, "{principal}");
        }
        let of_bob = Principal::agent("helper", "bob", TokenName::labelled("t"));
        assert_eq!(choices.switched_off(&of_bob, &key("files")), None, "another's choices are nothing to it");
        choices.prefer("ana", &notes, None);
        choices.attach("coder", &notes, Attachment { is_pinned: true });
        choices.choose("s1", SessionChoice { enabled: None });
        assert_eq!(choices.switched_off(&session(), &notes), None);
    }

    #[test]
    fn an_agent_from_which_everything_was_detached_has_nothing() {
        let mut choices = PoolChoices::default();
        choices.attach("coder", &key("files"), Attachment::default());
        choices.detach("coder", &key("files"));
        assert!(choices.switched_off(&agent(), &key("files")).is_some());
        choices.set_attachments("coder", None);
        assert_eq!(choices.switched_off(&agent(), &key("files")), None);
    }

    #[test]
    fn a_server_that_is_gone_leaves_no_choice() {
        let mut choices = PoolChoices::default();
        choices.prefer("ana", &key("files"), Some(false));
        choices.attach("coder", &key("files"), Attachment::default());
        choices.choose("s1", SessionChoice { enabled: Some(BTreeSet::from([key("files")])) });
        let before = choices.clone();
        choices.forget_server(&key("files"));
        assert_eq!(choices.preference("ana", &key("files")), None);
        assert!(choices.attachments("coder").unwrap().is_empty());
        assert_eq!(choices.session("s1").unwrap().enabled, Some(BTreeSet::new()));
        assert_eq!(before.preference("ana", &key("files")), Some(false), "the copy is another one");
    }

    #[test]
    fn a_change_concerns_those_whose_choices_it_is() {
        let before = PoolChoices::default();
        let of_bob = Principal::agent("helper", "bob", TokenName::labelled("t"));
        for (change, expected) in [
            (|choices: &mut PoolChoices| choices.prefer("ana", &key("files"), Some(false)), [true, true]),
            (|choices| choices.attach("coder", &key("files"), Attachment::default()), [true, true]),
            (|choices| choices.choose("s1", SessionChoice::default()), [true, false]),
            (|choices| choices.prefer("ben", &key("files"), Some(false)), [false, false]),
        ] as [(fn(&mut PoolChoices), [bool; 2]); 4]
        {
            let mut after = before.clone();
            change(&mut after);
            let found = [session(), agent()].map(|principal| before.differs_for(&after, &principal));
            assert_eq!(found, expected);
            assert!(!before.differs_for(&after, &of_bob));
        }
    }
}
