//! Finds the verbs by which a description says what its tool does.
//!
//! The first verb says most, but not all: "Find stale files and remove them" removes. So the whole first sentence is
//! read, and of later ones the beginning. What a description says of things, limits and other tools is left out.

use super::chinese::chinese_verbs;
use super::phrases::{phrase, takes_object};
use super::remarks::{done_besides, done_by_using, made_if_missing, names_destination};
use super::tokens::{Joint, Token, tokens};
use super::verbs::{KnownWord, look_up_verb, names_what_is_read};

/// Words before the verb of a description: "This tool lets you delete a file".
const LEAD_IN: &str = "\
    a ability allow allowing allows an and api attempt attempts be can capability command endpoint function \
    functionality helper i it lets method operation perform performs please powerful provide provides simple that \
    the then this to tool tries try use used useful user users using utility via when which will you your";
/// Words at the start of a later sentence after which the verb still speaks of the tool: "It then deletes the file".
const ABOUT_THE_TOOL: &str = "also and can could it may might optionally that then this tool will would";
/// Verbs that later sentences say of arguments and answers: "Accepts a list", "Generates one line for each file".
const SAID_OF_THINGS: &str = "\
    accept apply correct enable ensure exclude extend follow generate join make normalize optimize raise reduce select \
    skip split strip trim";
/// Verbs after "also" that say what an answer holds.
const ALSO_SAID: &str =
    "accepts allows contains covers gives handles helps includes offers provides supports works";
/// Verbs that tell no more than what they stand before: "Run a search".
const CARRIES_OUT: &str = "conduct conducts execute executes run runs";
/// What is performed by reading.
const PERFORMED: &str = "analysis check comparison lookup retrieval search searches validation";
/// Words that stand after a comma or `and`, and are no verbs.
const NO_VERBS: &str = "\
    about across after as at before between both by each either every excluding for from how if in including into its \
    like more not of on only optional other over per so such than that the their these those to using via what \
    when where whether which while who with within without your a an all any";
/// Verbs that arrange what another one reads: "Retrieves and formats orders". Alone they are unsure: "Format a disk".
const ONLY_ARRANGES: &str = "\
    aggregate categorize classify deduplicate filter format group organize paginate rank render rerank sort visualize";
/// Words in the sentence of a reading verb that say that something is changed: "Sort the lines of a file in place".
const MARKS: [(&str, &str); 8] = [
    ("in", "place"),
    ("to", "disk"),
    ("to", "clipboard"),
    ("for", "sale"),
    ("for", "rent"),
    ("for", "auction"),
    ("as", "read"),
    ("as", "done"),
];
/// Other forms of what is read, and so many words may stand before them: "Convert coordinates into a street address".
const FORMS: &str = "\
    address addresses coordinates format html json markdown number numbers string text";
const FORM_MAX: usize = 4;
/// Words after a thing that is read: "Details about an order".
const AFTER_THING: &str = "about for from in of on";
/// So many words are looked at for the first verb, and so many for verbs joined to it.
const LEAD_IN_MAX: usize = 12;
const SENTENCE_MAX: usize = 80;
/// So many sentences are looked at, and so many for what is done to things.
const SENTENCES_MAX: usize = 40;
const PASSIVE_MAX: usize = 3;
/// So many words after a verb can change its meaning.
const PHRASE_MAX: usize = 5;

/// The first verb of a description, as it is written there, and the others that say what the tool does: "Read or update a
/// file" has two, "Read a file. Also marks it as read." too. There are none if the description only names a thing.
pub fn leading_verbs(description: &str) -> Vec<String> {
    if let Some(verbs) = chinese_verbs(description) {
        return verbs;
    }
    let tokens = tokens(description);
    let all_sentences = || tokens.split_inclusive(|token| token.ends).take(SENTENCES_MAX);
    let mut sentences = all_sentences();
    // "This is the API of a shop. Retrieves an order."
    let mut verbs =
        sentences.by_ref().find(|sentence| !is_about_things(sentence)).map_or(Vec::new(), first_sentence);
    verbs.extend(sentences.filter_map(verb_of_later_sentence));
    verbs.extend(all_sentences().take(PASSIVE_MAX).filter_map(done_besides));
    verbs.extend(all_sentences().filter_map(made_if_missing));
    verbs.extend(all_sentences().filter_map(done_by_using));
    verbs
}

