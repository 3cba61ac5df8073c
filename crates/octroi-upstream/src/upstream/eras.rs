//! Which eras a server speaks, and in which of them a client's calls are made.
//!
//! A server that speaks both eras is called in the era of each client, because many such servers refuse to ask
//! questions in the other one. One connection carries the lists, whatever the clients speak, so that a tool has one
//! definition. A connection of the other era is opened when the first client of that era comes. Whether the
//! server speaks it can only be found out by trying: servers of both eras often name only the modern versions.
//!
//! A program decides on its era with the first message, so another era costs another process. If no client used the
//! first process, the new one takes its place: there are as many processes as there are eras in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use octroi_core::server::{EraChoice, ServerSpec, Transport};
use octroi_mcp::Era;
use parking_lot::Mutex;

use super::{Slot, Upstream};
use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::identity::{ServerIdentity, SpokenEras};

/// After a failure that may pass, how long clients of that era are served in the other one.
const FAILED_FOR: Duration = Duration::from_mins(5);
const NEVER_REFUSED: u64 = 0;
const REFUSED_FOR_GOOD: u64 = u64::MAX;

/// What is known of a server's eras. Times are in milliseconds after the server's `made`.
#[derive(Debug, Default)]
pub(super) struct Eras {
    /// The era of the connection that carries the lists, once it was opened.
    detected: Mutex<Option<Era>>,
    is_legacy_spoken: AtomicBool,
    is_modern_spoken: AtomicBool,
    legacy_refused_until: AtomicU64,
    modern_refused_until: AtomicU64,
}

impl Eras {
    /// How to open a connection: in a certain era, or in the one that was detected earlier.
    pub(super) fn choice(&self, configured: EraChoice, era: Option<Era>) -> EraChoice {
        match (configured, era.or(*self.detected.lock())) {
            (EraChoice::Auto, Some(Era::Legacy)) => EraChoice::Legacy,
            (EraChoice::Auto, Some(Era::Modern)) => EraChoice::Modern,
            (EraChoice::Auto, None) => EraChoice::Auto,
            (EraChoice::Legacy | EraChoice::Modern, _) => configured,
        }
    }

    /// Records the era of a connection that was opened without a certain one in mind.
    pub(super) fn detected(&self, era: Era) {
        let previous = self.detected.lock().replace(era);
        self.spoke(era);
        // Detection asks for the modern era first, so a legacy server has refused it.
        if era == Era::Legacy && previous != Some(Era::Legacy) {
            self.modern_refused_until.store(REFUSED_FOR_GOOD, Ordering::Relaxed);
        }
    }

    /// Forgets everything, so that the next connection detects it again.
    pub(super) fn forget(&self) {
        *self.detected.lock() = None;
        self.is_legacy_spoken.store(false, Ordering::Relaxed);
        self.is_modern_spoken.store(false, Ordering::Relaxed);
        self.legacy_refused_until.store(NEVER_REFUSED, Ordering::Relaxed);
        self.modern_refused_until.store(NEVER_REFUSED, Ordering::Relaxed);
    }

    /// Records that a connection of an era was opened.
    pub(super) fn spoke(&self, era: Era) {
        self.refused(era).store(NEVER_REFUSED, Ordering::Relaxed);
        match era {
            Era::Legacy => self.is_legacy_spoken.store(true, Ordering::Relaxed),
            Era::Modern => self.is_modern_spoken.store(true, Ordering::Relaxed),
        }
    }

    fn spoken(&self) -> SpokenEras {
        let found = |is_spoken: &AtomicBool, refused: &AtomicU64| {
            if is_spoken.load(Ordering::Relaxed) {
                return Some(true);
            }
            (refused.load(Ordering::Relaxed) == REFUSED_FOR_GOOD).then_some(false)
        };
        SpokenEras {
            legacy: found(&self.is_legacy_spoken, &self.legacy_refused_until),
            modern: found(&self.is_modern_spoken, &self.modern_refused_until),
        }
    }

    /// The era in which to open a connection for a client; `None` where the server is used as it was detected.
    /// `lists` is the era of the connection that the client would use otherwise.
    pub(super) fn followed(
        &self,
        spec: &ServerSpec,
        client: Era,
        lists: Era,
        now: impl FnOnce() -> u64,
    ) -> Option<Era> {
        if client == lists || spec.era != EraChoice::Auto || matches!(spec.transport, Transport::Sse(_)) {
            return None;
        }
        (self.refused(client).load(Ordering::Relaxed) <= now()).then_some(client)
    }

