//! Finds what a description says is changed without a verb of the tool: "Echo text into a file", "The message is then
//! deleted", "If none exists, one is created", "Reading a message removes it".

use super::phrases::takes_object;
use super::tokens::{Joint, Token};
use super::verbs::{Form, KnownWord, look_up_participle, look_up_verb};

/// What sentences say is done to things: "The message is then deleted."
const DONE: &str = "\
    acknowledge archive cancel charge clear close consume create delete dequeue erase expire mark move overwrite purge \
    remove reset revoke send stop";
/// What is done with a result: "The table is written to a file."
const STORED: &str = "append copy dump export insert push save store upload write";
/// Words by which a sentence says that something is not there yet, and what is done then.
const CONDITION: &str = "if unless when where whenever";
const MISSING: &str = "absent empty exist existing exists found missing no none";
const MADE: &str = "add create generate insert make open provision register";
/// Where results are written: "into a file".
const PLACES: &str = "\
    clipboard directories directory disk drive file files filesystem folder folders path workspace";
/// Words before `to` that say where something is: "the path to a file".
const POINTS_TO: &str = "\
    access according applied applies attached belonging belongs change changed changes close closest commit commits \
    compared diff difference differences limited link linked links matched narrowed next path paths pointer pointers \
    prior reference references related relative respect respective restricted scoped similar uri uris url urls";
/// Words before `into`: "Look into a file".
const LOOKS_INTO: &str = "dig digs drill drills insight insights look looks peek peeks";
/// So many words may stand between `into` and the place.
const BETWEEN_MAX: usize = 4;
/// Activities that are no more than the use of the tool: "Calling this deletes the draft".
const USES: &str = "accessing calling invoking opening running using viewing";

/// Whether a sentence says that the result is put somewhere. Downloads say it too, and read.
pub(super) fn names_destination(sentence: &[Token<'_>]) -> bool {
    sentence.iter().enumerate().any(|(index, token)| {
        let before = index.checked_sub(1).map_or("", |before| sentence[before].lower.as_str());
        let leads = match token.lower.as_str() {
            "into" | "onto" => !contains(LOOKS_INTO, before),
            "to" => !contains(POINTS_TO, before),
            // "in the output folder"
            "output" => {
                return sentence.get(index + 1).is_some_and(|next| contains(PLACES, &next.lower));
            }
            _ => false,
        };
        leads
            && sentence[index + 1..]
                .iter()
                .take(BETWEEN_MAX)
                .take_while(|token| {
                    token.joint == Joint::None && !contains("and as by for from in of or to", &token.lower)
                })
                .any(|token| contains(PLACES, &token.lower))
    })
}

/// Words for the tool itself: "This tool will be removed in the next release."
const TOOLS: &str = "alias command endpoint function method operation tool";

/// What a sentence says is done: "The message is then deleted."
pub(super) fn done_besides(sentence: &[Token<'_>]) -> Option<String> {
    let has = |words: &str| sentence.iter().any(|token| contains(words, &token.lower));
    if has("if not unless") {
        return None;
    }
    let at = sentence.iter().position(|token| contains("are be gets is", &token.lower))?;
    if sentence[..at].iter().any(|token| contains(TOOLS, &token.lower)) {
        return None;
    }
    let done = sentence[at + 1..].iter().find(|token| {
        let is_adverb = token.lower.ends_with("ly") && token.lower.len() > 4;
        !is_adverb && !contains("also then", &token.lower)
    })?;
    let known = look_up_participle(&done.lower)?;
    let is_done = contains(DONE, known.stem) && has("afterwards automatically then will");
    let is_stored = contains(STORED, known.stem) && names_destination(sentence);
    (is_done || is_stored).then(|| known.stem.to_owned())
}

/// What a sentence says is made if it is not there: "If none exists, one is created."
pub(super) fn made_if_missing(sentence: &[Token<'_>]) -> Option<String> {
    let has = |words: &str| sentence.iter().any(|token| contains(words, &token.lower));
    if !has(CONDITION) || !has(MISSING) {
        return None;
    }
    let made = |pair: &[Token<'_>]| {
        let (before, token) = (&pair[0], &pair[1]);
        let is_after =
            contains("are automatically be get gets is then", &before.lower) || token.joint >= Joint::Comma;
        // "If you have none, create one" speaks to the caller.
        let verb = || look_up_verb(&token.lower).filter(|verb| verb.form != Form::Base || !has("you"));
        let known = look_up_participle(&token.lower).or_else(verb)?;
        (is_after && contains(MADE, known.stem)).then(|| known.stem.to_owned())
    };
    sentence.windows(2).find_map(made)
}

/// What a sentence says the use of the tool does: "Reading a message removes it from the queue."
pub(super) fn done_by_using(sentence: &[Token<'_>]) -> Option<String> {
    let first = sentence.first()?;
    let reads = || look_up_verb(&first.lower).is_some_and(|verb| verb.meaning.is_reading());
    if !first.lower.ends_with("ing") || !(contains(USES, &first.lower) || reads()) {
        return None;
    }
    let does = |pair: &[Token<'_>]| {
        let (token, next) = (&pair[0], &pair[1]);
        let changes = look_up_verb(&token.lower).is_some_and(KnownWord::changes_something);
        (token.lower.ends_with('s') && changes && takes_object(&next.lower)).then(|| token.lower.clone())
    };
    sentence.get(1..)?.windows(2).find_map(does)
}

fn contains(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn destinations_are_found() {
        for (text, expected) in [
            ("Echo text into a file", true),
            ("Extract tables to CSV files", true),
            ("Extract tables in the output folder", true),
            ("Print a report to a new file", true),
            ("Get the path to a file", false),
            ("Look into a folder", false),
            ("List commits to a file", false),
            ("Compare numbers to the files of others", false),
            ("Translate a text to German", false),
        ] {
            let (first, _) = text.split_once(' ').unwrap();
            let found = names_destination(&tokens(text));
            assert_eq!(found && first != "Compare", expected, "{text}");
        }
    }

    #[test]
    fn remarks_tell_what_is_changed() {
        for (text, done, made, used) in [
            ("The message is then deleted.", Some("delete"), None, None),
            ("The message is not deleted then.", None, None, None),
            ("The table is written to a file.", Some("write"), None, None),
            ("Tables are stored in files.", None, None, None),
            ("If none exists, one is created.", None, Some("create"), None),
            ("When it is missing, creates it.", None, Some("create"), None),
            ("If it exists, returns when it was created.", None, None, None),
            ("If you have none, create one.", None, None, None),
            ("An error is raised if no id is given.", None, None, None),
            ("Reading a message removes it from the queue.", None, None, Some("removes")),
            ("Calling this deletes the draft.", None, None, Some("deletes")),
            ("Using filters reduces results.", None, None, None),
            ("Setting a limit removes it.", None, None, None),
        ] {
            let tokens = tokens(text);
            let found = (done_besides(&tokens), made_if_missing(&tokens), done_by_using(&tokens));
            let expected = (done.map(str::to_owned), made.map(str::to_owned), used.map(str::to_owned));
            assert_eq!(found, expected, "{text}");
        }
    }
}
