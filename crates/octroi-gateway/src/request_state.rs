//! The state of a request that a client carries and must return unchanged.

use std::time::Duration;

use octroi_core::{Clock, ServerKey, arguments};
use octroi_mcp::params::Params;
use octroi_mcp::translate::Subject;
use octroi_mcp::{Method, RpcError};
use octroi_store::Cipher;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// How long a person may take to answer. After that the server gets no answer.
pub(crate) const PATIENCE: Duration = Duration::from_mins(10);
/// What the key is derived for.
pub(crate) const PURPOSE: &str = "request state";

/// Seals and opens `requestState`. The key outlives the process, as do approvals and the questions of modern
/// servers. Calls that are pending at a legacy server do not.
pub(crate) struct Sealer {
    clock: Clock,
    cipher: Cipher,
    run: u64,
}

/// The sealed content: the position of a call, bound to its principal, an expiry time and the call itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RequestState {
    /// The position of the call.
    #[serde(rename = "r")]
    pub(crate) round: Position,
    /// The principal's id.
    #[serde(rename = "p")]
    pub(crate) principal: String,
    /// When it expires, in milliseconds since the epoch.
    #[serde(rename = "e")]
    pub(crate) expires_ms: u64,
    /// The digest of the call.
    #[serde(rename = "d")]
    pub(crate) digest: [u8; 32],
    /// The approval that the call is made with, if a person was asked.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub(crate) grant: Option<Grant>,
}

/// An approval in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grant {
    /// The approval's id.
    #[serde(rename = "a")]
    pub(crate) approval: String,
    /// The round of its call: each is valid for one answer.
    #[serde(rename = "n")]
    pub(crate) round: u32,
}

/// The position of an interrupted call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Position {
    /// A modern server asked; its own state, if it gave one.
    #[serde(rename = "s")]
    Server(Option<String>),
    /// A legacy server's call is pending here under this number, in this run of the gateway.
    #[serde(rename = "k")]
    Pending(u64, u64),
    /// A legacy server asks to be called again.
    #[serde(rename = "a")]
    Again,
    /// The approval is pending.
    #[serde(rename = "p")]
    Approval(String),
}

impl Sealer {
    /// Creates a sealer for one run of the gateway.
    pub(crate) fn new(clock: Clock, cipher: Cipher, run: u64) -> Self {
        Self { clock, cipher, run }
    }

    /// The position of a call that is pending here under a number.
    pub(crate) fn pending(&self, number: u64) -> Position {
        Position::Pending(number, self.run)
    }

    /// Whether a call was pending in an earlier run of the gateway, and so is lost.
    pub(crate) fn is_lost(&self, position: &Position) -> bool {
        match position {
            Position::Pending(_, run) => *run != self.run,
            Position::Server(_) | Position::Again | Position::Approval(_) => false,
        }
    }

    /// Seals the position of a call, valid for as long as a person may take to answer.
    pub(crate) fn seal_position(
        &self,
        round: Position,
        principal: String,
        digest: [u8; 32],
        grant: Option<Grant>,
    ) -> Option<String> {
        let now_ms = u64::try_from(self.clock.now_ms()).unwrap_or_default();
        let expires_ms = now_ms.saturating_add(u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX));
        self.seal(&RequestState { round, principal, expires_ms, digest, grant })
    }

    pub(crate) fn seal(&self, state: &RequestState) -> Option<String> {
        self.cipher.seal_token(&serde_json::to_vec(state).ok()?, b"")
    }

    /// Opens a state and checks that it fits this principal, this call and the current time.
    pub(crate) fn open(
        &self,
        sealed: &str,
        principal: &str,
        digest: &[u8; 32],
        now_ms: u64,
    ) -> Result<RequestState, RpcError> {
        let invalid = |why: &str| RpcError::invalid_params(format!("requestState is not valid: {why}"));
        let plain = self
            .cipher
            .open_token(sealed, b"")
            .ok_or_else(|| invalid("it was changed, or was not issued here"))?;
        let state: RequestState = serde_json::from_slice(&plain).map_err(|_| invalid("it cannot be read"))?;
        if state.principal != principal {
            return Err(invalid("it was issued to another principal"));
        }
        if state.expires_ms < now_ms {
            return Err(invalid("it has expired; make the call again without it"));
        }
        if state.digest != *digest {
            return Err(invalid("it belongs to another call"));
        }
        Ok(state)
    }
}

