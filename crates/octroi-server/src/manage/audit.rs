//! Tools and a resource about the audit log.

use std::sync::Arc;

use octroi_core::audit::{CallId, Filter, Kind};
use octroi_core::glob::Glob;
use octroi_gateway::audit::Record;
use octroi_gateway::{AuditCursor, AuditFilter, AuditRow, AuditSearch, Caller, Gateway, TrailError};
use octroi_mcp::{RpcError, code};
use serde_json::{Map, Value, json};

/// The newest records.
pub(super) const RECENT: &str = "resource://audit/recent";

const RECENT_RECORDS: usize = 100;
const RECORDS: u64 = 50;
const RECORDS_MAX: u64 = 1_000;
const COUNTS_MAX: u32 = 10_000;

type Argument = (&'static str, &'static str, &'static str);

const WHICH: [Argument; 5] = [
    ("since_ms", "integer", "Not before this moment, in milliseconds since 1970"),
    ("until_ms", "integer", "Before this moment"),
    ("kinds", "array", "One of these kinds of records"),
    ("agent", "string", "The agent"),
    ("server", "string", "The server"),
];

const TOOLS: [(&str, &str, &[Argument], bool); 5] = [
    (
        "audit_query",
        "Search what was recorded, the newest first; or, with `after`, read on from a number, the oldest first.",
        &[
            WHICH[0],
            WHICH[1],
            WHICH[2],
            WHICH[3],
            WHICH[4],
            ("tool", "string", "The canonical id of the tool; `*` stands for any letters"),
            ("decision", "string", "What was decided: allow, ask, deny_continue or deny_abort"),
            ("call", "string", "The call"),
            ("text", "string", "A text that is somewhere in the record"),
            ("limit", "integer", "How many at most [default: 50]"),
            ("before", "integer", "`next` of an earlier answer, to go on"),
            ("after", "integer", "The number of the last record that is known already"),
        ],
        true,
    ),
    (
        "audit_show",
        "A record, or all records of a call, in full.",
        &[("seq", "integer", "The number of the record"), ("call", "string", "The call")],
        true,
    ),
    ("audit_verify", "Look whether anybody changed the audit log.", &[], true),
    (
        "audit_purge",
        "Take old records away, whole segments at a time. The log says that this was done.",
        &[("before_ms", "integer", "Records older than this moment, in milliseconds since 1970")],
        false,
    ),
    (
        "audit_report",
        "Count what happened, by kind, agent, tool and decision.",
        &[("since_ms", "integer", "Not before this moment, in milliseconds since 1970")],
        true,
    ),
];

pub(super) fn tools() -> impl Iterator<Item = Value> {
    TOOLS.iter().map(|(name, description, arguments, is_read_only)| {
        let properties: Map<String, Value> = arguments
            .iter()
            .map(|(name, kind, description)| {
                let mut schema = json!({"type": kind, "description": description});
                if *kind == "array" {
                    schema["items"] = json!({"type": "string"});
                }
                ((*name).to_owned(), schema)
            })
            .collect();
        json!({
            "name": name,
            "description": description,
            "inputSchema": {"type": "object", "properties": properties, "additionalProperties": false},
            "annotations": {"readOnlyHint": is_read_only, "destructiveHint": !is_read_only},
        })
    })
}

pub(super) fn is_tool(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.0 == name)
}

/// Answers a call of one of the tools.
pub(super) async fn call(
    gateway: &Arc<Gateway>,
    caller: &Caller,
    tool: &str,
    arguments: Value,
) -> Result<Value, RpcError> {
    let arguments = Arguments::read(tool, arguments)?;
    let told = match tool {
        "audit_query" => query(gateway, &arguments).await,
        "audit_show" => show(gateway, &arguments).await,
        "audit_verify" => verify(gateway).await,
        "audit_purge" => purge(gateway, caller, &arguments).await,
        _ => report(gateway, &arguments).await,
    };
    Ok(match told {
        Ok(structured) => json!({
            "content": [{"type": "text", "text": structured.to_string()}],
            "structuredContent": structured,
        }),
        Err(reason) => json!({"content": [{"type": "text", "text": reason}], "isError": true}),
    })
}

