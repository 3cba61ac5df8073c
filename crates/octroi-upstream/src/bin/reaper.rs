//! A reaper for the tests of this crate, and a small gateway that the tests can kill. The shipped `octroi`
//! binary is its own reaper.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use octroi_core::config::GateSpec;
use octroi_core::server::Program;
use octroi_upstream::{BackgroundTasks, Context, GateProgram, HttpClient, Spawner};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

fn main() -> ExitCode {
    if let Some(code) = octroi_upstream::take_over(std::env::args_os().skip(1)) {
        return code;
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [owner, script] = &words[..] else {
        return ExitCode::FAILURE;
    };
    let hosted = tokio::runtime::Runtime::new()
        .and_then(|runtime| runtime.block_on(host(&owner.to_string_lossy(), &script.to_string_lossy())));
    if hosted.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a shell script as a gate, asks it once, prints the verdict, and waits to be killed.
async fn host(owner: &str, script: &str) -> io::Result<()> {
    let (events, _received) = mpsc::channel(1);
    let context = Arc::new(Context {
        http: HttpClient::new(octroi_upstream::system_clock()).map_err(io::Error::other)?,
        spawner: Spawner::new(owner.to_owned(), Some(std::env::current_exe()?), Handle::current())?,
        client_info: "{}".into(),
        tasks: BackgroundTasks::new(Handle::current()),
        shutdown: tokio_util::sync::CancellationToken::new(),
        clock: octroi_upstream::system_clock(),
        events,
        redactor: octroi_upstream::SharedRedactor::default(),
    });
    let program = Program {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: BTreeMap::new(),
        inherit_env: Vec::new(),
        cwd: None,
    };
    let timeout = Duration::from_mins(1);
    let spec = GateSpec { name: "hosted".to_owned(), program, tools: Vec::new(), timeout, memory_mib: 256 };
    let gate = GateProgram::new(spec, &context);
    let answer = gate.ask("{}").await.map_err(io::Error::other)?;
    writeln!(io::stdout(), "{}", answer.outcome.as_str())?;
    tokio::time::sleep(timeout).await;
    gate.close().await;
    Ok(())
}