/// The digest of a call as the client sent it.
pub(crate) fn digest_of(method: &Method, server: &ServerKey, subject: &Subject, params: &Params) -> [u8; 32] {
    let server = server.to_string();
    let parts = [
        method.as_str(),
        server.as_str(),
        subject.name.as_deref().unwrap_or_default(),
        subject.uri.as_deref().unwrap_or_default(),
    ];
    let named = if subject.uri.is_some() { "uri" } else { "name" };
    digest(&parts, params.arguments().as_deref(), params.others(named).as_deref())
}

/// The digest of what identifies a call: method, server, subject, arguments and other parameters, independent of
/// the order of their members. Numbers count as they are written.
fn digest(parts: &[&str], arguments: Option<&[u8]>, others: Option<&[u8]>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    for object in [arguments, others] {
        let text = object.map(|json| arguments::canonical(json).unwrap_or_else(|_| json.to_vec()));
        let text = text.as_deref();
        hash.update([u8::from(text.is_some())]);
        hash.update((text.map_or(0, <[u8]>::len) as u64).to_le_bytes());
        hash.update(text.unwrap_or_default());
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_texts_of_a_number_are_two_calls() {
        for (one, other) in [
            ("12345678901234567890123", "12345678901234567890124"),
            ("0.1", "0.10000000000000000001"),
            ("1e2", "100.0"),
        ] {
            let of =
                |number: &str| digest(&["x"], Some(format!(r#"{{"account":{number}}}"#).as_bytes()), None);
            assert_eq!(of(one), of(one));
            assert_ne!(of(one), of(other), "{one} {other}");
        }
    }

    fn sealer(key: u8, run: u64) -> Sealer {
        let cipher = octroi_store::MasterKey::new([key; 32]).cipher(PURPOSE);
        Sealer::new(octroi_upstream::system_clock(), cipher, run)
    }

    #[test]
    fn only_what_is_pending_is_lost_by_a_restart() {
        let (before, after) = (sealer(7, 1), sealer(7, 2));
        assert!(!before.is_lost(&before.pending(3)));
        assert!(after.is_lost(&before.pending(3)));
        for position in [Position::Server(None), Position::Again, Position::Approval("ap_1".into())] {
            assert!(!after.is_lost(&position), "{position:?}");
        }
    }

    #[test]
    fn a_state_opens_only_for_its_owner_its_call_and_its_time() {
        let sealer = sealer(7, 1);
        let call = digest(&["tools/call", "x"], Some(br#"{"a":1,"b":[2]}"#), None);
        let state = RequestState {
            round: Position::Server(Some("inner".into())),
            principal: "alice".into(),
            expires_ms: 100,
            digest: call,
            grant: None,
        };
        let text = sealer.seal(&state).unwrap();
        assert_eq!(sealer.open(&text, "alice", &call, 99), Ok(state));
        let same = digest(&["tools/call", "x"], Some(br#"{ "b":[2], "a":1 }"#), None);
        assert!(sealer.open(&text, "alice", &same, 99).is_ok());
        let other = digest(&["tools/call", "x"], Some(br#"{"a":2,"b":[2]}"#), None);
        assert!(sealer.open(&text, "alice", &other, 99).is_err());
        for (arguments, others) in [
            (&br#"{"a":1.0,"b":[2]}"#[..], None),
            (br#"{"a":1,"b":[2.0]}"#, None),
            (br#"{"a":1,"b":[2]}"#, Some(&br#"{"task":{}}"#[..])),
        ] {
            let other = digest(&["tools/call", "x"], Some(arguments), others);
            assert!(sealer.open(&text, "alice", &other, 99).is_err(), "{other:?}");
        }
        assert!(sealer.open(&text, "bob", &call, 99).is_err());
        assert!(sealer.open(&text, "alice", &call, 101).is_err());
        assert!(self::sealer(8, 1).open(&text, "alice", &call, 99).is_err(), "another key");
        assert!(self::sealer(7, 2).open(&text, "alice", &call, 99).is_ok(), "after a restart");
        for position in 0..text.len() {
            let mut tampered = text.clone().into_bytes();
            tampered[position] = if tampered[position] == b'A' { b'B' } else { b'A' };
            let tampered = String::from_utf8(tampered).unwrap();
            assert!(sealer.open(&tampered, "alice", &call, 99).is_err() || tampered == text, "{position}");
        }
        assert!(sealer.open("", "alice", &call, 99).is_err());
    }
}