/// What [`RECENT`] says.
pub(super) async fn recent(gateway: &Gateway) -> Result<Value, RpcError> {
    match gateway.audit_recent(RECENT_RECORDS).await {
        Ok(records) => Ok(json!({"records": records.iter().map(full).collect::<Vec<_>>()})),
        Err(error) => Err(RpcError::new(code::INTERNAL_ERROR, told(&error))),
    }
}

async fn query(gateway: &Gateway, arguments: &Arguments) -> Result<Value, String> {
    let n_max = arguments.number("limit").unwrap_or(RECORDS).min(RECORDS_MAX);
    if let Some(after) = arguments.number("after") {
        return read_on(gateway, arguments, after, n_max).await;
    }
    let signed = |name| arguments.number(name).map(|number| i64::try_from(number).unwrap_or(i64::MAX));
    let search = AuditSearch {
        filter: AuditFilter {
            since_ms: signed("since_ms"),
            until_ms: signed("until_ms"),
            event_types: arguments.kinds()?.iter().map(|kind| kind.as_str().to_owned()).collect(),
            agent: arguments.text("agent"),
            server: arguments.text("server"),
            call_id: arguments.text("call"),
            decision: arguments.text("decision"),
            text: arguments.text("text"),
            ..AuditFilter::default()
        },
        tool: arguments.text("tool").map(|pattern| Glob::new(&pattern)),
        before: signed("before").map(AuditCursor::from_number),
        n_max: u32::try_from(n_max).unwrap_or(u32::MAX).max(1),
    };
    let found = gateway.search_audit(&search).await.map_err(|error| told(&error))?;
    Ok(json!({
        "records": found.rows.iter().map(row).collect::<Vec<_>>(),
        "next": found.next.map(AuditCursor::number),
        "position": found.position,
        "behind": found.n_behind,
    }))
}

/// For somebody who reads along: what stands in the log, whether the table has it or not.
async fn read_on(gateway: &Gateway, arguments: &Arguments, after: u64, n_max: u64) -> Result<Value, String> {
    for unfit in ["before", "decision", "call"] {
        if arguments.0.contains_key(unfit) {
            return Err(format!("`after` and `{unfit}` do not go together"));
        }
    }
    let filter = Filter {
        since_ms: arguments.number("since_ms"),
        until_ms: arguments.number("until_ms"),
        kinds: arguments.kinds()?,
        tool: arguments.text("tool"),
        agent: arguments.text("agent"),
        server: arguments.text("server"),
        text: arguments.text("text"),
    };
    let n_max = usize::try_from(n_max).unwrap_or(usize::MAX);
    let (records, last) = gateway.audit_after(after, filter, n_max).await.map_err(|error| told(&error))?;
    Ok(json!({"records": records.iter().map(full).collect::<Vec<_>>(), "last": last}))
}

async fn show(gateway: &Gateway, arguments: &Arguments) -> Result<Value, String> {
    let records = match (arguments.number("seq"), arguments.text("call")) {
        (Some(seq), None) => {
            let record = gateway.audit_record(seq).await.map_err(|error| told(&error))?;
            let record = record.ok_or_else(|| format!("there is no record {seq}"))?;
            // Who asks for a record of a call wants to know how the call went.
            let call = record.entry().ok().and_then(|entry| entry.call);
            let all = match call {
                Some(call) => gateway.audit_call(call).await.map_err(|error| told(&error))?,
                None => Vec::new(),
            };
            if all.iter().any(|one| one.seq == seq) { all } else { vec![record] }
        }
        (None, Some(call)) => {
            let id = CallId::parse(&call).ok_or_else(|| format!("`{call}` is not the id of a call"))?;
            let records = gateway.audit_call(id).await.map_err(|error| told(&error))?;
            if records.is_empty() {
                return Err(format!("there is no call `{call}`"));
            }
            records
        }
        _ => return Err("say either which record or which call".to_owned()),
    };
    Ok(json!({"records": records.iter().map(full).collect::<Vec<_>>()}))
}

