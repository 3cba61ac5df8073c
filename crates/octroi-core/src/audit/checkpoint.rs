//! Signed summaries of the log in the form of C2SP `tlog-checkpoint`: a note against which any copy of the
//! log can be verified.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::audit::chain::Hash;
use crate::audit::key::{PublicKey, SigningKey};

/// The size limit of a note.
pub const NOTE_MAX: usize = 4_096;
const SIGNATURE_MARK: &str = "\u{2014} ";

/// The log at a given number of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The node that wrote the log.
    pub node: String,
    /// The number of records: numbers 1 to this.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Hash,
    /// The chain value after the last of them.
    pub chain: Hash,
    /// When it was made, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Why a note is not a checkpoint of this log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// It is malformed.
    #[error("the note does not have the form of a checkpoint")]
    Form,
    /// It is unsigned, or signed with another key.
    #[error("the checkpoint is not signed with the key of this log")]
    Signature,
}

impl Checkpoint {
    /// The signed note.
    pub fn sign(&self, key: &SigningKey) -> String {
        let text = format!(
            "{origin}\n{size}\n{root}\nchain {chain}\ntime {at_ms}\n",
            origin = origin(&self.node),
            size = self.size,
            root = self.root.to_base64(),
            chain = self.chain.to_base64(),
            at_ms = self.at_ms,
        );
        let name = origin(&self.node);
        let id = key.public().id(&name);
        let signature = STANDARD.encode([&id[..], &key.sign(text.as_bytes())].concat());
        format!("{text}\n{SIGNATURE_MARK}{name} {signature}\n")
    }

    /// Parses a note and verifies its signature. Additional signatures of witnesses are allowed.
    pub fn open(note: &str, key: &PublicKey) -> Result<Self, CheckpointError> {
        let (checkpoint, text, signatures) = Self::split(note).ok_or(CheckpointError::Form)?;
        let name = origin(&checkpoint.node);
        let is_signed = signatures.lines().any(|line| {
            let signature = line.strip_prefix(SIGNATURE_MARK).and_then(|line| line.split_once(' '));
            let Some((signer, signature)) = signature else { return false };
            let Ok(bytes) = STANDARD.decode(signature) else { return false };
            let Some((id, signature)) = bytes.split_at_checked(4) else { return false };
            let Ok(signature) = signature.try_into() else { return false };
            signer == name && id == key.id(&name) && key.verify(text.as_bytes(), signature)
        });
        if is_signed { Ok(checkpoint) } else { Err(CheckpointError::Signature) }
    }

    /// Parses a note without verifying its signature.
    pub fn claimed(note: &str) -> Option<Self> {
        Self::split(note).map(|(checkpoint, ..)| checkpoint)
    }

    fn split(note: &str) -> Option<(Self, &str, &str)> {
        if note.len() > NOTE_MAX {
            return None;
        }
        let end = note.find("\n\n")? + 1;
        let (text, signatures) = (&note[..end], &note[end + 1..]);
        let mut lines = text.lines();
        let owner = lines.next()?.strip_prefix(ORIGIN_START)?;
        let size = lines.next()?;
        let root = Hash::from_base64(lines.next()?)?;
        let chain = Hash::from_base64(lines.next()?.strip_prefix("chain ")?)?;
        let at_ms = lines.next()?.strip_prefix("time ")?;
        let (size, at_ms) = (number(size)?, number(at_ms)?);
        let is_all = lines.next().is_none() && !signatures.is_empty();
        is_all.then(|| (Self { node: owner.to_owned(), size, root, chain, at_ms }, text, signatures))
    }
}

const ORIGIN_START: &str = "octroi-audit/";

/// The name of a node's log and of its signing key.
pub fn origin(node: &str) -> String {
    format!("{ORIGIN_START}{node}")
}

/// Digits only and no leading zero, so that each number has one text.
fn number(text: &str) -> Option<u64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn checkpoint() -> Checkpoint {
        Checkpoint { node: "n-1".to_owned(), size: 12, root: Hash([1; 32]), chain: Hash([2; 32]), at_ms: 5 }
    }

    #[test]
    fn a_note_is_read_as_it_was_signed() {
        let key = SigningKey::from_seed(&[3; 32]);
        let note = checkpoint().sign(&key);
        assert!(note.starts_with("octroi-audit/n-1\n12\nAQEB"), "{note}");
        assert_eq!(Checkpoint::open(&note, &key.public()), Ok(checkpoint()));
        let witnessed = format!("{note}\u{2014} witness AAAA\n");
        assert_eq!(Checkpoint::open(&witnessed, &key.public()), Ok(checkpoint()));
        let other = SigningKey::from_seed(&[4; 32]).public();
        assert_eq!(Checkpoint::open(&note, &other), Err(CheckpointError::Signature));
    }

    #[test]
    fn a_note_with_one_byte_changed_is_not_accepted() {
        let key = SigningKey::from_seed(&[3; 32]);
        let note = checkpoint().sign(&key);
        for place in 0..note.len() {
            let mut bytes = note.clone().into_bytes();
            bytes[place] ^= 1;
            if let Ok(changed) = String::from_utf8(bytes) {
                let opened = Checkpoint::open(&changed, &key.public());
                // Only the final newline is not signed.
                assert!(opened.is_err() || place == note.len() - 1, "{place}: {changed}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_confuses_the_reader(text in "(octroi-audit/)?[a-z0-9\n ]*(\n\n.*)?") {
            let _ = Checkpoint::claimed(&text);
        }
    }
}
