//! One run of a gate's program: it takes questions, gives answers, and ends once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use octroi_core::Clock;
use octroi_core::config::GateSpec;
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::debug;

use super::answer::{self, Identified, InvalidAnswer};
use super::{GateAnswer, GateError, LINE_BYTES};
use crate::child::{LaunchSpec, Process, ProcessList, Streams};
use crate::context::Context;
use crate::logs::Logs;
use crate::reaper::Memory;

/// After so many consecutive questions without an answer in time, the program is ended.
pub(super) const LATE_MAX: u32 = 3;
/// How long a program that has not answered yet is considered to be starting.
const STARTING: Duration = Duration::from_secs(10);
/// How many questions may be queued for a program that does not read.
const QUEUED: usize = 64;
/// How many abandoned questions are remembered, since their answers may still come.
const GIVEN_UP_MAX: usize = 1_000;
/// How long a program that closed one of its streams may take to end.
const CLOSED_STREAM: Duration = Duration::from_secs(1);
/// How long it may take to end once its input was closed.
const CLOSING: Duration = Duration::from_millis(500);
/// How long to read remaining answers after the program ended. Another process may hold the pipe open.
const LAST_ANSWERS: Duration = Duration::from_millis(200);

type AnswerResult = Result<GateAnswer, GateError>;

/// The program while it runs, and how it ended.
#[derive(Debug)]
pub(super) struct GateRun {
    spec: Arc<GateSpec>,
    writer: mpsc::Sender<QueuedQuestion>,
    table: Mutex<QuestionTable>,
    over: CancellationToken,
    clock: Clock,
    started: Instant,
    logs: Arc<Logs>,
}

#[derive(Debug)]
struct QueuedQuestion {
    id: u64,
    line: Vec<u8>,
}

#[derive(Debug, Default)]
struct QuestionTable {
    open: HashMap<u64, oneshot::Sender<AnswerResult>>,
    /// An answer to one of these is late; an answer to any other id is an error.
    given_up: BTreeSet<u64>,
    n_late: u32,
    has_answered: bool,
    end: Option<(GateError, Instant)>,
}

impl GateRun {
    /// Starts the program. The run is over when the program ends, and vice versa.
    pub(super) async fn start(
        spec: &Arc<GateSpec>,
        context: &Context,
        logs: &Arc<Logs>,
        tasks: &TaskTracker,
        closing: &CancellationToken,
    ) -> Result<Arc<Self>, GateError> {
        let memory = Some(Memory::mebibytes(spec.memory_mib));
        let launch = LaunchSpec { name: &spec.name, program: &spec.program, memory };
        let kept = (logs, &Arc::<ProcessList>::default());
        let spawned = Process::spawn(launch, &context.spawner, kept, &context.tasks).await;
        let (process, Streams { stdin, stdout }) = spawned
            .map_err(|error| GateError::Start { gate: spec.name.clone(), reason: error.to_string() })?;
        let (writer, questions) = mpsc::channel(QUEUED);
        let run = Arc::new(Self {
            spec: Arc::clone(spec),
            writer,
            table: Mutex::default(),
            over: CancellationToken::new(),
            clock: context.clock.clone(),
            started: Instant::from_std(context.clock.instant()),
            logs: Arc::clone(logs),
        });
        let all = &context.tasks;
        all.spawn("gate-write", tasks.track_future(Arc::clone(&run).write(stdin, questions)));
        let reader = all.spawn("gate-read", tasks.track_future(Arc::clone(&run).read(stdout)));
        all.spawn(
            "gate-supervise",
            tasks.track_future(Arc::clone(&run).supervise(process, reader, closing.clone())),
        );
        Ok(run)
    }

