//! Invisible characters, and characters that look like others.
//!
//! Small hand-written tables: the letters that attackers use to imitate Latin ones, and the ranges that
//! screens do not display. They are not all of Unicode's lists, and need not be: what is missing is either
//! visible or does not look like a Latin letter.

use std::borrow::Cow;
use std::fmt::Write as _;

/// How a character is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hidden {
    /// Copies of ASCII that are never displayed: the usual carrier of hidden instructions.
    Tag,
    /// Joiners, fillers and marks without width.
    ZeroWidth,
    /// They change the display order of text.
    Bidi,
    /// They select a form of the preceding character.
    VariationSelector,
    /// The start of a terminal escape sequence.
    Escape,
    /// Other control characters.
    Control,
}

/// Whether and how a character is hidden. Line breaks and tabs are not.
pub(super) fn hidden(character: char) -> Option<Hidden> {
    match character {
        '\t' | '\n' | '\r' => None,
        '\u{1b}' | '\u{9b}' => Some(Hidden::Escape),
        // The last ranges have no meaning; fonts display them as nothing or as a box.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' | '\u{f0000}'..='\u{10ffff}' => {
            Some(Hidden::Control)
        }
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(Hidden::Bidi)
        }
        '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            Some(Hidden::VariationSelector)
        }
        '\u{e0000}'..='\u{e0fff}' => Some(Hidden::Tag),
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' => Some(Hidden::ZeroWidth),
        _ => None,
    }
}

/// Whether a character is invisible, or changes how others are displayed.
pub fn is_hidden(character: char) -> bool {
    hidden(character).is_some()
}

/// The text with every hidden character escaped as `\u{…}`. Line breaks and tabs stay.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            // A carriage return would let the following text overwrite the line.
            '\r' => out.push_str("\\r"),
            // Escaped, so that a text can neither fake a hidden character nor hide one behind a fake.
            '\\' if rest.peek() == Some(&'u') => out.push_str("\\\\"),
            _ if hidden(character).is_some() => {
                out.extend(character.escape_unicode());
            }
            _ => out.push(character),
        }
    }
    out
}

/// The same on one line.
pub(super) fn escaped_in_line(text: &str) -> String {
    escaped(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Untrusted text made safe to display on one line: characters that are invisible, reorder text or move the
/// cursor are escaped. It is idempotent, so every place that displays text may apply it.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => out.extend(character.escape_default()),
            _ if hidden(character).is_some() => out.extend(character.escape_unicode()),
            _ => out.push(character),
        }
    }
    out
}

