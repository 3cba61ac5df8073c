//! The last lines that a server wrote to its standard error.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use octroi_core::redact::Redactor;
use octroi_core::server::{Program, ServerSpec, Transport};
use octroi_core::{Clock, Secret};
use parking_lot::Mutex;

use crate::event::{EventSink, ServerEvent};
use crate::redaction::SharedRedactor;

const LINES_MAX: usize = 1_000;
const BYTES_MAX: usize = 256 << 10;
/// How often new lines are reported. Shorter than it takes until subscribers hear of it, so that what they read then has
/// the lines that were not reported.
const REPORT_EVERY: Duration = Duration::from_millis(200);
/// One counter for all servers, so that a replaced server continues the numbering.
static NEXT: AtomicU64 = AtomicU64::new(0);
/// Shorter values are words like `true`, not secrets.
const SECRET_LENGTH: usize = 6;
/// No private key has more lines.
const KEY_LINES_MAX: usize = 150;
/// What is shown of a line that was too long, in bytes. Secrets are redacted from all that was kept of it, so that no
/// part of one is left where it is cut.
const BEGINNING: usize = 512;
/// What is kept of a line of a private key.
const KEY_LINE: &str = "[redacted: private_key]";

/// The last lines of a server, over all its starts. A server that floods evicts only its own lines.
#[derive(Debug)]
pub struct Logs {
    clock: Clock,
    ring: Mutex<Ring>,
    /// Values given to the server that must be redacted from its output.
    secrets: Vec<Secret>,
    /// The same in other encodings.
    encoded: Redactor,
    /// Everything else that must be redacted.
    redactor: SharedRedactor,
    /// Who hears that there are new lines, and when they last heard it.
    listener: Option<(EventSink, Mutex<Option<Instant>>)>,
}

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<LogLine>,
    bytes: usize,
    next: u64,
    /// How many lines of a private key may still come; its lines alone tell nothing.
    key_lines_left: usize,
}

/// One line of a server's standard error.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LogLine {
    /// Increases with every line, and never repeats while Octroi runs.
    pub number: u64,
    /// When it was read, in milliseconds since 1970.
    pub at: u64,
    /// The text, with secrets redacted.
    pub text: String,
}

impl Logs {
    pub(crate) fn new(spec: &ServerSpec, clock: &Clock, redactor: &SharedRedactor) -> Self {
        match &spec.transport {
            Transport::Stdio(program) => Self::of_program(program, clock, redactor),
            Transport::Http(remote) | Transport::Sse(remote) => {
                Self::without(remote.headers.values().cloned().collect(), clock, redactor)
            }
        }
    }

    pub(crate) fn of_program(program: &Program, clock: &Clock, redactor: &SharedRedactor) -> Self {
        let inherited = program.inherit_env.iter().filter_map(|name| std::env::var(name).ok());
        let given = program.env.values().cloned().chain(inherited.map(Secret::new)).collect();
        Self::without(given, clock, redactor)
    }

    fn without(mut given: Vec<Secret>, clock: &Clock, redactor: &SharedRedactor) -> Self {
        // Longest first: one secret may be the prefix of another.
        given.sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
        let secrets: Vec<Secret> =
            given.into_iter().filter(|secret| secret.expose().len() >= SECRET_LENGTH).collect();
        let encoded = Redactor::new(secrets.iter().map(Secret::expose));
        let redactor = redactor.clone();
        Self { clock: clock.clone(), ring: Mutex::default(), secrets, encoded, redactor, listener: None }
    }

    /// Reports new lines as events.
    pub(crate) fn reporting(self, events: EventSink) -> Self {
        Self { listener: Some((events, Mutex::default())), ..self }
    }

    /// Reports that there is a new line. Not each: whoever heard of one a moment ago has not read it yet.
    fn report(&self) {
        let Some((events, last)) = &self.listener else { return };
        let (now, mut last) = (self.clock.instant(), last.lock());
        let is_soon = |last: Instant| now.saturating_duration_since(last) < REPORT_EVERY;
        if !last.is_some_and(is_soon) && events.offer(ServerEvent::Wrote) {
            *last = Some(now);
        }
    }

    /// Stores a line; returns it with secrets redacted.
    pub(crate) fn push(&self, text: &str) -> String {
        self.store(text, self.redacted(text))
    }

    /// Stores the beginning of a line that was too long; `head` is what was kept of it. Returns what is shown of it.
    pub(crate) fn push_beginning(&self, head: &str) -> String {
        // A secret that is longer than what was kept beyond the cut cannot be recognised.
        let has_room = self.longest_secret() <= head.len().saturating_sub(BEGINNING);
        let redacted = if has_room { self.redacted(head) } else { String::new() };
        let end = redacted.floor_char_boundary(BEGINNING);
        // A secret that nothing but its end shows would be cut in the middle of a word.
        let shown = redacted[..end].rsplit_once(char::is_whitespace).map_or("", |(shown, _)| shown);
        self.store(head, format!("{shown}… (the line is too long)"))
    }

    fn store(&self, text: &str, redacted: String) -> String {
        let at = self.clock.now_ms();
        let mut ring = self.ring.lock();
        let text = if ring.is_of_key(text) { KEY_LINE.to_owned() } else { redacted };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        ring.next = number + 1;
        ring.bytes += text.len();
        let redacted = text.clone();
        ring.lines.push_back(LogLine { number, at: u64::try_from(at).unwrap_or_default(), text });
        while ring.lines.len() > LINES_MAX || ring.bytes > BYTES_MAX {
            if let Some(gone) = ring.lines.pop_front() {
                ring.bytes -= gone.text.len();
            }
        }
        drop(ring);
        self.report();
        redacted
    }

