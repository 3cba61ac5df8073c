//! The key under which secrets are stored.
//!
//! Who runs the store keeps the key. Here it only encrypts: each value under a key made for its purpose, bound
//! to the row and the column it stands in, so that values cannot be exchanged. What clients carry instead of the
//! store, such as the id of a session, is encrypted in the same way and bound to whose it is.

use std::fmt;
use std::path::Path;

use aes_gcm::aead::{Aead as _, KeyInit as _, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use crate::error::StoreError;

/// How an encrypted text begins. JSON begins with another letter.
pub(crate) const SEALED: &str = "sealed1:";
const NONCE_LENGTH: usize = 12;

/// Gives the key for a data directory, once the directory is locked; `None` if there is no usable one. It is told which
/// key the database knows, if any, and fails rather than return another one that would lose something.
pub type KeySource<'a> =
    &'a (dyn Fn(&Path, Option<&KnownKey>) -> Result<Option<MasterKey>, StoreError> + Send + Sync);

/// The master key that a database was last used with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKey {
    /// Its id, as [`MasterKey::id`] returns it.
    pub key_id: String,
    /// How many secrets, and states of servers that were added at run time, are encrypted with it.
    pub n_secrets: u64,
}

/// The key of all keys.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey([u8; MasterKey::LENGTH]);

impl MasterKey {
    /// The length of a key in bytes.
    pub const LENGTH: usize = 32;

    /// A key of these bytes, which must be random.
    pub const fn new(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }

    /// Reads a key as a file has it: hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = hex::decode(text.trim()).ok()?;
        bytes.try_into().ok().map(Self)
    }

    /// The key as a file has it.
    pub fn to_text(&self) -> String {
        hex::encode(self.0)
    }

    /// A new key; `None` if there are no random numbers.
    pub fn random() -> Option<Self> {
        let mut bytes = [0_u8; Self::LENGTH];
        getrandom::fill(&mut bytes).ok().map(|()| Self(bytes))
    }

    /// What encrypts values for one purpose.
    pub fn cipher(&self, purpose: &str) -> Cipher {
        Cipher(Aes256Gcm::new(&self.derived(purpose).into()))
    }

    /// Identifies the key without giving it away: half of a hash that no cipher uses.
    pub fn id(&self) -> String {
        hex::encode(&self.derived("octroi key id v1")[..16])
    }

    fn derived(&self, purpose: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(purpose);
        hash.update(b"\n");
        hash.update(self.0);
        hash.finalize().into()
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MasterKey(***)")
    }
}

/// Encrypts and decrypts values of one purpose.
pub struct Cipher(Aes256Gcm);

impl Cipher {
    /// How many characters of a token are its nonce: random, and different for every token.
    pub const NONCE_CHARACTERS: usize = NONCE_LENGTH / 3 * 4;

    /// Encrypts what a client will carry, bound to whose it is, as letters, digits, `-` and `_`; `None` if there
    /// are no random numbers.
    pub fn seal_token(&self, plain: &[u8], bound_to: &[u8]) -> Option<String> {
        let mut nonce = [0_u8; NONCE_LENGTH];
        getrandom::fill(&mut nonce).ok()?;
        let sealed = self.0.encrypt(&Nonce::from(nonce), Payload { msg: plain, aad: bound_to }).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Decrypts what a client carried; `None` if it was encrypted with another key, was bound to something else, or
    /// was changed.
    pub fn open_token(&self, token: &str, bound_to: &[u8]) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LENGTH>()?;
        self.0.decrypt(&Nonce::from(*nonce), Payload { msg: sealed, aad: bound_to }).ok()
    }

    /// Encrypts a text for one place; `None` if there are no random numbers.
    pub(crate) fn seal(&self, text: &str, place: &str) -> Option<String> {
        let mut nonce = [0_u8; NONCE_LENGTH];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload { msg: text.as_bytes(), aad: place.as_bytes() };
        let sealed = self.0.encrypt(&Nonce::from(nonce), payload).ok()?;
        Some(format!("{SEALED}{}", STANDARD_NO_PAD.encode([&nonce[..], &sealed].concat())))
    }

    /// Decrypts a text of one place; `None` if it was encrypted with another key or for another place.
    pub(crate) fn open(&self, sealed: &str, place: &str) -> Option<String> {
        let bytes = STANDARD_NO_PAD.decode(sealed.strip_prefix(SEALED)?).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LENGTH>()?;
        let payload = Payload { msg: sealed, aad: place.as_bytes() };
        String::from_utf8(self.0.decrypt(&Nonce::from(*nonce), payload).ok()?).ok()
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Cipher(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_key_for_the_same_place_opens_a_text() {
        let key = MasterKey::new([7; 32]);
        let cipher = key.cipher("approvals");
        let sealed = cipher.seal("{\"a\":1}", "ap_1/arguments").unwrap();
        assert!(sealed.starts_with(SEALED) && !sealed.contains('{'), "{sealed}");
        assert_ne!(
            Some(&sealed),
            cipher.seal("{\"a\":1}", "ap_1/arguments").as_ref(),
            "never twice the same"
        );
        assert_eq!(cipher.open(&sealed, "ap_1/arguments").as_deref(), Some("{\"a\":1}"));
        for (other, place) in [
            (key.cipher("approvals"), "ap_2/arguments"),
            (key.cipher("secrets"), "ap_1/arguments"),
            (MasterKey::new([8; 32]).cipher("approvals"), "ap_1/arguments"),
        ] {
            assert_eq!(other.open(&sealed, place), None);
        }
        for wrong in ["", SEALED, "sealed1:AAAA", "{}", &sealed[..sealed.len() - 2]] {
            assert_eq!(cipher.open(wrong, "ap_1/arguments"), None, "{wrong}");
        }
    }

    #[test]
    fn a_token_opens_unchanged_and_for_whom_it_was_made() {
        let cipher = MasterKey::new([7; 32]).cipher("sessions");
        let token = cipher.seal_token(b"what is inside", b"ann").unwrap();
        assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{token}");
        assert_eq!(cipher.open_token(&token, b"ann").as_deref(), Some(&b"what is inside"[..]));
        assert_eq!(cipher.open_token(&token, b"bob"), None);
        assert_eq!(MasterKey::new([7; 32]).cipher("other").open_token(&token, b"ann"), None);
        let other = cipher.seal_token(b"what is inside", b"ann").unwrap();
        assert_ne!(token[..Cipher::NONCE_CHARACTERS], other[..Cipher::NONCE_CHARACTERS]);
        for position in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[position] = if changed[position] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(cipher.open_token(&changed, b"ann"), None, "{position}");
        }
        for wrong in ["", "A", "sealed1:AAAA", &token[..15], &token[..token.len() - 4]] {
            assert_eq!(cipher.open_token(wrong, b"ann"), None, "{wrong}");
        }
    }

    #[test]
    fn keys_are_written_as_digits_and_never_shown() {
        let key = MasterKey::new([0xab; 32]);
        assert_eq!(MasterKey::parse(&format!("{}\n", key.to_text())), Some(key.clone()));
        for wrong in ["", "abcd", &"g".repeat(64), &"a".repeat(66)] {
            assert_eq!(MasterKey::parse(wrong), None, "{wrong}");
        }
        assert_eq!(key.id().len(), 32);
        assert_ne!(key.id(), MasterKey::new([0xac; 32]).id());
        assert!(!key.to_text().contains(&key.id()));
        assert_eq!(format!("{key:?} {:?}", key.cipher("x")), "MasterKey(***) Cipher(***)");
    }
}
