//! `[approvals]` and `[pins]`: how people are asked, and about which definitions of tools.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::address::join;
use super::keys::governance::{APPROVALS, PIN_MODES, PINS};
use super::node::Map;
use super::problem::Notes;
use super::reader::Reader;
use super::settings::{Context, Read};
use crate::pin::PinPolicy;

const DEFAULT_WAIT: Duration = Duration::from_secs(50);
const DEFAULT_EXPIRY: Duration = Duration::from_hours(1);
const DEFAULT_GRANT_EXPIRY: Duration = Duration::from_mins(10);
const DEFAULT_LOCK: &str = "octroi.lock";

/// `[approvals]`: how people are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalsSection {
    /// How long a caller is kept waiting; `None` never waits.
    pub wait: Option<Duration>,
    /// How long a question stays open.
    pub expires: Duration,
    /// How long an approved call may be picked up.
    pub grant_expires: Duration,
    /// Whether a form that the agent's own client shows counts as a person's answer.
    pub form: bool,
    /// The address under which people reach Octroi, without a slash at its end.
    pub url: Option<String>,
}

impl Default for ApprovalsSection {
    fn default() -> Self {
        Self {
            wait: Some(DEFAULT_WAIT),
            expires: DEFAULT_EXPIRY,
            grant_expires: DEFAULT_GRANT_EXPIRY,
            form: false,
            url: None,
        }
    }
}

/// `[pins]`: what becomes of tools that are new or have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinsSection {
    /// What becomes of a tool that is seen for the first time.
    pub mode: PinPolicy,
    /// Where the approved definitions are kept.
    pub lock: PathBuf,
}

impl Context<'_> {
    pub(super) fn approvals(&self, map: &Map) -> Read<ApprovalsSection> {
        let mut reader = self.reader(map, APPROVALS, Notes::of_restriction(None));
        // Shown in the order of the table, though the one that is shown first depends on the other.
        let expires = reader.duration("expires", DEFAULT_EXPIRY);
        let shown_expires = reader.shown.pop();
        let wait = reader.duration_or_off("wait", Some(DEFAULT_WAIT.min(expires)));
        reader.shown.extend(shown_expires);
        if wait.is_some_and(|wait| wait > expires) {
            let origin = reader.origin("wait");
            reader.notes.error(&origin, "`wait` is longer than `expires`");
        }
        let section = ApprovalsSection {
            wait,
            expires,
            grant_expires: reader.duration("grant_expires", DEFAULT_GRANT_EXPIRY),
            form: reader.flag("form", false),
            url: url(&mut reader),
        };
        (section, reader.shown, reader.notes.problems)
    }

    pub(super) fn pins(&self, map: &Map) -> Read<PinsSection> {
        let mut reader = self.reader(map, PINS, Notes::of_restriction(None));
        let mode = reader.word_or("mode", &PIN_MODES, PinPolicy::default());
        let lock = reader.path("lock").unwrap_or_else(|| {
            let lock = join(self.base, DEFAULT_LOCK);
            reader.show("lock", json!(lock));
            PathBuf::from(lock)
        });
        (PinsSection { mode, lock }, reader.shown, reader.notes.problems)
    }
}

/// Links to questions are put together from it, so nothing may stand after its path.
fn url(reader: &mut Reader<'_>) -> Option<String> {
    let url = reader.web_address("url")?;
    if url.value.contains(['@', '?', '#']) {
        let origin = reader.origin("url");
        let message = "the `url` must not hold a name, a query or a fragment";
        let hint = "write it like `https://octroi.example.com`".to_owned();
        reader.notes.error_with_hint(&origin, message, hint);
        return None;
    }
    reader.show("url", json!(url.shown));
    Some(url.value.trim_end_matches('/').to_owned())
}
