//! The error codes of requests that are refused before anybody reads what they ask for: by the protocol, or by HTTP.

use super::specs::REJECTED;
use super::{ErrorSpec, Fault, Retry};

/// In the order of the enum, after those of the other table.
pub(super) static TABLE: [ErrorSpec; 12] = [
    ErrorSpec {
        word: "parse_error",
        rpc: -32_700,
        http: 400,
        about: "The body is not JSON.",
        hint: "send one JSON-RPC message in UTF-8",
        ..REJECTED
    },
    ErrorSpec {
        word: "invalid_request",
        rpc: -32_600,
        http: 400,
        about: "The request is not one that the protocol allows here.",
        hint: "correct what the message names",
        ..REJECTED
    },
    ErrorSpec {
        word: "method_not_found",
        rpc: -32_601,
        about: "There is no such method, or no server offers it.",
        hint: "use a method that the capabilities in the answer to `initialize` or `server/discover` declare",
        ..REJECTED
    },
    ErrorSpec {
        word: "header_mismatch",
        rpc: -32_020,
        http: 400,
        about: "A header of the request contradicts its body.",
        hint: "send the headers that the protocol derives from the body",
        ..REJECTED
    },
    ErrorSpec {
        word: "missing_capability",
        rpc: -32_021,
        http: 400,
        about: "The request needs a capability that the client has not declared.",
        hint: "declare the capabilities that the error lists, if the client has them",
        ..REJECTED
    },
    ErrorSpec {
        word: "path_not_found",
        rpc: -32_600,
        about: "Nothing is served at this path of the gateway.",
        hint: "the MCP endpoint is /mcp, that of one server /mcp/servers/NAME",
        ..REJECTED
    },
    ErrorSpec {
        word: "session_not_found",
        rpc: -32_600,
        about: "The session is over, or belongs to another token.",
        hint: "begin a new one with `initialize`",
        ..REJECTED
    },
    ErrorSpec {
        word: "unsupported_media_type",
        rpc: -32_600,
        http: 415,
        about: "The body is declared as something other than JSON.",
        hint: "send `Content-Type: application/json`",
        ..REJECTED
    },
    ErrorSpec {
        word: "request_too_large",
        rpc: -32_600,
        http: 413,
        about: "The body of the request is larger than allowed.",
        hint: "send less at once",
        ..REJECTED
    },
    ErrorSpec {
        word: "request_too_slow",
        rpc: -32_600,
        http: 408,
        retry: Retry::Yes,
        about: "The request did not arrive in time.",
        hint: "send the whole request at once",
        ..REJECTED
    },
    ErrorSpec {
        word: "too_many_connections",
        rpc: -32_954,
        http: 503,
        fault: Fault::Gateway,
        retry: Retry::After,
        about: "The gateway has as many connections as it may; the last ones are kept for people.",
        hint: "close some, or raise `max_connections` under [server]",
        agent_hint: Some("try again later, and close connections that are not needed"),
        ..REJECTED
    },
    ErrorSpec {
        word: "method_not_allowed",
        rpc: -32_600,
        http: 405,
        about: "The path has other methods.",
        hint: "use one of the methods in the `Allow` header",
        ..REJECTED
    },
];
