//! Who sees which server: whose it is, and what people chose about it.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwap, Guard};
use octroi_core::pool::is_within_reach;
use octroi_core::{PoolChoices, Principal, Scope, ServerKey, ServerName, SwitchedOff};
use parking_lot::Mutex;

/// What a principal has of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It is in the principal's pool.
    Visible,
    /// It would be, but for a choice.
    Off(SwitchedOff),
    /// It is the principal's own, but everybody shares a server of the same name.
    Shadowed,
    /// It is another user's: to this principal it does not exist.
    Foreign,
}

/// The servers that there are, by owner, and what people chose about them. Immutable.
#[derive(Debug, Default)]
pub struct Members {
    choices: Arc<PoolChoices>,
    servers: Arc<ServersByOwner>,
    /// Another one for every change.
    revision: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ServersByOwner {
    shared: BTreeSet<ServerName>,
    of_users: HashMap<Arc<str>, BTreeSet<ServerName>>,
}

type Hook = Box<dyn Fn(&Members, &Members) + Send + Sync>;

/// The current [`Members`].
#[derive(Default)]
pub struct Membership {
    current: ArcSwap<Members>,
    /// Held while a new one is built from the old one.
    changing: Mutex<()>,
    /// Called with the old and the new one after each change.
    hook: OnceLock<Hook>,
}

impl Members {
    /// What people chose.
    pub fn choices(&self) -> &Arc<PoolChoices> {
        &self.choices
    }

    /// Another number for every change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// What a principal has of a server.
    pub fn sight(&self, principal: &Principal, server: &ServerKey) -> Sight {
        if !is_within_reach(principal.user(), server) {
            Sight::Foreign
        } else if self.is_shadowed(server) {
            Sight::Shadowed
        } else {
            self.choices.switched_off(principal, server).map_or(Sight::Visible, Sight::Off)
        }
    }

    /// Whether everybody shares a server of this name, so that a user's own one is left out.
    pub fn is_shadowed(&self, server: &ServerKey) -> bool {
        matches!(server.scope, Scope::User(_)) && self.servers.shared.contains(&server.name)
    }

    /// Whether there is a server with this key.
    pub(crate) fn has(&self, server: &ServerKey) -> bool {
        match &server.scope {
            Scope::System => self.servers.shared.contains(&server.name),
            Scope::User(owner) => {
                self.servers.of_users.get(owner).is_some_and(|names| names.contains(&server.name))
            }
        }
    }

    /// Users' servers that are left out now and were not before, or the other way round.
    pub(crate) fn newly_shadowed(&self, before: &Self) -> Vec<ServerKey> {
        if Arc::ptr_eq(&self.servers, &before.servers) {
            return Vec::new();
        }
        let changed: Vec<_> = self.servers.shared.symmetric_difference(&before.servers.shared).collect();
        let owners = |names: &ServerName| {
            let has_it = |(owner, own): (&Arc<str>, &BTreeSet<ServerName>)| {
                own.contains(names).then(|| Scope::User(Arc::clone(owner)))
            };
            self.servers.of_users.iter().filter_map(has_it).collect::<Vec<_>>()
        };
        let keys = changed
            .into_iter()
            .flat_map(|name| owners(name).into_iter().map(|scope| ServerKey { scope, name: name.clone() }));
        keys.collect()
    }

    /// The servers in a principal's pool, in order.
    pub fn pool_of(&self, principal: &Principal) -> Vec<ServerKey> {
        let mut keys = self.within_reach(principal.user());
        keys.retain(|key| self.choices.switched_off(principal, key).is_none());
        keys
    }

    /// The servers that a user has, before any choice, in order.
    pub fn within_reach(&self, user: &str) -> Vec<ServerKey> {
        let shared = self.servers.shared.iter().cloned().map(ServerKey::system);
        let own = self.servers.of_users.get_key_value(user).into_iter().flat_map(|(owner, names)| {
            let unshadowed = names.iter().filter(|name| !self.servers.shared.contains(*name));
            unshadowed.map(|name| ServerKey { scope: Scope::User(Arc::clone(owner)), name: name.clone() })
        });
        shared.chain(own).collect()
    }
}

impl Membership {
    /// What people chose.
    pub fn choices(&self) -> Arc<PoolChoices> {
        Arc::clone(&self.current.load().choices)
    }

    /// The current members.
    pub fn members(&self) -> Arc<Members> {
        self.current.load_full()
    }

    /// The same, for a moment.
    pub(crate) fn load(&self) -> Guard<Arc<Members>> {
        self.current.load()
    }

    /// Replaces what people chose. Clients whose lists it changes are notified.
    pub fn replace(&self, choices: PoolChoices) {
        self.change(|current| *current = choices);
    }

    /// Changes what people chose. Clients whose lists it changes are notified.
    pub fn change(&self, change: impl FnOnce(&mut PoolChoices)) {
        self.update(|old| {
            let mut choices = PoolChoices::clone(&old.choices);
            change(&mut choices);
            (Arc::new(choices), Arc::clone(&old.servers))
        });
    }

    /// Replaces the servers that there are.
    pub(crate) fn set_servers<'a>(&self, keys: impl Iterator<Item = &'a ServerKey>) {
        let mut servers = ServersByOwner::default();
        for key in keys {
            let names = match &key.scope {
                Scope::System => &mut servers.shared,
                Scope::User(owner) => servers.of_users.entry(Arc::clone(owner)).or_default(),
            };
            names.insert(key.name.clone());
        }
        if *self.current.load().servers != servers {
            self.update(|old| (Arc::clone(&old.choices), Arc::new(servers)));
        }
    }

