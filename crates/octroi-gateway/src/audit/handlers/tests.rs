//! Handlers against small receivers that behave like real ones: listen, sleep, fail, disappear.
#![expect(clippy::disallowed_methods, reason = "receivers end with the test")]

use std::collections::BTreeMap;
use std::path::Path;

use octroi_core::audit::{Actor, ActorKind, Event, Kind};
use octroi_core::config::SyslogAddress;
use octroi_core::server::Remote;
use octroi_upstream::HttpClient;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket, UnixDatagram};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::*;
use crate::audit::{Durability, Options, PurgeLimits};

/// The limits of a purge of everything but the segment in use.
const EVERYTHING: PurgeLimits = PurgeLimits { before_ms: Some(u64::MAX), max_bytes: None };

const PATIENCE: Duration = Duration::from_secs(20);

struct Fixture {
    directory: tempfile::TempDir,
    log: AuditLog,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options =
            Options { checkpoint_records: 1_000_000, ..Options::new(octroi_upstream::system_clock()) };
        let log = AuditLog::open(&directory.path().join("audit"), &options).unwrap().log;
        Self { directory, log }
    }

    async fn record(&self, n_events: u64, kind: Kind) {
        for number in 0..n_events {
            let context = json!({"number": number, "text": "a \"line\"\nand more"}).to_string();
            let event = Event {
                agent: Some("coder"),
                tool: Some("mcp:files:read"),
                context: &context,
                ..Event::new(1_700_000_000_000 + number, kind, Actor::new(ActorKind::Agent, "agent:coder"))
            };
            self.log.append(&event, Durability::Os).await.unwrap();
        }
    }

    fn start(&self, handler: Arc<dyn AuditHandler>, options: HandlerOptions) -> StartedHandler {
        let state = Arc::new(HandlerState::new("receiver", None, None));
        let shutdown = CancellationToken::new();
        let run = HandlerTask {
            state: Arc::clone(&state),
            handler,
            options,
            log: self.log.clone(),
            shutdown: shutdown.clone(),
        };
        StartedHandler { state, shutdown, task: tokio::spawn(run.until_the_end()) }
    }
}

