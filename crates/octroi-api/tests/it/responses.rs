//! Answers have the shape that programs rely on, member by member, and match the published schema.

use octroi_api::operations::approvals::{AgentsApproveRequest, ApprovalsGet};
use octroi_api::operations::audit::{AuditQuery, AuditShow};
use octroi_api::operations::pins::{PinsForget, PinsList};
use octroi_api::operations::policies::{PolicyShow, PolicyTest, PolicyWhy};
use octroi_api::operations::proposals::PolicyCheckOwn;
use octroi_api::operations::servers::{ServersGet, ServersList, ServersRefresh};
use octroi_api::operations::tools::{ToolsCall, ToolsGet};
use octroi_api::{Operation, OperationEntry};
use serde_json::{Value, json};

/// An answer from before the table existed is parsed, serialized identically, and matches the schema.
fn same<O: Operation>(answer: &Value) {
    let read: O::Response = serde_json::from_value(answer.clone())
        .unwrap_or_else(|error| panic!("{} {answer}: {error}", O::NAME));
    let written = serde_json::to_string(&read).expect("JSON");
    assert_eq!(written, answer.to_string(), "{}", O::NAME);
    let schema = OperationEntry::of::<O>().output_schema();
    let validator = jsonschema::draft202012::new(&schema).expect("a schema");
    let problems: Vec<String> = validator.iter_errors(answer).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{} {answer}: {problems:?} {schema}", O::NAME);
}

fn status() -> Value {
    json!({
        "name": "files", "id": "i", "scope": "system", "managed_by": "file", "enabled": true, "enabled_for_me": true,
        "status": "connected", "transport": "stdio", "state": "running", "health": "healthy", "era": "legacy",
        "version": "2025-11-25", "tools": 3, "quarantined":0, "latency_ms": 4, "consecutive_failures": 0, "restarts": 0,
        "in_flight": 0, "waiting": 0,
    })
}

fn with(mut value: Value, members: Value) -> Value {
    for (name, member) in members.as_object().expect("members") {
        value[name] = member.clone();
    }
    value
}

#[test]
fn servers() {
    let down = json!({
        "name": "mail", "id": "j", "scope": "user", "managed_by": "db", "enabled": true, "enabled_for_me": false,
        "status": "failed", "title": "Mail", "transport": "http", "state": "needs_auth", "health": "unknown",
        "era": null, "version": null, "tools": 0, "quarantined":0, "consecutive_failures": 2, "restarts": 1, "in_flight": 0,
        "waiting": 0, "error": "401", "warnings": ["no tool `x`"],
    });
    let gate = json!({"name": "own", "state": "failing", "is_running": false, "asked": 2, "failed": 1, "last_error": "x", "last_failed_at_ms": 5});
    let idle = json!({"name": "other", "state": "idle", "is_running": false, "asked": 0, "failed": 0});
    same::<ServersList>(&json!({"servers": [status(), down], "problems": ["x"], "gates": [gate, idle]}));
    let checks = json!([{"at": 5, "health": "healthy", "latency_ms": null, "error": null}]);
    same::<ServersGet>(&with(status(), json!({"checks": checks})));
    same::<ServersRefresh>(&status());
    same::<ServersRefresh>(&json!({"refreshed": 2, "failed": {"mail": "down"}}));
}

#[test]
fn tools() {
    same::<ToolsGet>(&json!({
        "tool_id": "mcp:files:read", "name": "read", "wire_name": "files_read", "description": null,
        "source_type": "mcp", "source_id": "files", "source_version": "1.0", "risk_level": "low",
        "side_effect_tags": [], "requires_admin_token": false, "trust": "medium", "timeout_ms": 60000,
        "enabled": true, "visible": false, "hidden_because": "it changed", "definition_hash": "00",
        "input_schema": {"type": "object"}, "output_schema": null, "annotations": null,
    }));
    let (agent, tool) = (json!("coder"), json!("files.read"));
    let told = |success: bool, payload: Value, text: &str| {
        json!({
            "success": success, "payload": payload, "text": text, "started_at_ms": 5, "completed_at_ms": 8,
            "duration_ms": 3,
        })
    };
    let outcome =
        |outcome: &str, told: Value, others: Value| with(with(json!({"outcome": outcome}), told), others);
    for answer in [
        outcome(
            "completed",
            told(true, json!({"n": 1}), "1"),
            json!({"result": {"content": []}, "agent": agent, "tool": tool}),
        ),
        outcome(
            "tool_error",
            told(false, json!("no"), "no"),
            json!({"result": {"content": [], "isError": true}, "agent": agent, "tool": tool}),
        ),
        outcome(
            "waiting",
            told(false, Value::Null, ""),
            json!({
                "approval": "ap_1", "reasons": ["it writes"], "expires": "2027-01-01T00:00:00.000Z",
                "message": "it waits", "agent": agent, "tool": tool,
            }),
        ),
        outcome(
            "denied",
            told(false, Value::Null, ""),
            json!({
                "message": "no", "error": {"code": "policy_denied", "gate": "mode"}, "agent": agent, "tool": tool,
            }),
        ),
    ] {
        same::<ToolsCall>(&answer);
    }
    // That of an older gateway can still be read.
    let older = json!({"outcome": "completed", "result": {"content": []}, "agent": agent, "tool": tool});
    let older: octroi_api::operations::tools::CallResponse =
        serde_json::from_value(older).expect("an answer");
    assert!(!older.told.success && older.told.payload.is_null());
}

