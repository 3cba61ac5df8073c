use std::collections::{BTreeMap, BTreeSet, HashSet};

use octroi_core::wire_name;
use serde_json::Value;

use super::*;
use crate::catalogue::tests::{catalogue, lists, offer};
use crate::catalogue::{OfferedByOctroi, ServerLists};

const MAX: usize = 64;

fn key(text: &str) -> ServerKey {
    ServerKey::parse(text).unwrap()
}

fn keys(servers: &[(&str, Arc<ServerLists>)]) -> Vec<ServerKey> {
    let mut keys: Vec<_> = servers.iter().map(|(name, _)| key(name)).collect();
    keys.sort();
    keys
}

fn pool(servers: &[(&str, Arc<ServerLists>)]) -> Pool {
    Pool::new(&keys(servers), &catalogue(servers), MAX)
}

#[test]
fn tools_are_found_by_wire_name_and_alias_and_never_by_splitting() {
    let pool = pool(&[
        ("git", lists(&["hub_x", "y"], &[], &[])),
        ("git_hub", lists(&["z"], &[], &[])),
        ("ana/notes", lists(&["add", "a.b"], &[], &[])),
    ]);
    for (name, expected) in [
        ("git_y", Some(("git", "y"))),
        ("mcp:git:y", Some(("git", "y"))),
        ("git.y", Some(("git", "y"))),
        ("git__y", Some(("git", "y"))),
        ("mcp__git__y", Some(("git", "y"))),
        ("git_hub_x", Some(("git", "hub_x"))),
        ("git_hub_z", Some(("git_hub", "z"))),
        ("git_hub_y", None),
        ("y", None),
        ("notes_add", Some(("ana/notes", "add"))),
        ("mcp:ana/notes:add", Some(("ana/notes", "add"))),
        ("ana/notes.add", Some(("ana/notes", "add"))),
        ("ana/notes.a.b", Some(("ana/notes", "a.b"))),
        ("notes__add", Some(("ana/notes", "add"))),
        ("mcp__notes__add", Some(("ana/notes", "add"))),
        // These name a server that everybody shares, and another user's.
        ("notes.add", None),
        ("mcp:notes:add", None),
        ("mcp:bob/notes:add", None),
        ("bob/notes.add", None),
        ("", None),
        ("__", None),
        ("mcp__", None),
        (".", None),
    ] {
        let found = pool.tool(name).ok();
        let found =
            found.map(|found| (found.offer.key().to_string(), found.tool.descriptor.name.to_string()));
        let found = found.as_ref().map(|(server, tool)| (server.as_str(), tool.as_str()));
        assert_eq!(found, expected, "{name}");
    }
}

/// The server of one user is as unknown to another as one that nobody has: the answers differ in nothing but the name.
#[test]
fn a_strangers_server_is_like_none() {
    let everything = [
        ("files", lists(&["read"], &["file:///a"], &["file:///{path}"])),
        ("ana/notes", lists(&["add"], &["note:///1"], &["note:///{id}"])),
        ("bob/notes", lists(&["add", "secret_plan"], &["note:///2"], &["plan:///{id}"])),
    ];
    let catalogue = catalogue(&everything);
    let of_ana = Pool::new(&[key("files"), key("ana/notes")], &catalogue, MAX);
    let without_bob = Pool::new(
        &[key("files"), key("ana/notes")],
        &crate::catalogue::tests::catalogue(&everything[..2]),
        MAX,
    );
    for name in
        ["notes_secret_plan", "bob/notes.add", "mcp:bob/notes:secret_plan", "notes_secret_plam", "plan"]
    {
        let (found, expected) = (of_ana.tool(name).unwrap_err(), without_bob.tool(name).unwrap_err());
        assert_eq!((found.message, found.data), (expected.message, expected.data), "{name}");
    }
    for uri in ["note:///2", "plan:///1", "octroi-uri://notes/urn:x"] {
        let text = |pool: &Pool| match pool.resource(uri) {
            Ok((offer, own)) => format!("{} {own}", offer.key()),
            Err(error) => error.message,
        };
        assert_eq!(text(&of_ana), text(&without_bob), "{uri}");
    }
    for list in crate::catalogue::LISTS {
        let text = |pool: &Pool| pool.list(&list, OwnEntries::None, Era::Modern);
        assert_eq!(text(&of_ana), text(&without_bob), "{list}");
    }
}

#[test]
fn an_unknown_tool_gets_a_suggestion() {
    let pool = pool(&[("fs", lists(&["read_file"], &[], &[]))]);
    let error = pool.tool("fs_read_fil").unwrap_err();
    assert_eq!(error.message, "unknown tool `fs_read_fil`; did you mean fs_read_file?");
}

