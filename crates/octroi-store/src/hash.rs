//! Content hashes, to detect changes without comparing the content.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of a content, as 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ContentHash(String);

impl ContentHash {
    /// The hash of one text.
    pub fn of(text: &str) -> Self {
        Self::finish(Sha256::new_with_prefix(text))
    }

    /// The hash of lists of texts. It also covers the boundaries of texts and lists.
    pub(crate) fn of_lists<'a>(lists: impl IntoIterator<Item = &'a [String]>) -> Self {
        let mut hasher = Sha256::new();
        for list in lists {
            hasher.update((list.len() as u64).to_le_bytes());
            for text in list {
                hasher.update((text.len() as u64).to_le_bytes());
                hasher.update(text);
            }
        }
        Self::finish(hasher)
    }

    /// A stored hash. It is not validated: an invalid one equals no other hash.
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    /// The hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn finish(hasher: Sha256) -> Self {
        Self(hex::encode(hasher.finalize()))
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_sha_256() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(ContentHash::of("abc").as_str(), expected);
    }

    #[test]
    fn boundaries_of_texts_and_lists_change_the_hash() {
        let lists = |lists: &[&[&str]]| {
            let lists: Vec<Vec<String>> =
                lists.iter().map(|list| list.iter().map(|&text| text.to_owned()).collect()).collect();
            ContentHash::of_lists(lists.iter().map(Vec::as_slice))
        };
        assert_ne!(lists(&[&["ab", "c"]]), lists(&[&["a", "bc"]]));
        assert_ne!(lists(&[&["a"], &[]]), lists(&[&[], &["a"]]));
    }
}
