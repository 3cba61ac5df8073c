//! The Ed25519 keys that sign checkpoints; signing needs no randomness.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _};
use sha2::{Digest as _, Sha256};

/// Identifies the algorithm in key texts and key ids.
const ED25519: u8 = 1;

/// A signing key, made from 32 random bytes.
pub struct SigningKey(ed25519_dalek::SigningKey);

/// A key that verifies signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(ed25519_dalek::VerifyingKey);

impl SigningKey {
    /// Derives the key from random bytes.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(seed))
    }

    /// The key that verifies its signatures.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs bytes.
    pub fn sign(&self, bytes: &[u8]) -> [u8; 64] {
        self.0.sign(bytes).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SigningKey(..)")
    }
}

impl PublicKey {
    /// Parses `NAME+ID+KEY`, as [`PublicKey::to_text`] writes it.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.trim().split_once('+')?;
        let (id, key) = rest.split_once('+')?;
        let bytes = STANDARD.decode(key).ok()?;
        let (&algorithm, bytes) = bytes.split_first()?;
        let key = Self(ed25519_dalek::VerifyingKey::from_bytes(bytes.try_into().ok()?).ok()?);
        (algorithm == ED25519 && id == hex::encode(key.id(name))).then_some(key)
    }

    /// The key as text, in the verifier key format of signed notes.
    pub fn to_text(&self, name: &str) -> String {
        let key = STANDARD.encode([&[ED25519], self.0.as_bytes().as_slice()].concat());
        format!("{name}+{}+{key}", hex::encode(self.id(name)))
    }

    /// The four-byte key id in a signature, which tells a reader which key to try.
    pub fn id(&self, name: &str) -> [u8; 4] {
        let hash =
            Sha256::new_with_prefix(name).chain_update([b'\n', ED25519]).chain_update(self.0.as_bytes());
        let hash = hash.finalize();
        [hash[0], hash[1], hash[2], hash[3]]
    }

    /// Whether the signature over these bytes is valid for this key.
    pub fn verify(&self, bytes: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(bytes, &Signature::from_bytes(signature)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_written() {
        let key = SigningKey::from_seed(&[7; 32]).public();
        let text = key.to_text("octroi-audit/n");
        assert_eq!(PublicKey::parse(&text), Some(key));
        for wrong in ["", "a+b", &text.replace("audit", "other"), &text[..text.len() - 4]] {
            assert_eq!(PublicKey::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_the_owner_signs() {
        let key = SigningKey::from_seed(&[7; 32]);
        let signature = key.sign(b"text");
        assert!(key.public().verify(b"text", &signature));
        assert!(!key.public().verify(b"texts", &signature));
        assert!(!SigningKey::from_seed(&[8; 32]).public().verify(b"text", &signature));
    }
}
