use octroi_core::UserRole;
use octroi_core::clock::TimeSource;
use octroi_core::principal::TokenName;

use super::*;

struct Still(std::time::Instant);

impl TimeSource for Still {
    fn wall_ms(&self) -> i64 {
        0
    }

    fn monotonic(&self) -> std::time::Instant {
        self.0
    }
}

fn connections(limits: ClientLimits) -> Arc<Connections> {
    #[expect(clippy::disallowed_methods, reason = "only its differences matter")]
    let now = std::time::Instant::now();
    Connections::new(limits, Clock::new(Still(now)))
}

fn limits() -> ClientLimits {
    ClientLimits {
        connections: 10,
        reserved: 2,
        per_token: 4,
        per_address: 3,
        unauthenticated: 5,
        ..ClientLimits::default()
    }
}

fn open(connections: &Arc<Connections>, address: &str) -> OpenConnection {
    let address: IpAddr = address.parse().unwrap();
    connections.open(Peer { address, is_shared: address.is_loopback() }).0
}

fn agent(name: &str) -> Principal {
    Principal::agent(name, "ann", TokenName::labelled(name))
}

fn person() -> Principal {
    Principal::person("ann", UserRole::Member, TokenName::labelled("ann"))
}

#[test]
fn the_oldest_without_a_token_makes_room() {
    let connections = connections(limits());
    let all: Vec<_> = (0..7).map(|_| open(&connections, "127.0.0.1")).collect();
    let ended: Vec<bool> = all.iter().map(|open| open.connection.ending().is_some()).collect();
    assert_eq!(ended, [true, true, false, false, false, false, false]);
}

#[test]
fn connections_with_a_token_are_never_closed_for_others() {
    let connections = connections(limits());
    let proven: Vec<_> = (0..4).map(|_| open(&connections, "127.0.0.1")).collect();
    for open in &proven {
        connections.authenticate(&open.connection, &agent("a")).unwrap();
    }
    let _flood: Vec<_> = (0..100).map(|_| open(&connections, "127.0.0.1")).collect();
    assert!(proven.iter().all(|open| open.connection.ending().is_none()));
}

#[test]
fn one_token_has_its_share_and_no_more() {
    let connections = connections(limits());
    let own: Vec<_> = (0..5).map(|_| open(&connections, "127.0.0.1")).collect();
    let answers: Vec<_> =
        own.iter().map(|open| connections.authenticate(&open.connection, &agent("a"))).collect();
    assert_eq!(answers, [Ok(()), Ok(()), Ok(()), Ok(()), Err(Crowded::Token { limit: 4 })]);
    assert_eq!(connections.authenticate(&own[4].connection, &agent("b")), Ok(()));
    drop(own);
    let again = open(&connections, "127.0.0.1");
    assert_eq!(connections.authenticate(&again.connection, &agent("a")), Ok(()), "what was closed is free");
}

#[test]
fn the_last_connections_are_for_people() {
    let connections = connections(limits());
    let mut all = Vec::new();
    for name in ["a", "b"] {
        for _ in 0..4 {
            let opened = open(&connections, "127.0.0.1");
            connections.authenticate(&opened.connection, &agent(name)).unwrap();
            all.push(opened);
        }
    }
    let last = open(&connections, "127.0.0.1");
    assert_eq!(connections.authenticate(&last.connection, &agent("c")), Err(Crowded::Reserved));
    assert_eq!(connections.authenticate(&last.connection, &person()), Ok(()));
}

#[test]
fn one_address_has_its_share_unless_it_is_this_machine() {
    let connections = connections(limits());
    let far: Vec<_> = (0..4).map(|_| open(&connections, "192.0.2.1")).collect();
    let answers: Vec<_> =
        far.iter().map(|open| connections.authenticate(&open.connection, &agent("a")).is_ok()).collect();
    assert_eq!(answers, [true, true, true, false]);
    let other = open(&connections, "192.0.2.2");
    assert_eq!(connections.authenticate(&other.connection, &agent("b")), Ok(()));
}

#[test]
fn nothing_is_left_of_closed_connections() {
    let connections = connections(limits());
    let all: Vec<_> = (0..20).map(|_| open(&connections, "192.0.2.1")).collect();
    for open in all.iter().take(3) {
        let _ = connections.authenticate(&open.connection, &agent("a"));
    }
    drop(all);
    let state = connections.state.lock();
    assert_eq!((state.open.len(), state.new.len(), state.tokens.len()), (0, 0, 0));
    assert!(state.by_address.is_empty() && state.by_token.is_empty());
}
