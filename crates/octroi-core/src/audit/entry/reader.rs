//! Reads many records, most of which differ from an earlier one only in time, call and the beginning of the context.

use super::{Entry, EntryError, EntryFrame, plain};
use crate::audit::context::split;

/// The number of records that later ones are compared with. A comparison costs much less than reading.
const KNOWN_MAX: usize = 32;

/// Reads records in the order of the log.
#[derive(Debug, Default)]
pub struct EntryReader<'a> {
    known: Vec<KnownRecord<'a>>,
    /// The one to be replaced.
    oldest: usize,
    buffer: String,
}

/// A record that was read.
#[derive(Debug)]
pub(super) struct KnownRecord<'a> {
    pub(super) entry: Entry<'a>,
    pub(super) frame: EntryFrame<'a>,
    /// The end of its context, from a comma between two members on, if it may have that in common with others.
    pub(super) repeated: Option<&'a str>,
}

impl<'a> KnownRecord<'a> {
    fn new(entry: Entry<'a>, frame: EntryFrame<'a>) -> Self {
        let repeated = match split(entry.context) {
            (Some(members), Some(_)) => entry.context.get(1 + members.len()..),
            (_, None) | (None, _) => None,
        };
        Self { entry, frame, repeated }
    }
}

impl<'a> EntryReader<'a> {
    /// Reads a record like [`Entry::parse_with_frame`].
    pub fn read(&mut self, body: &'a str) -> Result<(Entry<'a>, Option<EntryFrame<'a>>), EntryError> {
        if let Some((entry, frame)) = plain::parse_like(body, &self.known, &mut self.buffer) {
            return Ok((entry, Some(frame)));
        }
        let (entry, frame) = Entry::parse_with_frame(body)?;
        if let Some(frame) = frame {
            self.remember(KnownRecord::new(entry.clone(), frame));
        }
        Ok((entry, frame))
    }

    fn remember(&mut self, read: KnownRecord<'a>) {
        if self.known.len() < KNOWN_MAX {
            self.known.push(read);
        } else {
            self.known[self.oldest] = read;
            self.oldest = (self.oldest + 1) % KNOWN_MAX;
        }
    }
}
