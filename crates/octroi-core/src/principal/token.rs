//! Tokens: their form, their hashes, and the admin token.

use std::fmt;

use crc::{CRC_32_ISO_HDLC, Crc};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::entries::TokenEntries;

const SECRET_LENGTH: usize = 43;
const ID_LENGTH: usize = 8;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// The checksum of zip files and Ethernet, which every language has a library for.
const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
const CHECKSUM_LENGTH: usize = 8;

/// The hash under which a token is stored.
pub type TokenHash = [u8; 32];

/// Hashes a token. Tokens are long and random, so one fast round is enough.
pub fn hash_token(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// What a token stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A person.
    Human,
    /// An agent.
    Agent,
    /// A session of an agent.
    Session,
    /// A service, which may read metrics.
    Service,
}

impl TokenKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Human, Self::Agent, Self::Session, Self::Service];

    /// Its name in configuration and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::Session => "session",
            Self::Service => "service",
        }
    }

    /// Parses its name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// How its tokens begin, after `oct_`.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Human => "hum",
            Self::Agent => "agt",
            Self::Session => "ses",
            Self::Service => "svc",
        }
    }
}

/// How the code of an invitation begins, after `oct_`. It is not a token: it is exchanged for one.
const INVITE_PREFIX: &str = "inv";
/// How the code begins that signs a browser in. It is used up at once.
const SIGN_IN_PREFIX: &str = "web";

/// A token that was just made. It is shown once; afterwards only its hash is known.
#[derive(Clone, PartialEq, Eq)]
pub struct NewToken {
    /// The part that is not secret and names it.
    pub id: String,
    /// The whole token.
    pub secret: String,
}

impl NewToken {
    /// `oct_{kind}_{id}_{secret}{checksum}`: the id is not secret; the checksum lets scanners and clients find
    /// typing errors. `random` fills a buffer with random bytes.
    pub fn create<E>(kind: TokenKind, random: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        Self::with_prefix(kind.prefix(), random)
    }

    /// The code of an invitation, in the same form.
    pub fn invitation<E>(random: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        Self::with_prefix(INVITE_PREFIX, random)
    }

    /// The code that signs a browser in, in the same form.
    pub fn sign_in_code<E>(random: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        Self::with_prefix(SIGN_IN_PREFIX, random)
    }

    fn with_prefix<E>(prefix: &str, mut random: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let id = letters(ID_LENGTH, &mut random)?;
        let body = format!("oct_{prefix}_{id}_{}", letters(SECRET_LENGTH, &mut random)?);
        let checksum = CHECKSUM.checksum(body.as_bytes());
        Ok(Self { id, secret: format!("{body}{checksum:08x}") })
    }

    /// The hash of the token.
    pub fn hash(&self) -> TokenHash {
        hash_token(&self.secret)
    }
}

impl fmt::Debug for NewToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NewToken").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Random letters and digits, each as likely as the others.
fn letters<E>(length: usize, random: &mut impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<String, E> {
    let mut text = String::with_capacity(length);
    let mut bytes = [0_u8; 64];
    while text.len() < length {
        random(&mut bytes)?;
        // Values above the largest multiple of 62 would make some letters likelier than others.
        let letters = bytes
            .iter()
            .filter(|byte| **byte < 248)
            .map(|byte| char::from(ALPHABET[usize::from(*byte % 62)]));
        text.extend(letters.take(length - text.len()));
    }
    Ok(text)
}

/// The id inside a token of Octroi's own form; `None` for other texts and for one with a typing error.
pub fn token_id(token: &str) -> Option<&str> {
    let (body, checksum) = token.split_at_checked(token.len().checked_sub(CHECKSUM_LENGTH)?)?;
    let mut parts = body.split('_');
    let is_own = parts.next() == Some("oct") && parts.next().is_some_and(|kind| kind.len() == 3);
    let id = parts
        .next()
        .filter(|id| id.len() == ID_LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
    let is_whole = is_own
        && parts.next().is_some_and(|secret| secret.len() == SECRET_LENGTH)
        && parts.next().is_none()
        && u32::from_str_radix(checksum, 16).is_ok_and(|given| given == CHECKSUM.checksum(body.as_bytes()));
    is_whole.then_some(id)
}

/// The token for what agents must not do. Only its hash is stored, and not even that is displayed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AdminToken(TokenHash);

impl AdminToken {
    /// Stores a hash.
    pub const fn new(hash: TokenHash) -> Self {
        Self(hash)
    }

    /// Whether this is the admin token. All bytes of the hashes are compared, so the timing reveals nothing about
    /// how close a guess came.
    pub fn is(&self, token: &str) -> bool {
        hash_token(token).ct_eq(&self.0).into()
    }

    /// Whether it is also one of these tokens.
    pub fn is_among(&self, tokens: &TokenEntries) -> bool {
        tokens.contains(&self.0)
    }
}

impl fmt::Debug for AdminToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(kind: TokenKind) -> NewToken {
        let mut next = 0_u8;
        let counting = |bytes: &mut [u8]| {
            for byte in bytes {
                next = next.wrapping_add(97);
                *byte = next;
            }
            Ok::<_, std::convert::Infallible>(())
        };
        NewToken::create(kind, counting).unwrap()
    }

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(CHECKSUM.checksum(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_token_names_itself() {
        for (kind, prefix) in TokenKind::ALL.into_iter().zip(["oct_hum_", "oct_agt_", "oct_ses_", "oct_svc_"])
        {
            let token = made(kind);
            assert!(token.secret.starts_with(prefix), "{}", token.secret);
            assert_eq!(token.secret.len(), 8 + 8 + 1 + 43 + 8);
            assert_eq!(token_id(&token.secret), Some(&*token.id));
            assert_eq!(format!("{token:?}"), format!("NewToken {{ id: {:?}, .. }}", token.id));
        }
        let token = made(TokenKind::Agent).secret;
        let mistyped = token.replacen(&token[20..21], if &token[20..21] == "x" { "y" } else { "x" }, 1);
        for other in [
            "",
            "secret",
            "oct_agt_x_y",
            &token[1..],
            &token[..token.len() - 1],
            &mistyped,
            "ä".repeat(9).as_str(),
        ] {
            assert_eq!(token_id(other), None, "{other}");
        }
    }

    #[test]
    fn only_the_exact_admin_token_is_it() {
        for wrong in ["", "Right", "right ", "righ", "rightx"] {
            assert!(!AdminToken::new(hash_token("right")).is(wrong), "{wrong}");
        }
        assert!(AdminToken::new(hash_token("right")).is("right"));
    }
}
