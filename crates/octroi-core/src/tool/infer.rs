//! Infers a tool's risk and side effects from its name, description and annotations.
//!
//! A tool is known to read only if the verb that says what it does reads, and nothing else says otherwise: no word of the
//! name, no other verb of the description, no argument, no annotation. The description says it; the name does where the
//! description has no verb. Annotations can always raise the risk, and lower it only if the server is highly trusted.
//! Configured rules override all of this.

use super::arguments::ToolArgument;
use super::phrases::{OBTAINS, phrase};
use super::sentence::leading_verbs;
use super::verbs::{
    Form, KnownWord, Meaning, is_never_noun, is_reading_verb, look_up, look_up_verb, reads_as_noun,
};
use super::{Annotations, Risk, SideEffects, UNKNOWN, verbs, words};
use crate::glob::Glob;
use crate::trust::Trust;

/// Words that indicate side effects. The first five are the required minimum.
const EFFECT_WORDS: [(&str, &[&str]); 46] = [
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
    ("wire", &["payments"]),
    ("withdraw", &["payments"]),
    ("payout", &["payments"]),
    ("purchase", &["payments"]),
    ("buy", &["payments"]),
    ("powershell", &["system.exec"]),
    ("env", &["system.env"]),
];

/// Words that lower the risk of writing: short-lived data.
const TEMPORARY: [&str; 4] = ["log", "cache", "temp", "session"];

/// Words that execute programs, whatever stands beside them.
pub(super) const EXECUTES: [&str; 6] = ["execute", "exec", "eval", "bash", "powershell", "shell"];

/// Words before the verb of a name that are never verbs.
const THINGS: &str = "\
    airtable asana atlassian aws az azure bigquery clickhouse confluence database db docker elasticsearch excel figma \
    gcloud git github gitlab gmail google grafana helm jira kafka kubectl mariadb mongodb mssql mysql neo4j node notion \
    opensearch oracle outlook playwright postgres postgresql prometheus proxmox psql python redis redmine salesforce \
    sentry shodan slack snowflake sql sqlite stripe telegram terraform todoist trello twitter wikipedia youtube zotero";

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
    /// Its arguments.
    pub arguments: &'a [ToolArgument],
    /// Its annotations.
    pub annotations: Annotations,
    /// The trust in its server.
    pub trust: Trust,
}

/// Infers risk and side effects.
pub fn infer(known: ToolFacts<'_>, rules: &[InferenceRule]) -> (Risk, SideEffects) {
    let name_words = words::of_name(known.name);
    let verbs = leading_verbs(known.description);
    let (mut risk, mut effects) = classify(&name_words, &verbs);
    let is_download = effects.contains("network.http");
    let has_body = known.arguments.iter().any(ToolArgument::is_body);
    // A reading tool with `mark_as_read` or `output_path` writes if asked to.
    if effects.only_read() && known.arguments.iter().any(|argument| argument.may_write(is_download, has_body))
    {
        risk = risk.max(Risk::Medium);
        effects.insert(UNKNOWN);
    }
    apply_annotations(known.annotations, known.trust, &mut risk, &mut effects);
    let full_name = format!("{}.{}", known.server, known.name);
    let rule = rules.iter().find(|rule| {
        rule.tools.matches(&full_name)
            && (rule.words.is_empty() || {
                let text_words = words::of_text(known.description);
                rule.words.iter().any(|word| name_words.contains(word) || text_words.contains(word))
            })
    });
    if let Some(rule) = rule {
        override_with(rule.risk, rule.side_effects.as_deref(), &mut risk, &mut effects);
    }
    (risk, effects)
}

/// Applies what a person says of a tool. One whose risk they call low is known to read.
pub fn override_with(
    said_risk: Option<Risk>,
    said_effects: Option<&[String]>,
    risk: &mut Risk,
    effects: &mut SideEffects,
) {
    *risk = said_risk.unwrap_or(*risk);
    match said_effects {
        Some(tags) => *effects = tags.iter().map(String::as_str).collect(),
        None if said_risk == Some(Risk::Low) => *effects = SideEffects::default(),
        None => {}
    }
}

