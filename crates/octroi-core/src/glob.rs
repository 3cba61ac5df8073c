//! Patterns with `*`, which matches any run of characters, including none.

use std::fmt;

/// Stands for anything in a text that is only partly known.
pub(crate) const UNKNOWN: char = '\u{1}';
/// Comparing a pattern with a partly known text takes at most so many steps.
const OVERLAP_STEPS_MAX: usize = 1 << 18;

/// A compiled pattern.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Glob {
    text: Box<str>,
    shape: GlobShape,
}

/// Most patterns have one of the simple shapes, which are fast to match.
#[derive(Clone, PartialEq, Eq, Hash)]
enum GlobShape {
    Anything,
    Exactly,
    StartsWith(Box<str>),
    EndsWith(Box<str>),
    /// The texts before, between and after the stars.
    Pieces(Box<[Box<str>]>),
}

impl Glob {
    /// Compiles a pattern. Every text is valid.
    pub fn new(text: &str) -> Self {
        let pieces: Vec<&str> = text.split('*').collect();
        let shape = match pieces.as_slice() {
            [] | [_] => GlobShape::Exactly,
            all if all.iter().all(|piece| piece.is_empty()) => GlobShape::Anything,
            [start, ""] => GlobShape::StartsWith((*start).into()),
            ["", end] => GlobShape::EndsWith((*end).into()),
            all => GlobShape::Pieces(all.iter().map(|piece| (*piece).into()).collect()),
        };
        Self { text: text.into(), shape }
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        match &self.shape {
            GlobShape::Anything => true,
            GlobShape::Exactly => *self.text == *text,
            GlobShape::StartsWith(start) => text.starts_with(&**start),
            GlobShape::EndsWith(end) => text.ends_with(&**end),
            GlobShape::Pieces(pieces) => fits(pieces, text),
        }
    }

    /// Whether a partly known text may match: [`UNKNOWN`] stands for anything, `*` for anything that a shell would put
    /// there, which is no `.` at the start of a name, and no `/` unless it is `**`. Very long ones may.
    pub(crate) fn overlaps(&self, text: &str) -> bool {
        let pattern: Vec<char> = self.text.chars().collect();
        let text: Vec<char> = text.chars().collect();
        let width = text.len() + 1;
        if (pattern.len() + 1).saturating_mul(width) > OVERLAP_STEPS_MAX {
            return true;
        }
        let mut is_seen = vec![false; (pattern.len() + 1) * width];
        let mut open = vec![(0, 0)];
        while let Some((at, to)) = open.pop() {
            if (at, to) == (pattern.len(), text.len()) {
                return true;
            }
            if std::mem::replace(&mut is_seen[at * width + to], true) {
                continue;
            }
            let (wanted, given) = (pattern.get(at).copied(), text.get(to).copied());
            if wanted == Some('*') {
                open.push((at + 1, to));
            }
            if given.is_some_and(|given| wanted == Some('*') || wanted == Some(given)) {
                open.push((at + usize::from(wanted != Some('*')), to + 1));
            }
            if matches!(given, Some('*' | UNKNOWN)) {
                open.push((at, to + 1));
                if wanted.is_some_and(|wanted| may_stand_for(&text, to, &pattern, at, wanted)) {
                    open.push((at + 1, to));
                }
            }
        }
        false
    }

    /// The original text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether everything matches.
    pub fn is_anything(&self) -> bool {
        self.shape == GlobShape::Anything
    }

    /// The only matching text, if there is exactly one.
    pub fn literal(&self) -> Option<&str> {
        (self.shape == GlobShape::Exactly).then_some(&self.text)
    }

    /// Whether everything that matches `other` certainly matches this. `false` where that is hard to tell.
    pub fn covers(&self, other: &Self) -> bool {
        match (&self.shape, &other.shape) {
            (GlobShape::Anything, _) => true,
            (_, GlobShape::Exactly) => self.matches(&other.text),
            (GlobShape::StartsWith(wide), GlobShape::StartsWith(narrow)) => narrow.starts_with(&**wide),
            (GlobShape::EndsWith(wide), GlobShape::EndsWith(narrow)) => narrow.ends_with(&**wide),
            _ => self.text == other.text,
        }
    }
}

/// The first piece is at the start, the last at the end, and the others in between in their order; matching
/// each as early as possible leaves the most text for the rest.
fn fits(pieces: &[Box<str>], text: &str) -> bool {
    let [first, between @ .., last] = pieces else {
        return false;
    };
    let Some(mut rest) = text.strip_prefix(&**first) else {
        return false;
    };
    for piece in between {
        match rest.find(&**piece) {
            Some(start) => rest = &rest[start + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(&**last)
}

/// Whether a wildcard in a text may stand for this letter of a pattern.
fn may_stand_for(text: &[char], to: usize, pattern: &[char], at: usize, letter: char) -> bool {
    if text[to] == UNKNOWN {
        return true;
    }
    let is_double = text.get(to + 1) == Some(&'*') || to > 0 && text[to - 1] == '*';
    let starts_name = at == 0 || pattern[at - 1] == '/';
    match letter {
        '/' => is_double,
        '.' => !starts_name,
        _ => true,
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("*", "x", true),
            ("**", "x", true),
            ("", "", true),
            ("", "x", false),
            ("read", "read", true),
            ("read", "reads", false),
            ("read_*", "read_", true),
            ("read_*", "read_file", true),
            ("read_*", "thread_file", false),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*a*", "banana", true),
            ("*a*", "berry", false),
            ("?", "x", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn partly_known_texts() {
        for (pattern, text, overlaps) in [
            ("/etc/*", "/e*c/passwd", true),
            ("/etc/*", "/*/passwd", true),
            ("/etc/*", "/x*/passwd", false),
            ("/etc/passwd", "/etc/*", true),
            ("/etc/passwd", "/etc/s*", false),
            ("/etc/*", "\u{1}/passwd", true),
            ("/etc/passwd", "\u{1}/shadow", false),
            ("*/.ssh/*", "src/**/*.rs", false),
            ("*/.ssh/*", "\u{1}/id", true),
            ("*.pem", "*", true),
            ("*.pem", "*.rs", false),
            ("/a/b", "/*", false),
            ("/a/b", "/**", true),
            ("", "*", true),
        ] {
            assert_eq!(Glob::new(pattern).overlaps(text), overlaps, "{pattern} {text}");
        }
        let long = "a*".repeat(10_000);
        assert!(Glob::new(&long).overlaps(&long), "too long to tell");
    }

    #[test]
    fn what_covers_what() {
        for (wide, narrow, covers) in [
            ("*", "a*b", true),
            ("a*", "ab*", true),
            ("ab*", "a*", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("*c", "*bc", true),
            ("a*c", "a*c", true),
            ("a*c", "abc", true),
            ("abc", "a*c", false),
        ] {
            assert_eq!(Glob::new(wide).covers(&Glob::new(narrow)), covers, "{wide} {narrow}");
        }
    }
}
