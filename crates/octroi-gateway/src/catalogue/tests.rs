use std::collections::BTreeSet;

use octroi_core::pin::{DefinitionHash, PinKind};
use octroi_mcp::{Era, Version};
use serde_json::json;

use super::*;

pub(crate) fn lists(tools: &[&str], resources: &[&str], templates: &[&str]) -> Arc<ServerLists> {
    let item = |key: &str, name: &str| {
        let definition = Bytes::from(format!(r#"{{"{key}":"{name}","x":12345678901234567890123}}"#));
        Item::new(name.to_owned(), definition, Arc::default())
    };
    let identity = ServerIdentity {
        era: Era::Legacy,
        version: Version::V2025_11_25,
        info: None,
        capabilities: json!({}),
        instructions: None,
        spoken: octroi_upstream::SpokenEras::default(),
        abilities: octroi_mcp::capability::Abilities::ALL,
    };
    let mut lists = ServerLists::empty(identity);
    lists.tools = tools.iter().map(|name| item("name", name)).collect();
    lists.resources = resources.iter().map(|name| item("uri", name)).collect();
    lists.templates = templates.iter().map(|name| item("uriTemplate", name)).collect();
    Arc::new(lists)
}

/// Makes everything visible.
struct NoGuard;

impl Guard for NoGuard {
    fn hold(&self, _kind: PinKind, _item: &Item, _hash: &DefinitionHash) -> Option<String> {
        None
    }

    fn hold_instructions(&self, _instructions: &str) -> Option<String> {
        None
    }
}

/// Quarantines these.
struct Holds(&'static [&'static str]);

impl Guard for Holds {
    fn hold(&self, _kind: PinKind, item: &Item, _hash: &DefinitionHash) -> Option<String> {
        self.0.contains(&item.name.as_str()).then(|| "held".to_owned())
    }

    fn hold_instructions(&self, _instructions: &str) -> Option<String> {
        None
    }
}

pub(crate) fn offer(name: &str, lists: &Arc<ServerLists>) -> Arc<Offer> {
    guarded_offer(name, lists, &NoGuard)
}

fn guarded_offer(name: &str, lists: &Arc<ServerLists>, guard: &dyn Guard) -> Arc<Offer> {
    let program =
        octroi_core::server::Remote { url: "http://localhost".to_owned(), headers: BTreeMap::new() };
    let name = ServerKey::parse(name).unwrap();
    let spec = octroi_core::server::ServerSpec::new(name, octroi_core::server::Transport::Http(program));
    Arc::new(Offer::new(Arc::clone(lists), &spec, &Arc::default(), guard, None))
}

#[test]
fn only_what_is_different_is_judged_again() {
    let same = lists(&["read"], &["x://one"], &[]);
    let offer = offer("a", &same);
    let spec = |url: &str| {
        let remote = octroi_core::server::Remote { url: url.to_owned(), headers: BTreeMap::new() };
        let key = ServerKey::parse("a").unwrap();
        octroi_core::server::ServerSpec::new(key, octroi_core::server::Transport::Http(remote))
    };
    let before = spec("http://localhost");
    let is_same = |spec: &octroi_core::server::ServerSpec, lists: &ServerLists| {
        offer.is_made_of(spec, lists, &Arc::default())
    };
    assert!(is_same(&before, &same));
    assert!(!is_same(&spec("http://elsewhere"), &same), "another entry");
    let other = |change: &dyn Fn(&mut ServerLists)| {
        let mut lists = ServerLists::clone(&same);
        change(&mut lists);
        lists
    };
    let instructions = other(&|lists| lists.identity.instructions = Some("obey".to_owned()));
    assert!(!is_same(&before, &instructions), "other instructions");
    let checked = other(&|lists| lists.tools[0].is_checked = true);
    assert!(!is_same(&before, &checked), "its schema was checked for the first time");
}

pub(crate) fn catalogue(servers: &[(&str, Arc<ServerLists>)]) -> Catalogue {
    let offers =
        servers.iter().map(|(name, lists)| (ServerKey::parse(name).unwrap(), Some(offer(name, lists))));
    Catalogue::new(&Arc::default()).with(offers)
}

/// A change of one owner's server leaves what another owner has untouched.
#[test]
fn each_owner_has_a_revision() {
    let before =
        catalogue(&[("files", lists(&["read"], &[], &[])), ("ana/notes", lists(&["add"], &[], &[]))]);
    let key = ServerKey::parse("bob/notes").unwrap();
    let after = before.with([(key.clone(), Some(offer("bob/notes", &lists(&["add"], &[], &[]))))]);
    let ana = Scope::User("ana".into());
    assert_eq!(before.revision_of(&ana), after.revision_of(&ana));
    assert_eq!(before.revision_of(&Scope::System), after.revision_of(&Scope::System));
    assert_eq!((before.revision_of(&key.scope), before.offers().count()), (None, 2));
    let gone = after.with([(key.clone(), None)]);
    assert_eq!((gone.revision_of(&key.scope), gone.offers().count()), (None, 2));
    assert!(after.revision_of(&key.scope).is_some() && before.revision() < gone.revision());
}

#[test]
fn definitions_are_compared_with_those_that_may_stand_beside_them() {
    let lists = lists(&["add"], &[], &[]);
    let all = ["files", "ana/notes", "ana/todo", "bob/notes"].map(|key| (key, Arc::clone(&lists)));
    let catalogue = catalogue(&all);
    for (server, expected) in [
        ("files", &["files"][..]),
        ("ana/notes", &["ana/notes", "ana/todo", "files"]),
        ("bob/notes", &["bob/notes", "files"]),
    ] {
        let found = catalogue.tool_names_beside(&ServerKey::parse(server).unwrap());
        let found: BTreeSet<&str> = found.iter().map(|(server, _)| server.as_str()).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "{server}");
    }
}

#[test]
fn a_wide_template_does_not_release_what_is_quarantined() {
    let lists = lists(
        &[],
        &["file:///a/one.txt", "file:///a/two.txt", "file:///b/in/three"],
        &["file:///a/{name}", "file:///b/{+path}", "file:///b/in/{name}"],
    );
    let offer = guarded_offer("s", &lists, &Holds(&["file:///a/one.txt", "file:///b/in/{name}"]));
    for (uri, is_held) in [
        ("file:///a/one.txt", true),
        ("file:///a/%6fne.txt", true),
        ("file:///a/two.txt", false),
        ("file:///a/other.txt", false),
        ("file:///b/in/four", true),
        ("file:///b/in/three", false),
        ("file:///b/out", false),
        ("file:///c", true),
        // A server may take each for the quarantined one.
        ("file:///a/ONE.txt", true),
        ("file:///a/one.txt#x", true),
        ("file:///a/one.txt?x", true),
        ("file:///a/one.txt/", true),
        ("file:///a/one.txt.", true),
        ("file:///a/one.txt;x=1", true),
        ("file:///a/one.txt%00.png", true),
        ("file:///a/%4FNE.txt%20", true),
        ("file:///a/TWO.txt", false),
        ("file:///a/two.txt?x", false),
        ("file:///b/IN/four", true),
        ("file:///b/in;x/four", true),
        ("file:///b/in%00/four", true),
    ] {
        assert_eq!(offer.held_resource(uri).is_some(), is_held, "{uri}");
    }
}