#[test]
fn a_spelling_of_two_tools_is_ambiguous() {
    // It is `t` of `a_`, or `_t` of `a`.
    let pool = pool(&[("a", lists(&["_t"], &[], &[])), ("a_", lists(&["t"], &[], &[]))]);
    let error = pool.tool("a___t").unwrap_err();
    assert!(error.message.contains("could mean"), "{}", error.message);
}

#[test]
fn resources_are_found_by_both_forms() {
    let pool = pool(&[
        ("a", lists(&[], &["x://one", "x://both"], &["t://item/{id}/data"])),
        ("b", lists(&[], &["x://both"], &[])),
        ("ana/c", lists(&[], &["x://three"], &[])),
    ]);
    for (uri, expected) in [
        ("x://a/one", Some(("a", "x://one"))),
        ("x://b/whatever", Some(("b", "x://whatever"))),
        ("x://one", Some(("a", "x://one"))),
        ("t://item/5/data", Some(("a", "t://item/5/data"))),
        ("x://c/three", Some(("ana/c", "x://three"))),
        ("x://both", None),
        ("x://none", None),
    ] {
        let found = pool.resource(uri).ok().map(|(offer, own)| (offer.key().to_string(), own));
        let found = found.as_ref().map(|(server, own)| (server.as_str(), own.as_str()));
        assert_eq!(found, expected, "{uri}");
    }
}