/// What the words of a name and the first verbs of a description say together.
fn classify(name_words: &[String], verbs: &[String]) -> (Risk, SideEffects) {
    // `get_state`: "Reports the state of a job" answers with it; `report_user` does not.
    let answers = matches!(verbs, [verb] if matches!(verb.as_str(), "report" | "reports"));
    let returns = ["return".to_owned()];
    let verbs = if answers && name_reads(name_words) { &returns[..] } else { verbs };
    let of_verbs: Vec<KnownWord> = verbs.iter().filter_map(|verb| look_up_verb(verb)).collect();
    let text_reads = !of_verbs.is_empty()
        && of_verbs.len() == verbs.len()
        && of_verbs.iter().all(|verb| verb.meaning.is_reading());
    // "Returns a confirmation" is said of any tool, so the name must read too.
    let is_sure_verb = |verb| verbs::is_sure(verb) || verbs::tells_to_read(verb);
    let is_sure = text_reads && of_verbs.first().copied().is_some_and(is_sure_verb);
    let first = of_verbs.first().copied();
    let agrees = text_reads && first.is_some_and(|verb| name_agrees(name_words, verb));
    let of_name = meanings(name_words, is_sure || agrees);
    let all = || of_name.iter().chain(&of_verbs);
    let means = |meaning: Meaning| all().any(|word| word.meaning == meaning);
    let is_known_to_read = match () {
        () if is_sure || agrees => true,
        () if text_reads => name_reads(name_words),
        () => verbs.is_empty() && name_reads(name_words),
    } && !joins_unknown(name_words);
    let mut effects: SideEffects = all().flat_map(|word| effects_of(word.stem)).copied().collect();
    // What it makes is kept for a moment only, unless it destroys or runs something.
    let is_temporary = name_words.iter().any(|word| TEMPORARY.contains(&word.as_str()));
    let risk = if means(Meaning::Destroys) {
        Risk::Critical
    } else if all().any(|word| EXECUTES.contains(&word.stem)) {
        Risk::High
    } else if means(Meaning::Writes) {
        if is_temporary { Risk::Medium } else { Risk::High }
    } else if means(Meaning::Runs) || means(Meaning::Fetches) || means(Meaning::Network) {
        Risk::Medium
    } else if is_known_to_read {
        Risk::Low
    } else {
        Risk::Medium
    };
    if means(Meaning::Destroys) || means(Meaning::Writes) {
        if !effects.changes_something() {
            effects.insert(SOMETHING);
        }
    } else if means(Meaning::Runs) || takes_messages(name_words) || obtains(name_words) || !is_known_to_read {
        effects.insert(UNKNOWN);
    }
    (risk, effects)
}

/// Whether a name says by itself that the tool reads: `list_files`, `docker_list_containers`, `git_log`. A word before
/// the verb that is not known as a thing may be the verb itself: `sort_list`.
fn name_reads(name_words: &[String]) -> bool {
    let is_before_verb = |word: &&String| {
        THINGS.split_whitespace().any(|thing| thing == *word)
            || look_up(word).is_some_and(|known| {
                known.meaning == Meaning::Network || known.is_noun && known.form == Form::Plural
            })
    };
    if name_words.iter().any(|word| is_joiner(word)) {
        return false;
    }
    let n_before = name_words.iter().take_while(is_before_verb).count();
    match &name_words[n_before..] {
        [] => false,
        // `status` alone is what it reads, before another word nobody can tell.
        [word] => reads_as_noun(word) || look_up(word).is_some_and(|known| known.meaning.is_reading()),
        [verb, ..] if is_reading_verb(verb) => true,
        [things @ .., search] if search == "search" => things.iter().all(|word| look_up_verb(word).is_none()),
        [.., state, check] if check == "check" && matches!(state.as_str(), "health" | "status") => true,
        [_, rest @ ..] => rest.iter().any(|word| is_never_noun(word)),
    }
}