    /// Has changes reported, to one place.
    pub(crate) fn on_change(&self, hook: impl Fn(&Members, &Members) + Send + Sync + 'static) {
        let _ = self.hook.set(Box::new(hook));
    }

    fn update(&self, next: impl FnOnce(&Members) -> (Arc<PoolChoices>, Arc<ServersByOwner>)) {
        let changing = self.changing.lock();
        let old = self.current.load_full();
        let (choices, servers) = next(&old);
        let new = Arc::new(Members { choices, servers, revision: old.revision + 1 });
        self.current.store(Arc::clone(&new));
        drop(changing);
        if let Some(hook) = self.hook.get() {
            hook(&old, &new);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use octroi_core::principal::TokenName;
    use octroi_core::{Attachment, SessionChoice};

    use super::*;

    fn key(text: &str) -> ServerKey {
        ServerKey::parse(text).unwrap()
    }

    fn agent(owner: &str) -> Principal {
        Principal::agent(&format!("{owner}s"), owner, TokenName::labelled("t"))
    }

    fn membership(keys: &[&str]) -> Membership {
        let membership = Membership::default();
        let keys: Vec<_> = keys.iter().map(|text| key(text)).collect();
        membership.set_servers(keys.iter());
        membership
    }

    fn pool(membership: &Membership, principal: &Principal) -> Vec<String> {
        membership.members().pool_of(principal).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_pool_has_what_is_shared_and_what_is_the_owners() {
        let membership = membership(&["files", "git", "ana/notes", "bob/notes", "bob/git"]);
        assert_eq!(pool(&membership, &agent("ana")), ["files", "git", "ana/notes"]);
        // Everybody shares `git`, so Bob's own is left out.
        assert_eq!(pool(&membership, &agent("bob")), ["files", "git", "bob/notes"]);
        assert_eq!(pool(&membership, &agent("eve")), ["files", "git"]);
        let members = membership.members();
        for (owner, server, expected) in [
            ("ana", "ana/notes", Sight::Visible),
            ("ana", "bob/notes", Sight::Foreign),
            ("ana", "bob/git", Sight::Foreign),
            ("ana", "files", Sight::Visible),
            ("bob", "bob/git", Sight::Shadowed),
            ("eve", "ana/notes", Sight::Foreign),
        ] {
            assert_eq!(members.sight(&agent(owner), &key(server)), expected, "{owner} {server}");
        }
    }

    #[test]
    fn choices_take_servers_out_of_a_pool() {
        let membership = membership(&["files", "git", "ana/notes"]);
        membership.change(|choices| choices.prefer("ana", &key("git"), Some(false)));
        assert_eq!(pool(&membership, &agent("ana")), ["files", "ana/notes"]);
        assert_eq!(pool(&membership, &agent("bob")), ["files", "git"]);
        // A choice of another's server has no effect.
        membership.change(|choices| choices.attach("bobs", &key("ana/notes"), Attachment::default()));
        assert_eq!(pool(&membership, &agent("bob")), Vec::<String>::new());
        let session = Principal::session("s", "bobs", "bob", TokenName::labelled("t"));
        let enabled = Some([key("ana/notes")].into());
        membership.change(|choices| choices.choose("s", SessionChoice { enabled }));
        assert_eq!(pool(&membership, &session), Vec::<String>::new());
    }

    #[test]
    fn every_change_is_reported_with_another_revision() {
        let membership = membership(&["files"]);
        let seen = Arc::new(AtomicU64::default());
        let last = Arc::clone(&seen);
        membership.on_change(move |old, new| {
            assert!(old.revision() < new.revision());
            last.store(new.revision(), Ordering::Relaxed);
        });
        membership.replace(PoolChoices::default());
        assert_eq!(seen.load(Ordering::Relaxed), membership.load().revision());
        let before = membership.load().revision();
        membership.set_servers([key("files")].iter());
        assert_eq!(membership.load().revision(), before, "the same servers are no change");
    }

    proptest::proptest! {
        #[test]
        fn no_pool_has_another_users_server(
            servers in proptest::collection::btree_set("(a/|b/|)[xyz]", 0..12),
            attached in proptest::collection::btree_set("(a/|b/|)[xyz]", 0..6),
            enabled in proptest::option::of(proptest::collection::btree_set("(a/|b/|)[xyz]", 0..6)),
            preferred in proptest::collection::vec(("[ab]", "(a/|b/|)[xyz]", proptest::bool::ANY), 0..6),
        ) {
            let membership = Membership::default();
            let keys: Vec<_> = servers.iter().map(|text| key(text)).collect();
            membership.set_servers(keys.iter());
            membership.change(|choices| {
                for server in &attached {
                    choices.attach("as", &key(server), Attachment::default());
                }
                let enabled = enabled.map(|all| all.iter().map(|server| key(server)).collect());
                choices.choose("s", SessionChoice { enabled });
                for (user, server, is_on) in &preferred {
                    choices.prefer(user, &key(server), Some(*is_on));
                }
            });
            let members = membership.members();
            let session = Principal::session("s", "as", "a", TokenName::labelled("t"));
            for principal in [agent("a"), agent("b"), session] {
                let pool = members.pool_of(&principal);
                for server in &keys {
                    let is_own = server.scope == Scope::System
                        || server.scope == Scope::User(Arc::clone(principal.user()));
                    let sight = members.sight(&principal, server);
                    proptest::prop_assert_eq!(pool.contains(server), sight == Sight::Visible);
                    proptest::prop_assert_eq!(is_own, sight != Sight::Foreign);
                }
                let names: BTreeSet<_> = pool.iter().map(|server| &server.name).collect();
                proptest::prop_assert_eq!(names.len(), pool.len(), "names are unique in a pool");
            }
        }
    }
}
