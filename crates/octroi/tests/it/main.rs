//! Tests of the real binary.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on must stop, and tests start the programs they test"
)]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes its snapshots like this")]

mod accepting;
mod activity;
mod agents;
mod agents_life;
mod agents_owned;
mod approval_page;
mod approvals;
mod approvals_bound;
mod approvals_quota;
mod approver_view;
mod asking;
mod audit;
mod audit_copies;
mod audit_events;
mod browser;
mod chaos;
mod coding_agents;
mod config;
mod conformance;
mod conformance_client;
mod declared;
mod disk;
mod endpoint;
mod eras;
mod faults;
mod first_yes;
mod forgery;
mod front_ends;
mod gates;
mod grid;
mod guide;
mod harness;
mod histories;
mod hostile;
mod leaks;
mod life;
mod limits;
mod login_attempts;
mod long_calls;
mod lost;
mod manage;
mod memory;
mod misleading;
mod notified;
mod once;
mod operations;
mod output;
mod overrides;
mod peers;
mod people;
mod pins;
mod policy;
mod policy_files;
mod processes;
mod registry;
mod reload;
mod requests;
mod rest;
mod restarted_servers;
mod revoked;
mod roots;
mod rug_pull;
mod secrets;
mod servers_stored;
mod soak;
mod stdio;
mod suite;
mod switched_off;
mod tables;
mod tasks;
mod templates;
mod terminal;
mod tls;
mod unusable_tools;
mod watching;
mod whose_token;
