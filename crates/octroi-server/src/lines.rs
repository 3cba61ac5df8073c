//! One message per line, as standard streams carry them.

use bytes::Bytes;
use octroi_mcp::sse::one_line;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// As many bytes of messages are written at once, and the rest of the last message.
const WRITTEN_AT_ONCE: usize = 256 << 10;

/// What was read from a standard stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A message.
    Message(Bytes),
    /// A line longer than it may be. Its rest was not read, so nothing can follow.
    TooLong,
    /// The end of the stream.
    End,
}

/// The next line that is not empty, without its end. What was read of a line is lost if this is dropped.
pub async fn read_line(input: &mut (impl AsyncBufRead + Unpin), limit: usize) -> std::io::Result<Line> {
    // With its end, and one byte that shows that there is more.
    let n_read_max = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(2);
    loop {
        let mut line = Vec::new();
        if (&mut *input).take(n_read_max).read_until(b'\n', &mut line).await? == 0 {
            return Ok(Line::End);
        }
        let n_bytes = line.trim_ascii_end().len();
        if n_bytes > limit || !line.ends_with(b"\n") && line.len() > limit {
            return Ok(Line::TooLong);
        }
        line.truncate(n_bytes);
        if !line.trim_ascii().is_empty() {
            return Ok(Line::Message(Bytes::from(line)));
        }
    }
}

/// Writes messages, each on a line, until all senders are dropped or writing fails.
pub async fn write_lines<M: AsRef<[u8]>>(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<M>) {
    let mut out = Vec::new();
    while let Some(message) = queue.recv().await {
        out.clear();
        one_line(&mut out, message.as_ref());
        out.push(b'\n');
        // What counts the message counts it until it is written.
        let mut written = vec![message];
        while out.len() < WRITTEN_AT_ONCE
            && let Ok(message) = queue.try_recv()
        {
            one_line(&mut out, message.as_ref());
            out.push(b'\n');
            written.push(message);
        }
        if output.write_all(&out).await.is_err() || output.flush().await.is_err() {
            return;
        }
        drop(written);
        out.shrink_to(WRITTEN_AT_ONCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &str, limit: usize) -> Vec<Line> {
        let mut input = text.as_bytes();
        let mut lines = Vec::new();
        loop {
            let line = read_line(&mut input, limit).await.unwrap();
            let is_last = !matches!(line, Line::Message(_));
            lines.push(line);
            if is_last {
                return lines;
            }
        }
    }

    #[tokio::test]
    async fn a_line_has_a_limit_and_is_never_taken_for_two() {
        let message = |text: &'static str| Line::Message(Bytes::from_static(text.as_bytes()));
        for (text, expected) in [
            ("", vec![Line::End]),
            ("{}\n\n \n[1]", vec![message("{}"), message("[1]"), Line::End]),
            ("12345678\r\n1\n", vec![message("12345678"), message("1"), Line::End]),
            ("12345678\n", vec![message("12345678"), Line::End]),
            ("12345678", vec![message("12345678"), Line::End]),
            ("123456789\n1\n", vec![Line::TooLong]),
            ("12345678901234\n1\n", vec![Line::TooLong]),
            ("123456789", vec![Line::TooLong]),
        ] {
            assert_eq!(lines(text, 8).await, expected, "{text:?}");
        }
    }
}
