//! How much of Octroi clients may use: the limits in `[server]`.

use std::time::Duration;

use super::reader::TableReader;

/// How much of Octroi clients may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Connections at the same time.
    pub connections: usize,
    /// Of these, the connections on which only people are answered.
    pub reserved: usize,
    /// Connections with the same token.
    pub per_token: usize,
    /// Connections from one address that is not a loopback one.
    pub per_address: usize,
    /// Connections without a valid token yet.
    pub unauthenticated: usize,
    /// Wrong tokens.
    pub wrong_tokens: WrongTokenLimits,
    /// The time for the TLS handshake, and for the headers of a request.
    pub header_timeout: Duration,
    /// The time for the body of a request.
    pub body_timeout: Duration,
    /// The time in which a client must read something of what it is sent.
    pub write_timeout: Duration,
    /// The time without a request after which a connection is closed.
    pub idle_timeout: Duration,
    /// Sessions with the same token.
    pub sessions: usize,
    /// What is held in memory for the clients of one token, in bytes.
    pub held_bytes: usize,
    /// What a client declares about itself, in bytes.
    pub client_info_bytes: usize,
    /// Open streams and watched resources of one token.
    pub subscriptions: usize,
    /// New subscriptions of one token in a minute.
    pub subscriptions_per_minute: usize,
}

/// How many wrong tokens are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongTokenLimits {
    /// From one address in a window.
    pub per_address: usize,
    /// With the id of one token in a window, from all addresses together.
    pub per_token: usize,
    /// How long they count.
    pub window: Duration,
}

impl Default for WrongTokenLimits {
    fn default() -> Self {
        Self { per_address: 20, per_token: 20, window: Duration::from_mins(1) }
    }
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            connections: 1024,
            reserved: 32,
            per_token: 256,
            per_address: 256,
            unauthenticated: 128,
            wrong_tokens: WrongTokenLimits::default(),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_mins(5),
            sessions: 256,
            held_bytes: 8 << 20,
            client_info_bytes: 64 << 10,
            subscriptions: 1000,
            subscriptions_per_minute: 300,
        }
    }
}

/// Reads the limits, in the order of the key table.
pub(super) fn read(reader: &mut TableReader<'_>) -> ClientLimits {
    let default = ClientLimits::default();
    let limits = ClientLimits {
        connections: reader.count("max_connections", 8, default.connections),
        reserved: reader.count("reserved_connections", 1, default.reserved),
        per_token: reader.count("max_connections_per_token", 1, default.per_token),
        per_address: reader.count("max_connections_per_address", 1, default.per_address),
        unauthenticated: reader.count("max_new_connections", 1, default.unauthenticated),
        wrong_tokens: wrong_tokens(reader),
        header_timeout: reader.duration("header_timeout", default.header_timeout),
        body_timeout: reader.duration("body_timeout", default.body_timeout),
        write_timeout: reader.duration("write_timeout", default.write_timeout),
        idle_timeout: reader.duration("connection_idle", default.idle_timeout),
        sessions: reader.count("max_sessions", 1, default.sessions),
        held_bytes: reader.count("max_held_bytes", 1024, default.held_bytes),
        client_info_bytes: reader.count("max_client_info_bytes", 1024, default.client_info_bytes),
        subscriptions: reader.count("max_subscriptions", 1, default.subscriptions),
        subscriptions_per_minute: reader.count(
            "max_subscriptions_per_minute",
            1,
            default.subscriptions_per_minute,
        ),
    };
    if limits.reserved >= limits.connections && reader.has("reserved_connections") {
        let origin = reader.origin("reserved_connections");
        reader.log.error(&origin, "`reserved_connections` must be less than `max_connections`");
    }
    // A small `max_connections` alone leaves half of them to agents.
    ClientLimits { reserved: limits.reserved.min(limits.connections / 2), ..limits }
}

fn wrong_tokens(reader: &mut TableReader<'_>) -> WrongTokenLimits {
    let default = WrongTokenLimits::default();
    WrongTokenLimits {
        per_address: reader.count("max_wrong_tokens_per_address", 1, default.per_address),
        per_token: reader.count("max_wrong_tokens_per_token", 1, default.per_token),
        window: reader.duration("wrong_token_window", default.window),
    }
}
