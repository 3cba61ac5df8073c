//! The endpoints of the gateway: MCP over HTTP in both eras on one path, MCP over standard streams, and HTTP
//! pages for health, metrics and approvals. One dispatcher behind them performs every operation and reads
//! every resource of Octroi itself.

mod access;
mod admit;
mod agent_tools;
mod batch;
mod coarse_clock;
mod connection;
mod connections;
mod control;
mod cors;
mod dispatcher;
mod endpoint;
mod error;
mod event_log;
mod forwarded;
mod front;
mod frontend;
mod health;
mod held_bytes;
mod http;
mod legacy;
mod lines;
mod login_attempts;
mod management;
mod metrics;
mod modern;
mod notice_queue;
mod old_sse;
mod old_streams;
mod operations;
mod page;
mod reply;
mod rescue;
mod resources;
mod revoked;
mod serve;
mod session;
mod session_id;
mod sessions;
mod slowdown;
mod stdio;
mod subscription_limits;
mod tickets;
mod tls;
mod tracked_body;
mod workers;

pub use access::{Access, AccessSettings};
pub use agent_tools::AgentTools;
pub use control::{Agreed, Control, PlannedReload, ReloadError, ReloadTrigger, Reloading};
pub use dispatcher::Operations;
pub use endpoint::{HttpEndpoint, HttpSettings};
pub use lines::{read_line, write_lines};
pub use serve::serve;
pub use stdio::serve_stdio;
pub use tls::{Certificate, CertificateError, Tls};
