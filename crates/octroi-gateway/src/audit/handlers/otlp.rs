//! OpenTelemetry logs, as JSON over HTTP.

use bytes::Bytes;
use octroi_core::audit::Level;
use octroi_core::server::Remote;
use octroi_upstream::{HttpClient, PostTarget};
use serde_json::{Value, json};

use super::delivery::Delivery;
use super::error::HandlerError;
use super::webhook::accepted;
use super::{AuditHandler, Handling};

const PATH: &str = "/v1/logs";

/// An OpenTelemetry collector.
pub(super) struct Otlp {
    target: PostTarget,
}

impl Otlp {
    /// The address may be the collector's or the full address of its logs.
    pub(super) fn new(client: &HttpClient, remote: &Remote) -> Result<Self, HandlerError> {
        let mut remote = remote.clone();
        if !remote.url.ends_with(PATH) {
            remote.url = format!("{}{PATH}", remote.url.trim_end_matches('/'));
        }
        Ok(Self { target: PostTarget::new(client, &remote)? })
    }
}

impl AuditHandler for Otlp {
    fn handle<'a>(&'a self, events: &'a [Delivery]) -> Handling<'a> {
        Box::pin(async move {
            let records: Vec<Value> = events.iter().map(log_record).collect();
            let body = json!({
                "resourceLogs": [{
                    "resource": {"attributes": [
                        attribute("service.name", "octroi"),
                        attribute("service.version", env!("CARGO_PKG_VERSION")),
                    ]},
                    "scopeLogs": [{"scope": {"name": "octroi.audit"}, "logRecords": records}],
                }],
            });
            accepted(self.target.post(Bytes::from(body.to_string())).await?)
        })
    }
}

/// 64-bit numbers are strings in this encoding.
fn log_record(event: &Delivery) -> Value {
    let (number, text) = match event.level() {
        Level::Info => (9, "INFO"),
        Level::Warn => (13, "WARN"),
        Level::Error => (17, "ERROR"),
    };
    let nanoseconds = u128::from(event.at_ms()) * 1_000_000;
    let mut attributes = vec![attribute("event.name", event.kind())];
    if let Delivery::Record(record) = event {
        attributes.push(json!({"key": "audit.seq", "value": {"intValue": record.seq.to_string()}}));
    }
    if let Some(entry) = event.entry() {
        attributes.push(attribute("actor.kind", entry.actor_kind.as_str()));
        attributes.push(attribute("actor.id", &entry.actor_id));
        let call = entry.call.map(|call| call.to_string());
        let named = [
            ("agent.id", entry.agent.as_deref()),
            ("session.id", entry.session.as_deref()),
            ("server.name", entry.server.as_deref()),
            ("tool.id", entry.tool.as_deref()),
            ("project", entry.project.as_deref()),
            ("call.id", call.as_deref()),
            ("decision", entry.ruling.map(octroi_core::audit::Ruling::as_str)),
        ];
        attributes.extend(named.iter().filter_map(|(name, value)| Some(attribute(name, (*value)?))));
    }
    json!({
        "timeUnixNano": nanoseconds.to_string(),
        "observedTimeUnixNano": nanoseconds.to_string(),
        "severityNumber": number,
        "severityText": text,
        "body": {"stringValue": event.to_json()},
        "attributes": attributes,
    })
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}
