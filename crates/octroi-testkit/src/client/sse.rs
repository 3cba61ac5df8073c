//! Parses server-sent events of a response, strictly by the rules of the HTML standard that MCP needs.

use http_body_util::BodyExt as _;
use hyper::body::Incoming;

/// One dispatched event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// `message` unless the event has a name.
    pub event: String,
    /// The lines of data, joined.
    pub data: String,
    /// The event's id, if it has one.
    pub id: Option<String>,
}

/// The events of one response; dropping it closes the connection.
#[derive(Debug)]
pub struct SseReader {
    body: Incoming,
    parser: SseParser,
}

impl SseReader {
    /// Reads a response whose content type is `text/event-stream`.
    pub fn new(body: Incoming) -> Self {
        Self { body, parser: SseParser::default() }
    }

    /// The next event; `None` when the stream ended normally.
    pub async fn next(&mut self) -> Result<Option<SseEvent>, hyper::Error> {
        loop {
            if let Some(event) = self.parser.pop() {
                return Ok(Some(event));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        self.parser.push(&data);
                    }
                }
            }
        }
    }
}

/// Converts bytes to events.
#[derive(Debug, Default)]
struct SseParser {
    buffer: Vec<u8>,
    event: Option<String>,
    data: Option<String>,
    id: Option<String>,
}

impl SseParser {
    fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete event of the buffered bytes.
    fn pop(&mut self) -> Option<SseEvent> {
        while let Some(line) = self.pop_line() {
            if line.is_empty() {
                let event = self.event.take().unwrap_or_else(|| "message".to_owned());
                let id = self.id.take();
                // An event without a data line is not dispatched; one with an empty data line is.
                if let Some(data) = self.data.take() {
                    return Some(SseEvent { event, data, id });
                }
                continue;
            }
            self.field(&line);
        }
        None
    }

    fn pop_line(&mut self) -> Option<String> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.buffer.drain(..=end).collect();
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Some(String::from_utf8_lossy(line).into_owned())
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.event = Some(value.to_owned()),
            "id" => self.id = Some(value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            // A comment (the empty name), `retry`, or something unknown: all are skipped.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&str], expected: &[(&str, &str)]) {
        let mut parser = SseParser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece.as_bytes());
            while let Some(event) = parser.pop() {
                events.push((event.event, event.data));
            }
        }
        let expected: Vec<_> =
            expected.iter().map(|(event, data)| ((*event).to_owned(), (*data).to_owned())).collect();
        assert_eq!(events, expected);
    }

    #[test]
    fn events_are_read_whatever_the_pieces() {
        check(&["data: one\n\ndata: two\n\n"], &[("message", "one"), ("message", "two")]);
        check(&["da", "ta: on", "e\r\n", "\r\n"], &[("message", "one")]);
        check(&["event: endpoint\ndata: /messages\n\n"], &[("endpoint", "/messages")]);
        check(&["data: a\ndata: b\n\n"], &[("message", "a\nb")]);
    }

    #[test]
    fn comments_and_retries_are_no_events() {
        check(&[": hello\n\nretry: 5\n\ndata: x\n\n"], &[("message", "x")]);
        check(&["id: 1\ndata: \n\n"], &[("message", "")]);
    }
}
