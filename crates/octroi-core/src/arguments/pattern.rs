//! What a pattern costs, by its text alone.
//!
//! Engines match most patterns in time linear in the text, and in the worst case also in the size of the pattern with
//! all its repetitions written out. Patterns that look around or back may go back and forth instead.

/// A class of letters of all alphabets compiles to many states.
const CLASS_SIZE: u64 = 60;

/// The number of states of a pattern, approximately and rather too many than too few.
pub(super) fn size(pattern: &str) -> u64 {
    // Sizes of the groups that are open, each with the size of its last part.
    let mut open: Vec<(u64, u64)> = vec![(1, 0)];
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        rest = &rest[letter.len_utf8()..];
        let part = match letter {
            '(' => {
                open.push((1, 0));
                continue;
            }
            ')' => {
                let (sum, last) = open.pop().unwrap_or((1, 0));
                if open.is_empty() {
                    open.push((1, 0));
                }
                sum.saturating_add(last)
            }
            '[' => {
                let end = class_end(rest);
                let has_classes = rest[..end].contains('\\');
                rest = &rest[end..];
                if has_classes { CLASS_SIZE } else { 1 }
            }
            '\\' => {
                let escaped = rest.chars().next();
                rest = &rest[escaped.map_or(0, char::len_utf8)..];
                if matches!(escaped, Some('p' | 'P')) && rest.starts_with('{') {
                    rest = &rest[rest.find('}').map_or(rest.len(), |end| end + 1)..];
                }
                match escaped {
                    Some('w' | 'W' | 'd' | 'D' | 's' | 'S' | 'p' | 'P' | 'b' | 'B') => CLASS_SIZE,
                    _ => 1,
                }
            }
            '{' => match repetition(rest) {
                Some((times, length)) => {
                    rest = &rest[length..];
                    if let Some((_, last)) = open.last_mut() {
                        *last = last.saturating_mul(times.max(1));
                    }
                    continue;
                }
                None => 1,
            },
            '*' | '+' | '?' | '|' | '^' | '$' => 1,
            '.' => 4,
            letter => letter.len_utf8() as u64,
        };
        // A quantifier belongs to the part before it, which must stay the last one.
        if let Some((sum, last)) = open.last_mut() {
            if matches!(letter, '*' | '+' | '?') {
                *sum = sum.saturating_add(1);
            } else {
                *sum = sum.saturating_add(*last);
                *last = part;
            }
        }
    }
    open.into_iter().fold(0, |all: u64, (sum, last)| all.saturating_add(sum).saturating_add(last))
}

/// Whether the pattern looks around or back, so that the engine may go back and forth.
pub(super) fn goes_back(pattern: &str) -> bool {
    const MARKS: [&str; 11] = ["(?=", "(?!", "(?<", "(?>", "(?(", "\\k", "\\g", "\\G", "\\K", "\\z", "\\Z"];
    let is_possessive = || ["*+", "++", "?+", "}+"].iter().any(|mark| pattern.contains(mark));
    let refers_back =
        || pattern.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && matches!(pair[1], b'1'..=b'9'));
    MARKS.iter().any(|mark| pattern.contains(mark)) || is_possessive() || refers_back()
}

/// The length of a class of letters up to its closing bracket, which is the first one that is not at its start.
fn class_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ']' if at > 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// How often `{n}`, `{n,}` or `{n,m}` repeats at most, and its length without the first bracket.
fn repetition(text: &str) -> Option<(u64, usize)> {
    let end = text.find('}')?;
    let inner = &text[..end];
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let number = |digits: &str| match digits.trim() {
        "" => Some(0),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse::<u64>().unwrap_or(u64::MAX))
        }
        _ => None,
    };
    Some((number(least)?.max(number(most)?), end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_multiply() {
        for (pattern, least, most) in [
            ("", 1, 1),
            ("^abc$", 5, 10),
            ("a{100}", 100, 110),
            ("(ab){100}", 200, 500),
            ("((a{10}){10}){10}", 1_000, 3_000),
            ("[01]*1[01]{900}$", 900, 1_000),
            ("\\w{10}", 500, 700),
            ("\\p{L}{50}", 3_000, 3_100),
            ("[\\w.]{2,}", 60, 200),
            ("a{,5}b{x}", 5, 20),
            ("(((((", 1, 20),
            (")))a{3}", 3, 10),
            ("a{99999999999999999999}", u64::MAX, u64::MAX),
        ] {
            let size = size(pattern);
            assert!((least..=most).contains(&size), "{pattern}: {size}");
        }
        assert!(
            goes_back("^(?=.*a)b") && goes_back("(a)\\1") && goes_back("a++") && !goes_back("^[a-z]+\\d$")
        );
    }
}
