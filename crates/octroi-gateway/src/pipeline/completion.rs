//! What a completion request says to its server.

use std::borrow::Cow;

use octroi_mcp::RpcError;
use octroi_mcp::json::{self, Span};
use octroi_mcp::params::Params;
use octroi_mcp::translate::Subject;

/// The text that a user typed, and what else the server may see of the form, may each have this many bytes.
const PART_BYTES_MAX: usize = 1024;
/// All members that a completion has for its server may have this many bytes.
const ALL_BYTES_MAX: usize = 4 * PART_BYTES_MAX;

/// A completion request, as far as it is recorded.
pub(crate) struct Completion<'a> {
    /// `name` of a prompt or `uri` of a template, and its value at the server.
    pub(crate) subject: (&'static str, String),
    /// The argument that is completed.
    pub(crate) argument: String,
    /// Everything that the server gets.
    pub(crate) sent: &'a [u8],
}

impl<'a> Completion<'a> {
    /// Reads the parameters. Completions come with every character that is typed, so they are small; what is larger
    /// would be a way to the server of its own, and is refused.
    pub(super) fn read(params: &'a Params, subject: &Subject) -> Result<Self, RpcError> {
        let whole = Span { start: 0, end: params.json().len() };
        let json = params.json();
        let argument = json::member(json, whole, "argument");
        let part = |name| argument.and_then(|argument| json::member(json, argument, name));
        let others =
            [params.others("ref"), params.other_meta()].map(|part| part.map_or(0, |part| part.len()));
        for (what, n_bytes, limit) in [
            ("argument.value", part("value").map_or(0, |span| span.of(json).len()), PART_BYTES_MAX),
            ("argument.name", part("name").map_or(0, |span| span.of(json).len()), PART_BYTES_MAX),
            (
                "context",
                json::member(json, whole, "context").map_or(0, |span| span.of(json).len()),
                PART_BYTES_MAX,
            ),
            ("params", others[0], ALL_BYTES_MAX),
            ("_meta", others[1], PART_BYTES_MAX),
        ] {
            if n_bytes > limit {
                let message = format!("`{what}` of a completion has {n_bytes} bytes, the limit is {limit}");
                return Err(RpcError::invalid_params(message));
            }
        }
        let reference = subject.reference.clone().or_else(|| params.reference()).unwrap_or_default();
        let member = |name| {
            let span = json::member(&reference, Span { start: 0, end: reference.len() }, name)?;
            json::text(span.of(&reference)).map(Cow::into_owned)
        };
        let subject = match (member("name"), member("uri")) {
            (Some(name), _) => ("name", name),
            (None, uri) => ("uri", uri.unwrap_or_default()),
        };
        let argument = part("name").and_then(|span| json::text(span.of(json))).unwrap_or_default();
        Ok(Self { subject, argument: argument.into_owned(), sent: json })
    }
}
