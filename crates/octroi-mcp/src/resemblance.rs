//! Member names that a lenient reader takes for one another.
//!
//! Servers read the same text with their own parsers. Some ignore case, some cut a name at a NUL, and some accept
//! `request_state` for `requestState` or `meta` for `_meta`. Such a server would read another member than the one that
//! was decided about. So names are compared as the most lenient reader does: by their letters and digits, without case,
//! and with the usual letters for their other forms (`ｎ` is `n`). Arguments are compared by the same rule in
//! `octroi_core::fold`; a test of `octroi-gateway` holds the two together.

use std::borrow::Cow;
use std::collections::HashSet;

use unicode_normalization::UnicodeNormalization as _;

use crate::code::RpcError;
use crate::json::{self, Member, Span};

/// Up to this number of names are compared in pairs, which needs no memory.
const PAIRS_MAX: usize = 8;

/// Whether a lenient reader may take one name for the other.
pub(crate) fn resembles(one: &str, other: &str) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return plain(one).eq(plain(other));
    }
    folded(one).eq(folded(other))
}

/// The known name that a lenient reader may take this one for. It is not one of them.
pub(crate) fn taken_for<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    known.iter().find(|known| resembles(name, known)).copied()
}

/// Checks the names of an object: none may resemble a known name without being it, and no two may resemble each other.
pub fn check_names(json: &[u8], object: Span, known: &[&str]) -> Result<(), RpcError> {
    let mut others = OtherNames::default();
    let mut seen: Vec<&str> = Vec::new();
    for member in json::members(json, object) {
        let name = known_name(&member, json)?;
        match known.iter().find(|known| **known == name) {
            Some(known) if seen.contains(known) => {
                return Err(RpcError::invalid_params(format!("`{known}` is given twice")));
            }
            Some(known) => seen.push(known),
            None => others.add(name),
        }
    }
    others.check(known)
}

/// The name of a member. One that cannot be decoded resembles nothing, and a lenient reader takes it for anything.
pub(crate) fn known_name<'a>(member: &Member, json: &'a [u8]) -> Result<Cow<'a, str>, RpcError> {
    member.name(json).ok_or_else(|| {
        let written = String::from_utf8_lossy(member.key.of(json));
        RpcError::invalid_params(format!("`{written}` has an escape that stands for no character"))
    })
}

/// The names of an object that the gateway does not read.
#[derive(Debug, Default)]
pub(crate) struct OtherNames<'a>(Vec<Cow<'a, str>>);

impl<'a> OtherNames<'a> {
    pub(crate) fn add(&mut self, name: Cow<'a, str>) {
        self.0.push(name);
    }

    /// Refuses names that can be taken for a known one, or for each other.
    pub(crate) fn check(&self, known: &[&str]) -> Result<(), RpcError> {
        for name in &self.0 {
            if let Some(known) = taken_for(name, known) {
                let message =
                    format!("`{}` can be taken for `{known}`; write it exactly so", name.escape_debug());
                return Err(RpcError::invalid_params(message));
            }
        }
        match self.first_double() {
            Some(name) => Err(RpcError::invalid_params(format!(
                "`{}` can be taken for another name beside it",
                name.escape_debug()
            ))),
            None => Ok(()),
        }
    }

    fn first_double(&self) -> Option<&str> {
        let names = &self.0;
        if names.len() <= PAIRS_MAX {
            let is_double = |(index, name): &(usize, &Cow<'_, str>)| {
                names[..*index].iter().any(|earlier| resembles(earlier, name))
            };
            return names.iter().enumerate().find(is_double).map(|(_, name)| &**name);
        }
        let mut seen = HashSet::with_capacity(names.len());
        names.iter().find(|name| !seen.insert(folded(name).collect::<String>())).map(|name| &**name)
    }
}

fn plain(name: &str) -> impl Iterator<Item = u8> {
    let visible = name.bytes().take_while(|byte| *byte != 0);
    visible.filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())
}

fn folded(name: &str) -> impl Iterator<Item = char> {
    let visible = name.chars().take_while(|letter| *letter != '\0');
    let usual = visible.nfkc();
    // First to capitals: `ſ` and `s` have the same one, and so have `K` (Kelvin) and `k` in small letters. Before that
    // to small ones: `ẞ` is a capital already.
    usual
        .flat_map(char::to_lowercase)
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .filter(|letter| letter.is_alphanumeric() && !is_filler(*letter))
}

/// Letters by their class that nobody sees.
fn is_filler(letter: char) -> bool {
    matches!(letter, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lenient_reader_is_expected_everywhere() {
        for (one, other) in [
            ("Name", "name"),
            ("NAME", "name"),
            ("name\0", "name"),
            ("name\0x", "name"),
            (" name", "name"),
            ("na\u{200b}me", "name"),
            ("request_state", "requestState"),
            ("request-state", "requestState"),
            ("RequestState", "requestState"),
            ("reque\u{17f}t\u{17f}tate", "requestState"),
            ("task_id", "taskId"),
            ("ta\u{17f}\u{212a}Id", "taskId"),
            ("meta", "_meta"),
            ("task\u{130}d", "taskId"),
            ("progress_token", "progressToken"),
            ("\u{ff2e}\u{ff21}\u{ff2d}\u{ff25}", "name"),
            ("\u{1d427}ame", "name"),
            ("na\u{3164}me", "name"),
            ("\u{fb01}le", "file"),
            ("caf\u{e9}", "cafe\u{301}"),
            ("stra\u{df}e", "STRASSE"),
            ("stra\u{df}e", "STRA\u{1e9e}E"),
        ] {
            assert!(resembles(one, other) && resembles(other, one), "{one:?} {other:?}");
        }
        for (one, other) in [("argument", "arguments"), ("name", "names"), ("ref", "reference"), ("n", "名")]
        {
            assert!(!resembles(one, other), "{one} {other}");
        }
    }

    #[test]
    fn doubles_are_found_among_few_and_many() {
        for n_names in [1, 5, 7, 20, 300] {
            let names: Vec<String> = (0..n_names).map(|index| format!("member{index}")).collect();
            let mut others = OtherNames(names.iter().map(Cow::from).collect());
            assert_eq!(others.check(&["name"]), Ok(()));
            others.add(Cow::Borrowed("MEMBER-0"));
            assert!(others.check(&["name"]).is_err(), "{n_names}");
        }
    }

    #[test]
    fn an_object_is_checked_as_a_whole() {
        let check = |json: &str| {
            check_names(json.as_bytes(), Span { start: 0, end: json.len() }, &["type", "name", "uri"]).is_ok()
        };
        assert!(check(r#"{"type":"ref/prompt","name":"x","title":"y"}"#));
        for json in [r#"{"name":"x","name":"y"}"#, r#"{"name":"x","Name":"y"}"#, r#"{"a":1,"A":2}"#] {
            assert!(!check(json), "{json}");
        }
    }
}