async fn verify(gateway: &Gateway) -> Result<Value, String> {
    gateway.verify_audit().await.map(|report| report.to_json()).map_err(|error| told(&error))
}

async fn purge(gateway: &Gateway, caller: &Caller, arguments: &Arguments) -> Result<Value, String> {
    let before_ms = arguments.number("before_ms").ok_or("say before when, with `before_ms`")?;
    let purged = gateway.purge_audit(&caller.principal, before_ms).await.map_err(|error| told(&error))?;
    Ok(json!({"segments": purged.n_segments, "records": purged.n_records}))
}

async fn report(gateway: &Gateway, arguments: &Arguments) -> Result<Value, String> {
    let since_ms = i64::try_from(arguments.number("since_ms").unwrap_or_default()).unwrap_or(i64::MAX);
    let counts = gateway.audit_counts(since_ms, COUNTS_MAX).await.map_err(|error| told(&error))?;
    let counts = counts.iter().map(|count| {
        json!({
            "kind": count.event_type,
            "agent": count.agent,
            "tool": count.tool,
            "decision": count.decision,
            "n": count.n,
        })
    });
    Ok(json!({"since_ms": since_ms, "counts": counts.collect::<Vec<_>>()}))
}

/// Arguments that fit their tool.
struct Arguments(Map<String, Value>);

impl Arguments {
    fn read(tool: &str, arguments: Value) -> Result<Self, RpcError> {
        let members = match arguments {
            Value::Object(members) => members,
            Value::Null => Map::new(),
            _ => return Err(RpcError::invalid_params("arguments must be an object")),
        };
        let known = TOOLS.iter().find(|known| known.0 == tool).map_or(&[][..], |known| known.2);
        for (member, value) in &members {
            let Some((_, kind, _)) = known.iter().find(|argument| argument.0 == member) else {
                return Err(RpcError::invalid_params(format!("`{tool}` does not take `{member}`")));
            };
            let fits = match *kind {
                "integer" => value.is_u64(),
                "array" => value.as_array().is_some_and(|values| values.iter().all(Value::is_string)),
                _ => value.is_string(),
            };
            if !fits {
                return Err(RpcError::invalid_params(format!("`{tool}` needs `{member}` as {kind}")));
            }
        }
        Ok(Self(members))
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.0.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    fn kinds(&self) -> Result<Vec<Kind>, String> {
        let words = self.0.get("kinds").and_then(Value::as_array).into_iter().flatten();
        words
            .filter_map(Value::as_str)
            .map(|word| Kind::parse(word).ok_or_else(|| format!("there are no records of the kind `{word}`")))
            .collect()
    }
}

/// A record as it stands in the log, with its number.
fn full(record: &Record) -> Value {
    let mut told = json!({"seq": record.seq});
    match serde_json::from_slice(&record.body) {
        Ok(Value::Object(members)) => {
            if let Some(all) = told.as_object_mut() {
                all.extend(members);
            }
        }
        _ => told["unreadable"] = true.into(),
    }
    told
}

/// A row in the form of the record it was made from.
fn row(row: &AuditRow) -> Value {
    let mut told = json!({
        "seq": row.seq,
        "at_ms": row.at_ms,
        "kind": row.event_type,
        "level": row.level,
        "actor": {"kind": row.actor_kind, "id": row.actor_id},
    });
    let members = [
        ("agent", &row.agent),
        ("session", &row.session),
        ("server", &row.server),
        ("tool", &row.tool),
        ("source_type", &row.source_type),
        ("project", &row.project),
        ("call", &row.call_id),
        ("decision", &row.decision),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            told[name] = value.as_str().into();
        }
    }
    told["context"] = serde_json::from_str(&row.context).unwrap_or_default();
    told
}

fn told(error: &TrailError) -> String {
    format!("{error} ({})", error.hint())
}
