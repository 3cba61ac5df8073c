//! Messages as received from a connection.

use bytes::Bytes;

/// Up to this size copying is cheaper than keeping the receive buffer alive.
const SMALL: usize = 4 << 10;

/// Copies a small message into its own memory. As a slice it would keep the whole receive buffer alive for as
/// long as its call takes, and the connection would need another buffer.
pub fn detached(message: Bytes) -> Bytes {
    if message.len() <= SMALL { Bytes::copy_from_slice(&message) } else { message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_messages_hold_no_buffer_and_large_ones_are_not_copied() {
        for (n_bytes, is_copied) in [(1, true), (SMALL, true), (SMALL + 1, false)] {
            let buffer = Bytes::from(vec![7; 2 * SMALL]);
            let message = detached(buffer.slice(..n_bytes));
            assert_eq!(message, buffer.slice(..n_bytes));
            assert_eq!(buffer.is_unique(), is_copied, "{n_bytes}");
        }
    }
}
