//! The id of a legacy session over HTTP. What the session needs is sealed in it, so that the session survives a
//! restart of the gateway without being stored anywhere.
//!
//! An id opens only for the principal, the token and the endpoint that it was issued for; to all others it says
//! nothing, not even that it is an id.

use std::time::Duration;

use bytes::Bytes;
use octroi_core::{Clock, Principal};
use octroi_gateway::{Cipher, Gateway, View};
use octroi_mcp::Version;
use octroi_mcp::capability::ClientCapabilities;
use serde_json::{Value, json};

use crate::frontend::Frontend;
use crate::session::InitializeParams;

/// What the key is derived for.
const PURPOSE: &str = "session ids";
/// The layout of what is sealed.
const LAYOUT: u8 = 1;
/// The most that an id holds of a client's capabilities, and of its name and version each, in bytes. Longer ones
/// are reduced to what Octroi itself needs: an id is sent with every request.
const PART_MAX: usize = 256;
/// The most characters of a name or a version that are kept when the whole does not fit.
const NAME_MAX: usize = 64;
/// Longer than any id.
const ID_MAX: usize = 1024;

/// Issues ids, and opens those of earlier runs of the gateway.
pub(crate) struct SessionIds {
    cipher: Cipher,
    run: u64,
    clock: Clock,
    /// How long after it began a session is restored; `None` for never.
    restore: Option<Duration>,
}

impl SessionIds {
    /// The ids of a gateway.
    pub(crate) fn new(gateway: &Gateway, restore: Option<Duration>) -> Self {
        Self { cipher: gateway.cipher(PURPOSE), run: gateway.run(), clock: gateway.clock().clone(), restore }
    }

    /// A number of this run of the gateway.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    /// A new id; `None` if there are no random numbers.
    pub(crate) fn issue(
        &self,
        principal: &Principal,
        frontend: &Frontend,
        client: &InitializeParams,
    ) -> Option<String> {
        let capabilities = fitting_capabilities(&client.capabilities);
        let info = client.info.as_ref().and_then(fitting_info).unwrap_or_default();
        let mut plain = vec![LAYOUT];
        plain.extend(self.run.to_be_bytes());
        plain.extend(self.clock.now_ms().to_be_bytes());
        for part in [client.version.as_str().as_bytes(), &capabilities, &info] {
            plain.extend(u16::try_from(part.len()).unwrap_or_default().to_be_bytes());
            plain.extend(part);
        }
        self.cipher.seal_token(&plain, &bound_to(principal, frontend))
    }

    /// What the client of a session declared that began in an earlier run. `None` for every id that is not to be
    /// restored: of this run, too old, or not issued for this principal and this endpoint.
    pub(crate) fn open_earlier(
        &self,
        id: &str,
        principal: &Principal,
        frontend: &Frontend,
    ) -> Option<InitializeParams> {
        let restore = self.restore.filter(|_| id.len() <= ID_MAX)?;
        let plain = self.cipher.open_token(id, &bound_to(principal, frontend))?;
        let rest = plain.strip_prefix(&[LAYOUT])?;
        let (run, rest) = rest.split_first_chunk()?;
        let (begun_ms, rest) = rest.split_first_chunk()?;
        // A session of this run that is not known any more has ended.
        if u64::from_be_bytes(*run) == self.run {
            return None;
        }
        let age_ms = self.clock.now_ms().saturating_sub(i64::from_be_bytes(*begun_ms));
        if u128::try_from(age_ms).is_ok_and(|age_ms| age_ms > restore.as_millis()) {
            return None;
        }
        let (version, rest) = part(rest)?;
        let (capabilities, rest) = part(rest)?;
        let (info, _) = part(rest)?;
        Some(InitializeParams {
            version: Version::parse(std::str::from_utf8(version).ok()?)?,
            capabilities: ClientCapabilities::read(Bytes::copy_from_slice(capabilities)),
            info: (!info.is_empty()).then(|| Bytes::copy_from_slice(info)),
        })
    }
}

/// The first part, without its length, and the rest.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Whose an id is: it opens for nobody else.
fn bound_to(principal: &Principal, frontend: &Frontend) -> Vec<u8> {
    let server = match frontend {
        Frontend::Management => "management".to_owned(),
        Frontend::Compositor(View::Merged) => "all".to_owned(),
        Frontend::Compositor(View::Server(server)) => format!("server {server}"),
    };
    let agent = principal.agent_id().map(|agent| &**agent).unwrap_or_default();
    let (kind, token) = (principal.kind().as_str(), &principal.token().id);
    let mut bound = Vec::new();
    // With their lengths, so that no two owners have the same bytes.
    for part in [server.as_str(), principal.id(), kind, agent, token] {
        bound.extend((part.len() as u64).to_be_bytes());
        bound.extend(part.as_bytes());
    }
    bound
}

fn fitting_capabilities(capabilities: &ClientCapabilities) -> Bytes {
    if capabilities.json().len() <= PART_MAX {
        return capabilities.json().clone();
    }
    Bytes::from(capabilities.essential().to_string())
}

/// A client's name and version, cut if they are too long.
fn fitting_info(info: &Bytes) -> Option<Bytes> {
    if info.len() <= PART_MAX {
        return Some(info.clone());
    }
    let whole: Value = serde_json::from_slice(info).ok()?;
    let cut = |member: &str| -> Option<String> {
        Some(whole.get(member)?.as_str()?.chars().take(NAME_MAX).collect())
    };
    let text = json!({"name": cut("name")?, "version": cut("version").unwrap_or_default()}).to_string();
    // Letters that are written as escapes can still be too many.
    (text.len() <= PART_MAX).then(|| Bytes::from(text))
}

#[cfg(test)]
mod tests;
