//! Patterns with `*`, which matches any run of characters, including none.

use std::fmt;

/// A compiled pattern.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Glob {
    text: Box<str>,
    shape: Shape,
}

/// Most patterns have one of the simple shapes, which are fast to match.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Shape {
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
            [] | [_] => Shape::Exactly,
            all if all.iter().all(|piece| piece.is_empty()) => Shape::Anything,
            [start, ""] => Shape::StartsWith((*start).into()),
            ["", end] => Shape::EndsWith((*end).into()),
            all => Shape::Pieces(all.iter().map(|piece| (*piece).into()).collect()),
        };
        Self { text: text.into(), shape }
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> bool {
        match &self.shape {
            Shape::Anything => true,
            Shape::Exactly => *self.text == *text,
            Shape::StartsWith(start) => text.starts_with(&**start),
            Shape::EndsWith(end) => text.ends_with(&**end),
            Shape::Pieces(pieces) => fits(pieces, text),
        }
    }

    /// The original text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether everything matches.
    pub fn is_anything(&self) -> bool {
        self.shape == Shape::Anything
    }

    /// The only matching text, if there is exactly one.
    pub fn literal(&self) -> Option<&str> {
        (self.shape == Shape::Exactly).then_some(&self.text)
    }

    /// Whether everything that matches `other` certainly matches this. `false` where that is hard to tell.
    pub fn covers(&self, other: &Self) -> bool {
        match (&self.shape, &other.shape) {
            (Shape::Anything, _) => true,
            (_, Shape::Exactly) => self.matches(&other.text),
            (Shape::StartsWith(wide), Shape::StartsWith(narrow)) => narrow.starts_with(&**wide),
            (Shape::EndsWith(wide), Shape::EndsWith(narrow)) => narrow.ends_with(&**wide),
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
