//! The members of a result that a gateway reads.

use std::borrow::Cow;

use bytes::Bytes;

use crate::json::{self, Span};

/// Positions of the relevant members of a result.
#[derive(Clone, Debug)]
pub struct ResultView<'a> {
    json: &'a Bytes,
    result_type: Option<Span>,
    input_requests: Option<Span>,
    request_state: Option<Span>,
    next_cursor: Option<Span>,
    ttl_ms: Option<Span>,
    cache_scope: Option<Span>,
    task_id: Option<Span>,
    task: Option<Span>,
    is_error: Option<Span>,
    meta: Option<Span>,
    has_many_metas: bool,
}

impl<'a> ResultView<'a> {
    /// Locates the members.
    pub fn read(json: &'a Bytes) -> Self {
        let mut view = Self {
            json,
            result_type: None,
            input_requests: None,
            request_state: None,
            next_cursor: None,
            ttl_ms: None,
            cache_scope: None,
            task_id: None,
            task: None,
            is_error: None,
            meta: None,
            has_many_metas: false,
        };
        for member in json::members(json, Span { start: 0, end: json.len() }) {
            let slot = match &*member.key(json) {
                b"resultType" => &mut view.result_type,
                b"inputRequests" => &mut view.input_requests,
                b"requestState" => &mut view.request_state,
                b"nextCursor" => &mut view.next_cursor,
                b"ttlMs" => &mut view.ttl_ms,
                b"cacheScope" => &mut view.cache_scope,
                b"taskId" => &mut view.task_id,
                b"task" => &mut view.task,
                b"isError" => &mut view.is_error,
                b"_meta" => {
                    view.has_many_metas |= view.meta.is_some();
                    &mut view.meta
                }
                _ => continue,
            };
            *slot = Some(member.value);
        }
        view
    }

    /// The whole result.
    pub fn json(&self) -> &Bytes {
        self.json
    }

    /// `resultType`; absent on legacy results.
    pub fn result_type(&self) -> Option<Cow<'_, str>> {
        self.text(self.result_type)
    }

    /// Whether the server needs input before it continues.
    pub fn is_input_required(&self) -> bool {
        self.result_type().as_deref() == Some("input_required")
    }

    /// `inputRequests` as JSON text.
    pub fn input_requests(&self) -> Option<Bytes> {
        self.input_requests.map(|span| self.json.slice(span.range()))
    }

    /// `requestState`.
    pub fn request_state(&self) -> Option<Cow<'_, str>> {
        self.text(self.request_state)
    }

    /// `nextCursor` of a list.
    pub fn next_cursor(&self) -> Option<Cow<'_, str>> {
        self.text(self.next_cursor)
    }

    /// `taskId` of a task that was created in place of an answer.
    pub fn task_id(&self) -> Option<Cow<'_, str>> {
        self.text(self.task_id)
    }

    /// The id of the task that a server made of the call: `taskId`, or `taskId` in `task` (legacy).
    pub fn created_task(&self) -> Option<Cow<'_, str>> {
        let legacy = || json::member(self.json, self.task?, "taskId");
        self.text(self.task_id.or_else(legacy))
    }

    /// Whether the tool reports a failure.
    pub fn is_error(&self) -> bool {
        self.is_error.is_some_and(|span| span.of(self.json) == b"true")
    }

    /// The span of `_meta`.
    pub fn meta(&self) -> Option<Span> {
        self.meta
    }

    /// Whether `_meta` is given twice, so that parsers may disagree about it.
    pub fn has_many_metas(&self) -> bool {
        self.has_many_metas
    }

    /// Whether the result states how long it may be cached.
    pub fn has_caching(&self) -> bool {
        self.ttl_ms.is_some() && self.cache_scope.is_some()
    }

    fn text(&self, span: Option<Span>) -> Option<Cow<'_, str>> {
        json::text(span?.of(self.json))
    }
}
