//! The words by which a tool's effect is known.
//!
//! Reading words are few and sure: a tool that is wrongly taken to read runs without anybody being asked, one
//! that is wrongly taken to write only asks. Words are compared by stem, and where they stand matters:
//! `get_commit` reads a commit, `commit_changes` makes one.

/// What a word says of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It destroys something or spends money.
    Destroys,
    /// It changes something.
    Writes,
    /// It does whatever it is given: nobody can tell from the name.
    Runs,
    /// It reads from the network.
    Fetches,
    /// It only reads.
    Reads,
}

/// Words that destroy or pay. The first four are required.
const DESTROYS: &[&str] = &[
    "delete",
    "drop",
    "destroy",
    "payment",
    "purge",
    "wipe",
    "truncate",
    "erase",
    "pay",
    "remove",
    "rm",
    "unlink",
    "uninstall",
    "terminate",
    "nuke",
    "revoke",
    "wire",
    "withdraw",
    "payout",
];

/// Words that write wherever they stand. The first four are required.
const WRITES: &[&str] = &[
    "write",
    "update",
    "modify",
    "create",
    "abort",
    "accept",
    "activate",
    "add",
    "advance",
    "allocate",
    "amend",
    "append",
    "apply",
    "approve",
    "assign",
    "associate",
    "attach",
    "authorize",
    "authorise",
    "ban",
    "begin",
    "bind",
    "bulk",
    "cancel",
    "chmod",
    "chown",
    "clear",
    "click",
    "clone",
    "close",
    "complete",
    "configure",
    "confirm",
    "connect",
    "deactivate",
    "decline",
    "deploy",
    "deregister",
    "detach",
    "disable",
    "disconnect",
    "dismiss",
    "duplicate",
    "edit",
    "emit",
    "enable",
    "enqueue",
    "ensure",
    "exclude",
    "follow",
    "generate",
    "grant",
    "hide",
    "increment",
    "init",
    "initialize",
    "insert",
    "install",
    "invite",
    "join",
    "kick",
    "kill",
    "leave",
    "login",
    "logout",
    "lower",
    "make",
    "mark",
    "migrate",
    "mkdir",
    "move",
    "mute",
    "mv",
    "navigate",
    "notify",
    "overwrite",
    "pause",
    "persist",
    "pin",
    "promote",
    "provision",
    "publish",
    "put",
    "push",
    "react",
    "rebase",
    "reboot",
    "rebuild",
    "reconnect",
    "record",
    "refresh",
    "register",
    "reject",
    "remember",
    "rename",
    "reopen",
    "reorder",
    "replace",
    "reply",
    "reset",
    "resize",
    "restart",
    "restore",
    "resume",
    "retry",
    "revert",
    "rollback",
    "rotate",
    "save",
    "scale",
    "schedule",
    "select",
    "send",
    "shutdown",
    "sign",
    "start",
    "stash",
    "stop",
    "store",
    "submit",
    "subscribe",
    "suspend",
    "swap",
    "switch",
    "sync",
    "tap",
    "toggle",
    "touch",
    "train",
    "triage",
    "trigger",
    "type",
    "unassign",
    "unfollow",
    "unlock",
    "unpin",
    "unset",
    "unsubscribe",
    "upgrade",
    "upload",
    "upsert",
];

/// Words that write where they are the verb, and are the names of things elsewhere: `get_commit`.
const WRITES_AS_VERB: &[&str] = &[
    "archive",
    "auth",
    "block",
    "bookmark",
    "book",
    "branch",
    "build",
    "buy",
    "change",
    "charge",
    "checkout",
    "checkpoint",
    "comment",
    "commit",
    "copy",
    "deployment",
    "deposit",
    "dispatch",
    "draft",
    "export",
    "fill",
    "flag",
    "forward",
    "fork",
    "import",
    "label",
    "like",
    "link",
    "lock",
    "log",
    "message",
    "merge",
    "mount",
    "note",
    "order",
    "patch",
    "post",
    "press",
    "purchase",
    "rate",
    "refund",
    "release",
    "repair",
    "report",
    "request",
    "reserve",
    "review",
    "sell",
    "set",
    "setup",
    "share",
    "ship",
    "snapshot",
    "star",
    "tag",
    "ticket",
    "trade",
    "transfer",
    "upvote",
    "vote",
];

/// Words that run what they are given wherever they stand. The first is required to mean `system.exec`.
const RUNS: &[&str] = &[
    "execute",
    "exec",
    "eval",
    "evaluate",
    "invoke",
    "interact",
    "perform",
    "powershell",
    "bash",
    "spawn",
    "launch",
];

/// Words that run what they are given where they are the verb or the whole name, and are the names of things after a
/// reading verb: `list_runs`.
const RUNS_AS_VERB: &[&str] = &[
    "action",
    "agent",
    "ask",
    "aws",
    "az",
    "browser",
    "call",
    "cli",
    "cmd",
    "code",
    "command",
    "console",
    "cypher",
    "docker",
    "gcloud",
    "graphql",
    "handle",
    "helm",
    "http",
    "api",
    "network",
    "job",
    "js",
    "kubectl",
    "manage",
    "node",
    "open",
    "operation",
    "playwright",
    "proxy",
    "psql",
    "python",
    "query",
    "repl",
    "run",
    "script",
    "shell",
    "solve",
    "sql",
    "ssh",
    "task",
    "terminal",
    "terraform",
    "test",
    "tool",
    "use",
    "workflow",
];

/// Words that read from the network.
const FETCHES: &[&str] = &["fetch", "download"];