/// JSON text, or a text beside it in an export, in which every hidden character is escaped as in JSON
/// (`\\u202e`). In JSON such characters occur in strings only, so its meaning stays the same.
pub fn escape_hidden(text: &str) -> Cow<'_, str> {
    let is_meant = |character: char| {
        hidden(character).is_some() || (character.is_control() && !matches!(character, '\n' | '\r' | '\t'))
    };
    if !text.contains(is_meant) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if is_meant(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// The ASCII character that this one looks like; `None` if it is ASCII or looks like none.
pub(super) fn looks_like(character: char) -> Option<char> {
    let code = u32::from(character);
    let ascii = match code {
        // Full-width forms.
        0xff01..=0xff5e => char::from_u32(code - 0xff01 + 0x21),
        // Mathematical letters and digits: alphabets of 52 and of ten.
        0x1d400..=0x1d6a3 => letter((code - 0x1d400) % 52),
        0x1d7ce..=0x1d7ff => char::from_digit((code - 0x1d7ce) % 10, 10),
        // Circled letters.
        0x24b6..=0x24cf => letter(code - 0x24b6),
        0x24d0..=0x24e9 => letter(code - 0x24d0 + 26),
        _ => None,
    };
    ascii.or_else(|| {
        let found = LOOK_ALIKES.binary_search_by_key(&character, |(look_alike, _)| *look_alike).ok()?;
        LOOK_ALIKES.get(found).map(|(_, ascii)| *ascii)
    })
}

/// The letter at this index in the alphabet `A…Za…z`.
fn letter(index: u32) -> Option<char> {
    char::from_u32(if index < 26 { 0x41 + index } else { 0x61 + index - 26 })
}

/// Sorted by code point for binary search.
const LOOK_ALIKES: &[(char, char)] = &[
    // Other Latin letters.
    ('\u{131}', 'i'),
    ('\u{13f}', 'L'),
    ('\u{17f}', 's'),
    ('\u{1c0}', 'l'),
    ('\u{251}', 'a'),
    ('\u{261}', 'g'),
    ('\u{26a}', 'i'),
    ('\u{28f}', 'y'),
    // Greek.
    ('\u{391}', 'A'),
    ('\u{392}', 'B'),
    ('\u{395}', 'E'),
    ('\u{396}', 'Z'),
    ('\u{397}', 'H'),
    ('\u{399}', 'I'),
    ('\u{39a}', 'K'),
    ('\u{39c}', 'M'),
    ('\u{39d}', 'N'),
    ('\u{39f}', 'O'),
    ('\u{3a1}', 'P'),
    ('\u{3a4}', 'T'),
    ('\u{3a5}', 'Y'),
    ('\u{3a7}', 'X'),
    ('\u{3b1}', 'a'),
    ('\u{3b9}', 'i'),
    ('\u{3ba}', 'k'),
    ('\u{3bd}', 'v'),
    ('\u{3bf}', 'o'),
    ('\u{3c1}', 'p'),
    ('\u{3c5}', 'u'),
    ('\u{3c7}', 'x'),
    ('\u{3f2}', 'c'),
    ('\u{3f3}', 'j'),
    // Cyrillic.
    ('\u{405}', 'S'),
    ('\u{406}', 'I'),
    ('\u{408}', 'J'),
    ('\u{410}', 'A'),
    ('\u{412}', 'B'),
    ('\u{415}', 'E'),
    ('\u{41a}', 'K'),
    ('\u{41c}', 'M'),
    ('\u{41d}', 'H'),
    ('\u{41e}', 'O'),
    ('\u{420}', 'P'),
    ('\u{421}', 'C'),
    ('\u{422}', 'T'),
    ('\u{423}', 'Y'),
    ('\u{425}', 'X'),
    ('\u{430}', 'a'),
    ('\u{435}', 'e'),
    ('\u{43a}', 'k'),
    ('\u{43e}', 'o'),
    ('\u{440}', 'p'),
    ('\u{441}', 'c'),
    ('\u{443}', 'y'),
    ('\u{445}', 'x'),
    ('\u{455}', 's'),
    ('\u{456}', 'i'),
    ('\u{458}', 'j'),
    ('\u{475}', 'v'),
    ('\u{4ae}', 'Y'),
    ('\u{4af}', 'y'),
    ('\u{4bb}', 'h'),
    ('\u{4c0}', 'I'),
    ('\u{4cf}', 'l'),
    ('\u{501}', 'd'),
    ('\u{51b}', 'q'),
    ('\u{51c}', 'W'),
    ('\u{51d}', 'w'),
    // Armenian.
    ('\u{555}', 'O'),
    ('\u{570}', 'h'),
    ('\u{578}', 'n'),
    ('\u{57d}', 'u'),
    ('\u{581}', 'g'),
    ('\u{584}', 'f'),
    ('\u{585}', 'o'),
    // Cherokee.
    ('\u{13a0}', 'D'),
    ('\u{13a1}', 'R'),
    ('\u{13a2}', 'T'),
    ('\u{13aa}', 'A'),
    ('\u{13b3}', 'W'),
    ('\u{13bb}', 'H'),
    ('\u{13c0}', 'G'),
    ('\u{13da}', 'S'),
    ('\u{13de}', 'L'),
    ('\u{13df}', 'C'),
    ('\u{13e2}', 'P'),
    // Small capitals.
    ('\u{1d00}', 'a'),
    ('\u{1d04}', 'c'),
    ('\u{1d05}', 'd'),
    ('\u{1d07}', 'e'),
    ('\u{1d0f}', 'o'),
    ('\u{1d18}', 'p'),
    ('\u{1d1b}', 't'),
    ('\u{1d1c}', 'u'),
    ('\u{1d20}', 'v'),
    ('\u{1d21}', 'w'),
    ('\u{1d22}', 'z'),
    // Punctuation.
    ('\u{2010}', '-'),
    ('\u{2011}', '-'),
    ('\u{2012}', '-'),
    ('\u{2013}', '-'),
    ('\u{2014}', '-'),
    ('\u{2024}', '.'),
    ('\u{2044}', '/'),
    ('\u{2113}', 'l'),
    ('\u{212a}', 'K'),
    ('\u{212f}', 'e'),
    ('\u{2134}', 'o'),
    ('\u{2170}', 'i'),
    ('\u{217c}', 'l'),
    ('\u{217d}', 'c'),
    ('\u{217e}', 'd'),
    ('\u{217f}', 'm'),
    ('\u{2212}', '-'),
    ('\u{2215}', '/'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_meaning_and_shows_what_is_hidden() {
        for (text, expected) in [
            ("{\"a\":\"b\"}", "{\"a\":\"b\"}"),
            ("\"\u{9b}2J\"", "\"\\u009b2J\""),
            ("\"\u{202e}x\u{2066}\"", "\"\\u202ex\\u2066\""),
            ("\"\u{7f}\u{e0041}ü\"", "\"\\u007f\\udb40\\udc41ü\""),
            ("a\nb\tc", "a\nb\tc"),
        ] {
            let escaped = escape_hidden(text);
            assert_eq!(escaped, expected);
            let values = [text, &escaped].map(|json| serde_json::from_str::<serde_json::Value>(json).ok());
            assert_eq!(values[0], values[1], "{text:?}");
        }
    }

    #[test]
    fn the_table_is_in_order() {
        assert!(LOOK_ALIKES.is_sorted_by(|(one, _), (other, _)| one < other));
        assert!(LOOK_ALIKES.iter().all(|(look_alike, ascii)| !look_alike.is_ascii() && ascii.is_ascii()));
    }

    #[test]
    fn look_alikes() {
        for (character, expected) in [
            ('а', Some('a')),
            ('Ａ', Some('A')),
            ('ｚ', Some('z')),
            ('／', Some('/')),
            ('\u{1d41a}', Some('a')),
            ('\u{1d7d9}', Some('1')),
            ('ⓐ', Some('a')),
            ('a', None),
            ('ж', None),
            ('é', None),
            ('漢', None),
        ] {
            assert_eq!(looks_like(character), expected, "{character}");
        }
    }

    #[test]
    fn hidden_characters_are_shown() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("a\u{200b}b", "a\\u{200b}b"),
            ("\u{1b}[31m", "\\u{1b}[31m"),
            ("\u{e0041}", "\\u{e0041}"),
            ("\u{202e}x", "\\u{202e}x"),
            ("safe\rgone", "safe\\rgone"),
            ("\\u{200b}", "\\\\u{200b}"),
            ("C:\\dir", "C:\\dir"),
            ("naïve 漢字 🙂", "naïve 漢字 🙂"),
        ] {
            assert_eq!(escaped(text), expected);
        }
        assert_eq!(escaped_in_line("a\nb\tc"), "a\\nb\\tc");
    }

    #[test]
    fn nothing_hides() {
        for (text, expected) in [
            ("plain ünïcode 漢字", "plain ünïcode 漢字"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("x\u{202e}y\u{200b}z\u{9b}", "x\\u{202e}y\\u{200b}z\\u{9b}"),
            ("\u{2028}\u{2029}", "\\u{2028}\\u{2029}"),
            ("\u{e0041}", "\\u{e0041}"),
            ("C:\\users", "C:\\users"),
        ] {
            assert_eq!(visible(text), expected);
            assert_eq!(visible(expected), expected, "twice is no more than once");
        }
    }
}
