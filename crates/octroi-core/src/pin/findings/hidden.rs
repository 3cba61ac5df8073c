//! Characters that are invisible, or look like others.

use super::super::characters::{Hidden, escaped_in_line, hidden, looks_like};
use super::{FindingKind, FoundInText, Severity};

/// This many zero-width characters carry a message rather than a layout.
const ZERO_WIDTH_MANY: usize = 8;
const SPACES_MANY: usize = 40;
const LINE_ENDS_MANY: usize = 8;
const BLOB_LENGTH: usize = 100;

/// The flags of England, Scotland and Wales are the only tags that are displayed.
const FLAG: char = '\u{1f3f4}';
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// Hidden characters: one finding for each way of hiding.
pub(super) fn characters(text: &str) -> Vec<FoundInText> {
    if text.is_ascii() && !text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Vec::new();
    }
    let mut found: Vec<FoundInText> = Vec::new();
    let mut n_zero_width = 0;
    let mut tags = String::new();
    let mut before = None;
    let mut rest = text;
    let mut at = 0;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        if let Some(length) = flag_length(character, after) {
            (at, rest, before) = (at + FLAG.len_utf8() + length, &after[length..], Some(FLAG));
            continue;
        }
        let verdict = match hidden(character) {
            None => None,
            Some(Hidden::Tag) => {
                let ascii = u32::from(character).checked_sub(0xe0000).and_then(char::from_u32);
                tags.extend(ascii.filter(|ascii| (' '..='~').contains(ascii)));
                Some((FindingKind::HiddenText, Severity::Danger))
            }
            Some(Hidden::Bidi) => {
                let is_mark = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}');
                Some((FindingKind::Bidi, if is_mark { Severity::Note } else { Severity::Danger }))
            }
            Some(Hidden::Escape) => Some((FindingKind::AnsiEscape, Severity::Danger)),
            Some(Hidden::Control) => Some((FindingKind::ControlCharacter, Severity::Warning)),
            Some(Hidden::VariationSelector) => variation_selector(character, before),
            Some(Hidden::ZeroWidth) if joins_script(character, before, after) => None,
            Some(Hidden::ZeroWidth) => {
                n_zero_width += 1;
                let is_many = n_zero_width >= ZERO_WIDTH_MANY;
                Some((FindingKind::ZeroWidth, if is_many { Severity::Danger } else { Severity::Warning }))
            }
        };
        if let Some((kind, severity)) = verdict {
            match found.iter_mut().find(|found| found.kind == kind) {
                Some(found) => found.severity = found.severity.max(severity),
                None => found.push(FoundInText::at(kind, severity, at)),
            }
        }
        (at, rest, before) = (at + character.len_utf8(), after, Some(character));
    }
    for found in found.iter_mut().filter(|found| found.kind == FindingKind::HiddenText && !tags.is_empty()) {
        let spelled: String = tags.chars().take(super::EXCERPT_LENGTH).collect();
        found.note = Some(format!("hidden characters spell `{}`", escaped_in_line(&spelled)));
    }
    found
}

/// The length of the tag sequence that makes a flag of the preceding character.
fn flag_length(character: char, after: &str) -> Option<usize> {
    if character != FLAG {
        return None;
    }
    let mut tags = after.char_indices();
    let mut name = String::new();
    loop {
        let (at, tag) = tags.next()?;
        match u32::from(tag) {
            0xe007f => return FLAGS.contains(&name.as_str()).then_some(at + tag.len_utf8()),
            code @ 0xe0061..=0xe007a if name.len() < 5 => name.extend(char::from_u32(code - 0xe0000)),
            _ => return None,
        }
    }
}

/// One selector after a character with variants is how emoji are written; two in a row carry data.
fn variation_selector(character: char, before: Option<char>) -> Option<(FindingKind, Severity)> {
    let Some(before) = before else { return Some((FindingKind::VariationSelector, Severity::Warning)) };
    if hidden(before) == Some(Hidden::VariationSelector) {
        return Some((FindingKind::VariationSelector, Severity::Danger));
    }
    let is_supplement = character >= '\u{e0100}';
    let has_forms = match before {
        '0'..='9' | '#' | '*' => character == '\u{fe0f}' || character == '\u{fe0e}',
        // Ideographs have many variants, other characters only two.
        '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => true,
        '\u{a9}'
        | '\u{ae}'
        | '\u{203c}'..='\u{33ff}'
        | '\u{1f000}'..='\u{1faff}'
        | '\u{1800}'..='\u{18af}' => !is_supplement,
        _ => false,
    };
    if has_forms { None } else { Some((FindingKind::VariationSelector, Severity::Warning)) }
}

