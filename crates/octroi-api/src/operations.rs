//! The table of operations: everything that a person, an agent, a script or an interface can do.

pub mod activity;
pub mod agents;
pub mod approvals;
pub mod attention;
pub mod audit;
pub mod clients;
pub mod config;
pub mod gateway;
pub mod health;
pub mod pins;
pub mod policies;
pub mod presets;
pub mod proposals;
pub mod secrets;
pub mod servers;
pub mod sessions;
pub mod stats;
pub mod templates;
pub mod tokens;
pub mod tools;
pub mod users;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Face;
use crate::operation::OperationEntry;

/// Operations on one subject.
#[derive(Debug)]
pub struct Group {
    /// The name of the subject.
    pub title: &'static str,
    /// Its operations, in listing order.
    pub operations: &'static [OperationEntry],
}

/// All operations, by subject.
pub static OPERATIONS: [Group; 21] = [
    Group { title: "Servers", operations: servers::OPERATIONS },
    Group { title: "Templates", operations: templates::OPERATIONS },
    Group { title: "Health", operations: health::OPERATIONS },
    Group { title: "Gateway", operations: gateway::OPERATIONS },
    Group { title: "Configuration", operations: config::OPERATIONS },
    Group { title: "Tools", operations: tools::OPERATIONS },
    Group { title: "Attention", operations: attention::OPERATIONS },
    Group { title: "Calls", operations: activity::OPERATIONS },
    Group { title: "Clients", operations: clients::OPERATIONS },
    Group { title: "Approvals", operations: approvals::OPERATIONS },
    Group { title: "Pins", operations: pins::OPERATIONS },
    Group { title: "Agents", operations: agents::OPERATIONS },
    Group { title: "Sessions", operations: sessions::OPERATIONS },
    Group { title: "Presets", operations: presets::OPERATIONS },
    Group { title: "Users", operations: users::OPERATIONS },
    Group { title: "Tokens", operations: tokens::OPERATIONS },
    Group { title: "Secrets", operations: secrets::OPERATIONS },
    Group { title: "Policies", operations: policies::OPERATIONS },
    Group { title: "Proposals", operations: proposals::OPERATIONS },
    Group { title: "Audit", operations: audit::OPERATIONS },
    Group { title: "Statistics", operations: stats::OPERATIONS },
];

/// All operations in one sequence.
pub fn all() -> impl Iterator<Item = &'static OperationEntry> {
    OPERATIONS.iter().flat_map(|group| group.operations)
}

/// The operation of this name at a face. `policy_check` differs between agents and people.
pub fn find(face: Face, name: &str) -> Option<&'static OperationEntry> {
    all().find(|operation| operation.name == name && operation.has_face(face))
}

/// The request of an operation that takes no arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}
