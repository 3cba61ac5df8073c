//! One life of a gate's program: questions go in, answers come out, and it ends once.

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

use super::answer::{self, Identified, Wrong};
use super::{GateAnswer, GateError, LINE_BYTES};
use crate::child::{Order, Process, ProcessList, Streams};
use crate::logs::Logs;
use crate::reaper::Memory;
use crate::upstream::Context;

/// So many questions in a row without an answer in time end the program.
pub(super) const LATE_MAX: u32 = 3;
/// A program that has not answered yet may still be starting; it has this long.
const STARTING: Duration = Duration::from_secs(10);
/// Questions that may wait for a program that does not read.
const QUEUED: usize = 64;
/// Questions that were given up and may still be answered. A program that leaves more open is broken.
const GIVEN_UP_MAX: usize = 1_000;
/// How long a program that closed one of its streams may take to end.
const CLOSED_STREAM: Duration = Duration::from_secs(1);
/// How long it may take to end once its input was closed.
const CLOSING: Duration = Duration::from_millis(500);
/// How long answers may be on their way after the program ended. Another process may hold the pipe.
const LAST_ANSWERS: Duration = Duration::from_millis(200);

type Said = Result<GateAnswer, GateError>;

/// The program while it runs, and how it ended after that.
#[derive(Debug)]
pub(super) struct Run {
    spec: Arc<GateSpec>,
    writer: mpsc::Sender<Question>,
    table: Mutex<Table>,
    over: CancellationToken,
    clock: Clock,
    started: Instant,
    logs: Arc<Logs>,
}

#[derive(Debug)]
struct Question {
    id: u64,
    line: Vec<u8>,
}

#[derive(Debug, Default)]
struct Table {
    open: HashMap<u64, oneshot::Sender<Said>>,
    /// An answer to one of these is late, to any other it is a mistake.
    given_up: BTreeSet<u64>,
    n_late: u32,
    has_answered: bool,
    end: Option<(GateError, Instant)>,
}

impl Run {
    /// Starts the program. It ends when the run is over, and the run is over when it ends.
    pub(super) async fn start(
        spec: &Arc<GateSpec>,
        context: &Context,
        logs: &Arc<Logs>,
        tasks: &TaskTracker,
        closing: &CancellationToken,
    ) -> Result<Arc<Self>, GateError> {
        let memory = Some(Memory::mebibytes(spec.memory_mib));
        let order = Order { name: &spec.name, program: &spec.program, memory };
        let kept = (logs, &Arc::<ProcessList>::default());
        let spawned = Process::spawn(order, &context.spawner, kept, &context.tasks).await;
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
    pub(super) async fn ask(&self, id: u64, line: Vec<u8>, deadline: Instant) -> Said {
        let answer = self.open(id)?;
        // Also when the caller does not wait for the end of this.
        let _asked = OpenQuestion { run: self, id };
        let exchange = async {
            // If nobody takes it, the run is about to be over, and the answer says why.
            let _ = self.writer.send(Question { id, line }).await;
            answer.await
        };
        match timeout_at(deadline, exchange).await {
            Ok(said) => said.unwrap_or_else(|_| Err(self.failure())),
            Err(_) => {
                self.late();
                Err(GateError::Late { gate: self.gate(), timeout: self.spec.timeout })
            }
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Why and when it ended, and how long it lived if it answered anything.
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

    fn open(&self, id: u64) -> Result<oneshot::Receiver<Said>, GateError> {
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

    /// Ends the run; every open question fails. Only the first reason counts.
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
            // Whoever gave up meanwhile needs no answer.
            let _ = answer.send(Err(failure.clone()));
        }
        self.over.cancel();
    }

    async fn write(self: Arc<Self>, mut stdin: ChildStdin, mut questions: mpsc::Receiver<Question>) {
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
            // What came in the meantime goes out in the same write.
            while let Ok(question) = questions.try_recv() {
                self.append(&mut out, &question);
            }
            let written = tokio::select! {
                biased;
                () = self.over.cancelled() => return,
                written = stdin.write_all(&out) => written,
            };
            if written.is_err() {
                // The program is ending, and its supervisor says why; or it will never read again.
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

    /// A question that was given up while it waited is not asked any more.
    fn append(&self, out: &mut Vec<u8>, question: &Question) {
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
        // One more for the line's end.
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
                // At once: its end may never come.
                (Ok(_), Some(_)) if line.len() > LINE_BYTES => {
                    self.keep(&line);
                    self.fail(GateError::TooLong { gate: self.gate() });
                }
                // What stands after the last line end was never finished, so it is no answer.
                (Ok(_) | Err(_), _) => return,
            }
        }
    }

    fn receive(&self, line: &[u8]) {
        let Some(Identified { id, said }) = answer::read(line, &self.logs) else {
            self.keep(line);
            self.fail(GateError::Noise { gate: self.gate() });
            return;
        };
        let said = said.map_err(|wrong| {
            self.keep(line);
            match wrong {
                Wrong::Verdict => GateError::Verdict { gate: self.gate() },
                Wrong::Form(problem) => GateError::Form { gate: self.gate(), problem },
            }
        });
        let mut table = self.table.lock();
        if let Some(answer) = table.open.remove(&id) {
            table.n_late = 0;
            table.has_answered = true;
            drop(table);
            // Whoever gave up meanwhile needs no answer.
            let _ = answer.send(said);
        } else if table.given_up.remove(&id) {
            table.has_answered = true;
            debug!(gate.name = self.spec.name, id, "answer came too late");
        } else {
            drop(table);
            self.keep(line);
            self.fail(GateError::UnknownId { gate: self.gate() });
        }
    }

    /// Keeps a line that cannot be used, for whoever wrote the gate.
    fn keep(&self, line: &[u8]) {
        const SHOWN: usize = 500;
        // Blotted out before it is cut, or half of a secret could be left.
        let text = self.logs.redacted(&String::from_utf8_lossy(line));
        let shown: String = text.chars().take(SHOWN).collect();
        self.logs.push(&format!("[standard output] {shown}"));
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
                // Should somebody have killed its reaper, what that kept is still there.
                Duration::ZERO
            }
            _ = &mut reader => {
                // A program that closes its output is done; it has the time to say so by ending.
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
                // Whoever asks it tells people, once and not at every start.
                debug!(gate.name = self.spec.name, reason = %failure, last_words, "gate failed");
            }
        }
        process.stop(patience).await;
    }
}

/// A question from when it is asked until nobody waits for its answer.
struct OpenQuestion<'a> {
    run: &'a Run,
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
