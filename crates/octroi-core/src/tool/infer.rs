//! Infers a tool's risk and side effects from its name, description and annotations.
//!
//! The name counts most. The description is used only where the name says nothing. Annotations can always
//! raise the risk, and lower it only if the server is highly trusted. Configured rules override all of this.

use super::{Annotations, Risk, SideEffects, words};
use crate::glob::Glob;
use crate::server::Trust;

/// Words that indicate a risk. The first list of each entry is the required minimum.
const RISK_WORDS: [(Risk, &[&str], &[&str]); 4] = [
    (
        Risk::Critical,
        &["delete", "drop", "destroy", "payment"],
        &["purge", "wipe", "truncate", "erase", "pay", "charge", "refund", "transfer", "remove", "rm"],
    ),
    (
        Risk::High,
        &["write", "update", "modify", "create"],
        &[
            "edit",
            "insert",
            "append",
            "put",
            "post",
            "patch",
            "set",
            "add",
            "move",
            "rename",
            "copy",
            "send",
            "execute",
            "exec",
            "run",
            "shell",
            "bash",
            "eval",
            "install",
            "uninstall",
            "deploy",
            "merge",
            "push",
            "commit",
            "upload",
            "publish",
            "kill",
            "stop",
            "restart",
            "grant",
            "revoke",
            "chmod",
            "replace",
            "save",
            "import",
            "approve",
            "close",
            "reset",
            "enable",
            "disable",
        ],
    ),
    (
        Risk::Medium,
        &["network", "fetch", "http", "api"],
        &["download", "request", "browse", "navigate", "query", "sql", "call", "open", "click"],
    ),
    (
        Risk::Low,
        &["read", "get", "list", "search", "echo"],
        &[
            "find", "show", "describe", "view", "count", "status", "info", "help", "ping", "version", "time",
            "now", "diff", "tree", "stat", "lookup", "whoami", "sum",
        ],
    ),
];

/// Words that make writing harmless: short-lived data.
const SOFTENING: [&str; 4] = ["log", "cache", "temp", "session"];

/// Words that indicate side effects. The first five are the required minimum.
const EFFECT_WORDS: [(&str, &[&str]); 40] = [
    ("write", &["fs.write"]),
    ("delete", &["fs.delete"]),
    ("network", &["network.http"]),
    ("payment", &["payments"]),
    ("execute", &["system.exec"]),
    ("exec", &["system.exec"]),
    ("run", &["system.exec"]),
    ("shell", &["system.exec"]),
    ("bash", &["system.exec"]),
    ("eval", &["system.exec"]),
    ("install", &["system.exec"]),
    ("kill", &["system.exec"]),
    ("pay", &["payments"]),
    ("charge", &["payments"]),
    ("refund", &["payments"]),
    ("fetch", &["network.http"]),
    ("http", &["network.http"]),
    ("download", &["network.http"]),
    ("upload", &["network.http"]),
    ("send", &["network.http"]),
    ("post", &["network.http"]),
    ("publish", &["network.http"]),
    ("push", &["network.http"]),
    ("deploy", &["network.http"]),
    ("chmod", &["fs.chmod"]),
    ("save", &["fs.write"]),
    ("edit", &["fs.write"]),
    ("append", &["fs.write"]),
    ("move", &["fs.write", "fs.delete"]),
    ("rename", &["fs.write"]),
    ("remove", &["fs.delete"]),
    ("rm", &["fs.delete"]),
    ("purge", &["fs.delete"]),
    ("wipe", &["fs.delete"]),
    ("erase", &["fs.delete"]),
    ("drop", &["database.delete"]),
    ("truncate", &["database.delete"]),
    ("insert", &["database.write"]),
    ("transfer", &["payments"]),
    ("env", &["system.env"]),
];

/// The tag of a tool that certainly changes something unknown.
const SOMETHING: &str = "data.write";

/// A configured rule about tools, which takes precedence over built-in inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InferenceRule {
    /// A pattern over `server.tool`.
    pub tools: Glob,
    /// Words, one of which must occur in the name or description; empty for no condition.
    pub words: Vec<String>,
    /// The risk of matching tools.
    pub risk: Option<Risk>,
    /// The side effects of matching tools.
    pub side_effects: Option<Vec<String>>,
}

/// What a server says about a tool, and the trust in it.
#[derive(Clone, Copy, Debug)]
pub struct ToolFacts<'a> {
    /// The name of its server.
    pub server: &'a str,
    /// The server's own name for it.
    pub name: &'a str,
    /// Its description.
    pub description: &'a str,
    /// Its annotations.
    pub annotations: Annotations,
    /// The trust in its server.
    pub trust: Trust,
}

/// Infers risk and side effects.
pub fn infer(known: ToolFacts<'_>, rules: &[InferenceRule]) -> (Risk, SideEffects) {
    let name_words = words::of_name(known.name);
    let text_words = words::of_text(known.description);
    let of_name = risk_of(&name_words);
    let relevant = if of_name.is_some() { &name_words } else { &text_words };
    let mut risk = of_name.or_else(|| risk_of(&text_words)).unwrap_or(Risk::Medium);
    if risk == Risk::High && name_words.iter().any(|word| SOFTENING.contains(&word.as_str())) {
        risk = Risk::Medium;
    }
    let mut effects = effects_of(relevant);
    if effects.is_empty() && risk >= Risk::High {
        effects.insert(SOMETHING);
    }
    (risk, effects) = apply_annotations(known.annotations, known.trust, risk, effects);
    let full_name = format!("{}.{}", known.server, known.name);
    let matching = rules.iter().find(|rule| {
        rule.tools.matches(&full_name)
            && (rule.words.is_empty()
                || rule.words.iter().any(|word| name_words.contains(word) || text_words.contains(word)))
    });
    if let Some(rule) = matching {
        risk = rule.risk.unwrap_or(risk);
        if let Some(tags) = &rule.side_effects {
            effects = tags.iter().map(String::as_str).collect();
        }
    }
    (risk, effects)
}

fn risk_of(words: &[String]) -> Option<Risk> {
    RISK_WORDS
        .iter()
        .find(|(_, first, more)| {
            words.iter().any(|word| first.contains(&word.as_str()) || more.contains(&word.as_str()))
        })
        .map(|(risk, _, _)| *risk)
}

fn effects_of(words: &[String]) -> SideEffects {
    let known = EFFECT_WORDS.iter().filter(|(word, _)| words.iter().any(|found| found == word));
    known.flat_map(|(_, tags)| tags.iter().copied()).collect()
}

fn apply_annotations(
    annotations: Annotations,
    trust: Trust,
    mut risk: Risk,
    mut effects: SideEffects,
) -> (Risk, SideEffects) {
    if annotations.destructive == Some(true) && annotations.read_only != Some(true) {
        risk = risk.max(Risk::High);
    }
    if annotations.read_only == Some(false) {
        risk = risk.max(Risk::Medium);
    }
    if annotations.open_world == Some(true) && risk > Risk::Low {
        effects.insert("network.http");
    }
    if effects.is_empty() && (risk >= Risk::High || annotations.destructive == Some(true)) {
        effects.insert(SOMETHING);
    }
    if trust == Trust::High {
        if annotations.read_only == Some(true) {
            return (Risk::Low, SideEffects::default());
        }
        if annotations.destructive == Some(false) {
            risk = risk.min(Risk::High);
        }
    }
    (risk, effects)
}

#[cfg(test)]
mod tests;
