//! JSON-RPC messages that keep their payload as the received bytes.

use std::fmt;

use bytes::Bytes;
use serde_json::value::RawValue;

use crate::code::{self, RpcError};
use crate::json::{self, Edit, Span};
use crate::method::Method;

mod frame;

use frame::Frame;

/// The nesting limit of messages from clients. Parsers of servers may follow nesting with their stack.
pub const DEPTH_MAX: usize = 64;
/// The same for responses, which servers send.
pub const RESPONSE_DEPTH_MAX: usize = 128;

/// The limit of values in a message from a client. Arrays and objects count twice.
pub const VALUES_MAX: usize = 200_000;

const TOO_MANY_VALUES: &str = "the message has more than 200000 values";
const TOO_DEEP: &str = "the message is nested deeper than 64 levels";

/// A request id as its sender wrote it: any JSON value, compared and returned byte for byte.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(Bytes);

impl Id {
    /// An id made by Octroi.
    pub fn number(number: u64) -> Self {
        Self(Bytes::from(number.to_string()))
    }

    /// An id from JSON text that is known to be valid.
    pub fn from_json(json: Bytes) -> Self {
        Self(json)
    }

    /// The number, if the id is one that [`Id::number`] makes.
    pub fn as_number(&self) -> Option<u64> {
        std::str::from_utf8(&self.0).ok()?.parse().ok()
    }

    /// The id as JSON text.
    pub fn as_json(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A request, which expects a response.
    Request,
    /// A notification, which expects none.
    Notification,
    /// A response: a result or an error.
    Response,
}

/// One message. Clones share the bytes.
#[derive(Clone)]
pub struct Envelope {
    json: Bytes,
    kind: Kind,
    id: Option<Span>,
    method: Method,
    params: Option<Span>,
    result: Option<Span>,
    error: Option<Span>,
    /// Whether it has members that JSON-RPC does not define.
    has_others: bool,
}

/// The content of one body or line: a message, or a batch of them (2025-03-26).
#[derive(Clone, Debug)]
pub enum Incoming {
    /// A single message.
    One(Envelope),
    /// An array of messages, in order; an invalid element is kept as its error.
    Batch(Vec<Result<Envelope, Malformed>>),
}

/// Why something is not a message, and the id to respond to, if it could be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Malformed {
    /// Whether it is valid JSON.
    pub is_json: bool,
    /// The error message.
    pub reason: &'static str,
    /// The id, if found.
    pub id: Option<Id>,
}

impl Malformed {
    /// The error object to respond with.
    pub fn to_error(&self) -> RpcError {
        let code = if self.is_json { code::INVALID_REQUEST } else { code::PARSE_ERROR };
        RpcError::new(code, self.reason)
    }

    /// The complaint about a message of a client that is nested too deep.
    fn too_deep(id: Option<Id>) -> Self {
        Self { is_json: true, reason: TOO_DEEP, id }
    }

    fn not_an_object() -> Self {
        Self { is_json: true, reason: "a message must be a JSON object", id: None }
    }

    fn not_json() -> Self {
        Self { is_json: false, reason: "the message is not valid JSON", id: None }
    }
}

impl Incoming {
    /// Parses a body or a line.
    pub fn parse(json: Bytes) -> Result<Self, Malformed> {
        if json::is_object(&json) {
            return Envelope::read(json).map(Self::One);
        }
        let raw: &RawValue = serde_json::from_slice(&json).map_err(|_| Malformed::not_json())?;
        if !raw.get().starts_with('[') {
            return Err(Malformed::not_an_object());
        }
        let elements: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(|_| Malformed::not_json())?;
        if elements.is_empty() {
            return Err(Malformed {
                is_json: true,
                reason: "a batch must contain at least one message",
                id: None,
            });
        }
        let batch = elements
            .into_iter()
            .map(|element| Envelope::read(json.slice_ref(element.get().as_bytes())))
            .collect();
        Ok(Self::Batch(batch))
    }
}

