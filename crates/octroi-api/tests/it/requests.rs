//! Requests stay compatible with those that were accepted before the table existed.

use octroi_api::operations::agents::{AgentsUpdate, SpecsFreeze};
use octroi_api::operations::approvals::{
    AgentsApproveRequest, AgentsDecideRequest, AgentsDenyRequest, ApprovalDecision, ApprovalsList,
    DecideRequest,
};
use octroi_api::operations::audit::{AuditPurge, AuditQuery, AuditReport, AuditShow};
use octroi_api::operations::pins::{PinsAccept, PinsForget, PinsList, PinsReject};
use octroi_api::operations::policies::{
    AgentsSetPolicy, PolicyCheckSource, PolicyExplain, PolicyReplay, PolicySetGlobal, PolicyShow, PolicyTest,
    PolicyWhy,
};
use octroi_api::operations::proposals::{
    AgentsApproveProposal, AgentsRejectProposal, PolicyCheckOwn, PolicyProposals, PolicyPropose,
};
use octroi_api::operations::servers::{ServersGet, ServersList, ServersLogs, ServersRefresh, ServersToggle};
use octroi_api::operations::tools::{ToolsCall, ToolsGet, ToolsListCatalog};
use octroi_api::{Effect, Operation, read_request};
use serde_json::{Value, json};

/// Parses arguments as a request and serializes it again; the schema must accept them too.
fn again<O: Operation>(arguments: &Value) -> Value {
    let entry = octroi_api::OperationEntry::of::<O>();
    let validator = jsonschema::draft202012::new(&entry.input_schema()).expect("a schema");
    assert!(validator.is_valid(arguments), "{} {arguments}: {}", O::NAME, entry.input_schema());
    let request = read_request::<O>(arguments.clone()).unwrap_or_else(|error| panic!("{}: {error}", O::NAME));
    serde_json::to_value(request).expect("JSON")
}

fn refused<O: Operation>(arguments: Value) -> String {
    let error = read_request::<O>(arguments).err().map(|error| error.message);
    error.unwrap_or_else(|| panic!("{} should refuse this", O::NAME))
}

#[test]
fn requests_are_written_as_they_are_read() {
    type Again = fn(&Value) -> Value;
    let hash = "0".repeat(64);
    let examples: [(Again, Value); 36] = [
        (again::<ServersList>, json!({})),
        (again::<ServersGet>, json!({"name": "files"})),
        (again::<ServersToggle>, json!({"name": "files", "enabled": false})),
        (again::<ServersRefresh>, json!({})),
        (again::<ServersRefresh>, json!({"name": "files"})),
        (again::<ServersLogs>, json!({"name": "files", "lines": 20, "from": 0})),
        (
            again::<ToolsListCatalog>,
            json!({"servers": ["files"], "source_types": ["mcp"], "risk_levels": ["high"]}),
        ),
        (again::<ToolsListCatalog>, json!({"side_effect_tags": ["fs.write"]})),
        (again::<ToolsGet>, json!({"tool_id": "files.read"})),
        (
            again::<ToolsCall>,
            json!({"agent": "default", "tool": "files_read", "arguments": {"path": "/tmp"}}),
        ),
        (again::<ApprovalsList>, json!({"agent_id": "coder", "part": "history", "limit": 5})),
        (again::<AgentsApproveRequest>, json!({"call_id": "ap_1", "reason": "fine", "arguments": {"a": 1}})),
        (
            again::<AgentsApproveRequest>,
            json!({"call_id": "ap_1", "remember": "tool", "until": "8h", "preview": true}),
        ),
        (again::<AgentsDenyRequest>, json!({"call_id": "ap_1", "mode": "abort"})),
        (
            again::<AgentsDecideRequest>,
            json!({"agent_id": "coder", "call_id": "ap_1", "decision": "deny_continue"}),
        ),
        (again::<PinsList>, json!({"all": true})),
        (again::<PinsAccept>, json!({"server": "files", "kind": "tool", "name": "read", "hash": hash})),
        (again::<PinsReject>, json!({"server": "files", "name": "read"})),
        (again::<PinsForget>, json!({"server": "files", "kind": "server", "name": ""})),
        (again::<AgentsUpdate>, json!({"agent_id": "coder", "mode": "planning", "blacklist": []})),
        (
            again::<AgentsUpdate>,
            json!({"agent_id": "coder", "profile": "strict", "project": "", "unfreeze": true}),
        ),
        (again::<SpecsFreeze>, json!({"agent_id": "coder", "spec_hash": "abc"})),
        (again::<AgentsSetPolicy>, json!({"agent_id": "coder", "source": "", "expected_version": 0})),
        (again::<PolicySetGlobal>, json!({"source": ""})),
        (again::<PolicyShow>, json!({"level": "agent", "agent_id": "coder"})),
        (again::<PolicyCheckSource>, json!({"source": "", "level": "floor"})),
        (again::<PolicyTest>, json!({})),
        (
            again::<PolicyWhy>,
            json!({"tool": "files.write", "arguments": {}, "agent_id": "coder", "mode": "execution"}),
        ),
        (again::<PolicyExplain>, json!({})),
        (again::<PolicyReplay>, json!({"source": "", "level": "global", "since_ms": 1})),
        (again::<PolicyProposals>, json!({"status": "proposed"})),
        (again::<AgentsApproveProposal>, json!({"id": 7})),
        (again::<AgentsRejectProposal>, json!({"id": 7, "reason": "no"})),
        (again::<PolicyPropose>, json!({"source": "", "rationale": ""})),
        (again::<PolicyCheckOwn>, json!({"tool": "files.write", "arguments": {"path": "/"}})),
        (
            again::<AuditQuery>,
            json!({"since_ms": 1, "kinds": ["auth_failed"], "tool": "mcp:*", "limit": 1, "after": 3}),
        ),
    ];
    for (again, arguments) in examples {
        assert_eq!(again(&arguments), arguments);
    }
    assert_eq!(again::<AuditShow>(&json!({"call": "x"})), json!({"call": "x"}));
    assert_eq!(again::<AuditPurge>(&json!({"before_ms": 5})), json!({"before_ms": 5}));
    assert_eq!(again::<AuditReport>(&json!({})), json!({}));
}