/// Emoji are joined from parts, and some scripts need joiners for correct spelling.
fn joins_script(character: char, before: Option<char>, after: &str) -> bool {
    let is_joiner = matches!(character, '\u{200c}' | '\u{200d}');
    let needs_joiners = |neighbour: char| {
        let is_script = matches!(neighbour, '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}');
        let is_emoji = matches!(neighbour, '\u{fe0f}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}');
        is_script || is_emoji
    };
    is_joiner && before.is_some_and(needs_joiners) && after.chars().next().is_some_and(needs_joiners)
}

/// Letters of other scripts among Latin ones, or that spell a whole name.
pub(super) fn confusables(text: &str, is_name: bool) -> Option<FoundInText> {
    if text.is_ascii() {
        return None;
    }
    // In a text of another script, words of look-alikes only are a coincidence.
    let is_foreign =
        text.chars().any(|letter| is_letter_of_other_script(letter) && looks_like(letter).is_none());
    let mut at = 0;
    for word in text.split_inclusive(|character: char| !character.is_alphanumeric()) {
        let is_look_alike = |letter: &char| letter.is_alphanumeric() && looks_like(*letter).is_some();
        if let Some(offset) =
            word.char_indices().find(|(_, letter)| is_look_alike(letter)).map(|(offset, _)| offset)
        {
            let n_look_alikes = word.chars().filter(is_look_alike).count();
            let is_mixed = word.chars().any(|letter| letter.is_ascii_alphabetic());
            let is_disguised = !is_foreign && (is_name || n_look_alikes >= 3);
            if is_mixed || is_disguised {
                let severity = if is_name { Severity::Danger } else { Severity::Warning };
                let found = FoundInText::at(FindingKind::Confusable, severity, at + offset);
                return Some(FoundInText { note: Some(spelled(word)), ..found });
            }
        }
        at += word.len();
    }
    None
}

/// A word with its look-alikes escaped, and what it reads like: both look the same.
fn spelled(word: &str) -> String {
    let word = word.trim_end_matches(|character: char| !character.is_alphanumeric());
    let (mut written, mut read) = (String::new(), String::new());
    for letter in word.chars().take(super::EXCERPT_LENGTH) {
        let ascii = looks_like(letter);
        if ascii.is_some() || hidden(letter).is_some() {
            written.extend(letter.escape_unicode());
        } else {
            written.push(letter);
        }
        read.push(ascii.unwrap_or(letter));
    }
    format!("`{written}` reads like `{}`", escaped_in_line(&read))
}

fn is_letter_of_other_script(letter: char) -> bool {
    letter.is_alphabetic() && letter >= '\u{370}'
}

/// White space that pushes the rest of a text out of the window.
pub(super) fn padding(text: &str) -> Option<FoundInText> {
    let (mut n_spaces, mut n_line_ends) = (0, 0);
    for (at, character) in text.char_indices() {
        match character {
            '\n' => (n_spaces, n_line_ends) = (0, n_line_ends + 1),
            character if character.is_whitespace() => n_spaces += 1,
            _ if n_spaces >= SPACES_MANY || n_line_ends >= LINE_ENDS_MANY => {
                return Some(FoundInText::at(FindingKind::Padding, Severity::Warning, at));
            }
            _ => (n_spaces, n_line_ends) = (0, 0),
        }
    }
    None
}

/// A run that looks like base64 or hexadecimal digits.
pub(super) fn blob(text: &str) -> Option<FoundInText> {
    let bytes = text.as_bytes();
    let mut start = 0;
    for at in 0..=bytes.len() {
        let goes_on =
            bytes.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte));
        if goes_on {
            continue;
        }
        let run = &bytes[start..at];
        if run.len() >= BLOB_LENGTH && is_encoded(run) {
            return Some(FoundInText::at(FindingKind::Blob, Severity::Warning, start));
        }
        start = at + 1;
    }
    None
}

/// Words and paths have few digits and rarely change between upper and lower case.
fn is_encoded(run: &[u8]) -> bool {
    let is_hex = run.iter().all(u8::is_ascii_hexdigit) && run.iter().any(u8::is_ascii_digit);
    let kind = |byte: &u8| (byte.is_ascii_uppercase(), byte.is_ascii_digit());
    let n_changes = run.windows(2).filter(|pair| kind(&pair[0]) != kind(&pair[1])).count();
    is_hex || n_changes * 4 >= run.len()
}
