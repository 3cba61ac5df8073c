use std::sync::atomic::Ordering;
use std::time::Instant;

use octroi_core::Clock;
use octroi_core::clock::TimeSource;
use parking_lot::Mutex;
use tokio::io::AsyncReadExt as _;

use super::*;

#[derive(Clone)]
struct Movable(Arc<Mutex<Instant>>);

impl TimeSource for Movable {
    fn wall_ms(&self) -> i64 {
        0
    }

    fn monotonic(&self) -> Instant {
        *self.0.lock()
    }
}

struct Case {
    time: Movable,
    clock: Arc<CoarseClock>,
    connection: Connection,
}

impl Case {
    fn new() -> Self {
        #[expect(clippy::disallowed_methods, reason = "only its differences matter")]
        let time = Movable(Arc::new(Mutex::new(Instant::now())));
        let clock = CoarseClock::new(Clock::new(time.clone()));
        let connection = Connection::new(1, IpAddr::from([127, 0, 0, 1]), false, &clock);
        Self { time, clock, connection }
    }

    fn pass(&self, seconds: u64) -> Option<Ending> {
        *self.time.0.lock() += Duration::from_secs(seconds);
        self.clock.update();
        self.connection.check(&ClientLimits::default());
        self.connection.ending()
    }
}

#[test]
fn each_phase_has_its_time() {
    for (phase, seconds, ending) in [
        (Phase::Head, 10, Ending::SlowRequest),
        (Phase::Body, 30, Ending::SlowRequest),
        (Phase::Idle, 300, Ending::Idle),
    ] {
        let case = Case::new();
        case.connection.enter(phase);
        assert_eq!(case.pass(seconds), None, "{phase:?}");
        assert_eq!(case.pass(1), Some(ending), "{phase:?}");
        assert!(!case.connection.is_killed());
        case.pass(3);
        assert!(case.connection.is_killed(), "one that does not end is closed");
    }
}

#[test]
fn a_request_in_progress_has_no_time_limit_here() {
    let case = Case::new();
    case.connection.enter(Phase::Busy);
    assert_eq!(case.pass(100_000), None);
}

#[test]
fn a_slow_sender_gains_nothing_by_sending_a_byte_now_and_then() {
    let case = Case::new();
    for _ in 0..5 {
        case.connection.has_read();
        assert_eq!(case.pass(2), None);
    }
    case.connection.has_read();
    assert_eq!(case.pass(1), Some(Ending::SlowRequest));
}

#[test]
fn a_stream_that_is_read_never_ends_and_one_that_is_not_does() {
    let case = Case::new();
    case.connection.enter(Phase::Idle);
    for _ in 0..100 {
        case.connection.has_written();
        assert_eq!(case.pass(15), None);
    }
    case.connection.is_blocked();
    assert_eq!(case.pass(30), None);
    case.connection.is_blocked();
    assert_eq!(case.pass(1), Some(Ending::Unread), "more that cannot be written does not reset the time");
    assert_eq!(case.connection.ending.load(Ordering::Relaxed), Ending::Unread as u8);
}

#[tokio::test]
async fn a_connection_that_ends_before_it_is_served_gets_its_last_response() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut client = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (accepted, _) = listener.accept().await.unwrap();
    let case = Case::new();
    case.connection.end(Ending::Crowded);
    // As a worker registers it: its runtime does not know yet whether it is writable.
    let accepted = tokio::net::TcpStream::from_std(accepted.into_std().unwrap()).unwrap();
    let mut served = WatchedStream::new(accepted, Arc::new(case.connection));
    assert_eq!(served.read(&mut [0; 1]).await.unwrap(), 0);
    drop(served);
    let mut last = String::new();
    client.read_to_string(&mut last).await.unwrap();
    assert!(last.starts_with("HTTP/1.1 503"), "{last:?}");
}
