//! Access rules: every operation and every resource with an administrator, the owner, a stranger, an agent, another
//! agent, a service and nobody.

use std::fmt::Write as _;

use expect_test::expect_file;
use octroi_api::{Access, AccessVerdict, ObjectRef, Owner, RESOURCES, operations};
use octroi_core::principal::TokenName;
use octroi_core::{Principal, UserRole};

const OBJECT: Owner<'static> = Owner::Agent { agent: "coder", user: "ana" };

fn person(name: &str, role: UserRole) -> Principal {
    Principal::person(name, role, TokenName::labelled(name))
}

fn agent(name: &str) -> Principal {
    Principal::agent(name, "ana", TokenName::labelled(name))
}

/// Everybody who may ask: each with a name.
fn callers() -> [(&'static str, Option<Principal>); 7] {
    [
        ("admin", Some(person("root", UserRole::Admin))),
        ("owner", Some(person("ana", UserRole::Member))),
        ("stranger", Some(person("bob", UserRole::Member))),
        ("coder", Some(agent("coder"))),
        ("writer", Some(agent("writer"))),
        ("service", Some(Principal::service("ana", TokenName::labelled("scraper")))),
        ("nobody", None),
    ]
}

/// The answer to each caller, for an object of the agent `coder` of the user `ana`.
fn row(access: Access) -> String {
    let verdicts = callers().map(|(_, caller)| format!("{:?}", access.permits(caller.as_ref(), OBJECT)));
    verdicts.map(|verdict| format!("{verdict:<16}")).join(" ")
}

#[test]
fn who_may_do_what() {
    let names = callers().map(|(name, _)| format!("{name:<16}")).join(" ");
    let mut table = format!("{:<58} {}\n", "about an object of ana's agent coder", names.trim_end());
    for operation in operations::all() {
        let _ = writeln!(table, "{:<58} {}", operation.name, row(operation.access).trim_end());
    }
    for resource in &RESOURCES {
        let _ = writeln!(table, "{:<58} {}", resource.uri, row(resource.access).trim_end());
    }
    expect_file!["access.txt"].assert_eq(&table);
}

#[test]
fn owners_decide() {
    let (admin, ana) = (person("root", UserRole::Admin), person("ana", UserRole::Member));
    let (coder, writer) = (agent("coder"), agent("writer"));
    let session = Principal::session("s1", "coder", "ana", TokenName::labelled("s1"));
    let others = Owner::Agent { agent: "x", user: "bob" };
    for (access, principal, owner, expected) in [
        (Access::Admins, &admin, Owner::Everyone, AccessVerdict::Permitted),
        (Access::Admins, &admin, Owner::Nobody, AccessVerdict::NotFound),
        (Access::Admins, &ana, Owner::Everyone, AccessVerdict::AdminsOnly),
        // A member does not learn whether the object exists.
        (Access::Admins, &ana, Owner::Nobody, AccessVerdict::AdminsOnly),
        (Access::People, &admin, OBJECT, AccessVerdict::Permitted),
        (Access::People, &admin, Owner::User("ana"), AccessVerdict::Permitted),
        (Access::People, &admin, Owner::Nobody, AccessVerdict::NotFound),
        (Access::People, &ana, Owner::Everyone, AccessVerdict::Permitted),
        (Access::People, &ana, OBJECT, AccessVerdict::Permitted),
        (Access::People, &ana, Owner::User("ana"), AccessVerdict::Permitted),
        (Access::People, &ana, Owner::User("bob"), AccessVerdict::NotFound),
        (Access::People, &ana, others, AccessVerdict::NotFound),
        (Access::People, &ana, Owner::Admins, AccessVerdict::AdminsOnly),
        (Access::People, &ana, Owner::Nobody, AccessVerdict::NotFound),
        (Access::People, &coder, OBJECT, AccessVerdict::Forbidden),
        // Nor does an agent.
        (Access::People, &coder, Owner::Nobody, AccessVerdict::Forbidden),
        (Access::OwnAgent, &coder, OBJECT, AccessVerdict::Permitted),
        (Access::OwnAgent, &session, OBJECT, AccessVerdict::Permitted),
        (Access::OwnAgent, &writer, OBJECT, AccessVerdict::NotFound),
        (Access::OwnAgent, &coder, Owner::Everyone, AccessVerdict::NotFound),
        (Access::OwnAgent, &coder, Owner::User("ana"), AccessVerdict::NotFound),
        (Access::OwnAgent, &coder, Owner::Nobody, AccessVerdict::NotFound),
        (Access::OwnAgent, &admin, OBJECT, AccessVerdict::Forbidden),
        (Access::PeopleAndOwnAgent, &ana, OBJECT, AccessVerdict::Permitted),
        (Access::PeopleAndOwnAgent, &ana, others, AccessVerdict::NotFound),
        (Access::PeopleAndOwnAgent, &coder, OBJECT, AccessVerdict::Permitted),
        (Access::PeopleAndOwnAgent, &writer, OBJECT, AccessVerdict::NotFound),
    ] {
        assert_eq!(access.permits(Some(principal), owner), expected, "{access:?} {principal} {owner:?}");
    }
}

#[test]
fn a_reference_says_whose_it_is_or_has_to_be_looked_up() {
    for (object, expected) in [
        (ObjectRef::Gateway, Some(Owner::Everyone)),
        (ObjectRef::Administration, Some(Owner::Admins)),
        (ObjectRef::Server("files"), None),
        (ObjectRef::ManagedServer("files"), None),
        (ObjectRef::PastServer("files"), None),
        (ObjectRef::Session("s"), None),
        (ObjectRef::Tool("files.read"), Some(Owner::Everyone)),
        (ObjectRef::Caller, None),
        (ObjectRef::Agent("writer"), None),
        (ObjectRef::User("ana"), None),
        (ObjectRef::Token("t"), None),
        (ObjectRef::Approval("ap_1"), None),
        (ObjectRef::Proposal(7), None),
    ] {
        assert_eq!(object.owner(), expected, "{object:?}");
    }
}
