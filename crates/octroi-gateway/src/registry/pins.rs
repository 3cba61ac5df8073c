//! Accepted definitions, and those that are quarantined for review.

use std::cell::RefCell;
use std::collections::BTreeMap;

use arc_swap::ArcSwap;
use octroi_core::ServerKey;
use octroi_core::pin::{
    DefinitionHash, Finding, KnownTools, LintContext, NewTools, PinKey, PinKind, PinPolicy, PinVerdict,
    QuarantineReason, findings, judge,
};
use parking_lot::Mutex;
use serde_json::json;

use crate::catalogue::{Catalogue, Guard, Item};
use crate::pin_settings::PinSettings;

/// All pins of a gateway.
#[derive(Debug, Default)]
pub(crate) struct Pins {
    settings: ArcSwap<PinSettings>,
    accepted: Mutex<BTreeMap<PinKey, DefinitionHash>>,
    /// Rejected definitions, and who rejected them. They stay hidden without another review.
    kept_out: Mutex<BTreeMap<PinKey, Vec<(DefinitionHash, String)>>>,
    /// Quarantined definitions that were already reported.
    reported: Mutex<BTreeMap<PinKey, DefinitionHash>>,
    /// Tools that known servers added, and when they were accepted with a notice.
    noticed: Mutex<BTreeMap<PinKey, i64>>,
}

/// Recorded in place of the person who accepted it, for a tool that a known server added.
pub(super) const NOTICED: &str = "first use, added later";
/// For how long people are told of a new tool.
const NOTICED_FOR_MS: i64 = 7 * 24 * 3_600_000;

/// A definition that was evaluated for the first time, or again after a change.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) key: PinKey,
    pub(crate) hash: DefinitionHash,
    pub(crate) definition: String,
    pub(crate) what: SeenAs,
}

/// The result of evaluating a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SeenAs {
    /// It is accepted from now on.
    Accepted {
        /// Whether a known server added it, so that people are told.
        is_noticed: bool,
    },
    /// It is quarantined.
    Held {
        /// The reason for the quarantine.
        reason: String,
        /// Whether it differs from an accepted one.
        is_changed: bool,
    },
}

impl Pins {
    pub(crate) fn set(&self, settings: PinSettings) {
        self.settings.store(settings.into());
    }

    /// Adds definitions that were accepted in an earlier run, or by an operator just now.
    pub(crate) fn accept(&self, pins: impl IntoIterator<Item = (PinKey, DefinitionHash)>) {
        let (mut accepted, mut kept_out) = (self.accepted.lock(), self.kept_out.lock());
        for (key, hash) in pins {
            if let Some(known) = kept_out.get_mut(&key) {
                known.retain(|(known, _)| *known != hash);
            }
            accepted.insert(key, hash);
        }
    }

    /// Adds a tool that a known server added.
    pub(crate) fn notice(&self, key: PinKey, at_ms: i64) {
        self.noticed.lock().insert(key, at_ms);
    }

    /// The tools that a server added lately.
    pub(crate) fn noticed(&self, server: &ServerKey, now_ms: i64) -> Vec<String> {
        let mut noticed = self.noticed.lock();
        noticed.retain(|_, at_ms| now_ms.saturating_sub(*at_ms) < NOTICED_FOR_MS);
        noticed.keys().filter(|key| key.server == *server).map(|key| key.name.clone()).collect()
    }

    /// Whether tools of this server were accepted before.
    fn knows_tools_of(&self, server: &ServerKey) -> bool {
        let is_tool = |key: &PinKey| key.kind == PinKind::Tool && key.server == *server;
        self.accepted.lock().keys().any(is_tool)
    }

    /// Adds a definition that was rejected in an earlier run, or by an operator just now.
    pub(crate) fn keep_out(&self, key: PinKey, hash: DefinitionHash, by: String) {
        let mut kept_out = self.kept_out.lock();
        let known = kept_out.entry(key).or_default();
        if !known.iter().any(|(known, _)| *known == hash) {
            known.push((hash, by));
        }
    }

    /// Who rejected a definition, if it was rejected.
    pub(crate) fn kept_out_by(&self, key: &PinKey, hash: &DefinitionHash) -> Option<String> {
        let kept_out = self.kept_out.lock();
        kept_out.get(key)?.iter().find(|(known, _)| known == hash).map(|(_, by)| by.clone())
    }

    /// Revokes the pin of one definition, and forgets that it was reported.
    pub(crate) fn forget_one(&self, key: &PinKey) {
        self.reported.lock().remove(key);
        self.noticed.lock().remove(key);
        self.accepted.lock().remove(key);
    }

    /// Whether the quarantine of this definition was not reported yet.
    pub(crate) fn is_news(&self, key: &PinKey, hash: &DefinitionHash) -> bool {
        self.reported.lock().insert(key.clone(), *hash) != Some(*hash)
    }

