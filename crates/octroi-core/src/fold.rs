//! Names that lenient readers take for the same.

use std::borrow::Cow;

/// A name as the most lenient reader sees it: without case, cut at the first NUL, without spaces around it and
/// characters that nobody sees.
pub fn fold(name: &str) -> Cow<'_, str> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase());
    if is_plain {
        return Cow::Borrowed(name);
    }
    let name = name.split('\0').next().unwrap_or_default().trim();
    let visible = name.chars().filter(|letter| !is_ignorable(*letter));
    // First to capitals: `ſ` and `s` have the same one, and so have `K` (Kelvin) and `k` in small letters.
    Cow::Owned(visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect())
}

/// Characters without width or meaning in a name.
fn is_ignorable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{e0000}'..='\u{e0fff}')
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
            "pa\u{200b}th",
            "p\u{ad}ath",
            "path\t",
            "\u{feff}path",
        ] {
            assert_eq!(fold(other), "path", "{other:?}");
        }
        assert_eq!(fold("user\u{212a}ey"), "userkey");
        assert_eq!(fold("\u{17f}ize"), "size");
        assert_eq!(fold("user_id"), "user_id");
        assert_ne!(fold("path2"), fold("path"));
    }
}