/// Words that read. The first five are required.
const READS: &[&str] = &[
    "read",
    "get",
    "list",
    "search",
    "echo",
    "find",
    "show",
    "describe",
    "view",
    "count",
    "status",
    "diff",
    "info",
    "help",
    "ping",
    "version",
    "whoami",
    "time",
    "now",
    "tree",
    "stat",
    "lookup",
    "sum",
    "retrieve",
    "inspect",
    "grep",
    "ls",
    "cat",
    "head",
    "tail",
    "glob",
    "enumerate",
    "display",
    "browse",
    "compare",
    "explain",
    "health",
];

/// Words that read as the names of things, not as verbs: `git_log` reads, `log_event` does not.
const READS_AS_NOUN: &[&str] =
    &["log", "logs", "history", "details", "stats", "statistics", "metrics", "blame", "schema"];

/// Past tenses and other forms that no ending gives away.
const IRREGULAR: &[(&str, &str)] = &[
    ("wrote", "write"),
    ("written", "write"),
    ("sent", "send"),
    ("ran", "run"),
    ("made", "make"),
    ("paid", "pay"),
    ("bought", "buy"),
    ("sold", "sell"),
    ("built", "build"),
    ("rewrite", "write"),
    ("rewrote", "write"),
    ("got", "get"),
    ("found", "find"),
    ("shown", "show"),
    ("removal", "remove"),
    ("deletion", "delete"),
    ("creation", "create"),
    ("execution", "execute"),
    ("modification", "modify"),
    ("del", "delete"),
];

/// How a word is written, beside its stem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As a verb or a single thing.
    Base,
    /// As many things, or in the third person.
    Plural,
    /// As an activity: `deleting`.
    Gerund,
}

/// A word that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownWord {
    pub(super) stem: &'static str,
    pub(super) meaning: Meaning,
    pub(super) form: Form,
    /// Whether it is also the name of a thing.
    pub(super) is_noun: bool,
    /// Whether it is one of the words that count wherever they stand, also in the plural.
    pub(super) is_required: bool,
}

/// Looks a word up by its stem.
pub(super) fn look_up(word: &str) -> Option<KnownWord> {
    stems(word).into_iter().find_map(|(stem, form)| known(&stem, form))
}

/// Whether a word reads where it stands as the name of a thing.
pub(super) fn reads_as_noun(word: &str) -> bool {
    READS_AS_NOUN.contains(&word)
}

fn known(stem: &str, form: Form) -> Option<KnownWord> {
    use Meaning::{Destroys, Fetches, Reads, Runs, Writes};
    let tables: [(&[&'static str], Meaning, bool); 7] = [
        (DESTROYS, Destroys, false),
        (WRITES, Writes, false),
        (RUNS, Runs, false),
        (WRITES_AS_VERB, Writes, true),
        (RUNS_AS_VERB, Runs, true),
        (FETCHES, Fetches, false),
        (READS, Reads, false),
    ];
    tables.into_iter().find_map(|(words, meaning, is_noun)| {
        let at = words.iter().position(|word| *word == stem)?;
        let is_required = matches!(meaning, Destroys | Writes) && !is_noun && at < 4;
        Some(KnownWord { stem: words[at], meaning, form, is_noun, is_required })
    })
}

/// What a word may be a form of. Participles (`created`) are left out: in names they say what a thing is.
fn stems(word: &str) -> Vec<(String, Form)> {
    let mut stems = vec![(word.to_owned(), Form::Base)];
    let irregular = IRREGULAR.iter().filter(|(form, _)| *form == word);
    stems.extend(irregular.map(|(_, stem)| ((*stem).to_owned(), Form::Base)));
    if let Some(stem) = word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s')) {
        stems.push((stem.to_owned(), Form::Plural));
    }
    if let Some(stem) = word.strip_suffix("es").filter(|stem| stem.len() > 2) {
        stems.push((stem.to_owned(), Form::Plural));
    }
    if let Some(stem) = word.strip_suffix("ies") {
        stems.push((format!("{stem}y"), Form::Plural));
    }
    if let Some(stem) = word.strip_suffix("ing").filter(|stem| stem.len() > 1) {
        stems.push((stem.to_owned(), Form::Gerund));
        stems.push((format!("{stem}e"), Form::Gerund));
        let mut letters = stem.chars().rev();
        if let (Some(last), Some(before)) = (letters.next(), letters.next())
            && last == before
        {
            stems.push((stem[..stem.len() - last.len_utf8()].to_owned(), Form::Gerund));
        }
    }
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_by_their_stem() {
        for (word, expected) in [
            ("payments", Some(("payment", Form::Plural))),
            ("deleting", Some(("delete", Form::Gerund))),
            ("deletes", Some(("delete", Form::Plural))),
            ("dropping", Some(("drop", Form::Gerund))),
            ("wrote", Some(("write", Form::Base))),
            ("writes", Some(("write", Form::Plural))),
            ("queries", Some(("query", Form::Plural))),
            ("pushes", Some(("push", Form::Plural))),
            ("created", None),
            ("thread", None),
            ("budget", None),
            ("listener", None),
            ("status", Some(("status", Form::Base))),
            ("", None),
        ] {
            assert_eq!(look_up(word).map(|known| (known.stem, known.form)), expected, "{word}");
        }
    }

    #[test]
    fn no_word_stands_in_two_tables() {
        let all = [DESTROYS, WRITES, RUNS, WRITES_AS_VERB, RUNS_AS_VERB, FETCHES, READS].concat();
        let mut seen = std::collections::BTreeSet::new();
        for word in all {
            assert!(seen.insert(word), "{word} is there twice");
        }
    }
}