#[test]
fn what_others_write_is_understood() {
    // No arguments at all are an empty object.
    assert!(read_request::<ServersList>(Value::Null).is_ok());
    let request = read_request::<ToolsListCatalog>(json!({"risk_levels": ["HIGH", "med"]})).expect("risks");
    let risks: Vec<_> = request.risk_levels.iter().map(|risk| risk.as_str()).collect();
    assert_eq!(risks, ["high", "medium"]);
}

#[test]
fn what_does_not_fit_is_named() {
    for (message, expected) in [
        (refused::<ServersGet>(json!({})), "`servers_get` needs `name` as string"),
        (refused::<ServersGet>(json!({"name": 5})), "`servers_get` needs `name` as string"),
        (refused::<ServersGet>(json!({"name": "x", "nam": 1})), "`servers_get` does not take `nam`"),
        (refused::<ServersList>(json!({"x": 1})), "`servers_list` does not take `x`"),
        (refused::<ServersList>(json!([])), "arguments must be an object"),
        (
            refused::<ServersToggle>(json!({"name": "x", "enabled": "no"})),
            "`servers_toggle` needs `enabled` as boolean",
        ),
        (
            refused::<ServersLogs>(json!({"name": "x", "lines": -1})),
            "`servers_logs` needs `lines` as integer",
        ),
        (
            refused::<ToolsListCatalog>(json!({"servers": "x"})),
            "`tools_list_catalog` needs `servers` as array",
        ),
        (
            refused::<AgentsUpdate>(json!({"agent_id": "x", "mode": "fast"})),
            "`mode` must be planning or execution, not `fast`",
        ),
        (
            refused::<AgentsDenyRequest>(json!({"call_id": "x", "mode": "stop"})),
            "`mode` must be continue or abort, not `stop`",
        ),
        (refused::<ToolsCall>(json!({"tool": "x"})), "`tools_call` needs `agent` as string"),
        (refused::<AuditQuery>(json!({"kinds": [5]})), "`audit_query` needs `kinds` as array"),
    ] {
        assert_eq!(message, expected);
    }
}

#[test]
fn the_short_forms_of_a_decision_are_decisions() {
    let approve = read_request::<AgentsApproveRequest>(json!({"call_id": "ap_1", "arguments": {"a": 1}}));
    let approve = DecideRequest::from(approve.expect("a request"));
    assert_eq!(approve.decision, ApprovalDecision::Approve);
    assert_eq!(approve.arguments.map(Value::Object), Some(json!({"a": 1})));
    for (mode, expected) in [
        (json!({"call_id": "ap_1"}), ApprovalDecision::DenyContinue),
        (json!({"call_id": "ap_1", "mode": "continue"}), ApprovalDecision::DenyContinue),
        (json!({"call_id": "ap_1", "mode": "abort"}), ApprovalDecision::DenyAbort),
    ] {
        let deny = read_request::<AgentsDenyRequest>(mode).expect("a request");
        assert_eq!(DecideRequest::from(deny).decision, expected);
    }
}

#[test]
fn a_preview_changes_nothing() {
    for (preview, is_change) in [(true, false), (false, true)] {
        let request = json!({"call_id": "ap_1", "remember": "tool", "preview": preview});
        let request = read_request::<AgentsApproveRequest>(request).expect("a request");
        let effect = AgentsApproveRequest::effect(&request);
        assert_eq!(matches!(effect, Effect::Changes { .. }), is_change);
    }
}
