//! Servers that misbehave, each in one way, so that a test can show what a client makes of it.
//!
//! A fault is a switch of the scripted server: everything it does not touch still works, and the tool `echo` always does.

pub(crate) mod forge;
pub(crate) mod http;
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
    /// The tool `huge` answers with a line of `bytes` bytes, 64 MiB unless told.
    HugeLine,
    /// stdio: every tool result is sent twice.
    Twice,
    /// stdio: before every response comes one with an id that nobody used.
    UnknownId,
    /// The tool `die` ends the process with status 3.
    DieMidCall,
    /// The tool `never` never answers.
    Never,
    /// stdio: the tool `garbage` answers with half a line of JSON.
    Garbage,
    /// Sleeps before it reads or listens.
    SlowStart,
    /// Exits with status 1 at once, with a line on stderr.
    NoStart,
    /// Writes much to stderr at the start and in every call, and waits until it is read.
    StderrFlood,
    /// `tools/list` answers with `tools` as an object.
    WrongShape,
    /// Ignores SIGTERM, SIGINT and the end of stdin.
    IgnoreTerm,
    /// The same as `--lie description`: the tool `reword` changes what `echo` says of itself.
    Reword,
    /// stdio: the tool `forge` and the prompt `greet` answer with the text in their argument `answer`, which is everything
    /// after the id, as it stands; reading and watching `peer://forged` is refused in the words of a gateway.
    Forge,
    /// HTTP: tool calls other than `echo` get status 500.
    #[value(name = "http-500")]
    Http500,
    /// HTTP: tool calls other than `echo` get a page of HTML with status 200.
    HttpHtml,
    /// HTTP: the connection closes in the middle of the body of tool calls other than `echo`.
    HttpCut,
    /// HTTP: tool calls other than `echo` never get a status line.
    HttpHang,
    /// HTTP, legacy: the session is unknown after `--lost-after` tool calls; a new one works again.
    SessionLost,
}