struct StartedHandler {
    state: Arc<HandlerState>,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl StartedHandler {
    /// A handler is new until it has stored its start position.
    async fn ready(self, fixture: &Fixture) -> Self {
        let file = fixture.log.directory().join("handlers/receiver");
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self
    }

    async fn delivered(&self, seq: u64) {
        let waiting = async {
            while self.state.last_seq.load(Ordering::Relaxed) < seq {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    }

    async fn stop(self) {
        self.shutdown.cancel();
        tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap();
    }
}

fn handler_options() -> HandlerOptions {
    HandlerOptions { events: Vec::new(), max_lag: 100_000, timeout: Duration::from_secs(5) }
}

/// Numbers of records, in order of arrival.
fn numbers(events: &[Value]) -> Vec<u64> {
    events.iter().filter_map(|event| event["seq"].as_u64()).collect()
}

/// An HTTP receiver that answers each request with the next of these, and then with 200. Zero hangs up.
async fn receiver(answers: Vec<u16>) -> (String, mpsc::Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel(1_000);
    tokio::spawn(async move {
        let mut answers = answers.into_iter();
        while let Ok((mut stream, _)) = listener.accept().await {
            while let Some((head, body)) = read_request(&mut stream).await {
                let status = answers.next().unwrap_or(200);
                if status == 0 {
                    break;
                }
                if status == 200 {
                    sender.send((head, serde_json::from_slice(&body).unwrap())).await.unwrap();
                }
                let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}");
                if stream.write_all(answer.as_bytes()).await.is_err() {
                    break;
                }
            }
        }
    });
    (url, received)
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.unwrap_or("0").trim().parse().unwrap();
            if bytes.len() >= end + 4 + length {
                return Some((head, bytes[end + 4..end + 4 + length].to_vec()));
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn remote(url: &str) -> Remote {
    let headers = BTreeMap::from([("x-key".to_owned(), octroi_core::secret::Secret::new("k1"))]);
    Remote { url: url.to_owned(), headers }
}

fn webhook(url: &str) -> Arc<dyn AuditHandler> {
    Arc::new(
        webhook::Webhook::new(&HttpClient::new(octroi_upstream::system_clock()).unwrap(), &remote(url))
            .unwrap(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_that_fails_gets_everything_later_and_in_order() {
    let fixture = Fixture::new();
    let (url, mut received) = receiver(vec![500, 0, 503, 200, 404]).await;
    let running = fixture.start(webhook(&format!("{url}/hook?a=b")), handler_options()).ready(&fixture).await;
    let first = fixture.log.position() + 1;
    fixture.record(500, Kind::ToolInvocationEnd).await;
    running.delivered(fixture.log.position()).await;
    let mut events = Vec::new();
    while let Ok((head, body)) = received.try_recv() {
        assert!(head.starts_with("post /hook?a=b http/1.1"), "{head}");
        for line in ["content-type: application/json", "x-key: k1"] {
            assert!(head.lines().any(|found| found == line), "{head}");
        }
        events.extend(body.as_array().unwrap().clone());
    }
    assert_eq!(numbers(&events), (first..first + 500).collect::<Vec<_>>());
    assert_eq!(events[7]["context"]["text"], "a \"line\"\nand more");
    assert_eq!(running.state.n_dropped.load(Ordering::Relaxed), 0);
    assert!(!running.state.is_failing.load(Ordering::Relaxed));

    // The next run continues where this one stopped, and gets the records in between.
    running.stop().await;
    let last = fixture.log.position();
    fixture.record(3, Kind::ToolInvocationEnd).await;
    let running = fixture.start(webhook(&url), handler_options());
    running.delivered(last + 3).await;
    assert_eq!(numbers(received.recv().await.unwrap().1.as_array().unwrap()), [last + 1, last + 2, last + 3]);
    running.stop().await;
}

/// Refuses everything until it is switched on.
#[derive(Default)]
struct Stubborn {
    is_open: AtomicBool,
    n_tries: AtomicU64,
    received: Mutex<Vec<Delivery>>,
}

impl AuditHandler for Stubborn {
    fn handle<'a>(&'a self, events: &'a [Delivery]) -> Handling<'a> {
        Box::pin(async move {
            self.n_tries.fetch_add(1, Ordering::Relaxed);
            if !self.is_open.load(Ordering::Relaxed) {
                return Err(HandlerError::Other("not now".to_owned()));
            }
            self.received.lock().extend_from_slice(events);
            Ok(())
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_handler_is_notified_of_lost_records() {
    let fixture = Fixture::new();
    let handler = Arc::new(Stubborn::default());
    let limits = HandlerOptions { max_lag: 100, ..handler_options() };
    let running = fixture.start(Arc::clone(&handler) as Arc<dyn AuditHandler>, limits).ready(&fixture).await;
    let first = fixture.log.position() + 1;
    fixture.record(1_000, Kind::ToolInvocationEnd).await;
    let last = fixture.log.position();
    while running.state.n_dropped.load(Ordering::Relaxed) < 900 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handler.is_open.store(true, Ordering::Relaxed);
    running.delivered(last).await;
    running.stop().await;
    let received = handler.received.lock();
    let Delivery::Dropped { first: from, last: until, .. } = &received[0] else {
        panic!("{:?}", received[0])
    };
    assert_eq!((*from, *until), (first, last - 100));
    let got: Vec<u64> = received
        .iter()
        .filter_map(|event| match event {
            Delivery::Record(record) => Some(record.seq),
            Delivery::Dropped { .. } | Delivery::Checkpoint { .. } => None,
        })
        .collect();
    assert_eq!(got, (last - 99..=last).collect::<Vec<_>>());
    let event: Value = serde_json::from_str(&received[0].to_json()).unwrap();
    assert_eq!((&event["kind"], &event["context"]["records"]), (&json!("audit_dropped"), &json!(900)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_was_away_is_notified_of_purged_records() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 4_096,
        checkpoint_records: 1_000_000,
        ..Options::new(octroi_upstream::system_clock())
    };
    let log = AuditLog::open(&directory.path().join("audit"), &options).unwrap().log;
    let fixture = Fixture { directory, log };
    let handler = Arc::new(Stubborn::default());
    handler.is_open.store(true, Ordering::Relaxed);
    let own = || Arc::clone(&handler) as Arc<dyn AuditHandler>;
    let running = fixture.start(own(), handler_options()).ready(&fixture).await;
    fixture.record(5, Kind::ToolInvocationEnd).await;
    running.delivered(fixture.log.position()).await;
    running.stop().await;
    let known = fixture.log.position();
    handler.received.lock().clear();
    fixture.record(100, Kind::ToolInvocationEnd).await;
    assert!(fixture.log.purge(EVERYTHING, Actor::SYSTEM).await.unwrap().n_segments > 1);
    let running = fixture.start(own(), handler_options());
    running.delivered(fixture.log.position()).await;
    running.stop().await;
    let received = handler.received.lock();
    let Delivery::Dropped { first, last, .. } = &received[0] else { panic!("{:?}", received[0]) };
    let Delivery::Record(next) = &received[1] else { panic!("{:?}", received[1]) };
    assert_eq!((*first, *last), (known + 1, next.seq - 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_never_answers_does_not_hold_up_the_end() {
    let fixture = Fixture::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let limits = HandlerOptions { timeout: Duration::from_mins(10), ..handler_options() };
    let running = fixture.start(webhook(&url), limits).ready(&fixture).await;
    fixture.record(3, Kind::AuthFailed).await;
    let _silent = listener.accept().await.unwrap();
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_selected_kinds_are_sent_and_checkpoints_too() {
    let fixture = Fixture::new();
    let handler = Arc::new(Stubborn::default());
    handler.is_open.store(true, Ordering::Relaxed);
    let events = ["policy_*", "audit_checkpoint"].map(Glob::new).to_vec();
    let running = fixture
        .start(Arc::clone(&handler) as Arc<dyn AuditHandler>, HandlerOptions { events, ..handler_options() });
    let running = running.ready(&fixture).await;
    fixture.record(5, Kind::ToolInvocationEnd).await;
    fixture.record(2, Kind::PolicyViolation).await;
    running.delivered(fixture.log.position()).await;
    let kinds = |received: &[Delivery]| received.iter().map(Delivery::kind).collect::<Vec<_>>();
    assert_eq!(kinds(&handler.received.lock()), ["policy_violation", "policy_violation"]);
    running.stop().await;

    // A log that signs often delivers its checkpoints.
    let directory = tempfile::tempdir().unwrap();
    let options = Options { checkpoint_records: 1, ..Options::new(octroi_upstream::system_clock()) };
    let log = AuditLog::open(&directory.path().join("audit"), &options).unwrap().log;
    let fixture = Fixture { directory, log };
    let handler = Arc::new(Stubborn::default());
    handler.is_open.store(true, Ordering::Relaxed);
    let running = fixture.start(Arc::clone(&handler) as Arc<dyn AuditHandler>, handler_options());
    let running = running.ready(&fixture).await;
    fixture.record(1, Kind::ConfigReloaded).await;
    let key = fixture.log.public_key();
    let waiting = async {
        loop {
            let covers = handler.received.lock().iter().any(|event| match event {
                Delivery::Checkpoint { note, .. } => octroi_core::audit::Checkpoint::open(note, &key)
                    .is_ok_and(|checkpoint| checkpoint.size == fixture.log.position()),
                Delivery::Record(_) | Delivery::Dropped { .. } => false,
            });
            if covers {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    running.stop().await;
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_moved_away_is_begun_anew() {
    let fixture = Fixture::new();
    let path = fixture.directory.path().join("out/audit.jsonl");
    let moved = fixture.directory.path().join("out/audit.jsonl.1");
    let tasks = octroi_upstream::BackgroundTasks::new(tokio::runtime::Handle::current());
    let handler = Arc::new(jsonl::Jsonl::new(&path, &tasks));
    let running = fixture.start(handler, handler_options()).ready(&fixture).await;
    let first = fixture.log.position() + 1;
    fixture.record(3, Kind::ToolInvocationEnd).await;
    running.delivered(first + 2).await;
    std::fs::rename(&path, &moved).unwrap();
    fixture.record(2, Kind::ToolInvocationEnd).await;
    running.delivered(first + 4).await;
    assert_eq!(numbers(&lines(&moved)), [first, first + 1, first + 2]);
    assert_eq!(numbers(&lines(&path)), [first + 3, first + 4]);
    running.stop().await;
}

/// Priority, version, time, host, program, process, kind, no structured data, and the record.
fn check_message(message: &str, seq: u64) {
    let (head, text) = message.split_once(" - {").unwrap();
    let words: Vec<&str> = head.split(' ').collect();
    assert_eq!((words[0], words[2], words[3]), ("<86>1", "-", "octroi"), "{head}");
    assert_eq!(words[1].get(..14), Some("2023-11-14T22:"), "{head}");
    assert_eq!(words[5], "tool_invocation_end", "{head}");
    let record: Value = serde_json::from_str(&format!("{{{text}")).unwrap();
    assert_eq!(record["seq"], seq);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn syslog_works_over_datagrams_and_streams() {
    let mut bytes = vec![0; 65_536];
    // UDP.
    let fixture = Fixture::new();
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = SyslogAddress::Udp(socket.local_addr().unwrap().to_string());
    let running =
        fixture.start(Arc::new(syslog::Syslog::new(&address)), handler_options()).ready(&fixture).await;
    let first = fixture.log.position() + 1;
    fixture.record(2, Kind::ToolInvocationEnd).await;
    for seq in [first, first + 1] {
        let n_bytes = socket.recv(&mut bytes).await.unwrap();
        check_message(str::from_utf8(&bytes[..n_bytes]).unwrap(), seq);
    }
    running.stop().await;

    // A local socket that is created later.
    let fixture = Fixture::new();
    let path = fixture.directory.path().join("log");
    let address = SyslogAddress::Unix(path.clone());
    let running =
        fixture.start(Arc::new(syslog::Syslog::new(&address)), handler_options()).ready(&fixture).await;
    let first = fixture.log.position() + 1;
    fixture.record(1, Kind::ToolInvocationEnd).await;
    while !running.state.is_failing.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let socket = UnixDatagram::bind(&path).unwrap();
    let n_bytes = socket.recv(&mut bytes).await.unwrap();
    check_message(str::from_utf8(&bytes[..n_bytes]).unwrap(), first);
    running.stop().await;

    // TCP, whose peer hangs up once.
    let fixture = Fixture::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = SyslogAddress::Tcp(listener.local_addr().unwrap().to_string());
    let running =
        fixture.start(Arc::new(syslog::Syslog::new(&address)), handler_options()).ready(&fixture).await;
    for _ in 0..2 {
        let first = fixture.log.position() + 1;
        fixture.record(1, Kind::ToolInvocationEnd).await;
        let (mut stream, _) = listener.accept().await.unwrap();
        running.delivered(first).await;
        let n_bytes = stream.read(&mut bytes).await.unwrap();
        let (length, message) = str::from_utf8(&bytes[..n_bytes]).unwrap().split_once(' ').unwrap();
        assert_eq!(length.parse::<usize>().unwrap(), message.len());
        check_message(message, first);
        drop(stream);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_gets_logs_in_its_own_form() {
    let fixture = Fixture::new();
    let (url, mut received) = receiver(Vec::new()).await;
    let otlp =
        otlp::Otlp::new(&HttpClient::new(octroi_upstream::system_clock()).unwrap(), &remote(&url)).unwrap();
    let running = fixture.start(Arc::new(otlp), handler_options()).ready(&fixture).await;
    let first = fixture.log.position() + 1;
    fixture.record(1, Kind::ToolInvocationEnd).await;
    let (head, body) = received.recv().await.unwrap();
    assert!(head.starts_with("post /v1/logs http/1.1"), "{head}");
    let logs = &body["resourceLogs"][0];
    let name = json!({"key": "service.name", "value": {"stringValue": "octroi"}});
    assert_eq!(logs["resource"]["attributes"][0], name);
    let record = &logs["scopeLogs"][0]["logRecords"][0];
    assert_eq!(record["timeUnixNano"], "1700000000000000000");
    assert_eq!((&record["severityNumber"], &record["severityText"]), (&json!(9), &json!("INFO")));
    let own: Value = serde_json::from_str(record["body"]["stringValue"].as_str().unwrap()).unwrap();
    assert_eq!(own["seq"], first);
    let attributes = record["attributes"].as_array().unwrap();
    for (key, value) in [
        ("event.name", json!({"stringValue": "tool_invocation_end"})),
        ("audit.seq", json!({"intValue": first.to_string()})),
        ("tool.id", json!({"stringValue": "mcp:files:read"})),
        ("agent.id", json!({"stringValue": "coder"})),
    ] {
        assert!(attributes.contains(&json!({"key": key, "value": value})), "{key}: {attributes:?}");
    }
    running.stop().await;
}

#[test]
fn a_message_that_is_too_large_loses_its_context_and_stays_json() {
    let body = Event {
        context: &json!({"text": "ä".repeat(100_000)}).to_string(),
        ..Event::new(0, Kind::PolicyDecision, Actor::SYSTEM)
    }
    .body();
    let record = super::super::reader::Record { seq: 1, chain: octroi_core::audit::Hash([0; 32]), body };
    let syslog = syslog::Syslog::new(&SyslogAddress::Udp("127.0.0.1:1".to_owned()));
    let message = syslog.message(&Delivery::Record(record), 60_000);
    assert!(message.len() < 1_000, "{}", message.len());
    let (_, text) = message.split_once(" - {").unwrap();
    let value: Value = serde_json::from_str(&format!("{{{text}")).unwrap();
    assert_eq!((&value["seq"], &value["context"]["left_out"]), (&json!(1), &json!("too large")));
}
