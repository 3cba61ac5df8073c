//! The hash chain: every record is bound to its number and to all records before it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// A SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The base64 form used in checkpoints and proofs.
    pub fn to_base64(self) -> String {
        STANDARD.encode(self.0)
    }

    /// Parses the base64 form used in checkpoints and proofs.
    pub fn from_base64(text: &str) -> Option<Self> {
        STANDARD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.to_base64())
    }
}

/// The chain value before the first record of a node.
pub fn start(node: &str) -> Hash {
    Hash(Sha256::new_with_prefix("octroi audit chain v1\n").chain_update(node).finalize().into())
}

/// The hash of a record: `SHA-256(0x00 || number, eight bytes, little-endian || body)`. The zero byte
/// separates records from the inner nodes of the tree.
pub fn leaf(seq: u64, body: &[u8]) -> Hash {
    let hash = Sha256::new_with_prefix([0]).chain_update(seq.to_le_bytes()).chain_update(body);
    Hash(hash.finalize().into())
}

/// The chain value after a record: `SHA-256(value before || leaf)`.
pub fn next(before: Hash, leaf: Hash) -> Hash {
    Hash(Sha256::new_with_prefix(before.0).chain_update(leaf.0).finalize().into())
}

/// The placeholder for a lost record in the tree, so that later records keep their positions.
pub fn lost_leaf(seq: u64) -> Hash {
    leaf(seq, b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by an independent program from the documentation.
    #[test]
    fn known_values() {
        let leaf = leaf(1, b"{}");
        for (hash, expected) in [
            (start("node-1"), "BMbict2VEQfUPdV+QgX0QALOZlrQyxXs/g4mh6zubQU="),
            (leaf, "rI1JiEGJOn/uqM2DKoeycnGOX+W340hdaYacTLg53sg="),
            (next(start("node-1"), leaf), "QUXo4OO4eS2BUiCv0Ng92ay3rm/6oMKCu5jQn3iVRgA="),
        ] {
            assert_eq!(hash.to_base64(), expected);
            assert_eq!(Hash::from_base64(expected), Some(hash));
        }
    }
}
