//! Texts and names that lenient readers take for the same.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// A text as the most lenient reader sees it: cleaned, and without case.
pub fn fold(text: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| is_plain_byte(byte) && !byte.is_ascii_uppercase();
    if text.bytes().all(is_plain) && text.trim_ascii().len() == text.len() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(without_case(&clean(text)))
}

/// A text cut at the first NUL, without spaces around it and characters that nobody sees, and with the usual letters
/// for their other forms: `ｅ` is `e`, `‥` is `..`.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let cut = text.split('\0').next().unwrap_or_default();
    if cut.bytes().all(is_plain_byte) {
        return Cow::Borrowed(cut.trim_ascii());
    }
    let usual: String = cut.nfkc().filter(|letter| !is_ignorable(*letter)).map(slash).collect();
    Cow::Owned(usual.trim().to_owned())
}

/// A text in small letters. First in capitals: `ſ` and `s` have the same one, and so have `K` (Kelvin) and `k` in
/// small letters. Before that in small ones: `ẞ` is a capital already, and `ß` becomes `ss`. The dot of `İ` is dropped.
pub(crate) fn without_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let letters = text.chars().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    letters.flat_map(char::to_lowercase).filter(|letter| *letter != '\u{307}').collect()
}

/// A name by its letters and digits alone: some servers take `file_path`, `file-path` and `filePath` for the same.
/// Other signs stay, so that `+1` and `-1` differ.
pub(crate) fn fold_name(name: &str) -> Cow<'_, str> {
    let is_joint = |letter: char| matches!(letter, '_' | '-' | '.' | ' ');
    let folded = fold(name);
    if folded.contains(is_joint) { Cow::Owned(folded.replace(is_joint, "")) } else { folded }
}

/// Whether a text holds characters that some readers drop or end at.
pub(crate) fn has_invisible(text: &str) -> bool {
    !text.bytes().all(is_plain_byte) && text.chars().any(is_ignorable)
}

const fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() || byte == b' '
}

/// Windows takes these for a slash where a name is converted to an older character set.
const fn slash(letter: char) -> char {
    match letter {
        '\u{2044}' | '\u{2215}' | '\u{29f8}' => '/',
        letter => letter,
    }
}

/// Characters without width or meaning in a name.
fn is_ignorable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_lenient_reader_takes_for_the_same_folds_to_the_same() {
        for other in [
            "Path",
            "PATH",
            "path\0",
            "path\0x",
            " path",
            "path ",
            "pa\u{200b}th",
            "p\u{ad}ath",
            "path\t",
            "pa\nth",
            "\u{feff}path",
            "ｐａｔｈ",
            "𝐩ath",
            "pat\u{2028}h",
        ] {
            assert_eq!(fold(other), "path", "{other:?}");
        }
        assert_eq!(fold("user\u{212a}ey"), "userkey");
        assert_eq!(fold("\u{17f}ize"), "size");
        for other in ["stra\u{df}e", "STRA\u{1e9e}E", "STRASSE", "Strasse"] {
            assert_eq!(fold(other), "strasse", "{other:?}");
        }
        for other in ["task\u{130}d", "task\u{131}d", "taskId", "TASKID"] {
            assert_eq!(fold(other), "taskid", "{other:?}");
        }
        assert_eq!(fold("user_id"), "user_id");
        assert_eq!(fold("e\u{301}"), fold("é"));
        assert_eq!(fold("a\u{2215}‥／b"), "a/../b");
        assert_ne!(fold("path2"), fold("path"));
    }

    #[test]
    fn names_are_compared_by_letters_and_digits() {
        for other in
            ["filePath", "file_path", "file-path", "file.path", "FILE PATH", "_filepath", "ｆile_path"]
        {
            assert_eq!(fold_name(other), "filepath", "{other}");
        }
        for (one, other) in [("+1", "-1"), ("file", "files"), ("$gt", "gt")] {
            assert_ne!(fold_name(one), fold_name(other));
        }
    }

    #[test]
    fn plain_texts_are_not_copied() {
        for text in ["path", "a b", "/project/src/main.rs", ""] {
            assert!(matches!(fold(text), Cow::Borrowed(_)), "{text}");
        }
        assert!(!has_invisible("a b é") && has_invisible("a\tb") && has_invisible("a\u{200d}b"));
    }
}
