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

impl Meaning {
    /// Whether it says that a tool reads.
    pub(super) const fn is_reading(self) -> bool {
        matches!(self, Self::Reads | Self::Fetches)
    }
}

/// Words that destroy or pay. Those of the first line are required.
const DESTROYS: &str = "\
    delete drop destroy payment \
    erase nuke pay payout purge remove revoke rm terminate truncate uninstall unlink wipe wire withdraw";

/// Words that write wherever they stand. Those of the first line are required.
const WRITES: &str = "\
    write update modify create \
    abort accept acknowledge acquire activate add adjust advance allocate alter amend annotate announce \
    anonymise anonymize append apply approve assign associate attach authorise authorize autoclose \
    autofix automerge backfill ban begin bind bootstrap cancel chmod chown clean cleanup clear click \
    clone close compact complete compress configure confirm connect consume cordon correct deactivate \
    deallocate debit decline decommission decrement decrypt defragment delist demote deny deploy \
    deprecate dequeue deregister detach disable disburse discard disconnect dismiss dispose divert donate \
    downgrade downvote drain duplicate edit eject emit empty enable encrypt enforce enlist enqueue enrol \
    enroll ensure escalate evict exclude expire expunge extend finalize fix flip flush follow freeze \
    generate graft grant halt hibernate hide impersonate increment init initialize initiate inject insert install \
    invalidate invite isolate join kick kill liquidate login logout lower make mark migrate mint mkdir \
    move mutate mute mv navigate nominate normalize notify nudge nullify obliterate offboard offload \
    onboard optimize overwrite pair paste pause persist pin pop populate postpone prepare prepend \
    prioritize promote provision prune publish push put randomize react reap reassign reattach rebalance \
    rebase rebind reboot rebuild recalculate reclaim recompute reconcile reconnect recover recreate \
    recycle redeem redeploy reduce refactor refile refill reformat refresh regenerate register reimburse \
    reindex reinstall reissue reject rekey relabel relaunch relinquish relist reload relocate remap \
    remediate remember remit remount rename renew reopen reorder reorganize repay replace reply repoint \
    repopulate reposition reprocess republish requeue reroute reschedule rescind reseed resend reset \
    resize respond restart restore resubmit resume resurrect resync retag retarget retire retract retrain \
    retry reverse revert revise rewind rewire rollback rollover rotate sanitize save scaffold scale scrap \
    scrub seal seize select send settle shelve shred shrink shuffle shutdown sideload sign silence snooze \
    spend squash start stash stop strip submit subscribe substitute subtract supersede suppress surrender \
    suspend swap sweep switch sync tap throttle tidy toggle touch train transmit triage trim \
    tweak unarchive unassign unban unbind unblock uncordon undelete undeploy undo unfollow unfreeze \
    unlist unload unlock unmount unmute unpack unpin unpublish unregister unschedule unseal unset unshare \
    unstage unstar unsubscribe unsuspend untag unzip upgrade upload upsert vacuum void waive wake \
    whitelist yank zero zip";

/// Words that write where they are the verb, and are the names of things elsewhere: `get_commit`.
const WRITES_AS_VERB: &str = "\
    allowlist archive auth backup blacklist block blocklist book bookmark boot branch build bump burn buy \
    change charge checkout checkpoint claim comment commit copy credit denylist deployment deposit \
    dispatch draft email export favorite favourite fill flag fork forward import issue label land lease \
    leave like link loan lock log mail merge message mirror mount note order override partition patch \
    place post power press purchase quarantine queue raise rate record redirect refund release repair \
    replicate report request reserve review roll schedule seed sell set setup share shift ship snapshot \
    split stage stake stamp star store tag ticket trade transfer transition trash trigger tweet type upvote \
    vote wager";

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
    browse cat compare count describe diff display enumerate explain find geocode glob grep head health help info \
    inspect lookup ls now peek ping retrieve show stat status sum tail time tree validate version view \
    whoami";

/// Words that read as the first verb of a description, and are unsure in names: `check_in`, `return_order`.
const READS_IN_TEXT: &str = "\
    analyse analyze assess audit calculate check compute convert details detect determine diagnose discover \
    divide documentation estimate examine extract gather identify information investigate locate look measure \
    metadata monitor observe overview parse preview rank return statistics summarize \
    summary trace translate";

/// Reading words that as well describe an answer, whatever the tool does: `Displays a confirmation`.
const DESCRIBES_ANSWER: &str = "display echo show";

