//! `[approvals]` and `[pins]`: how people approve calls and tool definitions.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::address::join;
use super::keys::governance::{APPROVALS, NEW_TOOLS, PIN_MODES, PINS};
use super::problem::ProblemLog;
use super::reader::TableReader;
use super::settings::{Context, Read};
use crate::pin::{NewTools, PinPolicy};
use crate::syntax::Map;

const DEFAULT_WAIT: Duration = Duration::from_secs(50);
const DEFAULT_EXPIRY: Duration = Duration::from_hours(1);
const DEFAULT_GRANT_EXPIRY: Duration = Duration::from_mins(10);
const DEFAULT_KEPT: Duration = Duration::from_hours(1);
const DEFAULT_RETENTION: Duration = Duration::from_hours(90 * 24);
const DEFAULT_ARGUMENT_BYTES: usize = 1 << 20;
const DEFAULT_PENDING: usize = 100;
const DEFAULT_PENDING_BYTES: usize = 8 << 20;
const DEFAULT_LOCK: &str = "octroi.lock";

/// `[approvals]`: how people approve calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalsSection {
    /// How long a caller waits for a decision; `None` does not wait.
    pub wait: Option<Duration>,
    /// How long a request can be decided.
    pub expires: Duration,
    /// How long an approved call can be made.
    pub grant_expires: Duration,
    /// Whether a form in the agent's own client counts as a person's answer.
    pub form: bool,
    /// The address at which people reach Octroi, without a trailing slash.
    pub url: Option<String>,
    /// How long the arguments of a finished approval are kept.
    pub keep_arguments: Duration,
    /// How long a finished approval is kept.
    pub retention: Duration,
    /// How large arguments may be that a person is asked about.
    pub argument_bytes: usize,
    /// How many calls of one agent may wait for a person.
    pub max_pending: usize,
    /// How large the arguments of these may be together, in bytes.
    pub max_pending_bytes: usize,
}

impl Default for ApprovalsSection {
    fn default() -> Self {
        Self {
            wait: Some(DEFAULT_WAIT),
            expires: DEFAULT_EXPIRY,
            grant_expires: DEFAULT_GRANT_EXPIRY,
            form: false,
            url: None,
            keep_arguments: DEFAULT_KEPT,
            retention: DEFAULT_RETENTION,
            argument_bytes: DEFAULT_ARGUMENT_BYTES,
            max_pending: DEFAULT_PENDING,
            max_pending_bytes: DEFAULT_PENDING_BYTES,
        }
    }
}

/// `[pins]`: how new or changed tools are treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinsSection {
    /// How a tool is treated when it is first seen.
    pub mode: PinPolicy,
    /// What happens to a tool that a known server adds; `None` leaves it to the profile.
    pub new_tools: Option<NewTools>,
    /// The lock file with the accepted definitions.
    pub lock: PathBuf,
}

impl Context<'_> {
    pub(super) fn approvals(&self, map: &Map) -> Read<ApprovalsSection> {
        let mut reader = self.reader(map, APPROVALS, ProblemLog::of_restriction(None));
        // Its address is in what clients and people get.
        reader.secret_keys = &[];
        // Displayed in the order of the key table, although the first value depends on the second.
        let expires = reader.duration("expires", DEFAULT_EXPIRY);
        let expires_setting = reader.settings.pop();
        let wait = reader.duration_or_off("wait", Some(DEFAULT_WAIT.min(expires)));
        reader.settings.extend(expires_setting);
        if wait.is_some_and(|wait| wait > expires) {
            let origin = reader.origin("wait");
            reader.log.error(&origin, "`wait` is longer than `expires`");
        }
        let section = ApprovalsSection {
            wait,
            expires,
            grant_expires: reader.duration("grant_expires", DEFAULT_GRANT_EXPIRY),
            form: reader.flag("form", false),
            url: url(&mut reader),
            keep_arguments: reader.duration("keep_arguments", DEFAULT_KEPT),
            retention: reader.duration("retention", DEFAULT_RETENTION),
            argument_bytes: reader.count("max_argument_bytes", 0, DEFAULT_ARGUMENT_BYTES),
            max_pending: reader.count("max_pending", 1, DEFAULT_PENDING),
            max_pending_bytes: reader.count("max_pending_bytes", 1024, DEFAULT_PENDING_BYTES),
        };
        (section, reader.settings, reader.log.problems)
    }

    pub(super) fn pins(&self, map: &Map) -> Read<PinsSection> {
        let mut reader = self.reader(map, PINS, ProblemLog::of_restriction(None));
        let mode = reader.word_or("mode", &PIN_MODES, PinPolicy::default());
        let new_tools = reader.word_or("new_tools", &NEW_TOOLS, None);
        let lock = reader.path("lock").unwrap_or_else(|| {
            let lock = join(self.base, DEFAULT_LOCK);
            reader.show("lock", json!(lock));
            PathBuf::from(lock)
        });
        (PinsSection { mode, new_tools, lock }, reader.settings, reader.log.problems)
    }
}

/// Approval links are built from it, so nothing may follow its path.
fn url(reader: &mut TableReader<'_>) -> Option<String> {
    let url = reader.web_address("url")?;
    if url.value.contains(['@', '?', '#']) {
        let origin = reader.origin("url");
        let message = "the `url` must not hold a name, a query or a fragment";
        let hint = "write it like `https://octroi.example.com`".to_owned();
        reader.log.error_with_hint(&origin, message, hint);
        return None;
    }
    reader.show("url", json!(url.redacted));
    Some(url.value.trim_end_matches('/').to_owned())
}