fn approval() -> Value {
    json!({
        "id": "ap_1", "call_id": "ap_1", "invocation_id": "c", "agent_id": "coder", "principal": "agent:coder",
        "tool": "mcp:files:write", "args": {"path": "/tmp"}, "arguments": null, "masked": [], "arguments_kept": "whole", "other_params": null, "risk": "high", "side_effects": ["fs.write"],
        "reasons": ["it writes"], "requested_at": "x", "expires_at": "y", "state": "pending", "decided_at": null,
        "decided_by": null, "reason": null, "edited": false, "remembered_rule": null, "claimed_at": null,
        "finished_at": null, "outcome": null,
    })
}

#[test]
fn approvals() {
    same::<ApprovalsGet>(&approval());
    same::<ApprovalsGet>(&with(approval(), json!({"args": "{\"cut", "agent_id": null})));
    same::<AgentsApproveRequest>(&approval());
    same::<AgentsApproveRequest>(&with(approval(), json!({"warning": "the server is switched off"})));
    same::<AgentsApproveRequest>(&json!({"rule": "[[allow]]"}));
}

#[test]
fn pins() {
    same::<PinsList>(&json!({"held": [{
        "server": "files", "kind": "tool", "name": "read", "hash": "00", "reason": "it changed",
        "kept_out_by": null, "accepted_at": "x", "accepted_by": "ana",
        "changes": [{"path": "description", "old": null, "new": "x", "class": "schema widened"}],
        "findings": [{"kind": "hidden_text", "severity": "danger", "path": "", "excerpt": "x"}],
        "look_alikes": ["mail.read"], "definition": {"name": "read"},
    }], "count": 1}));
    same::<PinsForget>(&json!({
        "server": "files", "name": null, "forgotten": 2, "mode": "trust_first", "locked": 0, "waiting": 0, "next": "x",
    }));
}

#[test]
fn policies() {
    let policy = json!({
        "id": 7, "level": "agent", "agent": "coder", "version": 2, "status": "active", "source": "", "author": "ana",
        "rationale": null, "check": {"ok": false, "complaints": [{"line": 1, "message": "x"}]}, "created_at_ms": 1,
        "decided_at_ms": null, "decided_by": null, "reason": null,
    });
    let around = json!({"rules": ["x"], "file": null, "gates": []});
    same::<PolicyShow>(&with(policy, around.clone()));
    let none = json!({"level": "global", "agent": null, "version": 0, "source": ""});
    same::<PolicyShow>(&with(none, around));
    let test = json!({"name": "t", "line": 3, "expected": "allow", "got": "silent", "passed": false});
    same::<PolicyTest>(&json!({"ok": true, "complaints": [], "tests": [test]}));
    let why = json!({
        "decision": "deny_continue", "reason": "x", "agent": null, "profile": "guarded", "mode": "execution",
        "trace": [{"gate": "mode", "outcome": "pass", "by": null, "reason": null, "answered_by": null}],
        "tool": {
            "id": "mcp:files:write", "server": "files", "name": "write", "risk": "high", "side_effects": [],
            "trust": "low", "requires_admin": false, "enabled": true, "hash": "00",
        },
        "policies": [{"level": "floor", "version": null}],
        "facts": {
            "paths": [], "paths_outside_project": [], "hosts": [], "sql_verbs": [], "shell_heads": [],
            "secrets": [], "payload_bytes": 2, "is_first_use": true, "calls_last_minute": 0,
        },
    });
    same::<PolicyWhy>(&why);
    same::<PolicyCheckOwn>(&why);
    same::<PolicyCheckOwn>(&json!({"ok": true, "complaints": []}));
}

#[test]
fn audit() {
    let record = json!({
        "seq": 7, "at_ms": 1, "kind": "tool_invocation_end", "level": "info",
        "actor": {"kind": "agent", "id": "x"}, "agent": "coder", "server": "files", "tool": "mcp:files:read",
        "source_type": "mcp", "call": "c", "decision": "allow", "context": {"outcome": "completed"},
    });
    same::<AuditQuery>(&json!({"records": [record], "next": null, "position": 9, "behind": 0}));
    same::<AuditQuery>(&json!({"records": [], "next": 5, "position": 9, "behind": 2}));
    same::<AuditQuery>(&json!({"records": [record], "last": 7}));
    same::<AuditShow>(&json!({"records": [{"seq": 8, "unreadable": true}]}));
}