    /// What stands for the era of the lists where a client has a connection of its own. A legacy client's is opened
    /// in the legacy era without asking for the other; a modern client's like the one that was opened first, unless
    /// that is a legacy one of a server that speaks both.
    pub(super) fn without_lists(&self, client: Era) -> Era {
        match client {
            Era::Legacy => Era::Modern,
            Era::Modern => self.detected.lock().unwrap_or(Era::Modern),
        }
    }

    /// Records that no connection of an era could be opened; `false` if that says nothing about the era.
    pub(super) fn gives_up(&self, era: Era, error: &UpstreamError, now: u64) -> bool {
        let until = match error {
            error if is_refusal(error) => REFUSED_FOR_GOOD,
            // Perhaps it cannot run twice, or was slow. A call in the other era is better than none.
            UpstreamError::Spawn { .. }
            | UpstreamError::NeedsAuth
            | UpstreamError::Status(_)
            | UpstreamError::Closed(_)
            | UpstreamError::NotTaken(_)
            | UpstreamError::Timeout(_)
            | UpstreamError::TooLarge { .. } => {
                now.saturating_add(u64::try_from(FAILED_FOR.as_millis()).unwrap_or(u64::MAX))
            }
            UpstreamError::Refused(_)
            | UpstreamError::Protocol(_)
            | UpstreamError::Connect { .. }
            | UpstreamError::NotPublic { .. }
            | UpstreamError::Redirected(_)
            | UpstreamError::NotPermitted
            | UpstreamError::Stopping
            | UpstreamError::Idle(_)
            | UpstreamError::Busy { .. }
            | UpstreamError::Resting { .. } => return false,
        };
        self.refused(era).store(until, Ordering::Relaxed);
        true
    }

    fn refused(&self, era: Era) -> &AtomicU64 {
        match era {
            Era::Legacy => &self.legacy_refused_until,
            Era::Modern => &self.modern_refused_until,
        }
    }
}

/// Whether an error says that the server does not speak the era.
pub(super) fn is_refusal(error: &UpstreamError) -> bool {
    matches!(
        error,
        UpstreamError::Refused(_) | UpstreamError::Protocol(_) | UpstreamError::Status(400 | 404 | 405)
    )
}

impl Upstream {
    /// Which eras the server speaks, as far as that was found out.
    pub fn spoken_eras(&self) -> SpokenEras {
        self.eras.spoken()
    }

    /// Restores what was found out in an earlier run, so that a program is not started twice to find it out again.
    /// Remote servers are asked again, which costs little.
    pub fn recall_eras(&self, identity: &ServerIdentity) {
        if !matches!(self.spec.transport, Transport::Stdio(_)) {
            return;
        }
        match identity.spoken {
            SpokenEras { legacy: Some(true), modern: Some(true) } => {
                *self.eras.detected.lock() = Some(identity.era);
                self.eras.spoke(Era::Legacy);
                self.eras.spoke(Era::Modern);
            }
            SpokenEras { legacy: Some(false), .. } => {
                self.eras.refused(Era::Legacy).store(REFUSED_FOR_GOOD, Ordering::Relaxed);
            }
            // Detection finds out by itself whether it speaks the modern era.
            SpokenEras { legacy: Some(true) | None, .. } => {}
        }
    }

