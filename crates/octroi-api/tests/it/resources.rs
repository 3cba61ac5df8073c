//! URIs of resources are parsed and formatted consistently.

use std::collections::BTreeSet;

use octroi_api::{Face, ObjectRef, RESOURCES, ResourceChange, ResourceKind, ResourceUri, Topic};
use octroi_core::ServerKey;
use proptest::prelude::*;

fn server(key: &str) -> ServerKey {
    ServerKey::parse(key).expect("a key")
}

#[test]
fn uris() {
    let agent = || "coder".to_owned();
    for (uri, expected) in [
        ("resource://servers/list", Some(ResourceUri::Servers)),
        ("resource://servers/files", Some(ResourceUri::Server(server("files")))),
        ("resource://servers/ana%2Ffiles", Some(ResourceUri::Server(server("ana/files")))),
        ("resource://servers/ana%2ffiles", None),
        ("resource://servers/ana/files", None),
        ("resource://servers/%2Ffiles", None),
        ("resource://servers/Not A Name", None),
        ("resource://servers/", None),
        ("resource://servers/files/more", None),
        ("resource://health/servers", Some(ResourceUri::Health)),
        ("resource://tools/list", Some(ResourceUri::Tools)),
        ("resource://approvals/pending", Some(ResourceUri::PendingApprovals)),
        ("resource://approvals/ap_1", None),
        ("resource://approvals/", None),
        ("resource://agents/coder/approvals/pending", Some(ResourceUri::AgentPendingApprovals(agent()))),
        ("resource://agents/coder/approvals/history", Some(ResourceUri::AgentPastApprovals(agent()))),
        (
            "resource://agents/coder/approvals/ap_1",
            Some(ResourceUri::AgentApproval { agent: agent(), id: "ap_1".to_owned() }),
        ),
        ("resource://agents//approvals/ap_1", None),
        ("resource://agents/coder/approvals/", None),
        ("resource://pins/held", Some(ResourceUri::HeldPins)),
        ("resource://agents/list", Some(ResourceUri::Agents)),
        ("resource://agents/coder/info", Some(ResourceUri::AgentInfo(agent()))),
        ("resource://agents/coder/state", Some(ResourceUri::AgentState(agent()))),
        ("resource://agents/coder/snapshot", Some(ResourceUri::AgentSnapshot(agent()))),
        ("resource://agents/coder/session/state", Some(ResourceUri::AgentSession(agent()))),
        ("resource://agents/coder/session/", None),
        ("resource://agents//info", None),
        ("resource://approval-policy/policy", Some(ResourceUri::ActivePolicy)),
        ("resource://approval-policy/policy.py", Some(ResourceUri::ActivePolicyAlias)),
        ("resource://approval-policy/policy/", None),
        ("resource://agents/coder/policy/state", Some(ResourceUri::AgentPolicyState(agent()))),
        ("resource://agents/coder/policy/source", Some(ResourceUri::AgentPolicySource(agent()))),
        ("resource://agents/coder/policy/proposals", Some(ResourceUri::AgentProposals(agent()))),
        ("resource://agents/coder/policy/", None),
        ("resource://approval-policy/proposals/7", Some(ResourceUri::Proposal(7))),
        ("resource://approval-policy/proposals/07", None),
        ("resource://approval-policy/proposals/-7", None),
        ("resource://approval-policy/proposals/x", None),
        ("resource://audit/recent", Some(ResourceUri::RecentAudit)),
        ("resource://calls/recent", Some(ResourceUri::RecentCalls)),
        ("resource://attention/list", Some(ResourceUri::Attention)),
        ("resource://gateway/status", Some(ResourceUri::Gateway)),
        ("resource://clients/list", Some(ResourceUri::Clients)),
        ("resource://servers/files/logs", Some(ResourceUri::ServerLogs(server("files")))),
        ("resource://servers/ana%2Ffiles/logs", Some(ResourceUri::ServerLogs(server("ana/files")))),
        ("file:///etc/passwd", None),
        ("", None),
    ] {
        assert_eq!(ResourceUri::parse(uri), expected, "{uri}");
        assert!(expected.is_none_or(|expected| expected.to_string() == uri), "{uri}");
    }
}

#[test]
fn every_resource_is_declared_in_full() {
    let mut uris = BTreeSet::new();
    let mut names = BTreeSet::new();
    for (place, entry) in RESOURCES.iter().enumerate() {
        assert_eq!(entry.kind as usize, place, "{} stands in the wrong place", entry.uri);
        assert!(uris.insert(entry.uri) && names.insert(entry.name), "{}", entry.uri);
        assert!(!entry.title.is_empty() && !entry.description.is_empty(), "{}", entry.uri);
        assert!(!entry.changed_by.is_empty(), "{}", entry.uri);
        // What an agent reads of its own servers has no agent in its name: a person would not say which one.
        let is_of_compositor = entry.uri.starts_with("resource://compositor_meta/");
        assert_eq!(entry.has_face(Face::Management), !is_of_compositor, "{}", entry.uri);
        // Whatever is about one agent is also for that agent.
        let is_own = is_of_compositor || entry.uri.starts_with("resource://agents/{agent_id}/");
        assert!(!is_own || entry.has_face(Face::Agent), "{}", entry.uri);
        let example =
            entry.uri.replace("{agent_id}", "coder").replace("{id}", "7").replace("{server}", "files");
        let parsed = ResourceUri::parse(&example).unwrap_or_else(|| panic!("{example} should be known"));
        assert_eq!(parsed.entry().kind, entry.kind, "{example}");
        let definition = entry.definition();
        let place = if entry.is_template() { "uriTemplate" } else { "uri" };
        assert_eq!(definition[place], entry.uri);
        assert_eq!(definition["mimeType"], entry.content.mime_type());
    }
    assert_eq!(RESOURCES[ResourceKind::RecentAudit as usize].uri, "resource://audit/recent");
}

