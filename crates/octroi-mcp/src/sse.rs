//! Server-sent events: an incremental parser with a size limit, and a writer.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use memchr::memchr2;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// `event:`; empty means `message`.
    pub name: String,
    /// `id:`, if given with this event.
    pub id: Option<String>,
    /// All `data:` lines, joined by newlines.
    pub data: Bytes,
}

/// The stream contains a line or an event above the size limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {limit} bytes")]
pub struct TooLarge {
    /// The limit that was exceeded.
    pub limit: usize,
}

/// Parses chunks of a stream into events.
#[derive(Debug)]
pub struct EventReader {
    limit: usize,
    line: BytesMut,
    data: BytesMut,
    name: String,
    id: Option<String>,
    retry_ms: Option<u64>,
    has_data: bool,
    after_return: bool,
    started: bool,
    ready: VecDeque<SseEvent>,
}

impl EventReader {
    /// A parser that refuses events above `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: BytesMut::new(),
            data: BytesMut::new(),
            name: String::new(),
            id: None,
            retry_ms: None,
            has_data: false,
            after_return: false,
            started: false,
            ready: VecDeque::new(),
        }
    }

    /// Adds the next chunk of the stream.
    pub fn push(&mut self, mut chunk: &[u8]) -> Result<(), TooLarge> {
        // An empty chunk does not tell whether the last line break is complete.
        if chunk.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.after_return) && chunk.first() == Some(&b'\n') {
            chunk = &chunk[1..];
        }
        while let Some(end) = memchr2(b'\n', b'\r', chunk) {
            self.line.extend_from_slice(&chunk[..end]);
            let is_return = chunk[end] == b'\r';
            chunk = &chunk[end + 1..];
            if is_return {
                match chunk.first() {
                    Some(b'\n') => chunk = &chunk[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            self.check(0)?;
            self.end_line();
        }
        self.check(chunk.len())?;
        self.line.extend_from_slice(chunk);
        Ok(())
    }

    /// The next complete event.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    /// The reconnection delay that the server last requested.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn check(&self, more: usize) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + more > self.limit {
            return Err(TooLarge { limit: self.limit });
        }
        Ok(())
    }

    fn end_line(&mut self) {
        let mut line = self.line.split();
        if !std::mem::replace(&mut self.started, true) && line.starts_with(b"\xef\xbb\xbf") {
            let _ = line.split_to(3);
        }
        if line.is_empty() {
            self.dispatch();
            return;
        }
        let colon = memchr::memchr(b':', &line).unwrap_or(line.len());
        let field = &line[..colon];
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.extend_from_slice(b"\n");
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"id" if !value.contains(&0) => self.id = Some(String::from_utf8_lossy(value).into_owned()),
            b"retry" => {
                self.retry_ms =
                    std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).or(self.retry_ms);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let name = std::mem::take(&mut self.name);
        let id = self.id.take();
        let had_data = std::mem::take(&mut self.has_data);
        let data = self.data.split().freeze();
        // An event with only an id still moves the position for resuming the stream.
        if had_data || id.is_some() {
            self.ready.push_back(SseEvent { name, id, data });
        }
    }
}

/// Encodes a message as an event, on one line: JSON has raw line breaks only between its tokens.
pub fn write(json: &[u8], id: Option<&str>) -> Bytes {
    let mut out = Vec::with_capacity(json.len() + 32);
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend_from_slice(id.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    one_line(&mut out, json);
    out.extend_from_slice(b"\n\n");
    Bytes::from(out)
}

/// Appends JSON text with its line breaks turned into spaces.
pub fn one_line(out: &mut Vec<u8>, json: &[u8]) {
    let start = out.len();
    out.extend_from_slice(json);
    if memchr2(b'\n', b'\r', json).is_some() {
        for byte in &mut out[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

/// A comment that keeps an idle stream open.
pub const KEEP_ALIVE: &[u8] = b":\n\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn events(stream: &[u8], step: usize) -> Vec<SseEvent> {
        let mut reader = EventReader::new(1024);
        for chunk in stream.chunks(step) {
            reader.push(chunk).unwrap();
        }
        std::iter::from_fn(|| reader.next_event()).collect()
    }

    #[test]
    fn events_do_not_depend_on_how_the_stream_is_cut() {
        let stream = b"\xef\xbb\xbf: hello\r\nid: 1\r\ndata: {\"a\":1}\r\n\r\nevent: endpoint\ndata:/x\ndata: y\n\ndata\n\nretry: 10\rid: 7\r\rdata: cut";
        let expected = [
            SseEvent { name: String::new(), id: Some("1".into()), data: Bytes::from_static(b"{\"a\":1}") },
            SseEvent { name: "endpoint".into(), id: None, data: Bytes::from_static(b"/x\ny") },
            SseEvent { name: String::new(), id: None, data: Bytes::new() },
            SseEvent { name: String::new(), id: Some("7".into()), data: Bytes::new() },
        ];
        for step in 1..stream.len() {
            assert_eq!(events(stream, step), expected, "step {step}");
        }
    }

    #[test]
    fn a_flood_without_an_end_is_refused() {
        let mut reader = EventReader::new(16);
        assert_eq!(reader.push(b"data: 0123456789abcdef"), Err(TooLarge { limit: 16 }));
        let mut reader = EventReader::new(16);
        assert!((0..10).any(|_| reader.push(b"data: 12345\n").is_err()));
    }

    #[test]
    fn a_message_is_written_on_one_line() {
        assert_eq!(write(b"{\n \"a\": 1\r\n}", Some("5")), "id: 5\ndata: {  \"a\": 1  }\n\n");
    }
}
