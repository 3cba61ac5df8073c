//! The words by which a tool's effect is known.
//!
//! Reading words are few and sure: a tool that is wrongly taken to read runs without anybody being asked, one
//! that is wrongly taken to write only asks. Words are compared by stem, and where they stand matters:
//! `get_commit` reads a commit, `commit_changes` makes one.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a word says of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It destroys something or spends money.
    Destroys,
    /// It changes something.
    Writes,
    /// It does whatever it is given: nobody can tell from the name.
    Runs,
    /// It uses the network, whatever for.
    Network,
    /// It reads from the network.
    Fetches,
    /// It only reads.
    Reads,
}

/// Words that destroy or pay. Those of the first line are required.
const DESTROYS: &str = "\
    delete drop destroy payment \
    erase nuke pay payout purge remove revoke rm terminate truncate uninstall unlink wipe wire withdraw";

/// Words that write wherever they stand. Those of the first line are required.
const WRITES: &str = "\
    write update modify create \
    abort accept activate add advance allocate amend append apply approve assign associate attach authorise \
    authorize ban begin bind cancel chmod chown clear click clone close complete configure confirm \
    connect deactivate decline deploy deregister detach disable discard disconnect dismiss duplicate edit \
    emit enable enqueue ensure exclude follow generate grant hide increment init initialize insert install \
    invite join kick kill login logout lower make mark migrate mkdir move mute mv navigate notify overwrite \
    pause persist pin promote provision publish push put react rebase reboot rebuild reconnect refresh \
    register reject remember rename reopen reorder replace reply reset resize restart restore resume retry \
    revert rollback rotate save scale schedule select send shutdown sign start stash stop store submit \
    subscribe suspend swap switch sync tap toggle touch train triage trigger unassign unfollow unlock unpin \
    unset unsubscribe upgrade upload upsert";

/// Words that write where they are the verb, and are the names of things elsewhere: `get_commit`.
const WRITES_AS_VERB: &str = "\
    archive auth block book bookmark branch build buy change charge checkout checkpoint comment commit copy \
    deployment deposit dispatch draft export fill flag fork forward import label leave like link lock log \
    merge message mount note order patch post press purchase rate record refund release repair report \
    request reserve review sell set setup share ship snapshot star tag ticket trade transfer type upvote \
    vote";

/// Words that run what they are given, wherever they stand.
const RUNS: &str = "\
    browser bash eval evaluate exec execute interact invoke launch perform powershell spawn";

/// Words that run what they are given where they are the verb or the whole name, and are the names of things after a
/// reading verb: `list_runs`.
const RUNS_AS_VERB: &str = "\
    action agent ask aws az call cli cmd code command console cypher docker gcloud graphql handle helm job \
    js kubectl manage node open operation playwright proxy psql python query repl run script shell solve \
    sql ssh task terminal terraform test tool use workflow";

/// Words that say that the network is used, and nothing more. All are required.
const NETWORK: &str = "\
    network http api";

/// Words that read from the network.
const FETCHES: &str = "\
    download fetch";

/// Words that read. Those of the first line are required.
const READS: &str = "\
    read get list search echo \
    browse cat compare count describe diff display enumerate explain find glob grep head health help info \
    inspect lookup ls now peek ping retrieve show stat status sum tail time tree validate version view \
    whoami";

/// Words that read as the first verb of a description, and are unsure in names: `check_in`, `return_order`.
const READS_IN_TEXT: &str = "\
    analyse analyze assess audit calculate check compute convert details detect determine diagnose discover \
    documentation estimate examine extract gather identify information investigate locate look measure \
    metadata monitor observe overview parse preview rank recommend return scan statistics suggest summarize \
    summary trace translate";

/// Words that read as the names of things, not as verbs: `git_log` reads, `log_event` does not.
const READS_AS_NOUN: &str = "\
    blame details history log logs metrics schema statistics stats";

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

/// What is known of a stem.
#[derive(Clone, Copy)]
struct Entry {
    meaning: Meaning,
    is_noun: bool,
    is_required: bool,
}

/// All words that mean the same wherever they are looked up.
static WORDS: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    use Meaning::{Destroys, Fetches, Network, Reads, Runs, Writes};
    let mut words = HashMap::new();
    for (table, meaning, is_noun, n_required) in [
        (DESTROYS, Destroys, false, 4),
        (WRITES, Writes, false, 4),
        (RUNS, Runs, false, 0),
        (WRITES_AS_VERB, Writes, true, 0),
        (RUNS_AS_VERB, Runs, true, 0),
        (NETWORK, Network, false, 0),
        (FETCHES, Fetches, false, 0),
        (READS, Reads, false, 0),
    ] {
        for (index, word) in table.split_whitespace().enumerate() {
            words.insert(word, Entry { meaning, is_noun, is_required: index < n_required });
        }
    }
    words
});

/// Looks a word of a name up by its stem.
pub(super) fn look_up(word: &str) -> Option<KnownWord> {
    stems(word).into_iter().find_map(|(stem, form)| {
        let (stem, Entry { meaning, is_noun, is_required }) = WORDS.get_key_value(&*stem)?;
        Some(KnownWord { stem, meaning: *meaning, form, is_noun: *is_noun, is_required: *is_required })
    })
}

/// Looks up a verb of a description.
pub(super) fn look_up_verb(word: &str) -> Option<KnownWord> {
    let in_text = || {
        stems(word).into_iter().find_map(|(stem, form)| {
            let stem = READS_IN_TEXT.split_whitespace().find(|known| *known == stem)?;
            Some(KnownWord { stem, meaning: Meaning::Reads, form, is_noun: false, is_required: false })
        })
    };
    look_up(word).or_else(in_text)
}

/// Reading words that are verbs wherever they stand.
const READING_VERBS: [&str; 12] = [
    "get", "list", "read", "search", "find", "show", "describe", "view", "fetch", "retrieve", "lookup",
    "count",
];

/// Whether a word is one of the reading words that are never the names of things.
pub(super) fn is_reading_verb(word: &str) -> bool {
    READING_VERBS.contains(&word)
}

/// Whether a word reads where it stands as the name of a thing.
pub(super) fn reads_as_noun(word: &str) -> bool {
    READS_AS_NOUN.split_whitespace().any(|known| known == word)
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
        let all =
            [DESTROYS, WRITES, RUNS, WRITES_AS_VERB, RUNS_AS_VERB, NETWORK, FETCHES, READS, READS_IN_TEXT];
        let mut seen = std::collections::BTreeSet::new();
        for word in all.into_iter().flat_map(str::split_whitespace) {
            assert!(seen.insert(word), "{word} is there twice");
        }
    }
}
