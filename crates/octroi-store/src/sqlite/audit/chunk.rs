//! Storage format of events: up to 256 of one gateway in a row, without the texts that they share.

use std::ops::RangeBounds;

use octroi_core::audit::context::members_of;
use octroi_core::audit::{CallId, Entry};
use serde_json::value::RawValue;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

/// A chunk holds two to this power events: enough that SQLite's cost per row and the texts that are stored once
/// per row are negligible, and few enough that the last chunk can be rewritten with each batch.
pub(super) const CHUNK_BITS: u32 = 8;
/// A chunk of so many bytes is full: large records limit the cost of rewriting in the same way.
const BYTES_MAX: usize = 128 << 10;
/// The initial capacity of the events; those of most chunks fit.
const BYTES_USUAL: usize = 48 << 10;

/// Consecutive events of one gateway.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) number: i64,
    pub(super) node: String,
    pub(super) first_seq: i64,
    /// How many events were purged from its start.
    pub(super) n_gone: i64,
    pub(super) n_events: i64,
    /// What the times of events are relative to.
    pub(super) base_ms: i64,
    /// A JSON array of records: what events share, with the time 0, or a whole record with everything.
    pub(super) templates: String,
    /// A JSON array of `[seq - first_seq, template, at_ms - base_ms, call, context]`. The time is null if it is the
    /// template's. The call is its id or, later in the chunk, the index of the first event with that id. The
    /// context has the members that come before those of the template's, or is null.
    pub(super) events: String,
}

/// An event as a chunk has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedEvent<'a> {
    pub(super) position: i64,
    pub(super) seq: u64,
    /// The index of its template.
    pub(super) template: usize,
    /// Its time, unless the template has it.
    pub(super) at_ms: Option<i64>,
    pub(super) call: Option<CallId>,
    /// The text of the members of its context that the template lacks.
    pub(super) members: Option<&'a str>,
}

/// The content of a chunk, the oldest event first.
#[derive(Debug)]
pub(super) struct Unpacked<'a> {
    pub(super) templates: Vec<&'a str>,
    pub(super) events: Vec<PackedEvent<'a>>,
}

/// A chunk that has another form than it was written in.
#[derive(Debug)]
pub(super) struct Unreadable;

/// The calls of a chunk, each with the index of its first event.
#[derive(Debug, Default)]
pub(super) struct FirstEvents(Vec<(CallId, i64)>);

impl FirstEvents {
    /// The index of the first event of a call. Without one, the event with this index becomes the first.
    pub(super) fn find_or_add(&mut self, call: CallId, index: i64) -> Option<i64> {
        // Most calls end soon after they began.
        let known = self.0.iter().rev().find(|(known, _)| *known == call).map(|(_, first)| *first);
        if known.is_none() {
            self.0.push((call, index));
        }
        known
    }
}

impl PackedEvent<'_> {
    /// The event in full, given its template and a buffer for the text of its context.
    pub(super) fn entry<'a>(&self, template: &Entry<'a>, context: &'a mut String) -> Entry<'a> {
        if let Some(members) = self.members {
            context.clear();
            context.extend(["{", members]);
            match template.context.strip_prefix('{') {
                Some(repeated) => context.extend([",", repeated]),
                None => context.push('}'),
            }
        }
        Entry {
            at_ms: self.at_ms.map_or(template.at_ms, i64::cast_unsigned),
            call: self.call.or(template.call),
            context: if self.members.is_some() { context } else { template.context },
            ..template.clone()
        }
    }
}

impl FromRow<'_, SqliteRow> for Chunk {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            number: row.try_get("chunk")?,
            node: row.try_get("node")?,
            first_seq: row.try_get("first_seq")?,
            n_gone: row.try_get("n_gone")?,
            n_events: row.try_get("n_events")?,
            base_ms: row.try_get("base_ms")?,
            templates: row.try_get("templates")?,
            events: row.try_get("events")?,
        })
    }
}

impl Chunk {
    /// An empty chunk whose first event will have this sequence number.
    pub(super) fn before(number: i64, node: &str, seq: u64, base_ms: i64) -> Self {
        let mut events = String::with_capacity(BYTES_USUAL);
        events.push_str("[]");
        Self {
            number,
            node: node.to_owned(),
            first_seq: seq.cast_signed(),
            n_gone: 0,
            n_events: 0,
            base_ms,
            templates: "[]".to_owned(),
            events,
        }
    }

