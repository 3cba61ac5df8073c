//! MCP servers: starting them, reaching them, and talking to them in the era they speak.
//!
//! An [`Upstream`] is one configured server. It connects on demand, finds out the server's era, and
//! hands out a [`Connection`]. A request of a client becomes a [`LiveCall`] on it: a sequence of
//! notifications and questions that ends with the answer. Dropping a live call cancels it.
//!
//! Nothing else in Octroi starts a process, and nothing can be called without a
//! [`Permit`](octroi_core::Permit).

mod background;
mod child;
mod clock;
mod connection;
mod error;
mod event;
mod events;
mod gate;
mod handshake;
mod http;
mod lines;
mod live;
mod logs;
mod mux;
mod notes;
mod old_sse;
mod post;
mod processes;
mod reaper;
mod spawner;
mod stdio;
mod streamable;
mod upstream;
mod watch;
mod wire;

pub use background::BackgroundTasks;
pub use clock::system_clock;
pub use connection::{Connection, Control, Outgoing, ServerIdentity};
pub use error::UpstreamError;
pub use event::{CallEvent, EventSink, Owner, Question, ServerEvent};
pub use gate::{GateAnswer, GateError, GateProgram};
pub use http::HttpClient;
pub use live::LiveCall;
pub use logs::{LogLine, Logs};
pub use post::Postbox;
pub use reaper::take_over;
pub use spawner::Spawner;
pub use upstream::{CallSlot, Condition, Context, Hold, Sharer, Upstream};
