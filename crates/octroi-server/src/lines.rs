//! One message per line, as standard streams carry them.

use bytes::Bytes;
use octroi_mcp::sse::one_line;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

const LINE_MAX: u64 = 64 << 20;

/// The next line that is not empty; `None` at the end. What was read of a line is lost if this is dropped.
pub async fn read_line(input: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<Bytes>> {
    loop {
        let mut line = Vec::new();
        if (&mut *input).take(LINE_MAX).read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(Bytes::from(line)));
        }
    }
}

/// Writes messages, each on a line, until all senders are dropped or writing fails.
pub async fn write_lines(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Bytes>) {
    let mut out = Vec::new();
    while let Some(message) = queue.recv().await {
        out.clear();
        one_line(&mut out, &message);
        out.push(b'\n');
        while let Ok(message) = queue.try_recv() {
            one_line(&mut out, &message);
            out.push(b'\n');
        }
        if output.write_all(&out).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}