    /// The text with secrets redacted.
    pub(crate) fn redacted(&self, text: &str) -> String {
        let given = self
            .secrets
            .iter()
            .filter(|secret| text.contains(secret.expose()))
            .fold(text.to_owned(), |text, secret| text.replace(secret.expose(), "***"));
        self.redactor.redacted(&self.encoded.redact(&given))
    }

    /// The length of the longest known secret, in any encoding.
    fn longest_secret(&self) -> usize {
        self.encoded.longest().max(self.redactor.longest())
    }

    /// The newest `n` lines from number `from` on, oldest first.
    pub fn last(&self, n: usize, from: u64) -> Vec<LogLine> {
        let ring = self.ring.lock();
        let n_lines = ring.lines.iter().filter(|line| line.number >= from).count().min(n);
        ring.lines.range(ring.lines.len() - n_lines..).cloned().collect()
    }

    /// The number of the next line.
    pub(crate) fn next(&self) -> u64 {
        self.ring.lock().next
    }
}

impl Ring {
    /// Whether a line is inside a private key that began in an earlier line.
    fn is_of_key(&mut self, line: &str) -> bool {
        let is_inside = self.key_lines_left > 0;
        if line.contains("-----END ") {
            self.key_lines_left = 0;
        } else if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY") {
            self.key_lines_left = KEY_LINES_MAX;
        } else {
            self.key_lines_left = self.key_lines_left.saturating_sub(1);
        }
        is_inside
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use std::sync::Arc;

    use super::*;

    fn logs(secret: &str) -> Logs {
        let program = Program {
            command: "server".into(),
            args: Vec::new(),
            env: BTreeMap::from([("KEY".into(), Secret::new(secret))]),
            inherit_env: Vec::new(),
            cwd: None,
        };
        Logs::of_program(&program, &crate::system_clock(), &SharedRedactor::default())
    }

    fn texts(logs: &Logs, n: usize, from: u64) -> Vec<String> {
        logs.last(n, from).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let logs = logs("");
        for number in 0..2 * LINES_MAX {
            logs.push(&number.to_string());
        }
        assert_eq!(logs.last(usize::MAX, 0).len(), LINES_MAX);
        assert_eq!(texts(&logs, 2, 0), ["1998", "1999"]);
        let last = logs.last(1, 0)[0].number;
        assert_eq!(texts(&logs, 10, last), ["1999"]);
        for _ in 0..100 {
            logs.push(&"x".repeat(BYTES_MAX / 10));
        }
        assert_eq!(logs.last(usize::MAX, 0).len(), 10);
    }

    #[test]
    fn secrets_are_not_repeated() {
        let logs = logs("hunter2");
        logs.push("the key is hunter2, yes, hunter2");
        assert_eq!(texts(&logs, 1, 0), ["the key is ***, yes, ***"]);
    }

    #[test]
    fn what_a_server_writes_is_redacted_like_a_record() {
        let logs = logs("a-given/secret");
        logs.redactor.set(Arc::new(Redactor::new(["secret-of-another"].into_iter())));
        for (line, expected) in [
            ("GET /?q=a-given%2Fsecret", "GET /?q=[redacted]"),
            ("it is secret-of-another", "it is [redacted]"),
            ("password=hunter2hunter2", "password=[redacted: password]"),
            ("-----BEGIN RSA PRIVATE KEY-----", "[redacted: private_key]"),
            ("MIIEpAIBAAKCAQEAmadeupmadeupmadeup", "[redacted: private_key]"),
            ("-----END RSA PRIVATE KEY-----", "[redacted: private_key]"),
            ("listening on port 80", "listening on port 80"),
        ] {
            assert_eq!(logs.push(line), expected);
            assert_eq!(texts(&logs, 1, 0), [expected]);
        }
    }

    #[test]
    fn no_part_of_a_secret_is_left_where_a_line_is_cut() {
        const KEPT: usize = 4 << 10;
        let given = "given secret with spaces 5318";
        let token = format!("ghp_{}", "A1b2C3d4E5".repeat(4));
        let key = format!("-----BEGIN PRIVATE KEY-----{}", "MIIEpAIBAAKCAQEA".repeat(100));
        for secret in [given, &token, "password=\"Qx7a b3 zz 99\"", &key] {
            for before in BEGINNING - 60..BEGINNING + 5 {
                let logs = logs(given);
                let line = format!("{} {secret} {}", "w".repeat(before), "rest ".repeat(KEPT));
                let shown = logs.push_beginning(&line[..KEPT]);
                assert!(
                    shown.len() <= BEGINNING + 40 && shown.ends_with("(the line is too long)"),
                    "{shown}"
                );
                let words = ["given", "with", "ghp_", "A1b2", "Qx7a", "b3", "MIIE"];
                assert!(!words.iter().any(|word| shown.contains(word)), "{secret} {before}: {shown}");
            }
        }
        // What cannot be recognised whole is not shown at all.
        let long = "k".repeat(KEPT);
        assert_eq!(logs(&long).push_beginning(&format!("is {long}")[..KEPT]), "… (the line is too long)");
        let logs = logs("");
        assert_eq!(
            logs.push_beginning(&"word ".repeat(800)).len(),
            BEGINNING - 3 + "… (the line is too long)".len()
        );
    }
}
