//! Masks the secrets of a JSON value, and notes where they are.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use super::view::MaskedValue;
use super::{Nesting, REDACTED, Redactor, preview};
use crate::facts::keys;
use crate::facts::secrets::{Secrets, kind_of_name};
use crate::json::Node;

/// The kind of a secret that Octroi itself uses.
const KNOWN: &str = "known_secret";

/// So many bytes may all paths of masked values have together: a long name may stand above many of them.
const PATHS_MAX: usize = 1024 * 1024;

/// One walk through a value.
pub(super) struct Masking<'a> {
    redactor: &'a Redactor,
    /// Places that stay as they are.
    revealed: &'a [String],
    /// How deep the value is inside texts that are JSON themselves.
    nesting: Nesting,
    path: String,
    /// Where the masked values are; `None` if nobody asks.
    places: Option<Places>,
    pub(super) has_masked: bool,
}

/// Masked values, as far as their paths are not too long.
#[derive(Default)]
pub(super) struct Places {
    pub(super) masked: Vec<MaskedValue>,
    n_bytes: usize,
}

impl Places {
    /// Whether some of them are missing.
    pub(super) fn are_too_many(&self) -> bool {
        self.n_bytes > PATHS_MAX
    }
}

impl<'a> Masking<'a> {
    /// Masks without remembering where.
    pub(super) fn new(redactor: &'a Redactor, nesting: Nesting) -> Self {
        Self { redactor, revealed: &[], nesting, path: String::new(), places: None, has_masked: false }
    }

    /// Masks and remembers where, except at the places that are revealed.
    pub(super) fn with_places(redactor: &'a Redactor, revealed: &'a [String]) -> Self {
        let places = Some(Places::default());
        Self { redactor, revealed, nesting: Nesting::OUTSIDE, path: String::new(), places, has_masked: false }
    }

    /// The masked values.
    pub(super) fn into_places(self) -> Places {
        self.places.unwrap_or_default()
    }

    /// Notes that the value here is masked.
    fn mask(&mut self, kind: &'static str, length: usize) {
        self.has_masked = true;
        let Some(places) = &mut self.places else { return };
        places.n_bytes = places.n_bytes.saturating_add(self.path.len() + 1);
        if !places.are_too_many() {
            places.masked.push(MaskedValue { path: self.path.clone(), kind, length });
        }
    }

    /// The value with its secrets masked.
    pub(super) fn node(&mut self, node: Node) -> Node {
        if self.revealed.contains(&self.path) {
            return node;
        }
        match node {
            Node::Number(text) if self.redactor.has_known(&text) => self.whole(&Node::Number(text), KNOWN),
            Node::Null | Node::Bool(_) | Node::Number(_) => node,
            Node::Text(text) => self.text(text),
            Node::List(items) => self.list(items),
            Node::Map(members) => self.map(members),
        }
    }

    /// Masks a whole value.
    fn whole(&mut self, node: &Node, kind: &'static str) -> Node {
        if self.revealed.contains(&self.path) {
            return node.clone();
        }
        let length = match node {
            Node::Text(text) => text.len(),
            other => preview::whole(other).len(),
        };
        self.mask(kind, length);
        Node::Text(REDACTED.to_owned())
    }

    fn text(&mut self, text: String) -> Node {
        match self.redactor.redact_nested(&text, self.nesting) {
            Cow::Borrowed(_) => Node::Text(text),
            Cow::Owned(redacted) => {
                let kind = Secrets::of(&text).next().map_or(KNOWN, |found| found.kind);
                self.mask(kind, text.len());
                Node::Text(redacted)
            }
        }
    }

    fn list(&mut self, items: Vec<Node>) -> Node {
        let mut secrets = secrets_of_command(&items).into_iter().peekable();
        let items = items.into_iter().enumerate().map(|(index, item)| {
            let here = self.path.len();
            if self.places.is_some() {
                let _ = write!(self.path, "/{index}");
            }
            let is_revealed = self.revealed.contains(&self.path);
            while secrets.next_if(|found| found.item < index).is_some() {}
            let item = match secrets.peek().filter(|found| found.item == index && !is_revealed) {
                None => self.node(item),
                Some(found) => self.part(&item, found),
            };
            self.path.truncate(here);
            item
        });
        Node::List(items.collect())
    }

    /// Masks a part of a text that only the item before it shows to be a secret.
    fn part(&mut self, item: &Node, found: &InCommand) -> Node {
        let masked = self.whole(item, found.kind);
        match item.as_text() {
            Some(text) if found.range.start > 0 => {
                Node::Text(format!("{}[redacted: {}]", &text[..found.range.start], found.kind))
            }
            _ => masked,
        }
    }

