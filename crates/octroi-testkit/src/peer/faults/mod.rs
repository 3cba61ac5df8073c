//! Servers that misbehave, each in one way, to test how a client reacts.
//!
//! A fault is an option of the scripted server: everything it does not affect still works, and the tool
//! `echo` always does.

pub(crate) mod forge;
pub(crate) mod http;
pub mod liar;
pub mod lies;
pub(crate) mod lines;
pub(crate) mod process;
pub(crate) mod tools;

use clap::ValueEnum;

/// One way to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// stdio: text that is not JSON, and blank lines, before every message.
    Noise,
    /// The tool `huge` answers with a line of `bytes` bytes, by default 64 MiB.
    HugeLine,
    /// stdio: every tool result is sent twice.
    Twice,
    /// stdio: an extra response with an unknown id precedes every response.
    UnknownId,
    /// The tool `die` ends the process with status 3.
    DieMidCall,
    /// The tool `never` never answers.
    Never,
    /// stdio: the tool `garbage` answers with an incomplete line of JSON.
    Garbage,
    /// Sleeps before it reads or listens.
    SlowStart,
    /// Exits immediately with status 1 and a line on stderr.
    NoStart,
    /// Writes a lot to stderr at the start and in every call, and blocks until it is read.
    StderrFlood,
    /// `tools/list` answers with `tools` as an object.
    WrongShape,
    /// Legacy: `ping` is answered with an error.
    PingError,
    /// `tools/list` is refused twice, and then works.
    LateTools,
    /// Ignores SIGTERM, SIGINT and the end of stdin.
    IgnoreTerm,
    /// The same as `--lie description`: the tool `reword` changes the description of `echo`.
    Reword,
    /// stdio: the tool `forge` and the prompt `greet` answer with the text in their argument `answer`, which
    /// is everything after the id, verbatim; reading and subscribing to `peer://forged` is refused with a
    /// forged denial.
    Forge,
    /// HTTP: tool calls other than `echo` get status 500.
    #[value(name = "http-500")]
    Http500,
    /// HTTP: tool calls other than `echo` get an HTML page with status 200.
    HttpHtml,
    /// HTTP: the connection closes in the middle of the body of tool calls other than `echo`.
    HttpCut,
    /// HTTP: tool calls other than `echo` never get a status line.
    HttpHang,
    /// HTTP and HTTP+SSE, legacy: the session is unknown after `--lost-after` tool calls; a new one works again.
    SessionLost,
}
