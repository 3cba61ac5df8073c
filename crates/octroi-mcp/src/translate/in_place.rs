//! Edits a request without reading it again: replaces members whose positions are known, and adds to `_meta`.

use bytes::Bytes;

use crate::envelope::{Envelope, Id};
use crate::json::{self, Edit, Span};
use crate::params::Params;

/// The request with its id and these members of `params` changed; `None` if that takes more than replacing
/// members that are there and adding members to `_meta`.
pub(super) fn request(envelope: &Envelope, params: &Params, id: &Id, edits: &[Edit<'_>]) -> Option<Bytes> {
    let mut replacements: Vec<(Span, &[u8])> = Vec::with_capacity(edits.len() + 4);
    let mut added = Vec::new();
    let mut added_at = None;
    for edit in edits {
        match edit {
            Edit::Set(key, value) => replacements.push((params.span(key)?, value)),
            Edit::Within("_meta", inner) => {
                added_at = Some(edit_meta(params, inner, &mut replacements, &mut added)?);
            }
            Edit::Drop(_) | Edit::Within(..) => return None,
        }
    }
    if let Some(at) = added_at {
        replacements.push((Span { start: at, end: at }, &added));
    }
    envelope.spliced(id, &replacements)
}

/// Collects what to replace and what to add; returns where to add it.
fn edit_meta<'a>(
    params: &Params,
    edits: &[Edit<'a>],
    replacements: &mut Vec<(Span, &'a [u8])>,
    added: &mut Vec<u8>,
) -> Option<usize> {
    let meta = params.span("_meta");
    let (end, is_empty) = match meta {
        Some(span) => end_of_object(params.json(), span)?,
        None => {
            let (end, is_empty) = end_of_object(params.json(), Span { start: 0, end: params.json().len() })?;
            added.extend_from_slice(if is_empty { b"\"_meta\":{" } else { b",\"_meta\":{" });
            (end, true)
        }
    };
    let mut is_first = is_empty;
    for edit in edits {
        match edit {
            Edit::Set(key, value) => match params.span_in_meta(key) {
                Some(span) => replacements.push((span, value)),
                None => {
                    if !is_first {
                        added.push(b',');
                    }
                    is_first = false;
                    added.extend_from_slice(json::quote(key).as_bytes());
                    added.push(b':');
                    added.extend_from_slice(value);
                }
            },
            Edit::Drop(_) | Edit::Within(..) => return None,
        }
    }
    if meta.is_none() {
        added.push(b'}');
    }
    Some(end)
}

/// The position of the closing brace of an object, and whether the object has no members.
fn end_of_object(json: &[u8], span: Span) -> Option<(usize, bool)> {
    let inside = span.of(json).strip_prefix(b"{")?.strip_suffix(b"}")?;
    Some((span.end - 1, inside.trim_ascii().is_empty()))
}
