//! The test environment of a gate, and a view of the processes that it started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use octroi_core::config::GateSpec;
use octroi_core::server::Program;
use octroi_upstream::{BackgroundTasks, Context, GateProgram, HttpClient, Spawner};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Longer than any expected event takes, even on a busy machine.
pub(crate) const LONG: Duration = Duration::from_mins(1);
/// Shell code that sets `id` to the id of the question in `q`.
pub(crate) const ID: &str = r"id=${q#*:}; id=${id%%[,\}]*}";

/// The program that these tests use as the reaper.
pub(crate) fn reaper() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_octroi-upstream-reaper"))
}

pub(crate) struct Bench {
    pub(crate) context: Arc<Context>,
    pub(crate) owner: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_reaper(Some(reaper()))
    }

    pub(crate) fn with_reaper(reaper: Option<PathBuf>) -> Self {
        let owner = owner();
        let (events, _) = mpsc::channel(1);
        let context = Context {
            http: HttpClient::new(octroi_upstream::system_clock()).unwrap(),
            spawner: Spawner::new(owner.clone(), reaper, Handle::current()).unwrap(),
            client_info: "{}".into(),
            tasks: BackgroundTasks::new(Handle::current()),
            shutdown: CancellationToken::new(),
            clock: octroi_upstream::system_clock(),
            events,
            redactor: octroi_upstream::SharedRedactor::default(),
        };
        Self { context: Arc::new(context), owner }
    }

    pub(crate) fn gate(&self, program: Program, timeout: Duration) -> Arc<GateProgram> {
        self.gate_with_memory(program, timeout, 256)
    }

    pub(crate) fn gate_with_memory(
        &self,
        program: Program,
        timeout: Duration,
        memory_mib: usize,
    ) -> Arc<GateProgram> {
        let spec = GateSpec { name: "g".to_owned(), program, tools: Vec::new(), timeout, memory_mib };
        GateProgram::new(spec, &self.context)
    }

    /// The command lines of all running processes that were started here.
    pub(crate) fn processes(&self) -> Vec<String> {
        processes_of(&self.owner)
    }

    pub(crate) async fn until_nothing_is_left(&self) {
        until_nothing_is_left_of(&self.owner).await;
    }
}

/// A mark that no other test uses.
pub(crate) fn owner() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("gates-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn program(words: &[&str]) -> Program {
    let (command, args) = words.split_first().unwrap();
    Program {
        command: (*command).to_owned(),
        args: args.iter().map(|&word| word.to_owned()).collect(),
        env: BTreeMap::new(),
        inherit_env: Vec::new(),
        cwd: None,
    }
}

pub(crate) fn shell(script: &str) -> Program {
    program(&["sh", "-c", script])
}

pub(crate) fn python(script: &str) -> Program {
    program(&["python3", "-c", script])
}

pub(crate) fn texts(gate: &GateProgram) -> Vec<String> {
    gate.logs().last(usize::MAX, 0).into_iter().map(|line| line.text).collect()
}

/// Waits for a condition that is sure to become true.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(LONG, waiting).await.is_ok(), "{what}");
}

/// The command lines of all processes with this mark.
pub(crate) fn processes_of(owner: &str) -> Vec<String> {
    let suffix = format!(".{owner}");
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let marked = entries.filter(|entry| {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable.starts_with(b"OCTROI_PROCESS=") && variable.ends_with(suffix.as_bytes()))
    });
    marked
        .map(|entry| {
            let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).replace('\0', " ")
        })
        .collect()
}

pub(crate) async fn until_nothing_is_left_of(owner: &str) {
    until("every process ends", || processes_of(owner).is_empty()).await;
}