#[test]
fn lists_keep_what_they_do_not_change() {
    let servers = [("s", lists(&["t"], &["x://r"], &[])), ("ana/s2", lists(&["t"], &[], &[]))];
    let pool = pool(&servers);
    let modern = pool.list(&Method::ToolsList, OwnEntries::None, Era::Modern);
    assert_eq!(
        modern,
        r#"{"resultType":"complete","tools":[{"name":"s_t","x":12345678901234567890123,"description":"Tool `t` of server `s`"},{"name":"s2_t","x":12345678901234567890123,"description":"Tool `t` of server `ana/s2`"}],"ttlMs":60000,"cacheScope":"private"}"#
    );
    let own =
        list_result(&Method::ToolsList, Era::Legacy, &[pool.offers()[0].own_entries(&Method::ToolsList)]);
    assert_eq!(own, r#"{"tools":[{"name":"t","x":12345678901234567890123}]}"#);
    let resources = pool.list(&Method::ResourcesList, OwnEntries::None, Era::Legacy);
    let resources: Value = serde_json::from_slice(&resources).unwrap();
    assert_eq!(resources["resources"][0]["uri"], "x://s/r");
}

/// Names that clash in one pool are other ones in that pool alone.
#[test]
fn a_clash_renames_in_the_pool_where_it_is() {
    let everything = [
        ("git", lists(&["hub_x", "y"], &[], &[])),
        ("ana/git_hub", lists(&["x"], &[], &[])),
        ("bob/notes", lists(&["x"], &[], &[])),
    ];
    let catalogue = catalogue(&everything);
    let names = |keys: &[ServerKey]| {
        let pool = Pool::new(keys, &catalogue, MAX);
        let list = pool.list(&Method::ToolsList, OwnEntries::None, Era::Legacy);
        let list: Value = serde_json::from_slice(&list).unwrap();
        let listed: Vec<String> = list["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect();
        assert!(listed.iter().all(|name| pool.tool(name).is_ok()), "{listed:?}");
        listed
    };
    let of_ana = names(&[key("git"), key("ana/git_hub")]);
    assert!(of_ana[0].starts_with("git_hub_x_") && of_ana[2].starts_with("git_hub_x_"), "{of_ana:?}");
    assert_eq!(of_ana[1], "git_y");
    assert_eq!(names(&[key("git"), key("bob/notes")]), ["git_hub_x", "git_y", "notes_x"]);
    // `git` goes, and takes nothing of `git_hub` with it.
    assert_eq!(names(&[key("ana/git_hub")]), ["git_hub_x"]);
}

#[test]
fn a_pool_is_made_anew_for_changes_of_its_own_servers_alone() {
    let list = lists(&["t"], &[], &[]);
    let before =
        catalogue(&[("s", Arc::clone(&list)), ("ana/a", Arc::clone(&list)), ("bob/b", Arc::clone(&list))]);
    let sets = [vec![key("s"), key("ana/a")], vec![key("s"), key("bob/b")], vec![key("ana/a")]];
    let pools = sets.each_ref().map(|keys| Pool::new(keys, &before, MAX));
    let current =
        |catalogue: &Catalogue| [0, 1, 2].map(|index| pools[index].is_current(&sets[index], catalogue, MAX));
    assert_eq!(current(&before), [true; 3]);
    let change = |catalogue: &Catalogue, server: &str| {
        catalogue.with([(key(server), Some(offer(server, &lists(&["other"], &[], &[]))))])
    };
    let of_bob = change(&before, "bob/b");
    assert_eq!(current(&of_bob), [true, false, true]);
    let shared = change(&of_bob, "s");
    assert_eq!(current(&shared), [false, false, true]);
    assert_eq!(current(&before), [true; 3], "what it was made of");
    let new = change(&before, "ana/z");
    assert_eq!(current(&new), [true; 3], "one that is in no pool");
    assert!(!pools[0].is_current(&sets[0], &new.with([]), MAX + 1), "another limit for names");
}

proptest::proptest! {
    /// The shortcuts of the table make no difference: names are those that [`wire_name::assign`] gives to all tools.
    #[test]
    fn names_are_those_of_all_tools_together(
        tools in proptest::collection::btree_set(
            ("a|a_b|b|mcp|ana/a_b_c|ana/b_", "[ab_.]{0,4}|[ab]{28,32}|b__a|a__[ab]|_[ab]"), 0..24),
        reserved in proptest::collection::btree_set("a_[ab_]{0,3}|b_a", 0..5),
        has_hash in proptest::bool::ANY,
        max in 24..34_usize,
    ) {
        let mut tools = tools;
        // A server may list the name that another tool would get instead.
        if let Some((server, tool)) = tools.first().cloned().filter(|_| has_hash) {
            for other in wire_name::instead_of_plain(&key(&server), &tool, max) {
                if let Some(own) = other.strip_prefix("a_") {
                    tools.insert(("a".to_owned(), own.to_owned()));
                }
            }
        }
        let mut by_server: BTreeMap<ServerKey, Vec<&str>> = BTreeMap::new();
        for (server, tool) in &tools {
            by_server.entry(key(server)).or_default().push(tool);
        }
        let names: Vec<String> = by_server.keys().map(ToString::to_string).collect();
        let servers: Vec<_> =
            names.iter().zip(by_server.values()).map(|(name, tools)| (name.as_str(), lists(tools, &[], &[]))).collect();
        let offered = OfferedByOctroi {
            reserved_names: reserved.iter().cloned().collect(),
            ..OfferedByOctroi::default()
        };
        let builtins = Arc::new(Builtins::new(&offered));
        let offers = servers.iter().map(|(name, lists)| (key(name), Some(offer(name, lists))));
        let catalogue = Catalogue::new(&builtins).with(offers);
        let keys: Vec<ServerKey> = by_server.keys().cloned().collect();
        let pool = Pool::new(&keys, &catalogue, max);

        let all: Vec<(&ServerKey, &str)> =
            by_server.iter().flat_map(|(server, tools)| tools.iter().map(move |tool| (server, *tool))).collect();
        let spellings: HashSet<String> =
            all.iter().flat_map(|(server, tool)| wire_name::aliases(server, tool)).collect();
        let is_taken = |name: &str| reserved.contains(name) || spellings.contains(name);
        let expected = wire_name::assign(&all, is_taken, max);
        let found: Vec<(String, String)> =
            pool.tools().map(|(name, found)| (name.to_owned(), found.tool.descriptor.id.to_string())).collect();
        let expected: Vec<(String, String)> = expected
            .into_iter()
            .zip(&all)
            .map(|(name, (server, tool))| (name, CanonicalId::mcp(server, tool).to_string()))
            .collect();
        proptest::prop_assert_eq!(&found, &expected);
        let different: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        proptest::prop_assert_eq!(different.len(), found.len());
        for (name, id) in &found {
            let by_name = pool.tool(name).unwrap();
            proptest::prop_assert_eq!(by_name.tool.descriptor.id.as_str(), id.as_str());
        }
        // Every other spelling finds the tool, or says that it could be several.
        for (server, tool) in &all {
            for alias in wire_name::aliases(server, tool) {
                match pool.tool(&alias) {
                    Ok(found) => {
                        let is_wire_name = expected.iter().any(|(name, _)| *name == alias);
                        let is_it = found.offer.key() == *server && &*found.tool.descriptor.name == *tool;
                        proptest::prop_assert!(is_it || is_wire_name, "{}", alias);
                    }
                    Err(error) => proptest::prop_assert!(error.message.contains("could mean"), "{}", error.message),
                }
            }
        }
    }
}
