//! The doors of the gateway: MCP over HTTP in both eras on one path, MCP over standard streams, and
//! the pages for people: health, figures, and approvals.

mod access;
mod admit;
mod batch;
mod event_log;
mod front;
mod health;
mod http;
mod lanes;
mod legacy;
mod lines;
mod manage;
mod metrics;
mod modern;
mod page;
mod reply;
mod session;
mod sessions;
mod stdio;

pub use access::{Access, AccessSettings};
pub use http::{Door, DoorSettings, serve};
pub use lines::{read_line, write_lines};
pub use manage::{Control, Management, Reloading};
pub use stdio::serve_stdio;
