//! `GET /metrics` in the text format of Prometheus.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use octroi_api::operations::servers::ServerStatus;
use octroi_api::{ApiError, ErrorCode};
use octroi_core::{Lifecycle, Principal, ServerKey};
use octroi_gateway::{BOUNDS_MS, ErrorDetail, Gateway};

use crate::connection::Connection;
use crate::endpoint::HttpEndpoint;
use crate::reply::{self, Reply};

/// All metrics. They name every server, so they need the token of a service or of an administrator.
pub(crate) async fn metrics(
    State(endpoint): State<Arc<HttpEndpoint>>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
) -> Reply {
    match endpoint.admit(&connection, &headers).await {
        Err(refusal) => return *refusal,
        Ok(Principal::Service(_)) => {}
        Ok(who) if who.is_admin() => {}
        Ok(_) => {
            let error = ApiError::new(ErrorCode::AdminsOnly, "metrics are for services and administrators");
            return reply::refuse(None, &error.for_agent());
        }
    }
    let mut reply = Response::new(Body::from(text(&endpoint.gateway, endpoint.sessions.count())));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    reply.headers_mut().insert(header::CONTENT_TYPE, kind);
    reply
}

struct MetricsText(String);

impl MetricsText {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn text(gateway: &Gateway, n_sessions: usize) -> String {
    let mut page = MetricsText(String::new());
    page.family("octroi_sessions", "gauge", "Legacy sessions.");
    page.line("octroi_sessions", &[], n_sessions);
    servers(&mut page, gateway);
    tools(&mut page, gateway);
    audit(&mut page, gateway);
    page.0
}

fn servers(page: &mut MetricsText, gateway: &Gateway) {
    let servers = gateway.servers().status(ErrorDetail::Reason);
    page.family("octroi_server_up", "gauge", "Whether the server is connected.");
    for server in &servers {
        let labels = [
            ("server", server.name.as_str()),
            ("state", server.state.as_str()),
            ("health", server.health.as_str()),
        ];
        page.line("octroi_server_up", &labels, u8::from(server.state.0 == Lifecycle::Running));
    }
    let mut gauge = |name: &str, kind: &str, help: &str, value: &dyn Fn(&ServerStatus) -> u64| {
        page.family(name, kind, help);
        for server in &servers {
            page.line(name, &[("server", &server.name)], value(server));
        }
    };
    gauge("octroi_server_restarts_total", "counter", "Reconnects to the server.", &|server| server.restarts);
    gauge("octroi_server_in_flight", "gauge", "Calls being made.", &|server| server.in_flight);
    gauge("octroi_server_queue", "gauge", "Calls that wait for the concurrency limit.", &|server| {
        server.waiting
    });
    gauge("octroi_server_tools", "gauge", "Tools that the server offers.", &|server| server.tools);
    gauge("octroi_server_memory_bytes", "gauge", "Memory of the server's processes.", &|server| {
        let key = ServerKey::parse(&server.name);
        key.and_then(|key| gateway.servers().upstream(&key)).map_or(0, |upstream| upstream.memory())
    });
}

/// The size of the audit log, and the progress of its handlers.
fn audit(page: &mut MetricsText, gateway: &Gateway) {
    let Some(log) = gateway.audit().log() else {
        return;
    };
    let position = log.position();
    page.family("octroi_audit_records_total", "counter", "Records in the audit log, ever.");
    page.line("octroi_audit_records_total", &[], position);
    page.family("octroi_audit_writable", "gauge", "Whether records can be written.");
    page.line("octroi_audit_writable", &[], u8::from(log.health().is_none()));
    let handlers = gateway.audit().handler_readings();
    page.family(
        "octroi_audit_handler_dropped_total",
        "counter",
        "Records that were not delivered to a handler.",
    );
    for handler in &handlers {
        page.line("octroi_audit_handler_dropped_total", &[("name", &handler.name)], handler.n_dropped);
    }
    page.family("octroi_audit_handler_lag", "gauge", "Records that a handler has not received yet.");
    for handler in &handlers {
        let lag = position.saturating_sub(handler.last_seq);
        page.line("octroi_audit_handler_lag", &[("name", &handler.name)], lag);
    }
    page.family("octroi_audit_handler_up", "gauge", "Whether the last delivery to a handler worked.");
    for handler in &handlers {
        page.line("octroi_audit_handler_up", &[("name", &handler.name)], u8::from(!handler.is_failing));
    }
}

fn tools(page: &mut MetricsText, gateway: &Gateway) {
    let readings = gateway.readings();
    page.family("octroi_tool_calls_total", "counter", "Calls by how they ended.");
    for reading in &readings {
        let server = reading.server.to_string();
        for (outcome, count) in ["done", "tool_error", "failed"].iter().zip(reading.endings) {
            let labels =
                [("server", server.as_str()), ("tool", reading.tool.as_str()), ("outcome", *outcome)];
            page.line("octroi_tool_calls_total", &labels, count);
        }
    }
    page.family("octroi_tool_in_flight", "gauge", "Calls being made.");
    for reading in &readings {
        let server = reading.server.to_string();
        let labels = [("server", server.as_str()), ("tool", reading.tool.as_str())];
        page.line("octroi_tool_in_flight", &labels, reading.in_flight);
    }
    page.family("octroi_tool_call_seconds", "histogram", "How long calls take.");
    for reading in &readings {
        let (server, tool) = (reading.server.to_string(), reading.tool.as_str());
        let server = server.as_str();
        for (bound, count) in BOUNDS_MS.iter().zip(reading.buckets) {
            #[expect(clippy::cast_precision_loss, reason = "the bounds are small")]
            let le = (*bound as f64 / 1e3).to_string();
            page.line(
                "octroi_tool_call_seconds_bucket",
                &[("server", server), ("tool", tool), ("le", &le)],
                count,
            );
        }
        let labels = [("server", server), ("tool", tool)];
        let total: u64 = reading.endings.iter().sum();
        page.line(
            "octroi_tool_call_seconds_bucket",
            &[("server", server), ("tool", tool), ("le", "+Inf")],
            total,
        );
        page.line("octroi_tool_call_seconds_sum", &labels, reading.sum.as_secs_f64());
        page.line("octroi_tool_call_seconds_count", &labels, total);
    }
}
