//! Phrases addressed to a model, and sensitive paths.

use super::super::characters::{hidden, looks_like};
use super::{FindingKind, FoundInText, Severity};

/// A text as a model would read it: lower case, no hidden characters, look-alikes replaced.
pub(super) struct Normal {
    pub(super) text: String,
    /// For each byte of `text`, the byte offset in the original.
    origin: Vec<u32>,
}

impl Normal {
    pub(super) fn of(original: &str) -> Self {
        let mut normal =
            Self { text: String::with_capacity(original.len()), origin: Vec::with_capacity(original.len()) };
        for (at, character) in original.char_indices() {
            match character {
                _ if character.is_whitespace() => normal.push_space(at),
                _ if hidden(character).is_some() => {}
                '\u{2018}' | '\u{2019}' => normal.push('\'', at),
                _ => {
                    let character = looks_like(character).unwrap_or(character);
                    for lower in character.to_lowercase() {
                        normal.push(lower, at);
                    }
                }
            }
        }
        normal
    }

    fn push_space(&mut self, at: usize) {
        if !self.text.ends_with(' ') {
            self.push(' ', at);
        }
    }

    fn push(&mut self, character: char, at: usize) {
        self.text.push(character);
        // A message is much shorter than 4 GiB.
        self.origin.resize(self.text.len(), u32::try_from(at).unwrap_or(u32::MAX));
    }

    /// The offset of this byte in the original.
    pub(super) fn origin(&self, at: usize) -> usize {
        self.origin.get(at).map_or(0, |at| *at as usize)
    }
}

/// A verb, and a word that follows within a few words.
struct Pattern {
    verbs: &'static [&'static str],
    objects: &'static [&'static str],
    within: usize,
    severity: Severity,
}

/// No description of a tool has a reason to contain these.
const PATTERNS: &[Pattern] = &[
    Pattern {
        verbs: &[
            "ignore",
            "ignoring",
            "disregard",
            "disregarding",
            "forget",
            "override",
            "overrides",
            "bypass",
        ],
        objects: &[
            "previous",
            "prior",
            "above",
            "earlier",
            "preceding",
            "instructions",
            "instruction",
            "guidelines",
            "safeguards",
            "prompt",
            "prompts",
            "everything",
        ],
        within: 4,
        severity: Severity::Danger,
    },
    Pattern {
        verbs: &[
            "tell", "mention", "inform", "notify", "reveal", "disclose", "alert", "show", "explain",
            "report", "warn",
        ],
        objects: &["user", "users", "human", "humans", "person", "anyone", "anybody", "them", "operator"],
        within: 5,
        severity: Severity::Danger,
    },
    Pattern {
        verbs: &["without"],
        objects: &["telling", "informing", "notifying", "alerting", "mentioning", "asking"],
        within: 1,
        severity: Severity::Warning,
    },
    Pattern {
        verbs: &["before", "prior"],
        objects: &["using", "calling", "use", "invoking", "answering", "responding"],
        within: 3,
        severity: Severity::Note,
    },
];

/// Only after one of these is the second pattern an order to keep silent.
const NEGATIONS: &[&str] = &["not", "don't", "dont", "never", "cannot", "can't", "avoid", "without"];

/// Fixed phrases. Each starts and ends at a word boundary.
const PHRASES: &[(&str, Severity)] = &[
    ("<important", Severity::Danger),
    ("</important", Severity::Danger),
    ("<system", Severity::Danger),
    ("</system", Severity::Danger),
    ("<secret", Severity::Danger),
    ("<hidden", Severity::Danger),
    ("<instruction", Severity::Danger),
    ("<|im_start|>", Severity::Danger),
    ("<|system|>", Severity::Danger),
    ("[system]", Severity::Danger),
    ("[inst]", Severity::Danger),
    ("<<sys>>", Severity::Danger),
    ("### instruction", Severity::Danger),
    ("### system", Severity::Danger),
    ("hide this from", Severity::Danger),
    ("keep this secret", Severity::Danger),
    ("keep it secret", Severity::Danger),
    ("user must not know", Severity::Danger),
    ("user should not know", Severity::Danger),
    ("user does not need to know", Severity::Danger),
    ("user must not see", Severity::Danger),
    ("you are now", Severity::Danger),
    ("new instructions", Severity::Warning),
    ("pass its content", Severity::Danger),
    ("pass its contents", Severity::Danger),
    ("pass the content of", Severity::Danger),
    ("pass the contents of", Severity::Danger),
    ("sidenote", Severity::Warning),
    ("silently", Severity::Note),
    ("secretly", Severity::Danger),
    ("before using this tool", Severity::Warning),
    ("before calling this tool", Severity::Warning),
    ("before you use this tool", Severity::Warning),
    ("before using any", Severity::Warning),
    ("before any other tool", Severity::Warning),
    ("after using any", Severity::Warning),
    ("when using any other tool", Severity::Warning),
    ("always call this tool", Severity::Warning),
    ("always use this tool", Severity::Warning),
    ("must be called first", Severity::Warning),
    ("instead of any other", Severity::Warning),
    ("do not use any other", Severity::Warning),
    ("never use any other", Severity::Warning),
    ("conversation history", Severity::Warning),
    ("chat history", Severity::Warning),
    ("full conversation", Severity::Warning),
    ("system prompt", Severity::Warning),
    ("your instructions", Severity::Warning),
    ("as an ai", Severity::Warning),
    ("the assistant must", Severity::Warning),
    ("the model must", Severity::Warning),
    ("base64 encode", Severity::Note),
    ("base64-encode", Severity::Note),
    ("you must", Severity::Note),
    ("you have to", Severity::Note),
    ("you should always", Severity::Note),
    ("always call", Severity::Note),
    ("never call", Severity::Note),
    ("important:", Severity::Note),
];

