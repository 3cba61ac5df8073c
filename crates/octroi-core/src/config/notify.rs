//! `[notify]`: how people are notified that they are needed.

use std::time::Duration;

use serde_json::json;

use super::address::plain_program;
use super::entry::is_on_this_machine;
use super::forms::host;
use super::keys::governance::{NOTICE_TOPICS, NOTIFY};
use super::problem::ProblemLog;
use super::reader::TableReader;
use super::settings::{Context, Read};
use super::show::HIDDEN;
use crate::server::{Program, Remote};
use crate::suggest::did_you_mean;
use crate::syntax::{Map, Origin};

const DEFAULT_EVERY: Duration = Duration::from_secs(10);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// What people are notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoticeTopic {
    /// Calls that begin to wait for approval.
    Approvals,
    /// Definitions that are quarantined.
    Quarantine,
}

impl NoticeTopic {
    /// All topics.
    pub const ALL: [Self; 2] = [Self::Approvals, Self::Quarantine];

    /// Its name in the configuration and in notices.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approvals => "approvals",
            Self::Quarantine => "quarantine",
        }
    }
}

/// `[notify]`: how people are notified that they are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifySection {
    /// The topics.
    pub about: Vec<NoticeTopic>,
    /// The program that gets each notice on its standard input, if any.
    pub command: Option<Program>,
    /// The address that each notice is posted to, if any.
    pub webhook: Option<Remote>,
    /// Whether the desktop of this machine shows each notice.
    pub desktop: bool,
    /// The shortest time between two notices; what happens meanwhile is one notice.
    pub every: Duration,
    /// How long one delivery may take.
    pub timeout: Duration,
}

impl Default for NotifySection {
    fn default() -> Self {
        Self {
            about: NoticeTopic::ALL.to_vec(),
            command: None,
            webhook: None,
            desktop: false,
            every: DEFAULT_EVERY,
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

impl NotifySection {
    /// Whether anybody is told anything.
    pub fn is_silent(&self) -> bool {
        self.about.is_empty() || (self.command.is_none() && self.webhook.is_none() && !self.desktop)
    }
}

impl Context<'_> {
    pub(super) fn notify(&self, map: &Map) -> Read<NotifySection> {
        let mut reader = self.reader(map, NOTIFY, ProblemLog::of_section(self.unknown));
        let about = about(&mut reader);
        let command = self.notify_command(&mut reader);
        let webhook = webhook(&mut reader);
        let section = NotifySection {
            about,
            command,
            webhook,
            desktop: reader.flag("desktop", false),
            every: reader.duration("every", DEFAULT_EVERY),
            timeout: reader.duration("timeout", DEFAULT_TIMEOUT),
        };
        (section, reader.settings, reader.log.problems)
    }

    fn notify_command(&self, reader: &mut TableReader<'_>) -> Option<Program> {
        if !reader.has("command") {
            for key in ["args", "env"] {
                let origin = reader.origin(key);
                if reader.has(key) {
                    reader.log.error(&origin, format!("`{key}` belongs to a `command`, and there is none"));
                }
            }
            return None;
        }
        let origin = reader.origin("command");
        plain_program(reader, self.base, &origin)
    }
}

fn about(reader: &mut TableReader<'_>) -> Vec<NoticeTopic> {
    if !reader.has("about") {
        reader.show("about", json!(NoticeTopic::ALL.map(NoticeTopic::as_str)));
        return NoticeTopic::ALL.to_vec();
    }
    let mut about = Vec::new();
    for (filled, origin) in reader.all_located("about") {
        match NOTICE_TOPICS.iter().find(|(word, _, _)| *word == filled.value) {
            Some((_, told, _)) if about.contains(told) => {}
            Some((_, told, _)) => about.push(*told),
            None => unknown(reader, &filled.redacted, &origin),
        }
    }
    reader.show("about", json!(about.iter().map(|told| told.as_str()).collect::<Vec<_>>()));
    about
}

fn unknown(reader: &mut TableReader<'_>, word: &str, origin: &Origin) {
    let known = || NOTICE_TOPICS.iter().map(|(word, _, _)| *word);
    let message = format!("`about` cannot have `{word}`, only: {}", known().collect::<Vec<_>>().join(", "));
    match did_you_mean(word, known()) {
        Some(hint) => reader.log.error_with_hint(origin, message, hint),
        None => reader.log.error(origin, message),
    }
}

/// A notice says what agents do, so it leaves this machine encrypted or not at all. The path of a webhook is often a
/// credential: only the host is displayed.
fn webhook(reader: &mut TableReader<'_>) -> Option<Remote> {
    const NAME: &str = "webhook";
    if !reader.has(NAME) {
        let origin = reader.origin("headers");
        if reader.has("headers") {
            reader.log.error(&origin, "`headers` belong to a `webhook`, and there is none");
        }
        return None;
    }
    let origin = reader.origin(NAME);
    let url = reader.web_address(NAME);
    if let Some(url) = &url {
        let (scheme, rest) = url.redacted.split_once("://").unwrap_or_default();
        reader.show(NAME, json!(format!("{scheme}://{}/{HIDDEN}", host(rest))));
    }
    let headers = reader.secrets("headers");
    let url = url?;
    if !url.value.starts_with("https://") && !is_on_this_machine(&url.value) {
        let hint = "write https://, or an address of this machine such as http://127.0.0.1:9000/notices";
        let message = "`webhook` would send notices over the network unencrypted";
        reader.log.error_with_hint(&origin, message, hint.to_owned());
        return None;
    }
    Some(Remote { url: url.value, headers })
}
