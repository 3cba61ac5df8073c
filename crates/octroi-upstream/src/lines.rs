//! One JSON message per line, with a limit on how long a line may be.

use bytes::{Bytes, BytesMut};
use memchr::memchr;
use octroi_mcp::json::{self, Span};
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// A line, or what is left of one that was too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line within the limit, without its line break.
    Whole(Bytes),
    /// A line beyond the limit. Its start and end are kept, to guess which request it answers.
    TooLong { head: Bytes, tail: Bytes },
}

/// How much of either end of a line beyond the limit is kept, if nothing else is said.
const KEPT: usize = 512;
const BUFFER: usize = 8 << 10;
/// The memory of longer lines is not used for the lines after them.
const LINE_SHARED_MAX: usize = 64 << 10;

/// Splits a stream into lines without ever holding more than the limit.
pub(crate) struct Lines<R> {
    reader: R,
    buffer: BytesMut,
    scanned: usize,
    limit: usize,
    /// How much of the start of a line beyond the limit is kept.
    kept: usize,
    overflow: Option<Overflow>,
}

struct Overflow {
    head: Bytes,
    tail: BytesMut,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self { reader, buffer: fresh(&[]), scanned: 0, limit, kept: KEPT, overflow: None }
    }

    /// Keeps so much of the start of a line beyond the limit; not more than the limit.
    pub(crate) fn keeping(self, kept: usize) -> Self {
        Self { kept: kept.min(self.limit), ..self }
    }

    /// The next line, or `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<Line>> {
        loop {
            if let Some(offset) = memchr(b'\n', &self.buffer[self.scanned..]) {
                let mut line = self.buffer.split_to(self.scanned + offset + 1);
                self.scanned = 0;
                // What follows lies behind the line in the same memory, and would keep all of it.
                if line.len() > LINE_SHARED_MAX {
                    self.buffer = fresh(&self.buffer);
                }
                line.truncate(line.len() - 1);
                return Ok(Some(match self.overflow.take() {
                    None if line.len() > self.limit => too_long(&line, self.kept),
                    None => Line::Whole(line.freeze()),
                    Some(mut overflow) => {
                        overflow.keep(&line);
                        Line::TooLong { head: overflow.head, tail: overflow.tail.freeze() }
                    }
                }));
            }
            self.scanned = self.buffer.len();
            if self.buffer.len() > self.limit || self.overflow.is_some() {
                let part = self.buffer.split();
                self.scanned = 0;
                match &mut self.overflow {
                    Some(overflow) => overflow.keep(&part),
                    None => {
                        let head = Bytes::copy_from_slice(&part[..part.len().min(self.kept)]);
                        let mut overflow = Overflow { head, tail: BytesMut::new() };
                        overflow.keep(&part);
                        self.overflow = Some(overflow);
                        // The buffer grew to the limit; give the memory back.
                        self.buffer = fresh(&[]);
                    }
                }
            }
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                // The rest after the last line break is incomplete, so it is not a message.
                return Ok(None);
            }
        }
    }
}

/// A buffer of its own that holds this.
fn fresh(held: &[u8]) -> BytesMut {
    let mut buffer = BytesMut::with_capacity(held.len().max(BUFFER));
    buffer.extend_from_slice(held);
    buffer
}

impl Overflow {
    fn keep(&mut self, part: &[u8]) {
        self.tail.extend_from_slice(&part[part.len().saturating_sub(KEPT)..]);
        let surplus = self.tail.len().saturating_sub(KEPT);
        let _ = self.tail.split_to(surplus);
    }
}

fn too_long(line: &[u8], kept: usize) -> Line {
    let head = &line[..line.len().min(kept)];
    let tail = &line[line.len().saturating_sub(KEPT)..];
    Line::TooLong { head: Bytes::copy_from_slice(head), tail: Bytes::copy_from_slice(tail) }
}

/// The request id of an answer that was too long to read, if it is in the kept part: before the result, or
/// as the very last member. An `id` inside the result is not the request's.
pub(crate) fn guess_id(head: &[u8], tail: &[u8]) -> Option<u64> {
    let at_start = json::member(head, Span { start: 0, end: head.len() }, "id").map(|span| span.of(head));
    let at_end = tail.trim_ascii_end().strip_suffix(b"}").and_then(|rest| {
        let position = memchr::memmem::rfind(rest, b"\"id\":")? + 5;
        rest.get(position..)
    });
    [at_start, at_end]
        .into_iter()
        .flatten()
        .find_map(|digits| std::str::from_utf8(digits.trim_ascii()).ok()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(stream: &'static [u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(stream, limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(line);
        }
        found
    }

    #[tokio::test]
    async fn lines_within_the_limit_come_whole() {
        let found = read(b"{}\n\nabc\r\nunfinished", 100).await;
        let expected: Vec<_> =
            [&b"{}"[..], b"", b"abc\r"].map(|line| Line::Whole(Bytes::from_static(line))).into();
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn a_long_line_leaves_its_memory_to_its_reader() {
        let text = format!("{}\nok\n{}\nok\n", "a".repeat(3 << 20), "b".repeat(LINE_SHARED_MAX + 1));
        let mut lines = Lines::new(text.as_bytes(), 4 << 20);
        let mut n_lines = 0;
        while let Some(line) = lines.next().await.unwrap() {
            let Line::Whole(line) = line else { panic!("{line:?}") };
            n_lines += 1;
            if line.len() > LINE_SHARED_MAX {
                assert!(lines.buffer.capacity() < 2 * LINE_SHARED_MAX, "{}", lines.buffer.capacity());
                assert!(line.is_unique(), "nothing else keeps it");
            }
        }
        assert_eq!(n_lines, 4);
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_is_skipped_and_the_next_one_is_read() {
        let found =
            read(b"{\"id\":7,\"result\":\"0123456789012345678901234567890123456789\"}\nok\n", 20).await;
        let [Line::TooLong { head, tail }, Line::Whole(ok)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(guess_id(head, tail), Some(7));
        assert_eq!(ok, "ok");
    }

    #[tokio::test]
    async fn more_of_the_start_is_kept_on_request() {
        let stream: &[u8] = Box::leak(format!("{}\n", "a".repeat(5_000)).into_bytes().into_boxed_slice());
        let mut lines = Lines::new(stream, 2_000).keeping(1_500);
        let Ok(Some(Line::TooLong { head, tail })) = lines.next().await else {
            panic!("the line is too long");
        };
        assert_eq!((head.len(), tail.len()), (1_500, KEPT));
    }

    #[test]
    fn the_id_is_guessed_from_either_end() {
        assert_eq!(guess_id(br#"{"jsonrpc":"2.0","id": 12,"result":"#, b""), Some(12));
        assert_eq!(guess_id(br#"{"result":"#, br#"..."},"id":3}"#), Some(3));
        assert_eq!(guess_id(b"noise", b"noise"), None);
        let inside = br#"{"result":{"structuredContent":{"id":4,"text":"..."#;
        assert_eq!(guess_id(inside, br#"...","id":5}},"jsonrpc":"2.0","id":3}"#), Some(3));
        assert_eq!(guess_id(inside, br#"...","id":5}}}"#), None);
    }
}
