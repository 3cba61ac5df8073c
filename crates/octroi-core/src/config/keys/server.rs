//! The keys of `[server]`: how clients reach Octroi, and how much of it they may use.

use super::{Key, Kind, key};

/// `[server]`.
pub const SERVER: &[Key] = &[
    key(
        "listen",
        Kind::Text,
        "127.0.0.1:7878",
        "Address and port. Anything but a loopback address needs at least one token in the file.",
    ),
    key(
        "allowed_hosts",
        Kind::Texts,
        "none",
        "Host names besides localhost under which clients reach Octroi.",
    ),
    key(
        "tls_cert",
        Kind::Text,
        "",
        "The file with the certificate and its chain, as PEM. With it and `tls_key` Octroi speaks HTTPS only.",
    ),
    key(
        "tls_key",
        Kind::Text,
        "",
        "The file with the certificate's private key, as PEM; readable for Octroi and its group only.",
    ),
    key(
        "trusted_proxies",
        Kind::Texts,
        "none",
        "Addresses and networks of proxies whose `Forwarded` and `X-Forwarded-*` headers are believed.",
    ),
    key("allowed_origins", Kind::Texts, "none", "Origins of web pages that may call Octroi from a browser."),
    key("max_body_bytes", Kind::Count(1), "4194304", "The largest request, in bytes."),
    key("session_idle", Kind::Duration, "30m", "A session ends after this time without a request."),
    key(
        "session_restore",
        Kind::DurationOrOff,
        "7d",
        "A session that began at most this long ago survives a restart of Octroi; `false` ends all.",
    ),
    key(
        "admin_token",
        Kind::Text,
        "",
        "The token for calls that agents must not make alone; not one of `[[tokens]]`.",
    ),
    key(
        "admin_token_sha256",
        Kind::Text,
        "",
        "The SHA-256 of the admin token, instead of it: 64 hexadecimal digits.",
    ),
    key(
        "token_file",
        Kind::Text,
        "",
        "A JSON file with more tokens, for development: `{\"TOKEN\": {\"role\": \"agent\", \"agent_id\": \"NAME\"}}`.",
    ),
    key(
        "max_connections",
        Kind::Count(8),
        "1024",
        "Connections of clients at the same time; at most what the operating system's limit of open files allows.",
    ),
    key(
        "reserved_connections",
        Kind::Count(1),
        "32",
        "Of these, the connections on which only people are answered.",
    ),
    key("max_connections_per_token", Kind::Count(1), "256", "Connections of clients with the same token."),
    key(
        "max_connections_per_address",
        Kind::Count(1),
        "256",
        "Connections from one address; local clients, which share theirs, are not counted.",
    ),
    key(
        "max_new_connections",
        Kind::Count(1),
        "128",
        "Connections without a valid token yet; beyond, the oldest of them is closed.",
    ),
    key(
        "max_wrong_tokens_per_address",
        Kind::Count(1),
        "20",
        "Wrong tokens from one address in `wrong_token_window`; then its requests are refused until the window ends.",
    ),
    key(
        "max_wrong_tokens_per_token",
        Kind::Count(1),
        "20",
        "Wrong secrets for the id of one token, from all addresses together; then addresses that sent one are refused.",
    ),
    key("wrong_token_window", Kind::Duration, "1m", "How long wrong tokens count."),
    key(
        "header_timeout",
        Kind::Duration,
        "10s",
        "For the TLS handshake, and for the headers of a request, from their first byte.",
    ),
    key("body_timeout", Kind::Duration, "30s", "For the body of a request."),
    key(
        "write_timeout",
        Kind::Duration,
        "30s",
        "A client that reads nothing of its answer or stream for this time is disconnected.",
    ),
    key("connection_idle", Kind::Duration, "5m", "A connection is closed after this time without a request."),
    key(
        "max_sessions",
        Kind::Count(1),
        "256",
        "Sessions with the same token; beyond, the one that is unused for longest ends.",
    ),
    key(
        "max_held_bytes",
        Kind::Count(1024),
        "8388608",
        "What is held in memory for the clients of one token, in bytes: large requests in progress, and what \
        sessions keep for clients that come back.",
    ),
    key(
        "max_client_info_bytes",
        Kind::Count(1024),
        "65536",
        "What a client declares about itself in `initialize`, in bytes.",
    ),
    key(
        "max_subscriptions",
        Kind::Count(1),
        "1000",
        "Open streams and watched resources of one agent or person.",
    ),
    key(
        "max_subscriptions_per_minute",
        Kind::Count(1),
        "300",
        "Changes of subscriptions of one agent or person in a minute.",
    ),
];
