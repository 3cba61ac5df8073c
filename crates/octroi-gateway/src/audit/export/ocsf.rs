//! Records as events of the Open Cybersecurity Schema Framework 1.6: class 6003, API Activity.

use octroi_core::audit::{ActorKind, Entry, Kind, Level, Ruling, SourceType};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::audit::reader::Record;

const CLASS: u32 = 6_003;
/// A tool's name does not tell whether it creates, reads, updates or deletes.
const ACTIVITY_OTHER: u32 = 99;

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the schema names them")]
struct Activity<'a> {
    activity_id: u32,
    activity_name: &'a str,
    category_uid: u32,
    category_name: &'a str,
    class_uid: u32,
    class_name: &'a str,
    type_uid: u32,
    type_name: &'a str,
    time: u64,
    severity_id: u32,
    severity: &'a str,
    status_id: u32,
    status: &'a str,
    metadata: Metadata<'a>,
    actor: Actor<'a>,
    api: Api<'a>,
    src_endpoint: Endpoint<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dst_endpoint: Option<Endpoint<'a>>,
    unmapped: Unmapped<'a>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    version: &'a str,
    uid: String,
    sequence: u64,
    event_code: &'a str,
    log_name: &'a str,
    product: Product<'a>,
}

#[derive(Serialize)]
struct Product<'a> {
    name: &'a str,
    vendor_name: &'a str,
}

#[derive(Serialize)]
struct Actor<'a> {
    user: User<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_uid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<Uid<'a>>,
}

#[derive(Serialize)]
struct User<'a> {
    uid: &'a str,
    type_id: u32,
    #[serde(rename = "type")]
    type_name: &'a str,
}

#[derive(Serialize)]
struct Uid<'a> {
    uid: &'a str,
}

#[derive(Serialize)]
struct Api<'a> {
    operation: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<Service<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Request>,
}

#[derive(Serialize)]
struct Service<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Request {
    uid: String,
}

#[derive(Serialize)]
struct Endpoint<'a> {
    name: &'a str,
}

/// Fields that the class does not define.
#[derive(Serialize)]
struct Unmapped<'a> {
    chain: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a RawValue>,
}

pub(super) fn put(line: &mut Vec<u8>, record: &Record, entry: &Entry<'_>) {
    let (severity_id, severity) = severity(entry.level);
    let (status_id, status) = status(entry);
    let (type_id, type_name) = user_type(entry.actor_kind);
    let activity = Activity {
        activity_id: ACTIVITY_OTHER,
        activity_name: entry.kind.as_str(),
        category_uid: 6,
        category_name: "Application Activity",
        class_uid: CLASS,
        class_name: "API Activity",
        type_uid: CLASS * 100 + ACTIVITY_OTHER,
        type_name: "API Activity: Other",
        time: entry.at_ms,
        severity_id,
        severity,
        status_id,
        status,
        metadata: Metadata {
            version: "1.6.0",
            uid: record.seq.to_string(),
            sequence: record.seq,
            event_code: entry.kind.as_str(),
            log_name: "audit",
            product: Product { name: "Octroi", vendor_name: "Octroi" },
        },
        actor: Actor {
            user: User { uid: &entry.actor_id, type_id, type_name },
            app_uid: entry.agent.as_deref(),
            session: entry.session.as_deref().map(|uid| Uid { uid }),
        },
        api: Api {
            operation: entry.tool.as_deref().unwrap_or(entry.kind.as_str()),
            service: entry.server.as_deref().map(|name| Service { name }),
            request: entry.call.map(|call| Request { uid: call.to_string() }),
        },
        src_endpoint: Endpoint { name: entry.agent.as_deref().unwrap_or(&entry.actor_id) },
        dst_endpoint: entry.server.as_deref().map(|name| Endpoint { name }),
        unmapped: Unmapped {
            chain: record.chain.to_base64(),
            decision: entry.ruling.map(Ruling::as_str),
            project: entry.project.as_deref(),
            source_type: entry.source.map(SourceType::as_str),
            context: serde_json::from_str(entry.context).ok(),
        },
    };
    let start = line.len();
    if serde_json::to_writer(&mut *line, &activity).is_err() {
        line.truncate(start);
        return;
    }
    line[start..].iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    line.push(b'\n');
}

fn severity(level: Level) -> (u32, &'static str) {
    match level {
        Level::Info => (1, "Informational"),
        Level::Warn => (3, "Medium"),
        Level::Error => (4, "High"),
    }
}

fn status(entry: &Entry<'_>) -> (u32, &'static str) {
    let is_refused = matches!(entry.ruling, Some(Ruling::DenyContinue | Ruling::DenyAbort));
    let is_failure = matches!(entry.kind, Kind::AuthFailed | Kind::PolicyViolation | Kind::QuotaExceeded);
    if is_refused || is_failure || entry.level == Level::Error {
        (2, "Failure")
    } else if matches!(entry.ruling, Some(Ruling::Ask)) {
        (0, "Unknown")
    } else {
        (1, "Success")
    }
}

fn user_type(kind: ActorKind) -> (u32, &'static str) {
    match kind {
        ActorKind::User => (1, "User"),
        ActorKind::System => (3, "System"),
        ActorKind::Anonymous => (0, "Unknown"),
        ActorKind::Agent => (99, "Agent"),
        ActorKind::Session => (99, "Session"),
        ActorKind::Service => (99, "Service"),
    }
}
