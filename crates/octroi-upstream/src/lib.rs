//! MCP servers: starts them, connects to them, and speaks the protocol era that they support.
//!
//! An [`Upstream`] is one configured server. It connects on demand, detects the server's era, and
//! returns a [`Connection`]. A client's request becomes a [`LiveCall`] on it: a sequence of
//! notifications and questions that ends with the answer. Dropping a live call cancels it.
//!
//! No other crate starts processes, and no call is possible without a
//! [`Permit`](octroi_core::Permit).

mod background;
mod child;
mod clock;
mod connection;
mod context;
mod desktop;
mod error;
mod event;
mod event_queue;
mod events;
mod gate;
mod handshake;
mod heavy_work;
mod held_questions;
mod hook;
mod http;
mod identity;
mod lines;
mod live;
mod logs;
mod mux;
mod old_sse;
mod open_files;
mod outward;
mod post;
mod processes;
mod reaper;
mod redaction;
mod spawner;
mod stdio;
mod streamable;
mod upstream;
mod watch;
mod watchdog;
mod wire;

pub use background::BackgroundTasks;
pub use clock::system_clock;
pub use connection::{Connection, ControlRequest, Outgoing};
pub use context::Context;
pub use desktop::open_in_browser;
pub use error::UpstreamError;
pub use event::{CallEvent, EventSink, Owner, ServerEvent, ServerQuestion};
pub use gate::{GateAnswer, GateError, GateProgram};
pub use heavy_work::{
    HeavyThreads, LARGE_ANSWER_BYTES, LARGE_REQUEST_BYTES, Movable, leave_worker, lower_priority,
};
pub use hook::{HookError, run_once};
pub use http::HttpClient;
pub use identity::{ServerIdentity, SpokenEras};
pub use live::LiveCall;
pub use logs::{LogLine, Logs};
pub use open_files::raise_open_files;
pub use post::PostTarget;
pub use reaper::take_over;
pub use redaction::SharedRedactor;
pub use spawner::Spawner;
pub use upstream::{CallOutcome, CallSlot, Condition, Hold, Sharer, Upstream};
pub use watchdog::{Heartbeat, Heartbeats, start_watchdog};