impl Incoming {
    /// Parses what a client sends: its answers are nested no deeper than its requests, and members that JSON-RPC
    /// does not define are dropped.
    pub fn parse_of_client(json: Bytes) -> Result<Self, Malformed> {
        // Parsed, each value takes many times the memory of its text.
        if json::has_more_values_than(&json, VALUES_MAX) {
            return Err(Malformed { is_json: true, reason: TOO_MANY_VALUES, id: None });
        }
        match Self::parse(json)? {
            Self::One(envelope) => envelope.checked_for_client().map(Self::One),
            Self::Batch(elements) => {
                let checked =
                    elements.into_iter().map(|element| element.and_then(Envelope::checked_for_client));
                Ok(Self::Batch(checked.collect()))
            }
        }
    }
}

impl Envelope {
    /// Parses exactly one message.
    pub fn parse(json: Bytes) -> Result<Self, Malformed> {
        match Incoming::parse(json)? {
            Incoming::One(envelope) => Ok(envelope),
            Incoming::Batch(_) => {
                Err(Malformed { is_json: true, reason: "a batch is not accepted here", id: None })
            }
        }
    }

    fn read(json: Bytes) -> Result<Self, Malformed> {
        if !json::is_object(&json) {
            return Err(Malformed::not_an_object());
        }
        let frame = Frame::read(&json).map_err(|_| Malformed::not_json())?;
        let Frame { version, id, method, params, result, error, is_doubled, is_ambiguous, has_others } =
            frame;
        let complain = |reason| {
            let id = id.map(|span: Span| Id(json.slice(span.range())));
            Err(Malformed { is_json: true, reason, id })
        };
        if is_doubled {
            return complain("a member of the message is given twice");
        }
        if version.map(|span| span.of(&json)) != Some(b"\"2.0\"") {
            return complain("`jsonrpc` must be \"2.0\"");
        }
        if params.is_some_and(|span| !matches!(span.of(&json).first(), Some(b'{' | b'['))) {
            return complain("`params` must be an object");
        }
        let (kind, method) = match (method, id) {
            (Some(_), _) if result.is_some() || error.is_some() => {
                return complain("a message cannot be both a request and a response");
            }
            (Some(span), id) => {
                let Some(text) = json::text(span.of(&json)) else {
                    return complain("`method` must be a string");
                };
                let kind = if id.is_some() { Kind::Request } else { Kind::Notification };
                (kind, Method::parse(&text))
            }
            (None, _) if result.is_some() == error.is_some() => {
                return complain("a message needs a `method`, a `result` or an `error`");
            }
            (None, None) if error.is_none() => return complain("a response needs an `id`"),
            (None, _) => (Kind::Response, Method::Other("".into())),
        };
        if is_ambiguous && kind != Kind::Response {
            return complain("a member of the message can be taken for another");
        }
        let (depth_max, reason) = match kind {
            Kind::Request | Kind::Notification => (DEPTH_MAX, TOO_DEEP),
            Kind::Response => (RESPONSE_DEPTH_MAX, "the message is nested deeper than 128 levels"),
        };
        if json::is_deeper_than(&json, depth_max) {
            return complain(reason);
        }
        Ok(Self { json, kind, id, method, params, result, error, has_others })
    }

    /// The same for a client's message: its answers to questions of servers go to servers, too. Nobody decides on
    /// members that JSON-RPC does not define, nor records them, so no server gets them.
    fn checked_for_client(self) -> Result<Self, Malformed> {
        if self.kind == Kind::Response && json::is_deeper_than(&self.json, DEPTH_MAX) {
            return Err(Malformed::too_deep(self.id()));
        }
        if self.has_others {
            return Self::read(self.without_others());
        }
        Ok(self)
    }

    /// The message with the members that JSON-RPC defines.
    fn without_others(&self) -> Bytes {
        let method = json::quote(self.method.as_str());
        let method = (self.kind != Kind::Response).then_some(method.as_bytes());
        let of = |span: Option<Span>| span.map(|span| span.of(&self.json));
        let members: [(&[u8], Option<&[u8]>); 5] = [
            (b"id", of(self.id)),
            (b"method", method),
            (b"params", of(self.params)),
            (b"result", of(self.result)),
            (b"error", of(self.error)),
        ];
        let present: Vec<(&[u8], &[u8])> =
            members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        frame(None, &present)
    }

