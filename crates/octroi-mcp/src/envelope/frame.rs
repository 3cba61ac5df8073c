//! Where the members of a JSON-RPC message are, found while `serde_json` checks that it is JSON.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::Span;

/// The members that make a message, and whether one of them is given twice.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) version: Option<Span>,
    pub(super) id: Option<Span>,
    pub(super) method: Option<Span>,
    pub(super) params: Option<Span>,
    pub(super) result: Option<Span>,
    pub(super) error: Option<Span>,
    pub(super) is_doubled: bool,
}

impl Frame {
    /// Reads an object; fails on anything that is not exactly one.
    pub(super) fn read(json: &[u8]) -> serde_json::Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let frame = deserializer.deserialize_map(Members { json })?;
        deserializer.end()?;
        Ok(frame)
    }
}

struct Members<'de> {
    json: &'de [u8],
}

impl<'de> Visitor<'de> for Members<'de> {
    type Value = Frame;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON-RPC message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Frame, A::Error> {
        let mut frame = Frame::default();
        while let Some(key) = map.next_key_seed(Key)? {
            let slot = match key {
                Known::Version => &mut frame.version,
                Known::Id => &mut frame.id,
                Known::Method => &mut frame.method,
                Known::Params => &mut frame.params,
                Known::Result => &mut frame.result,
                Known::Error => &mut frame.error,
                Known::Other => {
                    // Read as text too, which checks that it is: what is ignored is not looked at.
                    map.next_value::<&RawValue>()?;
                    continue;
                }
            };
            let value: &RawValue = map.next_value()?;
            // The value is a part of the text, so the distance between the two is its position.
            let start = (value.get().as_ptr() as usize).wrapping_sub(self.json.as_ptr() as usize);
            let span = Span { start, end: start + value.get().len() };
            // A second `method` or `params` would let two readers see two messages in one text.
            frame.is_doubled |= slot.replace(span).is_some();
        }
        Ok(frame)
    }
}

enum Known {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Known;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Known, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Known;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Known, E> {
        Ok(match name {
            "jsonrpc" => Known::Version,
            "id" => Known::Id,
            "method" => Known::Method,
            "params" => Known::Params,
            "result" => Known::Result,
            "error" => Known::Error,
            _ => Known::Other,
        })
    }
}