    fn map(&mut self, members: Vec<(String, Node)>) -> Node {
        let variable = secret_variable(&members);
        let doubled = doubled_names(&members);
        let members = members.into_iter().enumerate().map(|(index, (name, value))| {
            let here = self.path.len();
            let clean_name = self.redactor.plain(&name).into_owned();
            let is_clean = clean_name == name;
            let is_named = is_clean && !doubled.contains(&name);
            if self.places.is_some() {
                push_segment(&mut self.path, if is_named { Some(&name) } else { None }, index);
            }
            let kind = match variable {
                _ if keys::is_secret(&name) => Some(kind_of_name(&name)),
                Some((of, kind)) if of == index => Some(kind),
                Some(_) | None => None,
            };
            let is_revealed = self.revealed.contains(&self.path);
            let value = match kind.filter(|_| is_telling(&value)) {
                Some(kind) => self.whole(&value, kind),
                None if is_clean || is_revealed => self.node(value),
                // The name is a secret itself; revealing it shows the value too.
                None => self.whole(&value, KNOWN),
            };
            self.path.truncate(here);
            (if is_revealed { name } else { clean_name }, value)
        });
        Node::Map(members.collect())
    }
}

/// Appends one step of a JSON pointer. A member without a usable name, or with one that begins like a
/// position, is given by its position, as `#3`.
fn push_segment(path: &mut String, name: Option<&str>, index: usize) {
    let name = name.filter(|name| !name.starts_with('#') && !name.chars().any(char::is_control));
    let Some(name) = name else {
        let _ = write!(path, "/#{index}");
        return;
    };
    path.push('/');
    for character in name.chars() {
        match character {
            '~' => path.push_str("~0"),
            '/' => path.push_str("~1"),
            other => path.push(other),
        }
    }
}

/// Names that more than one member has.
fn doubled_names(members: &[(String, Node)]) -> HashSet<String> {
    let mut seen = HashSet::with_capacity(members.len());
    let doubled = members.iter().filter(|(name, _)| !seen.insert(name.as_str()));
    doubled.map(|(name, _)| name.clone()).collect()
}

/// The value at this path.
pub(super) fn find<'a>(node: &'a Node, path: &str) -> Option<(Option<&'a str>, &'a Node)> {
    let mut at = (None, node);
    if path.is_empty() {
        return Some(at);
    }
    for segment in path.strip_prefix('/')?.split('/') {
        at = match at.1 {
            Node::List(items) => (None, items.get(segment.parse::<usize>().ok()?)?),
            Node::Map(members) => {
                let (name, value) = match segment.strip_prefix('#') {
                    Some(position) => members.get(position.parse::<usize>().ok()?)?,
                    None => {
                        let name = segment.replace("~1", "/").replace("~0", "~");
                        members.iter().find(|(other, _)| *other == name)?
                    }
                };
                (Some(name.as_str()), value)
            }
            Node::Null | Node::Bool(_) | Node::Number(_) | Node::Text(_) => return None,
        };
    }
    Some(at)
}

/// A secret in an item of a command line that is given as a list.
struct InCommand {
    item: usize,
    range: Range<usize>,
    kind: &'static str,
}

/// The secrets of `["mysql", "-p", "x"]`: the item before says what the next one is.
fn secrets_of_command(items: &[Node]) -> Vec<InCommand> {
    let is_option = |item: &Node| item.as_text().is_some_and(|text| text.starts_with('-'));
    if !items.iter().any(is_option) {
        return Vec::new();
    }
    let (mut command, mut starts) = (String::new(), Vec::with_capacity(items.len()));
    for item in items {
        command.push(' ');
        starts.push(command.len());
        command.push_str(item.as_text().unwrap_or_default());
    }
    let inside = Secrets::of(&command).filter_map(|found| {
        let item = starts.partition_point(|start| *start <= found.range.start).checked_sub(1)?;
        let is_behind_option = item > 0 && is_option(&items[item - 1]);
        let text = items[item].as_text().filter(|_| is_behind_option)?;
        let start = found.range.start - starts[item];
        Some(InCommand { item, range: start..text.len(), kind: found.kind })
    });
    inside.collect()
}

/// Whether a member of this name gives the name of a variable.
pub(super) fn is_name_of_variable(name: &str) -> bool {
    ["name", "key", "variable", "header"].iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// The value of `{"name": "DB_PASSWORD", "value": "x"}`: which member it is, and the kind.
fn secret_variable(members: &[(String, Node)]) -> Option<(usize, &'static str)> {
    let named = members.iter().filter(|(name, _)| is_name_of_variable(name));
    let secret = named.filter_map(|(_, value)| value.as_text()).find(|name| keys::is_secret(name))?;
    let value = members.iter().position(|(name, _)| name.eq_ignore_ascii_case("value"))?;
    Some((value, kind_of_name(secret)))
}

/// Whether a value of a secret's name contains anything worth redacting.
fn is_telling(value: &Node) -> bool {
    match value {
        Node::Null | Node::Bool(_) => false,
        Node::Text(text) => !text.is_empty() && text != REDACTED,
        Node::Number(_) => true,
        Node::List(items) => !items.is_empty(),
        Node::Map(members) => !members.is_empty(),
    }
}