    /// Lets the process of a client's era take the place of the shared one, if no client has used that.
    pub(super) async fn adopt(self: &Arc<Self>, slot: &Arc<Slot>, connection: &Arc<Connection>) -> bool {
        let _turn = self.shared.connecting.lock().await;
        // Whoever sets this first decides what becomes of the shared connection.
        if !self.slots.is_common(slot) || self.shared.is_used.swap(true, Ordering::Relaxed) {
            return false;
        }
        self.slots.remove(slot);
        *self.eras.detected.lock() = Some(connection.era());
        let previous = self.shared.current.swap(Some(Arc::clone(connection)));
        self.announce(&self.shared, connection).await;
        if let Some(previous) = previous {
            previous.close().await;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use octroi_core::server::Remote;
    use octroi_core::{ServerKey, ServerName};
    use octroi_mcp::RpcError;

    use super::*;

    fn spec(era: EraChoice, transport: fn(Remote) -> Transport) -> ServerSpec {
        let remote = Remote { url: "http://127.0.0.1/mcp".to_owned(), headers: BTreeMap::default() };
        let key = ServerKey::system(ServerName::parse("peer").unwrap());
        ServerSpec { era, ..ServerSpec::new(key, transport(remote)) }
    }

    #[test]
    fn a_client_is_followed_where_the_server_may_speak_its_era() {
        use Era::{Legacy, Modern};
        let auto = EraChoice::Auto;
        for (configured, transport, client, lists, expected) in [
            (auto, Transport::Http as fn(Remote) -> Transport, Legacy, Modern, Some(Legacy)),
            (auto, Transport::Http, Modern, Modern, None),
            (auto, Transport::Http, Legacy, Legacy, None),
            // Detection asked for the modern era and was refused.
            (auto, Transport::Http, Modern, Legacy, None),
            (auto, Transport::Sse, Modern, Legacy, None),
            (EraChoice::Legacy, Transport::Http, Modern, Legacy, None),
            (EraChoice::Modern, Transport::Http, Legacy, Modern, None),
        ] {
            let eras = Eras::default();
            eras.detected(lists);
            let followed = eras.followed(&spec(configured, transport), client, lists, || 1);
            assert_eq!(followed, expected, "{configured:?} {client} {lists}");
        }
    }

    #[test]
    fn a_refused_era_is_not_asked_for_again() {
        let refusal = UpstreamError::Refused(RpcError::new(-32022, "no"));
        let minutes = |n: u64| n * 60_000;
        for (error, follows_after) in [
            (refusal, [false, false]),
            (UpstreamError::Protocol("no".to_owned()), [false, false]),
            (UpstreamError::Status(405), [false, false]),
            (UpstreamError::Status(503), [false, true]),
            (UpstreamError::Closed("it ended".to_owned()), [false, true]),
            (UpstreamError::Timeout(Duration::from_secs(1)), [false, true]),
            (UpstreamError::Connect { address: String::new(), reason: String::new() }, [true, true]),
            (UpstreamError::Stopping, [true, true]),
        ] {
            let (eras, spec) = (Eras::default(), spec(EraChoice::Auto, Transport::Http));
            eras.detected(Era::Modern);
            let gives_up = eras.gives_up(Era::Legacy, &error, minutes(1));
            assert_eq!(gives_up, !follows_after[0], "{error}");
            let follows = [2, 7].map(|at| {
                eras.followed(&spec, Era::Legacy, Era::Modern, || minutes(at)) == Some(Era::Legacy)
            });
            assert_eq!(follows, follows_after, "{error}");
            eras.forget();
            assert_eq!(eras.followed(&spec, Era::Legacy, Era::Modern, || minutes(2)), Some(Era::Legacy));
        }
    }

    #[test]
    fn a_connection_of_its_own_is_in_the_era_of_its_client() {
        use Era::{Legacy, Modern};
        // Which connections were opened before, in order; the first one carries the lists.
        for (opened, client, expected) in [
            (&[][..], Legacy, Some(Legacy)),
            (&[], Modern, None),
            (&[Modern], Legacy, Some(Legacy)),
            (&[Modern], Modern, None),
            (&[Legacy], Legacy, Some(Legacy)),
            // It has refused the modern era, and is opened as it was detected.
            (&[Legacy], Modern, None),
            (&[Legacy, Modern], Modern, Some(Modern)),
        ] {
            let (eras, spec) = (Eras::default(), spec(EraChoice::Auto, Transport::Http));
            for (index, era) in opened.iter().enumerate() {
                if index == 0 { eras.detected(*era) } else { eras.spoke(*era) }
            }
            let followed = eras.followed(&spec, client, eras.without_lists(client), || 1);
            assert_eq!(followed, expected, "{opened:?} {client}");
        }
    }

    #[test]
    fn a_connection_is_opened_in_the_era_that_was_detected_unless_a_client_wants_another() {
        let eras = Eras::default();
        assert_eq!(eras.choice(EraChoice::Auto, None), EraChoice::Auto);
        assert_eq!(eras.choice(EraChoice::Auto, Some(Era::Legacy)), EraChoice::Legacy);
        eras.detected(Era::Modern);
        assert_eq!(eras.choice(EraChoice::Auto, None), EraChoice::Modern);
        assert_eq!(eras.choice(EraChoice::Auto, Some(Era::Legacy)), EraChoice::Legacy);
        assert_eq!(eras.choice(EraChoice::Legacy, None), EraChoice::Legacy);
    }
}
