//! Splits a description into words, and keeps what stands between them.

use super::verbs::look_up_verb;

/// A label has fewer words.
const LABEL_MAX: usize = 5;

/// A word, and what stands beside it.
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) lower: String,
    /// What stands between it and the word before it.
    pub(super) joint: Joint,
    /// It stands before the sentence: `Usage: …`, `[beta] …`.
    pub(super) is_label: bool,
    /// The sentence ends after it.
    pub(super) ends: bool,
}

/// What stands between a word and the one before it, the more the firmer it joins them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Joint {
    /// Nothing.
    None,
    /// A dash, colon or bracket.
    Other,
    /// A comma or slash: `Search/replace`.
    Comma,
    /// A semicolon.
    Semicolon,
    /// `and`, `or`, `&` and the like.
    Word,
}

/// The words of a description in their order.
pub(super) fn tokens(description: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    for paragraph in description.split("\n\n") {
        let begin = tokens.len();
        let mut before = "";
        for word in paragraph.split_whitespace() {
            // "List all files: …" is no label.
            let begins_with_verb =
                tokens.get(begin).is_some_and(|first| look_up_verb(&first.lower).is_some());
            let is_label =
                !begins_with_verb && (word == "|" || word.trim_end_matches(['*', '_']).ends_with(':'));
            if is_label && tokens.len() < begin + LABEL_MAX {
                tokens[begin..].iter_mut().for_each(|token| token.is_label = true);
            }
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '\'' || letter == '_';
            for (index, part) in word.split(|letter| !is_part(letter)).enumerate() {
                let text = part.trim_matches(['\'', '_']);
                if !text.is_empty() {
                    let joint =
                        if index == 0 { joint_before(before, word) } else { joint_inside(before, word) };
                    let is_label = is_label || is_bracketed(word);
                    tokens.push(Token { text, lower: text.to_lowercase(), joint, is_label, ends: false });
                }
            }
            if let Some(last) = tokens[begin..].last_mut() {
                last.ends |= ends_sentence(word);
            }
            before = word;
        }
        if let Some(last) = tokens[begin..].last_mut() {
            last.ends = true;
        }
    }
    tokens
}

fn is_bracketed(word: &str) -> bool {
    word.starts_with('[') && word.ends_with(']') || word.starts_with('<') && word.ends_with('>')
}

fn joint_before(before: &str, word: &str) -> Joint {
    match before.trim_end_matches(['*', '_', '"', '`']).chars().last() {
        Some('&' | '+') => Joint::Word,
        Some(';') => Joint::Semicolon,
        Some(',') => Joint::Comma,
        Some(':' | ')' | '-' | '–' | '—') => Joint::Other,
        Some(_) | None if word.starts_with(['(', '-', '–', '—', '&', '+', '•', '*']) => Joint::Other,
        Some(_) | None => Joint::None,
    }
}

/// What stands before a part of a word that is not the first; `(` before the first part is an empty part.
fn joint_inside(before: &str, word: &str) -> Joint {
    if word.contains('&') {
        Joint::Word
    } else if word.contains('/') {
        Joint::Comma
    } else if word.contains('-') {
        Joint::Other
    } else {
        joint_before(before, word)
    }
}

fn ends_sentence(word: &str) -> bool {
    let is_abbreviation = matches!(word.trim_start_matches('('), "e.g." | "i.e." | "etc." | "vs.");
    let bare = word.trim_end_matches(['*', '_', '"', ')', '`', '\'']);
    bare.ends_with(['.', '!', '?', '。']) && !is_abbreviation
}
