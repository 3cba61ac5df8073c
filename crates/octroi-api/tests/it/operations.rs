//! Every operation is fully declared, and its schemas are in the form that every client can read.

use std::collections::BTreeSet;

use octroi_api::{Effect, Face, OPERATIONS, OperationEntry, find, operations};
use serde_json::Value;

fn names(face: Face) -> Vec<&'static str> {
    operations::all().filter(|operation| operation.has_face(face)).map(|operation| operation.name).collect()
}

#[test]
fn names_are_unique_where_they_are_seen() {
    for face in Face::ALL {
        let names = names(face);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        for name in names {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert_eq!(find(face, name).map(|operation| operation.name), Some(name));
        }
    }
    assert_eq!(find(Face::Agent, "servers_list").map(|operation| operation.name), None);
    assert_eq!(find(Face::Management, "policy_propose").map(|operation| operation.name), None);
}

/// A lost operation would break other programs.
#[test]
#[expect(clippy::too_many_lines, reason = "one line for each operation")]
fn everything_that_can_be_done() {
    assert_eq!(OPERATIONS.iter().map(|group| group.operations.len()).sum::<usize>(), 105);
    expect_test::expect![[r#"
        servers_list
        servers_get
        servers_add
        servers_update
        servers_delete
        servers_history
        servers_rollback
        servers_toggle
        servers_switch_many
        servers_restart
        servers_test
        servers_refresh
        servers_logs
        templates_list
        templates_get
        health_check_all
        gateway_status
        quotas_list
        config_reload
        config_show
        tools_list_catalog
        tools_get
        tools_call
        attention_list
        calls_list
        calls_get
        clients_list
        agents_decide_request
        agents_approve_request
        agents_deny_request
        approvals_list
        approvals_get
        approvals_reveal
        approvals_context
        approvals_check_arguments
        approvals_decide_many
        approvals_forget_rule
        pins_list
        pins_accept
        pins_reject
        pins_forget
        pins_lock
        pins_history
        agents_list
        agents_get
        agents_create
        agents_update
        specs_freeze
        agents_stop
        agents_boot
        agents_abort
        agents_delete
        agents_get_mcp_config
        agents_attach_server
        agents_detach_server
        agents_update_mcp_config
        sessions_list
        sessions_get
        sessions_create
        sessions_close
        sessions_get_mcp_config
        sessions_set_mcp_config
        presets_list
        users_list
        users_add
        users_invite
        users_update
        users_remove
        tokens_list
        tokens_create
        tokens_rotate
        tokens_revoke
        tokens_sign_in_code
        secrets_list
        secrets_set
        secrets_remove
        agents_set_policy
        policy_set_global
        policy_set_floor
        policy_show
        policy_history
        policy_rollback
        policy_check
        policy_test
        policy_why
        policy_explain
        policy_replay
        policy_schema
        policy_proposals
        policy_proposal
        agents_approve_proposal
        agents_reject_proposal
        audit_query
        audit_show
        audit_verify
        audit_purge
        audit_report
        audit_prove
        audit_export
        calls_stats

        tools_list_catalog
        tools_call
        policy_propose
        policy_withdraw
        policy_check
    "#]]
    .assert_eq(&format!("{}\n\n{}\n", names(Face::Management).join("\n"), names(Face::Agent).join("\n")));
}

#[test]
fn every_operation_says_what_it_is() {
    let mut titles = BTreeSet::new();
    for operation in operations::all() {
        let name = operation.name;
        assert!(!operation.title.is_empty() && !operation.title.ends_with('.'), "{name}");
        assert!(titles.insert(operation.title), "{name}: two have the title {}", operation.title);
        assert!(operation.description.len() > 20 && operation.description.ends_with('.'), "{name}");
        let own: BTreeSet<_> = operation.errors.iter().collect();
        assert_eq!(own.len(), operation.errors.len(), "{name} names an error twice");
        let all = operation.all_errors();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{name}: {all:?}");
    }
}

/// Which operations change something, and their kinds of audit records.
#[test]
fn whatever_changes_something_is_recorded() {
    let effects: Vec<String> = operations::all()
        .filter_map(|operation| match operation.effect {
            Effect::Reads => None,
            Effect::Changes { audit } => Some(format!("{} {}", operation.name, audit.as_str())),
            Effect::Calls => Some(format!("{} (as the call)", operation.name)),
        })
        .collect();
    expect_test::expect![[r#"
        servers_add server_changed
        servers_update server_changed
        servers_delete server_changed
        servers_rollback server_changed
        servers_toggle server_changed
        servers_switch_many server_changed
        servers_restart server_changed
        servers_test server_changed
        servers_refresh server_changed
        config_reload config_reloaded
        tools_call (as the call)
        tools_call (as the call)
        agents_decide_request approval_resolved
        agents_approve_request approval_resolved
        agents_deny_request approval_resolved
        approvals_reveal argument_revealed
        approvals_decide_many approval_resolved
        approvals_forget_rule policy_changed
        pins_accept pin_changed
        pins_reject pin_changed
        pins_forget pin_changed
        agents_create agent_changed
        agents_update agent_changed
        specs_freeze agent_changed
        agents_stop agent_changed
        agents_boot agent_changed
        agents_abort agent_changed
        agents_delete agent_changed
        agents_attach_server administrative_change
        agents_detach_server administrative_change
        agents_update_mcp_config administrative_change
        sessions_create administrative_change
        sessions_close administrative_change
        sessions_set_mcp_config administrative_change
        users_add user_changed
        users_invite user_changed
        users_update user_changed
        users_remove user_changed
        tokens_create token_changed
        tokens_rotate token_changed
        tokens_revoke token_changed
        tokens_sign_in_code token_changed
        secrets_set secret_changed
        secrets_remove secret_changed
        agents_set_policy policy_changed
        policy_set_global policy_changed
        policy_set_floor policy_changed
        policy_rollback policy_changed
        agents_approve_proposal proposal_resolved
        agents_reject_proposal proposal_resolved
        policy_propose proposal_created
        policy_withdraw proposal_resolved
        audit_purge audit_purged
    "#]]
    .assert_eq(&format!("{}\n", effects.join("\n")));
    for operation in operations::all() {
        let annotations = &operation.tool_definition()["annotations"];
        let is_read_only = operation.effect == Effect::Reads;
        assert_eq!(annotations["readOnlyHint"], is_read_only, "{}", operation.name);
        assert!(!(is_read_only && annotations["destructiveHint"] == true), "{}", operation.name);
    }
}

#[test]
fn schemas_are_plain() {
    for operation in operations::all() {
        let definition = operation.tool_definition();
        for (part, is_input) in [("inputSchema", true), ("outputSchema", false)] {
            let schema = &definition[part];
            assert_eq!(schema["type"], "object", "{} {part}", operation.name);
            jsonschema::draft202012::meta::validate(schema)
                .unwrap_or_else(|error| panic!("{} {part}: {error}", operation.name));
            check(operation, schema, part, is_input);
        }
        assert_eq!(definition["inputSchema"]["additionalProperties"], false, "{}", operation.name);
    }
}

/// Whether a value of this type fits, alone or beside others such as null.
fn has_type(schema: &Value, name: &str) -> bool {
    let is_it = |word: &Value| word == name;
    is_it(&schema["type"]) || schema["type"].as_array().is_some_and(|words| words.iter().any(is_it))
}

/// Checks a schema and everything in it.
fn check(operation: &OperationEntry, schema: &Value, path: &str, is_input: bool) {
    let place = format!("{} {path}: {schema}", operation.name);
    assert!(schema.get("$ref").is_none() && schema.get("$defs").is_none(), "a reference in {place}");
    assert!(schema.get("format").is_none(), "a format in {place}");
    if has_type(schema, "array") {
        assert!(schema["items"].is_object(), "a list of what? {place}");
        check(operation, &schema["items"], &format!("{path}[]"), is_input);
    }
    if is_input {
        assert!(schema["type"].is_string(), "an argument has one type in {place}");
        assert!(schema.get("anyOf").is_none() && schema.get("oneOf").is_none(), "a choice in {place}");
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        assert!(property.is_object(), "{} {path}: clients do not read `true`", operation.name);
        let about = property["description"].as_str().unwrap_or_default();
        assert!(!about.is_empty() && !about.contains('\n'), "{} {path} is not described", operation.name);
        check(operation, property, &path, is_input);
    }
    for (place, alternative) in schema["anyOf"].as_array().into_iter().flatten().enumerate() {
        check(operation, alternative, &format!("{path}|{place}"), is_input);
    }
}