    /// The kind of message.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The message as received.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The id of a request or response.
    pub fn id(&self) -> Option<Id> {
        self.id.map(|span| Id(self.json.slice(span.range())))
    }

    /// The method of a request or notification; empty for a response.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The parameters as JSON text, sharing the message's bytes; an empty object if there are none.
    pub fn params(&self) -> Bytes {
        self.params.map_or(Bytes::from_static(b"{}"), |span| self.json.slice(span.range()))
    }

    /// The result of a response, as JSON text.
    pub fn result(&self) -> Option<Bytes> {
        self.result.map(|span| self.json.slice(span.range()))
    }

    /// The error of a response, as JSON text.
    pub fn error_json(&self) -> Option<Bytes> {
        self.error.map(|span| self.json.slice(span.range()))
    }

    /// The parsed error of a response. A malformed error object becomes an internal error: the peer reported
    /// a failure, and at least that is passed on.
    pub fn error(&self) -> Option<RpcError> {
        let json = self.error_json()?;
        let read = serde_json::from_slice(&json).unwrap_or_else(|_| {
            RpcError::new(code::INTERNAL_ERROR, "the server answered with an error that cannot be read")
        });
        Some(read)
    }

    /// The message with another id and with spans of its parameters replaced, which is cheap. The spans are
    /// relative to the parameters and must not overlap.
    pub(crate) fn spliced(&self, id: &Id, replacements: &[(Span, &[u8])]) -> Option<Bytes> {
        let mut all: Vec<(Span, &[u8])> = Vec::with_capacity(replacements.len() + 1);
        all.push((self.id?, id.as_json()));
        let start = self.params?.start;
        all.extend(
            replacements
                .iter()
                .map(|(span, text)| (Span { start: start + span.start, end: start + span.end }, *text)),
        );
        Some(Bytes::from(json::splice(&self.json, &mut all)))
    }

    /// The message with another id and with edited parameters, everything else unchanged.
    pub fn with(&self, id: Option<&Id>, params: &[Edit<'_>]) -> Bytes {
        let mut edits = Vec::with_capacity(2);
        if let Some(id) = id {
            edits.push(Edit::Set("id", id.as_json()));
        }
        if !params.is_empty() {
            edits.push(Edit::Within("params", params));
        }
        Bytes::from(json::rewrite(&self.json, &edits))
    }
}

impl fmt::Debug for Envelope {
    // Arguments and results may contain secrets, so `Debug` shows only the frame.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Envelope")
            .field("kind", &self.kind)
            .field("id", &self.id())
            .field("method", &self.method.as_str())
            .field("bytes", &self.json.len())
            .finish_non_exhaustive()
    }
}

/// A request made by Octroi.
pub fn request(id: &Id, method: &Method, params: &[u8]) -> Bytes {
    frame(Some(id), &[(b"method", json::quote(method.as_str()).as_bytes()), (b"params", params)])
}

/// A notification made by Octroi.
pub fn notification(method: &Method, params: &[u8]) -> Bytes {
    frame(None, &[(b"method", json::quote(method.as_str()).as_bytes()), (b"params", params)])
}

/// A successful response.
pub fn result(id: &Id, result: &[u8]) -> Bytes {
    frame(Some(id), &[(b"result", result)])
}

/// An error response; without an id if the request's could not be read.
pub fn error(id: Option<&Id>, error: &RpcError) -> Bytes {
    error_json(id, &error.to_json())
}

/// An error response with an encoded error object.
pub fn error_json(id: Option<&Id>, error: &[u8]) -> Bytes {
    match id {
        Some(id) => frame(Some(id), &[(b"error", error)]),
        None => frame(None, &[(b"id", b"null"), (b"error", error)]),
    }
}

fn frame(id: Option<&Id>, members: &[(&[u8], &[u8])]) -> Bytes {
    let size: usize = members.iter().map(|(key, value)| key.len() + value.len() + 4).sum();
    let mut out = Vec::with_capacity(size + 32 + id.map_or(0, |id| id.as_json().len()));
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        out.extend_from_slice(br#","id":"#);
        out.extend_from_slice(id.as_json());
    }
    for (key, value) in members {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value);
    }
    out.push(b'}');
    Bytes::from(out)
}

#[cfg(test)]
mod tests;
