//! Access rules: every operation and every resource with a person, an agent, another agent and nobody.

use std::fmt::Write as _;

use expect_test::expect_file;
use octroi_api::{Access, AccessVerdict, ObjectRef, Owner, RESOURCES, operations};
use octroi_core::{Principal, Role};

fn person() -> Principal {
    Principal { id: "ana".into(), role: Role::Human, agent_id: None, token: "ana".into() }
}

fn agent(name: &str) -> Principal {
    let id = format!("agent:{name}");
    Principal { id: id.into(), role: Role::Agent, agent_id: Some(name.into()), token: name.into() }
}

/// The answer to each caller, for an object of the agent `coder`, or of the gateway.
fn row(access: Access, owner: Owner<'_>) -> String {
    let principals = [Some(person()), Some(agent("coder")), Some(agent("writer")), None];
    let verdicts =
        principals.iter().map(|principal| format!("{:?}", access.permits(principal.as_ref(), owner)));
    verdicts.map(|verdict| format!("{verdict:<16}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn who_may_do_what() {
    let mut table = format!(
        "{:<58} {:<16} {:<16} {:<16} nobody\n",
        "about an object of coder", "a person", "coder", "writer"
    );
    for operation in operations::all() {
        let row = row(operation.access, Owner::Agent("coder"));
        let _ = writeln!(table, "{:<58} {}", operation.name, row.trim_end());
    }
    for resource in &RESOURCES {
        let row = row(resource.access, Owner::Agent("coder"));
        let _ = writeln!(table, "{:<58} {}", resource.uri, row.trim_end());
    }
    expect_file!["access.txt"].assert_eq(&table);
}

#[test]
fn owners_decide() {
    let nameless = Principal { agent_id: None, ..agent("coder") };
    for (access, principal, owner, expected) in [
        (Access::People, person(), Owner::Gateway, AccessVerdict::Permitted),
        (Access::People, person(), Owner::Agent("coder"), AccessVerdict::Permitted),
        (Access::People, person(), Owner::Nobody, AccessVerdict::NotFound),
        (Access::People, agent("coder"), Owner::Agent("coder"), AccessVerdict::Forbidden),
        // An agent does not learn whether the object exists.
        (Access::People, agent("coder"), Owner::Nobody, AccessVerdict::Forbidden),
        (Access::OwnAgent, agent("coder"), Owner::Agent("coder"), AccessVerdict::Permitted),
        (Access::OwnAgent, agent("coder"), Owner::Agent("writer"), AccessVerdict::NotFound),
        (Access::OwnAgent, agent("coder"), Owner::Gateway, AccessVerdict::NotFound),
        (Access::OwnAgent, agent("coder"), Owner::Nobody, AccessVerdict::NotFound),
        (Access::OwnAgent, person(), Owner::Agent("coder"), AccessVerdict::Forbidden),
        (Access::OwnAgent, nameless.clone(), Owner::Gateway, AccessVerdict::Forbidden),
        (Access::PeopleAndOwnAgent, person(), Owner::Agent("coder"), AccessVerdict::Permitted),
        (Access::PeopleAndOwnAgent, agent("coder"), Owner::Agent("coder"), AccessVerdict::Permitted),
        (Access::PeopleAndOwnAgent, agent("coder"), Owner::Agent("writer"), AccessVerdict::NotFound),
        (Access::PeopleAndOwnAgent, nameless, Owner::Agent("coder"), AccessVerdict::Forbidden),
    ] {
        assert_eq!(access.permits(Some(&principal), owner), expected, "{access:?} {principal:?} {owner:?}");
    }
}

#[test]
fn a_reference_says_whose_it_is_or_has_to_be_looked_up() {
    let (person, coder) = (person(), agent("coder"));
    for (object, principal, expected) in [
        (ObjectRef::Gateway, &coder, Some(Owner::Gateway)),
        (ObjectRef::Server("files"), &coder, Some(Owner::Gateway)),
        (ObjectRef::Tool("files.read"), &coder, Some(Owner::Gateway)),
        (ObjectRef::Caller, &coder, Some(Owner::Agent("coder"))),
        (ObjectRef::Caller, &person, Some(Owner::Gateway)),
        (ObjectRef::Agent("writer"), &coder, Some(Owner::Agent("writer"))),
        (ObjectRef::Approval("ap_1"), &person, None),
        (ObjectRef::Proposal(7), &coder, None),
    ] {
        assert_eq!(object.owner(principal), expected, "{object:?}");
    }
}