    /// Whether the next event of this gateway fits in here.
    pub(super) fn has_room_for(&self, node: &str) -> bool {
        let n_bytes = self.events.len() + self.templates.len();
        self.n_gone + self.n_events < 1 << CHUNK_BITS && n_bytes < BYTES_MAX && self.node == node
    }

    pub(super) fn add_template(&mut self, text: &str) {
        open_list(&mut self.templates);
        self.templates.push_str(text);
        self.templates.push(']');
    }

    /// Appends an event, except for its position, which this returns.
    pub(super) fn add_event(&mut self, event: &PackedEvent<'_>, calls: &mut FirstEvents) -> i64 {
        let seq = event.seq.cast_signed().wrapping_sub(self.first_seq);
        let index = self.n_events;
        let events = &mut self.events;
        open_list(events);
        events.push('[');
        push_number(events, seq);
        events.push(',');
        push_number(events, event.template);
        events.push(',');
        match event.at_ms {
            Some(at_ms) => push_number(events, at_ms.wrapping_sub(self.base_ms)),
            None => events.push_str("null"),
        }
        events.push(',');
        match event.call.map(|call| (call, calls.find_or_add(call, index))) {
            Some((_, Some(first))) => push_number(events, first),
            Some((call, None)) => events.extend(["\"", call.encode(&mut [0; CallId::LENGTH]), "\""]),
            None => events.push_str("null"),
        }
        match event.members {
            Some(members) => events.extend([",{", members, "}]]"]),
            None => events.push_str(",null]]"),
        }
        self.n_events += 1;
        self.first_position() + index
    }

    pub(super) fn unpack(&self) -> Result<Unpacked<'_>, Unreadable> {
        let templates: Vec<&RawValue> = serde_json::from_str(&self.templates).map_err(|_| Unreadable)?;
        let items: Vec<Item<'_>> = serde_json::from_str(&self.events).map_err(|_| Unreadable)?;
        let mut events: Vec<PackedEvent<'_>> = Vec::with_capacity(items.len());
        for (position, (seq, template, at_ms, call, context)) in (self.first_position()..).zip(items) {
            events.push(PackedEvent {
                position,
                seq: self.first_seq.wrapping_add(seq).cast_unsigned(),
                template: Some(template).filter(|index| *index < templates.len()).ok_or(Unreadable)?,
                at_ms: at_ms.map(|at_ms| at_ms.wrapping_add(self.base_ms)),
                call: call.map(|call| read_call(call.get(), &events)).transpose()?,
                members: context.map(|context| members_of(context.get()).ok_or(Unreadable)).transpose()?,
            });
        }
        Ok(Unpacked { templates: templates.into_iter().map(RawValue::get).collect(), events })
    }

    /// The chunk with only these events; `None` if none is left.
    pub(super) fn with_only(&self, seqs: impl RangeBounds<u64>) -> Result<Option<Self>, Unreadable> {
        let Unpacked { templates, events } = self.unpack()?;
        let mut kept = events.into_iter().filter(|event| seqs.contains(&event.seq)).peekable();
        let Some(first) = kept.peek() else { return Ok(None) };
        let mut rest = Self::before(self.number, &self.node, first.seq, self.base_ms);
        rest.n_gone = self.n_gone + first.position - self.first_position();
        let mut calls = FirstEvents::default();
        // Templates go with the last event that has them.
        let mut kept_templates: Vec<usize> = Vec::new();
        for event in kept {
            let known = kept_templates.iter().position(|template| *template == event.template);
            let template = known.unwrap_or_else(|| {
                rest.add_template(templates[event.template]);
                kept_templates.push(event.template);
                kept_templates.len() - 1
            });
            rest.add_event(&PackedEvent { template, ..event }, &mut calls);
        }
        Ok(Some(rest))
    }

    fn first_position(&self) -> i64 {
        (self.number << CHUNK_BITS) + self.n_gone
    }
}

/// An event in the JSON array.
type Item<'a> = (i64, usize, Option<i64>, Option<&'a RawValue>, Option<&'a RawValue>);

fn push_number(text: &mut String, number: impl itoa::Integer) {
    text.push_str(itoa::Buffer::new().format(number));
}

/// Prepares a JSON array for another item.
fn open_list(list: &mut String) {
    list.pop();
    if list.len() > 1 {
        list.push(',');
    }
}

fn read_call(call: &str, earlier: &[PackedEvent<'_>]) -> Result<CallId, Unreadable> {
    let call = match call.strip_prefix('"') {
        Some(id) => id.strip_suffix('"').and_then(CallId::parse),
        None => call.parse().ok().and_then(|first: usize| earlier.get(first)?.call),
    };
    call.ok_or(Unreadable)
}