/// Whether a name says the same as the first verb of its description, or begins with another verb that reads:
/// `check_spelling`, `order_status`. `return` gives something back as often as it answers.
fn name_agrees(name_words: &[String], verb: KnownWord) -> bool {
    let reads = |word: KnownWord| word.meaning.is_reading() && word.stem != "return";
    let is_thing = |word: &&String| THINGS.split_whitespace().any(|thing| thing == *word);
    let first = name_words.iter().find(|word| !is_thing(word)).and_then(|word| look_up_verb(word));
    first.is_some_and(|first| reads(first) && first.form == Form::Base)
        || reads(verb)
            && name_words.iter().any(|word| look_up_verb(word).is_some_and(|word| word.stem == verb.stem))
}

fn is_joiner(word: &str) -> bool {
    matches!(word, "and" | "or" | "then")
}

/// Whether a reading verb of a name is joined to a word that nobody knows: `find_and_frobnicate`.
fn joins_unknown(name_words: &[String]) -> bool {
    name_words
        .windows(3)
        .any(|words| is_reading_verb(&words[0]) && is_joiner(&words[1]) && look_up_verb(&words[2]).is_none())
}

/// What is taken from a queue is gone for others.
fn takes_messages(name_words: &[String]) -> bool {
    let has = |wanted: &[&str]| name_words.iter().any(|word| wanted.contains(&word.as_str()));
    has(&["queue", "topic", "subscription"]) && has(&["message", "messages"])
}

/// Whether a name says that credentials are got, which often makes new ones: `get_connection_string`.
fn obtains(name_words: &[String]) -> bool {
    name_words.iter().enumerate().any(|(index, word)| phrase(word, &name_words[index + 1..]) == Some(OBTAINS))
}

/// The known words of a name that stand as verbs. After a reading verb, in the name or as the only one of the
/// description, the names of things are only what is read.
pub(super) fn meanings(name_words: &[String], text_reads: bool) -> Vec<KnownWord> {
    let mut found = Vec::new();
    let mut reads_what_follows = text_reads;
    for (index, word) in name_words.iter().enumerate() {
        if is_joiner(word) {
            reads_what_follows = false;
        }
        let in_phrase = phrase(word, &name_words[index + 1..]);
        let Some(known) = look_up(in_phrase.unwrap_or(word)) else { continue };
        let is_object =
            reads_what_follows && (known.is_noun || known.form != Form::Base) && !known.is_required;
        // Many things before a reading verb are what it reads: `commits_list`. One that runs something is what it reads
        // from: `docker_list_containers`.
        let is_followed = name_words[index + 1..].iter().any(|word| is_reading_verb(word));
        let is_thing =
            known.is_noun && (known.form == Form::Plural || known.meaning == Meaning::Runs && is_followed);
        let is_last = index + 1 == name_words.len();
        // `list` lists many things: `list_commits`, but `list_shift`.
        let is_done_to_list =
            !text_reads && is_last && index == 1 && name_words[0] == "list" && known.form == Form::Base;
        let is_object = is_object && in_phrase.is_none();
        if is_object && !is_done_to_list || is_thing || is_last && reads_as_noun(word) {
            continue;
        }
        reads_what_follows |= known.meaning.is_reading() && known.form == Form::Base;
        found.push(known);
    }
    found
}

fn effects_of(stem: &str) -> &'static [&'static str] {
    EFFECT_WORDS.iter().find(|(word, _)| *word == stem).map_or(&[], |(_, tags)| tags)
}

/// Annotations can always raise the risk; only those of a highly trusted server lower it. `openWorldHint` says
/// nothing about writing.
fn apply_annotations(annotations: Annotations, trust: Trust, risk: &mut Risk, effects: &mut SideEffects) {
    let declares_writing = annotations.destructive == Some(true) || annotations.read_only == Some(false);
    if declares_writing {
        *risk = (*risk).max(Risk::High);
        effects.remove(UNKNOWN);
        if !effects.changes_something() {
            effects.insert(SOMETHING);
        }
    }
    if trust == Trust::High {
        if annotations.read_only == Some(true) && !declares_writing {
            *risk = Risk::Low;
            *effects = SideEffects::default();
        }
        if annotations.destructive == Some(false) {
            *risk = (*risk).min(Risk::High);
        }
    }
}

#[cfg(test)]
mod tests;
