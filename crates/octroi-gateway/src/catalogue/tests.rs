use std::collections::BTreeSet;

use octroi_core::pin::{DefinitionHash, PinKind};
use octroi_mcp::{Era, Version};
use serde_json::Value;

use serde_json::json;

use super::*;

fn lists(tools: &[&str], resources: &[&str], templates: &[&str]) -> Arc<ServerLists> {
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

fn offer(name: &str, lists: &Arc<ServerLists>) -> Arc<Offer> {
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

fn catalogue(servers: &[(&str, Arc<ServerLists>)]) -> Catalogue {
    let servers =
        servers.iter().map(|(name, lists)| (ServerKey::parse(name).unwrap(), offer(name, lists))).collect();
    Catalogue::new(servers, &Arc::default(), 64)
}

#[test]
fn tools_are_found_by_wire_name_and_alias_and_never_by_splitting() {
    let catalogue =
        catalogue(&[("git", lists(&["hub_x", "y"], &[], &[])), ("git_hub", lists(&["z"], &[], &[]))]);
    for (name, expected) in [
        ("git_y", Some(("git", "y".to_owned()))),
        ("mcp:git:y", Some(("git", "y".to_owned()))),
        ("git.y", Some(("git", "y".to_owned()))),
        ("git__y", Some(("git", "y".to_owned()))),
        ("mcp__git__y", Some(("git", "y".to_owned()))),
        ("git_hub_x", Some(("git", "hub_x".to_owned()))),
        ("git_hub_z", Some(("git_hub", "z".to_owned()))),
        ("git_hub_y", None),
        ("y", None),
    ] {
        let found = catalogue
            .tool(name)
            .ok()
            .map(|found| (found.server.name.as_str(), found.tool.descriptor.name.to_string()));
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn an_unknown_tool_gets_a_suggestion() {
    let catalogue = catalogue(&[("fs", lists(&["read_file"], &[], &[]))]);
    let error = catalogue.tool("fs_read_fil").unwrap_err();
    assert_eq!(error.message, "unknown tool `fs_read_fil`; did you mean fs_read_file?");
}

#[test]
fn resources_are_found_by_both_forms() {
    let catalogue = catalogue(&[
        ("a", lists(&[], &["x://one", "x://both"], &["t://item/{id}/data"])),
        ("b", lists(&[], &["x://both"], &[])),
    ]);
    for (uri, expected) in [
        ("x://a/one", Some(("a", "x://one"))),
        ("x://b/whatever", Some(("b", "x://whatever"))),
        ("x://one", Some(("a", "x://one"))),
        ("t://item/5/data", Some(("a", "t://item/5/data"))),
        ("x://both", None),
        ("x://none", None),
    ] {
        let found = catalogue.resource(uri).ok();
        let found = found.as_ref().map(|(server, own)| (server.name.as_str(), own.as_str()));
        assert_eq!(found, expected, "{uri}");
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

#[test]
fn lists_keep_what_they_do_not_change() {
    let catalogue = catalogue(&[("s", lists(&["t"], &["x://r"], &[]))]);
    let server = ServerKey::parse("s").unwrap();
    let modern = catalogue.merged().result(&Method::ToolsList, Era::Modern);
    assert_eq!(
        modern,
        r#"{"resultType":"complete","tools":[{"name":"s_t","x":12345678901234567890123,"description":"Tool `t` of server `s`"}],"ttlMs":60000,"cacheScope":"private"}"#
    );
    let own = catalogue.single(&server).unwrap().result(&Method::ToolsList, Era::Legacy);
    assert_eq!(own, r#"{"tools":[{"name":"t","x":12345678901234567890123}]}"#);
    let resources: Value =
        serde_json::from_slice(&catalogue.merged().result(&Method::ResourcesList, Era::Legacy)).unwrap();
    assert_eq!(resources["resources"][0]["uri"], "x://s/r");
}

/// Servers of two owners may have one name. The bare name then stands for the shared one, or for none.
#[test]
fn two_servers_of_one_name_are_kept_apart() {
    let name = ServerName::parse("notes").unwrap();
    for (keys, expected) in [
        (&["ana/notes", "bob/notes"][..], None),
        (&["ana/notes", "files"], Some("ana/notes")),
        (&["ana/notes", "bob/notes", "notes"], Some("notes")),
        (&["files"], None),
    ] {
        let servers: Vec<_> = keys.iter().map(|key| (*key, lists(&["add"], &[key], &[]))).collect();
        let catalogue = catalogue(&servers);
        let found = catalogue.server_named(&name).map(ToString::to_string);
        assert_eq!(found.as_deref(), expected, "{keys:?}");
        let resolved = catalogue.resource("octroi-uri://notes/urn:x").ok();
        let resolved = resolved.map(|(server, own)| (server.to_string(), own));
        assert_eq!(resolved, expected.map(|key| (key.to_owned(), "urn:x".to_owned())), "{keys:?}");
        let names: Vec<String> =
            catalogue.tool_names().into_iter().map(|(server, tool)| format!("{server}.{tool}")).collect();
        let expected: Vec<String> = keys.iter().map(|key| format!("{key}.add")).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>(), expected.iter().collect(), "{keys:?}");
    }
}
