//! Locates the members of a JSON-RPC message while `serde_json` validates it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::json::Span;
use crate::resemblance::OtherNames;

/// The names of the members that the gateway reads.
const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

/// The members of a message, and whether any is duplicate.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) version: Option<Span>,
    pub(super) id: Option<Span>,
    pub(super) method: Option<Span>,
    pub(super) params: Option<Span>,
    pub(super) result: Option<Span>,
    pub(super) error: Option<Span>,
    pub(super) is_doubled: bool,
    /// Whether a name can be taken for that of another member.
    pub(super) is_ambiguous: bool,
    /// Whether there are members that JSON-RPC does not define.
    pub(super) has_others: bool,
}

impl Frame {
    /// Parses an object; fails on anything else.
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
        let mut others = OtherNames::default();
        while let Some(key) = map.next_key_seed(Key)? {
            let slot = match key {
                MemberName::Version => &mut frame.version,
                MemberName::Id => &mut frame.id,
                MemberName::Method => &mut frame.method,
                MemberName::Params => &mut frame.params,
                MemberName::Result => &mut frame.result,
                MemberName::Error => &mut frame.error,
                MemberName::Other(name) => {
                    frame.has_others = true;
                    others.add(Cow::Owned(name));
                    // Read as a string, which validates its content: ignored values are not validated.
                    map.next_value::<&RawValue>()?;
                    continue;
                }
            };
            let value: &RawValue = map.next_value()?;
            // The value is a slice of the text, so the distance between them is its position.
            let start = (value.get().as_ptr() as usize).wrapping_sub(self.json.as_ptr() as usize);
            let span = Span { start, end: start + value.get().len() };
            // With a second `method` or `params`, two parsers could see two different messages.
            frame.is_doubled |= slot.replace(span).is_some();
        }
        frame.is_ambiguous = others.check(&NAMES).is_err();
        Ok(frame)
    }
}

enum MemberName {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other(String),
}

struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = MemberName;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<MemberName, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = MemberName;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<MemberName, E> {
        Ok(match name {
            "jsonrpc" => MemberName::Version,
            "id" => MemberName::Id,
            "method" => MemberName::Method,
            "params" => MemberName::Params,
            "result" => MemberName::Result,
            "error" => MemberName::Error,
            other => MemberName::Other(other.to_owned()),
        })
    }
}