/// Whether a sentence tells what something is or needs, not what the tool does.
fn is_about_things(sentence: &[Token<'_>]) -> bool {
    let mut words = sentence.iter().filter(|token| !is_before_verb(token));
    words.next().is_none_or(|token| contains("is are must represents requires", &token.lower))
}

/// The verbs of the sentence that tells what the tool does.
fn first_sentence(sentence: &[Token<'_>]) -> Vec<String> {
    let Some(start) = sentence.iter().take(LEAD_IN_MAX).position(|token| !is_before_verb(token)) else {
        return Vec::new();
    };
    let start = start + search_carried_out(&sentence[start..]).unwrap_or_default();
    // "Performs a web search"
    let performs =
        sentence[..start].iter().any(|token| matches!(token.lower.as_str(), "perform" | "performs"));
    let performed =
        sentence.iter().skip(start).take(PHRASE_MAX).position(|token| contains(PERFORMED, &token.lower));
    let start = start + performed.filter(|_| performs).unwrap_or_default();
    let mut verbs = joined_verbs(sentence, start);
    if is_marked(sentence, &sentence[start].lower) {
        verbs.push("change".to_owned());
    }
    match first_word(sentence, start) {
        FirstWord::Verb(verb) => verbs.insert(0, verb),
        // A verb joined to what nobody can tell does not tell it.
        FirstWord::Thing(word) if !verbs.is_empty() => verbs.insert(0, word),
        FirstWord::Thing(_) => {}
    }
    verbs
}

/// Where the search is that a sentence says is run: "Run a full text search". "Run a program for the search" runs it.
fn search_carried_out(sentence: &[Token<'_>]) -> Option<usize> {
    let (verb, rest) = sentence.split_first()?;
    if !contains(CARRIES_OUT, &verb.lower) {
        return None;
    }
    let is_search = |token: &Token<'_>| contains("lookup lookups search searches", &token.lower);
    let ends_object = |token: &Token<'_>| {
        token.joint > Joint::None
            || contains("and as at by for from in of on or that then to using which with", &token.lower)
    };
    let at = rest.iter().take(PHRASE_MAX).position(|token| is_search(token) || ends_object(token))?;
    is_search(&rest[at]).then_some(at + 1)
}

/// What the first word of a sentence is.
enum FirstWord {
    Verb(String),
    /// A thing: "Weather forecast for a city", "The set of users". With it, a word that tells nothing.
    Thing(String),
}

fn first_word(sentence: &[Token<'_>], start: usize) -> FirstWord {
    let first = &sentence[start];
    let known = look_up_verb(&first.lower);
    let next = sentence.get(start + 1).filter(|_| !first.ends);
    let has_object = next.is_some_and(|next| takes_object(&next.lower) && next.joint == Joint::None);
    let is_joined_on = next.is_some_and(|next| next.joint >= Joint::Comma || is_joiner(&next.lower));
    if names_what_is_read(&first.lower) {
        // "Status of an order" reads it, "Status update of an order" and "Version a model" do not.
        let is_read = next.is_none_or(|next| next.joint > Joint::None || contains(AFTER_THING, &next.lower));
        return match next {
            Some(_) if has_object => FirstWord::Verb("change".to_owned()),
            Some(next) if !is_read && !is_joined_on => FirstWord::Thing(next.lower.clone()),
            Some(_) | None => FirstWord::Verb(first.lower.clone()),
        };
    }
    let has_article = start > 0 && contains("a an the", &sentence[start - 1].lower);
    let is_noun = has_article && known.is_some_and(|known| known.is_noun && !known.meaning.is_reading());
    let verb = verb_with(first, &sentence[start + 1..]);
    let is_phrase = verb != first.lower;
    if is_phrase || known.is_some() && !is_noun || has_object || is_joined_on {
        FirstWord::Verb(verb)
    } else {
        FirstWord::Thing(first.lower.clone())
    }
}

/// The verbs that are joined to the first one.
fn joined_verbs(sentence: &[Token<'_>], start: usize) -> Vec<String> {
    let mut verbs = Vec::new();
    // Whether only verbs stood until here: "Create, update or delete an issue".
    let mut is_list_of_verbs = true;
    let mut joint = Joint::None;
    for (index, token) in sentence.iter().enumerate().skip(start + 1).take(SENTENCE_MAX) {
        let before = &sentence[index - 1].lower;
        if is_joiner(&token.lower) || token.lower == "as" && before == "well" {
            joint = Joint::Word;
            continue;
        }
        if token.lower == "which" && token.joint >= Joint::Comma {
            joint = Joint::Other;
            continue;
        }
        joint = joint.max(token.joint);
        if is_adverb(&token.lower) || contains("also optionally", &token.lower) {
            // "and permanently deletes it"
            continue;
        }
        is_list_of_verbs &= joint >= Joint::Comma && !contains(NO_VERBS, &token.lower);
        let is_another = if is_list_of_verbs {
            !contains(ONLY_ARRANGES, token.lower.trim_end_matches('s'))
        } else {
            is_verb(&sentence[start].lower, before, token, sentence.get(index + 1), joint)
        };
        if is_another {
            verbs.push(verb_with(token, &sentence[index + 1..]));
        }
        joint = Joint::None;
    }
    verbs
}

/// Whether a word inside the first sentence says what the tool does besides.
fn is_verb(first: &str, before: &str, token: &Token<'_>, next: Option<&Token<'_>>, joint: Joint) -> bool {
    let has_object = next.is_some_and(|next| takes_object(&next.lower) && next.joint == Joint::None);
    let known = look_up_verb(&token.lower);
    let is_gerund = token.lower.ends_with("ing") && !contains("bring ping ring sing string", &token.lower);
    if is_gerund && before == "by" && known.is_some_and(KnownWord::changes_something) {
        // "Validate a card by charging it"
        return true;
    }
    if is_gerund && has_object && known.is_none_or(KnownWord::changes_something) {
        // "Get the next message, removing it"
        let is_done_to_it = next.is_some_and(|next| matches!(next.lower.as_str(), "it" | "them"));
        return is_done_to_it || joint > Joint::None && known.is_some();
    }
    // "Lists files and deletes them" has two verbs, "List files and deletes" has one.
    let agrees = is_third_person(first) == is_third_person(&token.lower)
        || (joint == Joint::Other && known.is_some() || joint == Joint::Semicolon)
            && is_third_person(&token.lower);
    if joint == Joint::None || !agrees || is_gerund || contains(NO_VERBS, &token.lower) {
        return false;
    }
    let Some(known) = known else {
        return has_object
            && joint >= Joint::Comma
            && !contains(ONLY_ARRANGES, token.lower.trim_end_matches('s'));
    };
    if known.is_noun || !known.changes_something() {
        // "use the other tool" speaks to the caller.
        return has_object && known.stem != "use";
    }
    let is_enumerated = next.is_none_or(|next| next.joint > Joint::None || is_joiner(&next.lower));
    joint == Joint::Word && next.is_none_or(|next| next.joint < Joint::Comma) || !is_enumerated
}

/// The verb of a sentence after the first, if it speaks of the tool and says that it changes something: "Deletes the file
/// afterwards." "Create an index first." speaks to the caller.
fn verb_of_later_sentence(sentence: &[Token<'_>]) -> Option<String> {
    let n_before = sentence
        .iter()
        .take_while(|token| contains(ABOUT_THE_TOOL, &token.lower) || is_adverb(&token.lower))
        .count();
    let (before, rest) = sentence.split_at(n_before);
    let token = rest.first().filter(|token| !token.is_label)?;
    let has = |words: &str| before.iter().any(|token| contains(words, &token.lower));
    let known = look_up_verb(&token.lower);
    let has_object = rest.get(1).is_some_and(|next| takes_object(&next.lower));
    let changes = known.is_some_and(|known| {
        known.changes_something()
            && (!known.is_noun && known.stem != "payment" || has_object)
            && !contains(SAID_OF_THINGS, known.stem)
    });
    let speaks_of_tool = is_third_person(&token.lower) || has("can could may might will would");
    (speaks_of_tool && (changes || has("also") && known.is_none() && !contains(ALSO_SAID, &token.lower)))
        .then(|| token.lower.clone())
}

/// Whether a sentence holds words that only a change needs.
fn is_marked(sentence: &[Token<'_>], first: &str) -> bool {
    let first = first.trim_end_matches('s');
    let collects = contains("convert extract gather", first);
    // A download goes to a file, a comparison to another one.
    let may_name_place = contains("compare diff download fetch fetche", first);
    !may_name_place && names_destination(sentence)
        || sentence.windows(2).enumerate().any(|(index, pair)| {
            let (word, next) = (pair[0].lower.as_str(), pair[1].lower.as_str());
            let is_other_form =
                || sentence[index + 2..].iter().take(FORM_MAX).any(|token| contains(FORMS, &token.lower));
            MARKS.contains(&(word, next))
                || collects && word == "into" && takes_object(next) && !is_other_form()
        })
}

fn is_third_person(word: &str) -> bool {
    word.ends_with('s') && !["ss", "us", "is"].iter().any(|ending| word.ends_with(ending))
}

fn is_joiner(word: &str) -> bool {
    matches!(word, "and" | "or" | "then" | "but" | "plus")
}

fn is_before_verb(token: &Token<'_>) -> bool {
    let is_number = token.text.chars().all(char::is_numeric);
    is_number
        || token.is_label
        || contains(LEAD_IN, &token.lower)
        || is_adverb(&token.lower)
        || is_heading(token.text)
}

/// The verb that a word is together with those after it: "Get rid of a file" removes it.
fn verb_with(token: &Token<'_>, after: &[Token<'_>]) -> String {
    let after: Vec<&str> = after.iter().take(PHRASE_MAX).map(|token| token.lower.as_str()).collect();
    phrase(&token.lower, &after).map_or_else(|| token.lower.clone(), str::to_owned)
}

fn is_adverb(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ly") && !contains("apply comply multiply reply supply", word)
}

/// Whether a word is a label before the sentence: `[DEPRECATED] Deletes…`.
fn is_heading(word: &str) -> bool {
    if look_up_verb(&word.to_lowercase()).is_some_and(KnownWord::changes_something) {
        return false;
    }
    word.chars().count() > 3 && word.chars().all(|letter| letter.is_uppercase() || letter.is_numeric())
}

fn contains(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verbs_of_a_description_are_found() {
        for (text, verbs) in [
            ("Delete a file. Reads nothing.", "delete"),
            ("This tool lets you delete a file", "delete"),
            ("[DEPRECATED] Deletes a file", "deletes"),
            ("DELETE a file", "delete"),
            ("Use this tool to permanently remove things", "remove"),
            ("Read or update a file", "read update"),
            ("Create, update, or delete an issue", "create update delete"),
            ("Search/replace text", "search replace"),
            ("Search & destroy sessions", "search destroy"),
            ("Read-write access", "read write"),
            ("Read-only access", "read"),
            ("A list of files", "list"),
            ("The set of users", ""),
            ("Get the log, then write it", "get write"),
            ("Find old files (e.g. logs) and delete them", "find delete"),
            ("Get users and groups, including the roles of each", "get"),
            ("Lists files and directories that exist", "lists"),
            ("Show nodes and cordon them", "show cordon"),
            ("Show nodes and frobnicate them", "show frobnicate"),
            ("Get a user, creating it if there is none", "get creating create"),
            ("Validate a card by charging it", "validate charging"),
            ("Get the next job, which removes it", "get removes"),
            ("Get a session (creates it if missing)", "get creates"),
            ("Check the build; reruns it when red", "check reruns"),
            ("Inspect a cart as well as empty it", "inspect empty"),
            ("Get rid of a file", "remove"),
            ("Check out a branch", "checkout"),
            ("List an item", "publish"),
            ("List a form's answers", "list"),
            ("Make a GET request", "get"),
            ("Sort lines in place", "sort change"),
            ("Status of an order", "status"),
            ("Status update of an order", ""),
            ("Status update of an order and read it", "update read"),
            ("Version a model", "change"),
            ("Weather forecast for a city", ""),
            ("How many calls were seen", "count"),
            ("Yank a version", "yank"),
            ("Performs a web search", "search"),
            ("List files, optionally limited to a folder", "list"),
            ("Get a file. If you do not have an id, create one.", "get"),
            ("Performs a detailed analysis of a table", "analysis"),
            ("Run a full text search", "search"),
            ("Runs a search and replaces the matches", "search replaces"),
            ("Run a program to search", "run"),
            ("Get an access token", "obtain"),
            ("Get a ticket for a concert", "obtain"),
            ("Get a ticket by its number", "get"),
            ("Convert coordinates into a human-readable street address", "convert"),
            ("Convert a text into a customer", "convert change"),
            ("This tool will be removed in the next release.", ""),
            ("Shop - API: This is the API of a shop. Retrieves an order.", "retrieves"),
            ("Retrieves and formats orders", "retrieves"),
            ("**Purpose:** Retrieve a text. Also connects the agent.", "retrieve connects"),
            ("Get a list (also deletes it). It Also deletes", "get deletes deletes"),
            ("Read mails. Marks them as read.", "read marks"),
            ("Read mails. Mark them yourself.", "read"),
            ("Read a range. Accepts a list of cells.", "read"),
            ("Read a secret. The secret is then deleted.", "read delete"),
            ("删除一个文件", "delete"),
            ("查找重复文件并删除它们", "find delete"),
            ("获取已删除的文件", "get"),
            ("", ""),
            ("...", ""),
        ] {
            assert_eq!(leading_verbs(text).join(" "), verbs, "{text}");
        }
    }
}