/// Instructions to a model: the most severe one of this text.
pub(super) fn instructions(normal: &Normal, is_name: bool) -> Vec<FoundInText> {
    // Names join words: `do_not_tell_the_user`.
    let joined = is_name.then(|| normal.text.replace(['_', '-', '.'], " "));
    let text = joined.as_deref().unwrap_or(&normal.text);
    let by_phrase =
        PHRASES.iter().filter_map(|(phrase, severity)| Some((find_phrase(text, phrase)?, *severity)));
    let words = words(text);
    let by_pattern = PATTERNS.iter().filter_map(|pattern| Some((pattern.find(&words)?, pattern.severity)));
    // Of equals the first one: `max_by` alone would return the last.
    let gravest =
        by_phrase.chain(by_pattern).min_by_key(|(at, severity)| (std::cmp::Reverse(*severity), *at));
    let found =
        gravest.map(|(at, severity)| FoundInText::at(FindingKind::Instruction, severity, normal.origin(at)));
    found.into_iter().collect()
}

impl Pattern {
    fn find(&self, words: &[(usize, &str)]) -> Option<usize> {
        let needs_negation = self.verbs.contains(&"tell");
        words.iter().enumerate().find_map(|(index, (at, word))| {
            let follows = words.iter().skip(index + 1).take(self.within);
            let before = &words[index.saturating_sub(3)..index];
            let is_negated = || before.iter().any(|(_, word)| NEGATIONS.contains(word));
            let is_found = self.verbs.contains(word)
                && follows.clone().any(|(_, object)| self.objects.contains(object))
                && (!needs_negation || is_negated());
            is_found.then_some(*at)
        })
    }
}

fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, character) in text.char_indices().chain([(text.len(), ' ')]) {
        match (start, character.is_alphanumeric() || character == '\'') {
            (None, true) => start = Some(at),
            (Some(begin), false) => {
                words.push((begin, &text[begin..at]));
                start = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }
    words
}

/// The position of the phrase at word boundaries.
fn find_phrase(text: &str, phrase: &str) -> Option<usize> {
    let is_letter = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).map(|(at, _)| at).find(|at| {
        let (before, after) = (text[..*at].chars().next_back(), text[at + phrase.len()..].chars().next());
        let begins = !phrase.starts_with(char::is_alphanumeric) || !is_letter(before);
        let ends = !phrase.ends_with(char::is_alphanumeric) || !is_letter(after) || after == Some('s');
        begins && ends
    })
}

/// Files that hold keys, passwords and histories.
const SENSITIVE: &[(&str, Severity)] = &[
    (".ssh/", Severity::Warning),
    ("~/.ssh", Severity::Warning),
    ("id_rsa", Severity::Warning),
    ("id_ed25519", Severity::Warning),
    ("id_ecdsa", Severity::Warning),
    (".aws/credentials", Severity::Warning),
    ("/etc/passwd", Severity::Warning),
    ("/etc/shadow", Severity::Danger),
    ("/proc/self/environ", Severity::Danger),
    (".netrc", Severity::Warning),
    (".pgpass", Severity::Warning),
    (".git-credentials", Severity::Warning),
    (".kube/config", Severity::Warning),
    (".docker/config.json", Severity::Warning),
    (".config/gcloud", Severity::Warning),
    (".gnupg", Severity::Warning),
    (".bash_history", Severity::Warning),
    (".zsh_history", Severity::Warning),
    ("cookies.sqlite", Severity::Warning),
    ("wallet.dat", Severity::Warning),
    ("mcp.json", Severity::Warning),
    (".claude.json", Severity::Warning),
    ("/.env", Severity::Note),
    ("file:///", Severity::Note),
];

/// Mentions of files that hold secrets: the most severe one of this text.
pub(super) fn sensitive_paths(normal: &Normal) -> Option<FoundInText> {
    // Windows uses backslashes in the same paths.
    let slashed = normal.text.replace('\\', "/");
    let found = SENSITIVE.iter().filter_map(|(path, severity)| Some((slashed.find(path)?, *severity)));
    let gravest = found.min_by_key(|(at, severity)| (std::cmp::Reverse(*severity), *at));
    gravest.map(|(at, severity)| FoundInText::at(FindingKind::SensitivePath, severity, normal.origin(at)))
}

/// Prose where a schema should hold values.
pub(super) fn prose(text: &str) -> Option<FoundInText> {
    let is_prose = text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count() > 15;
    is_prose.then_some(FoundInText::at(FindingKind::SchemaText, Severity::Warning, 0))
}