/// Every change is reported under every URI that shows it, and under no other.
#[test]
fn changes_report_what_the_table_says() {
    let servers = [server("files"), server("ana/files")];
    let changes = [
        ResourceChange::Servers(&servers),
        ResourceChange::Templates,
        ResourceChange::Presets,
        ResourceChange::Tools,
        ResourceChange::Approval { id: "ap_1", agent: Some("coder") },
        ResourceChange::Approval { id: "ap_1", agent: None },
        ResourceChange::Approvals { agent: Some("coder") },
        ResourceChange::Pins,
        ResourceChange::Agent { agent: "coder" },
        ResourceChange::Policies,
        ResourceChange::Policy { id: 7, agent: Some("coder") },
        ResourceChange::Policy { id: 7, agent: None },
        ResourceChange::Session { id: "7" },
        ResourceChange::Mounts { agent: "coder", servers: &servers },
        ResourceChange::Users,
        ResourceChange::Audit,
        ResourceChange::Calls,
        ResourceChange::Attention,
        ResourceChange::Clients,
        ResourceChange::ServerLog(&servers[0]),
    ];
    let mut reported = BTreeSet::new();
    for change in &changes {
        for uri in change.resources() {
            assert!(uri.entry().changed_by.contains(&change.topic()), "{change:?} reports {uri}");
            reported.insert((change.topic(), uri.entry().uri));
        }
    }
    let declared =
        RESOURCES.iter().flat_map(|entry| entry.changed_by.iter().map(|topic| (*topic, entry.uri)));
    assert_eq!(reported, declared.collect::<BTreeSet<_>>());
    let topics: BTreeSet<Topic> = reported.iter().map(|(topic, _)| *topic).collect();
    assert_eq!(topics, BTreeSet::from(Topic::ALL));
    let of_everybody = ResourceChange::Policy { id: 7, agent: None }.resources();
    assert_eq!(of_everybody, [ResourceUri::Proposal(7), ResourceUri::Attention]);
}

#[test]
fn whose_a_resource_is() {
    let files = server("files");
    for (uri, object) in [
        ("resource://servers/files", ObjectRef::ServerKey(&files)),
        ("resource://sessions/s/mcp-config", ObjectRef::Session("s")),
        ("resource://compositor_meta/servers", ObjectRef::Caller),
        ("resource://agents/coder/policy/state", ObjectRef::Agent("coder")),
        ("resource://agents/coder/approvals/pending", ObjectRef::Agent("coder")),
        ("resource://agents/coder/approvals/ap_1", ObjectRef::Approval("ap_1")),
        ("resource://approval-policy/policy.py", ObjectRef::Caller),
        ("resource://approval-policy/proposals/7", ObjectRef::Proposal(7)),
        ("resource://audit/recent", ObjectRef::Gateway),
    ] {
        assert_eq!(ResourceUri::parse(uri).expect("known").object(), object, "{uri}");
    }
}

fn any_uri() -> impl Strategy<Value = ResourceUri> {
    let agent = "[A-Za-z0-9._-]{1,64}";
    // These words are lists in the position of an id.
    let id =
        "[A-Za-z0-9_-]{1,40}".prop_filter("a word of the lists", |id| id != "pending" && id != "history");
    let name = "([a-z]{1,8}/)?[a-z0-9][a-z0-9-]{0,31}".prop_filter("the list", |name| name != "list");
    prop_oneof![
        Just(ResourceUri::Servers),
        Just(ResourceUri::Health),
        Just(ResourceUri::Templates),
        Just(ResourceUri::Presets),
        Just(ResourceUri::Tools),
        Just(ResourceUri::PendingApprovals),
        Just(ResourceUri::HeldPins),
        Just(ResourceUri::Agents),
        Just(ResourceUri::ActivePolicy),
        Just(ResourceUri::ActivePolicyAlias),
        Just(ResourceUri::RecentAudit),
        Just(ResourceUri::RecentCalls),
        Just(ResourceUri::Attention),
        Just(ResourceUri::Clients),
        Just(ResourceUri::Gateway),
        name.clone().prop_map(|name| ResourceUri::ServerLogs(server(&name))),
        name.prop_map(|name| ResourceUri::Server(server(&name))),
        (agent, id).prop_map(|(agent, id)| ResourceUri::AgentApproval { agent, id }),
        agent.prop_map(ResourceUri::AgentPendingApprovals),
        agent.prop_map(ResourceUri::AgentPastApprovals),
        agent.prop_map(ResourceUri::AgentInfo),
        agent.prop_map(ResourceUri::AgentState),
        agent.prop_map(ResourceUri::AgentSnapshot),
        agent.prop_map(ResourceUri::AgentSession),
        agent.prop_map(ResourceUri::AgentPolicyState),
        agent.prop_map(ResourceUri::AgentPolicySource),
        agent.prop_map(ResourceUri::AgentProposals),
        (0..=i64::MAX).prop_map(ResourceUri::Proposal),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(uri in any_uri()) {
        prop_assert_eq!(ResourceUri::parse(&uri.to_string()), Some(uri));
    }

    #[test]
    fn what_is_read_is_written(text in "resource://(servers|approvals|agents|approval-policy)(/[a-z0-9._]{0,9}){0,4}") {
        if let Some(uri) = ResourceUri::parse(&text) {
            prop_assert_eq!(uri.to_string(), text);
        }
    }
}