/// Whether a reading verb says that a tool reads, whatever the name says. Verbs that only describe what is answered do
/// not: "Returns a confirmation", "Checks that it is done".
pub(super) fn is_sure(verb: KnownWord) -> bool {
    verb.meaning.is_reading()
        && ![READS_IN_TEXT, DESCRIBES_ANSWER, NAMES_WHAT_IS_READ]
            .iter()
            .any(|list| list.split_whitespace().any(|word| word == verb.stem))
}

/// Words of `READS_IN_TEXT` that may also do more: what is extracted may go to a file, and monitoring is set up.
const MAY_DO_MORE: &str = "audit extract gather monitor observe return trace";

/// Whether a verb of a description tells the tool to read: "Calculate a distance". "Calculates the new balance" may as
/// well describe an answer.
pub(super) fn tells_to_read(verb: KnownWord) -> bool {
    let is_listed = |list: &str| list.split_whitespace().any(|word| word == verb.stem);
    verb.form == Form::Base
        && is_listed(READS_IN_TEXT)
        && !is_listed(MAY_DO_MORE)
        && !is_listed(NAMES_WHAT_IS_READ)
}

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
    ("retrieval", "retrieve"),
    ("comparison", "compare"),
    ("validation", "validate"),
    ("analysis", "analyze"),
    ("shown", "show"),
    ("removal", "remove"),
    ("deletion", "delete"),
    ("creation", "create"),
    ("execution", "execute"),
    ("modification", "modify"),
    ("del", "delete"),
];

/// Participles among them. Like the regular ones, they say in names what a thing is: `list_sent_mails`.
const PARTICIPLES: &str = "bought built made paid sent sold written";

/// How a word is written, beside its stem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As a verb or a single thing.
    Base,
    /// As many things, or in the third person.
    Plural,
    /// As an activity: `deleting`.
    Gerund,
    /// As what was done to a thing: `sent`.
    Participle,
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

impl KnownWord {
    /// Whether it says that something is changed.
    pub(super) fn changes_something(self) -> bool {
        matches!(self.meaning, Meaning::Destroys | Meaning::Writes)
    }
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

/// Reading words that name what is read.
const NAMES_WHAT_IS_READ: &str = "\
    details documentation head health help info information metadata now overview statistics status summary time tree \
    version";

/// Whether a word reads only as the name of what is read.
pub(super) fn names_what_is_read(word: &str) -> bool {
    NAMES_WHAT_IS_READ.split_whitespace().any(|known| known == word)
}

/// Looks up a verb by its participle: `deleted`.
pub(super) fn look_up_participle(word: &str) -> Option<KnownWord> {
    let stem = word.strip_suffix("ed").filter(|stem| stem.len() > 1);
    let Some(stem) = stem else { return look_up(word).filter(|known| known.stem != word) };
    let doubled = stem.get(..stem.len() - 1);
    let stems = [Some(stem.to_owned()), Some(format!("{stem}e")), doubled.map(str::to_owned)];
    stems.into_iter().flatten().find_map(|stem| look_up(&stem))
}

/// Reading words that are verbs wherever they stand.
const READING_VERBS: &str = "\
    get list read search find show describe view fetch retrieve lookup count browse cat compare display download \
    enumerate explain geocode glob grep inspect ls peek validate";

/// Reading verbs that are never the names of things.
const NEVER_NOUNS: &str = "get describe fetch retrieve lookup find geocode";

/// Whether a word is one of the reading words that are never the names of things.
pub(super) fn is_never_noun(word: &str) -> bool {
    NEVER_NOUNS.split_whitespace().any(|known| known == word)
}

/// Whether a word is a reading word that is mostly a verb.
pub(super) fn is_reading_verb(word: &str) -> bool {
    READING_VERBS.split_whitespace().any(|known| known == word)
}

/// Whether a word reads where it stands as the name of a thing.
pub(super) fn reads_as_noun(word: &str) -> bool {
    READS_AS_NOUN.split_whitespace().any(|known| known == word)
}

/// What a word may be a form of. Participles (`created`) are left out: in names they say what a thing is.
fn stems(word: &str) -> Vec<(String, Form)> {
    let mut stems = vec![(word.to_owned(), Form::Base)];
    let is_participle = PARTICIPLES.split_whitespace().any(|participle| participle == word);
    let form = if is_participle { Form::Participle } else { Form::Base };
    let irregular = IRREGULAR.iter().filter(|(form, _)| *form == word);
    stems.extend(irregular.map(|(_, stem)| ((*stem).to_owned(), form)));
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