    /// Revokes the pins of a server, and forgets what was reported.
    pub(crate) fn forget(&self, server: &ServerKey) {
        self.reported.lock().retain(|key, _| key.server != *server);
        self.noticed.lock().retain(|key, _| key.server != *server);
        self.accepted.lock().retain(|key, _| key.server != *server);
    }

    /// Starts the evaluation of one server's definitions.
    pub(crate) fn inspect<'a>(
        &'a self,
        server: &'a ServerKey,
        catalogue: &Catalogue,
        new_tools: NewTools,
    ) -> Inspection<'a> {
        let names = catalogue.tool_names_beside(server);
        let known = KnownTools::new(names.iter().map(|(server, tool)| (server.as_str(), *tool)));
        let is_known = self.knows_tools_of(server);
        Inspection { pins: self, server, is_known, new_tools, known, seen: RefCell::default() }
    }

    fn judge(&self, key: &PinKey, hash: &DefinitionHash, find: impl FnOnce() -> Vec<Finding>) -> Judged {
        let settings = self.settings.load();
        let locked = settings.lock.get(key).map(|pin| pin.hash);
        let accepted = || match settings.policy {
            // Definitions that are not in the file are never accepted.
            PinPolicy::Strict => None,
            PinPolicy::Ask | PinPolicy::TrustFirst => self.accepted.lock().get(key).copied(),
        };
        let pinned = locked.or_else(accepted);
        if pinned.as_ref() == Some(hash) {
            return Judged::Verdict(PinVerdict::Usable);
        }
        if let Some(by) = self.kept_out_by(key, hash) {
            return Judged::KeptOut(by);
        }
        let found =
            if pinned.is_none() && settings.policy == PinPolicy::TrustFirst { find() } else { Vec::new() };
        Judged::Verdict(judge(settings.policy, pinned.as_ref(), hash, &found))
    }
}

/// The judgement about a definition.
enum Judged {
    /// By the rules.
    Verdict(PinVerdict),
    /// This operator rejected it.
    KeptOut(String),
}

/// One evaluation of one server's definitions, and its results.
pub(crate) struct Inspection<'a> {
    pins: &'a Pins,
    server: &'a ServerKey,
    /// Whether tools of this server were accepted before.
    is_known: bool,
    new_tools: NewTools,
    known: KnownTools,
    seen: RefCell<Vec<Seen>>,
}

impl Inspection<'_> {
    /// The accepted and quarantined definitions.
    pub(crate) fn into_seen(self) -> Vec<Seen> {
        self.seen.into_inner()
    }

    fn look(&self, kind: PinKind, name: &str, definition: &[u8], hash: &DefinitionHash) -> Option<String> {
        let key = PinKey { server: self.server.clone(), kind, name: name.to_owned() };
        let server = self.server.to_string();
        let context = LintContext { server: &server, tools: &self.known };
        let judged = self.pins.judge(&key, hash, || findings(definition, &context));
        let is_added = self.is_known && kind == PinKind::Tool;
        let new_tools = self.new_tools;
        let judged = match judged {
            Judged::Verdict(PinVerdict::PinNow) if is_added && new_tools == NewTools::Review => {
                Judged::Verdict(PinVerdict::Quarantined(QuarantineReason::New))
            }
            judged => judged,
        };
        let what = match judged {
            // It was reviewed already, so it is not reported again.
            Judged::KeptOut(by) => return Some(format!("{by} rejected it; see `octroi pins --all`")),
            Judged::Verdict(PinVerdict::Usable) => return None,
            Judged::Verdict(PinVerdict::PinNow) => {
                self.pins.accept([(key.clone(), *hash)]);
                SeenAs::Accepted { is_noticed: is_added && new_tools == NewTools::Notice }
            }
            Judged::Verdict(PinVerdict::Quarantined(reason)) => SeenAs::Held {
                reason: format!("{reason}; see `octroi pins`"),
                is_changed: matches!(reason, QuarantineReason::Changed { .. }),
            },
        };
        let reason = match &what {
            SeenAs::Accepted { .. } => None,
            SeenAs::Held { reason, .. } => Some(reason.clone()),
        };
        let definition = String::from_utf8_lossy(definition).into_owned();
        self.seen.borrow_mut().push(Seen { key, hash: *hash, definition, what });
        reason
    }
}

impl Guard for Inspection<'_> {
    fn hold(&self, kind: PinKind, item: &Item, hash: &DefinitionHash) -> Option<String> {
        self.look(kind, &item.name, &item.definition, hash)
    }

    fn hold_instructions(&self, instructions: &str) -> Option<String> {
        let definition = instructions_definition(instructions);
        let hash = DefinitionHash::of(PinKind::Server, definition.as_bytes()).ok()?;
        self.look(PinKind::Server, "", definition.as_bytes(), &hash)
    }
}

/// The server's instructions, in the form that is pinned.
pub(crate) fn instructions_definition(instructions: &str) -> String {
    json!({"instructions": instructions}).to_string()
}