    /// Asks a question and waits for the answer.
    pub(super) async fn ask(&self, id: u64, line: Vec<u8>, deadline: Instant) -> AnswerResult {
        let answer = self.open(id)?;
        // Dropped also when the caller stops waiting.
        let _asked = OpenQuestion { run: self, id };
        let exchange = async {
            // If the send fails, the run is about to end, and the answer gives the reason.
            let _ = self.writer.send(QueuedQuestion { id, line }).await;
            answer.await
        };
        match timeout_at(deadline, exchange).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(self.failure())),
            Err(_) => {
                self.late();
                Err(GateError::Late { gate: self.gate(), timeout: self.spec.timeout })
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Why and when it ended, and how long it ran if it answered anything.
    pub(super) fn end(&self) -> Option<(GateError, Option<Duration>, Instant)> {
        let table = self.table.lock();
        let (failure, at) = table.end.clone()?;
        Some((failure, table.has_answered.then(|| at.duration_since(self.started)), at))
    }

    fn instant(&self) -> Instant {
        Instant::from_std(self.clock.instant())
    }

    fn gate(&self) -> String {
        self.spec.name.clone()
    }

    fn failure(&self) -> GateError {
        let end = self.table.lock().end.clone();
        end.map_or_else(|| GateError::Stopping { gate: self.gate() }, |(failure, _)| failure)
    }

    fn open(&self, id: u64) -> Result<oneshot::Receiver<AnswerResult>, GateError> {
        let (sender, receiver) = oneshot::channel();
        let mut table = self.table.lock();
        if let Some((failure, _)) = &table.end {
            return Err(failure.clone());
        }
        table.open.insert(id, sender);
        Ok(receiver)
    }

    fn late(&self) {
        let is_hung = {
            let mut table = self.table.lock();
            table.n_late = table.n_late.saturating_add(1);
            is_hung(table.n_late, table.has_answered, self.instant().duration_since(self.started))
        };
        if is_hung {
            self.fail(GateError::Hung { gate: self.gate() });
        }
    }

    /// Ends the run; every open question fails. Only the first reason is kept.
    fn fail(&self, failure: GateError) {
        let open = {
            let mut table = self.table.lock();
            if table.end.is_some() {
                return;
            }
            table.end = Some((failure.clone(), self.instant()));
            std::mem::take(&mut table.open)
        };
        for (_, answer) in open {
            // The caller may have given up meanwhile.
            let _ = answer.send(Err(failure.clone()));
        }
        self.over.cancel();
    }

    async fn write(self: Arc<Self>, mut stdin: ChildStdin, mut questions: mpsc::Receiver<QueuedQuestion>) {
        let mut out = Vec::new();
        loop {
            let question = tokio::select! {
                biased;
                () = self.over.cancelled() => return,
                question = questions.recv() => question,
            };
            let Some(question) = question else {
                return;
            };
            out.clear();
            self.append(&mut out, &question);
            // Questions that were queued meanwhile go out in the same write.
            while let Ok(question) = questions.try_recv() {
                self.append(&mut out, &question);
            }
            let written = tokio::select! {
                biased;
                () = self.over.cancelled() => return,
                written = stdin.write_all(&out) => written,
            };
            if written.is_err() {
                // Either the program is ending, and its supervisor reports why, or it will never read again.
                if timeout(CLOSED_STREAM, self.over.cancelled()).await.is_err() {
                    self.fail(GateError::Ended { gate: self.gate(), how: "it closed its input".to_owned() });
                }
                return;
            }
            if out.capacity() > 1 << 20 {
                out = Vec::new();
            }
        }
    }

    /// A question that was abandoned while queued is not sent.
    fn append(&self, out: &mut Vec<u8>, question: &QueuedQuestion) {
        let mut table = self.table.lock();
        if table.open.contains_key(&question.id) {
            out.extend_from_slice(&question.line);
        } else {
            table.given_up.remove(&question.id);
        }
    }

    async fn read(self: Arc<Self>, stdout: ChildStdout) {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        // One more for the line break.
        let most = LINE_BYTES as u64 + 1;
        while !self.is_over() {
            line.clear();
            let mut limited = (&mut stdout).take(most);
            let read = tokio::select! {
                biased;
                () = self.over.cancelled() => return,
                read = limited.read_until(b'\n', &mut line) => read,
            };
            match (read, line.split_last()) {
                (Ok(_), Some((b'\n', answer))) => self.receive(answer),
                // Failed immediately: the end of the line may never come.
                (Ok(_), Some(_)) if line.len() > LINE_BYTES => {
                    self.keep(&line);
                    self.fail(GateError::TooLong { gate: self.gate() });
                }
                // The rest after the last line break is incomplete, so it is not an answer.
                (Ok(_) | Err(_), _) => return,
            }
        }
    }

    fn receive(&self, line: &[u8]) {
        let Some(Identified { id, answer }) = answer::read(line, &self.logs) else {
            self.keep(line);
            self.fail(GateError::Noise { gate: self.gate() });
            return;
        };
        let answer = answer.map_err(|invalid| {
            self.keep(line);
            match invalid {
                InvalidAnswer::Verdict => GateError::Verdict { gate: self.gate() },
                InvalidAnswer::Form(problem) => GateError::Form { gate: self.gate(), problem },
            }
        });
        let mut table = self.table.lock();
        if let Some(waiting) = table.open.remove(&id) {
            table.n_late = 0;
            table.has_answered = true;
            drop(table);
            // The caller may have given up meanwhile.
            let _ = waiting.send(answer);
        } else if table.given_up.remove(&id) {
            table.has_answered = true;
            debug!(gate.name = self.spec.name, id, "answer came too late");
        } else {
            drop(table);
            self.keep(line);
            self.fail(GateError::UnknownId { gate: self.gate() });
        }
    }

    /// Keeps an unusable line in the log, for the author of the gate.
    fn keep(&self, line: &[u8]) {
        const KEPT_CHARACTERS: usize = 500;
        // Redacted before truncation, or half of a secret could be left.
        let text = self.logs.redacted(&String::from_utf8_lossy(line));
        let start: String = text.chars().take(KEPT_CHARACTERS).collect();
        self.logs.push(&format!("[standard output] {start}"));
    }

    async fn supervise(
        self: Arc<Self>,
        mut process: Process,
        mut reader: JoinHandle<()>,
        closing: CancellationToken,
    ) {
        let ended = |how: String| GateError::Ended { gate: self.gate(), how };
        let patience = tokio::select! {
            biased;
            () = closing.cancelled() => {
                self.fail(GateError::Stopping { gate: self.gate() });
                CLOSING
            }
            () = self.over.cancelled() => Duration::ZERO,
            how = process.exited() => {
                let _ = timeout(LAST_ANSWERS, &mut reader).await;
                self.fail(ended(how));
                // If its reaper was killed, the descendants are still there to end.
                Duration::ZERO
            }
            _ = &mut reader => {
                // A program that closes its output is done; give it time to exit with a status.
                let how = timeout(CLOSED_STREAM, process.exited()).await;
                self.fail(ended(how.unwrap_or_else(|_| "it closed its output".to_owned())));
                Duration::ZERO
            }
        };
        reader.abort();
        match self.failure() {
            GateError::Stopping { .. } => debug!(gate.name = self.spec.name, "gate stopped"),
            failure => {
                let last_words = process.last_words();
                // The caller reports it to operators, once and not at every start.
                debug!(gate.name = self.spec.name, reason = %failure, last_words, "gate failed");
            }
        }
        process.stop(patience).await;
    }
}

/// A question until its caller stops waiting; dropped earlier, it counts as abandoned.
struct OpenQuestion<'a> {
    run: &'a GateRun,
    id: u64,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let mut table = self.run.table.lock();
        if table.open.remove(&self.id).is_some() {
            table.given_up.insert(self.id);
            if table.given_up.len() > GIVEN_UP_MAX {
                table.given_up.pop_first();
            }
        }
    }
}

fn is_hung(n_late: u32, has_answered: bool, age: Duration) -> bool {
    n_late >= LATE_MAX && (has_answered || age >= STARTING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_hung_when_it_is_late_again_and_again_and_not_just_starting() {
        for (n_late, has_answered, age, expected) in [
            (2, true, STARTING * 2, false),
            (3, true, Duration::ZERO, true),
            (3, false, STARTING / 2, false),
            (3, false, STARTING, true),
            (100, false, STARTING / 2, false),
        ] {
            assert_eq!(is_hung(n_late, has_answered, age), expected, "{n_late} {has_answered} {age:?}");
        }
    }
}
