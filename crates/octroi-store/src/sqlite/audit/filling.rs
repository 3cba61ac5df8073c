//! Fills a chunk with records: recognizes what they share with earlier ones.

use octroi_core::audit::context::{differs_wholly, members_before, members_of, split};
use octroi_core::audit::{Entry, EntryFrame};

use super::chunk::{Chunk, FirstEvents, PackedEvent, Unreadable};
use crate::audit::{AuditRecord, at_ms};

/// The beginning of a record that is a template.
const START: &str = "{\"at_ms\":0";

/// A chunk to which events are added.
#[derive(Debug)]
pub(super) struct Filling {
    chunk: Chunk,
    /// As many as the chunk has; `None` for whole records, which nothing else can share.
    templates: Vec<Option<Template>>,
    calls: FirstEvents,
}

/// What records share.
#[derive(Debug)]
struct Template {
    before_call: String,
    after_call: String,
    /// The text of an object: the end of the context. `None` if the contexts have nothing in common.
    repeated: Option<String>,
}

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filed {
    pub(super) position: i64,
    pub(super) template: usize,
}

impl Template {
    fn has_frame(&self, frame: EntryFrame<'_>) -> bool {
        self.before_call == frame.before_call && self.after_call == frame.after_call
    }

    /// Reads the template that [`Self::text`] made.
    fn of_text(text: &str) -> Option<Self> {
        let (entry, frame) = Entry::parse_with_frame(text).ok()?;
        let is_template = text.starts_with(START) && entry.at_ms == 0 && entry.call.is_none();
        let frame = frame.filter(|_| is_template)?;
        Some(Self {
            before_call: frame.before_call.to_owned(),
            after_call: frame.after_call.to_owned(),
            repeated: Some(entry.context.to_owned()).filter(|context| !context.is_empty()),
        })
    }

    fn text(&self) -> String {
        let Self { before_call, after_call, repeated } = self;
        match repeated {
            Some(repeated) => format!("{START}{before_call}{after_call},\"context\":{repeated}}}"),
            None => format!("{START}{before_call}{after_call}}}"),
        }
    }
}

impl Filling {
    /// A new chunk that begins with this record.
    pub(super) fn new(number: i64, node: &str, first: &AuditRecord<'_>) -> Self {
        let chunk = Chunk::before(number, node, first.seq, at_ms(&first.entry));
        Self { chunk, templates: Vec::new(), calls: FirstEvents::default() }
    }

    /// A chunk that was stored.
    pub(super) fn resume(chunk: Chunk) -> Result<Self, Unreadable> {
        let unpacked = chunk.unpack()?;
        let templates = unpacked.templates.into_iter().map(Template::of_text).collect();
        let mut calls = FirstEvents::default();
        for (index, event) in (0..).zip(unpacked.events) {
            event.call.and_then(|call| calls.find_or_add(call, index));
        }
        Ok(Self { chunk, templates, calls })
    }

    pub(super) fn chunk(&self) -> &Chunk {
        &self.chunk
    }

    pub(super) fn into_chunk(self) -> Chunk {
        self.chunk
    }

    pub(super) fn add(&mut self, record: &AuditRecord<'_>) -> Filed {
        // Larger times have no place in an integer of SQLite.
        let at_ms = i64::try_from(record.entry.at_ms).ok();
        let (template, at_ms, members) = match record.frame.zip(at_ms) {
            Some((frame, at_ms)) => {
                let (template, members) = self.share(frame, &record.entry);
                (template, Some(at_ms), members)
            }
            None => (self.add_template(record.text, None), None, None),
        };
        let call = record.entry.call;
        let event = PackedEvent { position: 0, seq: record.seq, template, at_ms, call, members };
        Filed { position: self.chunk.add_event(&event, &mut self.calls), template }
    }

    /// The template of a record, and the members of its context that the template lacks.
    fn share<'a>(&mut self, frame: EntryFrame<'_>, entry: &Entry<'a>) -> (usize, Option<&'a str>) {
        let context = entry.context;
        if context.is_empty() || differs_wholly(entry.kind) {
            return (self.template_without_context(frame), members_of(context));
        }
        if let Some((template, members)) = self.find_repeated(frame, context) {
            return (template, Some(members).filter(|members| !members.is_empty()));
        }
        let (members, repeated) = split(context);
        let template = match repeated {
            Some(repeated) => self.add_shared(frame, Some(format!("{{{repeated}}}"))),
            None => self.template_without_context(frame),
        };
        (template, members)
    }

    /// The newest template with this frame and the end of this context, and the members before that end.
    fn find_repeated<'a>(&self, frame: EntryFrame<'_>, context: &'a str) -> Option<(usize, &'a str)> {
        self.templates.iter().enumerate().rev().find_map(|(index, template)| {
            let template = template.as_ref().filter(|template| template.has_frame(frame))?;
            Some((index, members_before(context, template.repeated.as_deref()?)?))
        })
    }

    fn template_without_context(&mut self, frame: EntryFrame<'_>) -> usize {
        let is_same = |known: &Template| known.repeated.is_none() && known.has_frame(frame);
        let known = self.templates.iter().rposition(|known| known.as_ref().is_some_and(is_same));
        known.unwrap_or_else(|| self.add_shared(frame, None))
    }

    fn add_shared(&mut self, frame: EntryFrame<'_>, repeated: Option<String>) -> usize {
        let (before_call, after_call) = (frame.before_call.to_owned(), frame.after_call.to_owned());
        let template = Template { before_call, after_call, repeated };
        self.add_template(&template.text(), Some(template))
    }

    fn add_template(&mut self, text: &str, template: Option<Template>) -> usize {
        self.chunk.add_template(text);
        self.templates.push(template);
        self.templates.len() - 1
    }
}

#[cfg(test)]
mod tests;
