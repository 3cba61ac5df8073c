//! The events of a stream do not depend on how it is split into chunks.

use octroi_mcp::sse::{self, EventReader, SseEvent};

/// Small enough to be exceeded.
const LIMIT: usize = 256;

/// The first byte determines the chunk size.
pub(crate) fn check(input: &[u8]) {
    let Some((step, stream)) = input.split_first() else {
        return;
    };
    let whole = read([stream]);
    let step = usize::from(*step).max(1);
    assert_eq!(read(stream.chunks(step)), whole, "in pieces of {step}");
    assert_eq!(read(stream.chunks(1)), whole, "byte by byte");
    assert_eq!(read(stream.chunks(1).flat_map(|piece| [piece, &[]])), whole, "with empty pieces");

    let mut line = Vec::new();
    sse::one_line(&mut line, stream);
    let written = sse::write(stream, Some("1-2"));
    let mut reader = EventReader::new(usize::MAX);
    reader.push(&written).expect("no limit");
    let expected = SseEvent { name: String::new(), id: Some("1-2".to_owned()), data: line.into() };
    assert_eq!(reader.next_event(), Some(expected), "what was written is read");
    assert_eq!(reader.next_event(), None);
}

/// The events, the reconnection delay, and whether the limit was exceeded.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<SseEvent>, Option<u64>, bool) {
    let mut reader = EventReader::new(LIMIT);
    let too_large = pieces.into_iter().any(|piece| reader.push(piece).is_err());
    let events = std::iter::from_fn(|| reader.next_event()).collect();
    (events, reader.retry_ms(), too_large)
}
