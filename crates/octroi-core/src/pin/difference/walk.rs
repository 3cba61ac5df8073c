//! Compares two definitions member by member.

use std::collections::{HashMap, HashSet};

use super::super::canonical::canonical_text;
use super::super::characters::escaped;
use super::{CHANGES_MAX, ChangeClass, DefinitionChange, JsonPath, schema};
use crate::json::Node;

/// The old and the new value at a path.
pub(super) type Sides<'a> = (Option<&'a Node>, Option<&'a Node>);

/// There are too many changes to show each of them.
pub(super) struct TooMany;

/// All changes between two definitions.
pub(super) fn changes(old: &Node, new: &Node) -> Result<Vec<DefinitionChange>, TooMany> {
    let mut differ = Differ::default();
    differ.definition(old, new);
    if differ.has_too_many { Err(TooMany) } else { Ok(differ.changes) }
}

/// Collects changes.
#[derive(Default)]
pub(super) struct Differ {
    changes: Vec<DefinitionChange>,
    has_too_many: bool,
}

impl Differ {
    /// Records a change, unless both sides are the same value.
    pub(super) fn note(&mut self, place: JsonPath, sides: Sides<'_>, class: ChangeClass) {
        if self.has_too_many {
            return;
        }
        match sides {
            (Some(old), Some(new)) if is_same(old, new) => {}
            (None, None) => {}
            _ if self.changes.len() >= CHANGES_MAX => self.has_too_many = true,
            (old, new) => self.changes.push(DefinitionChange {
                path: place.into_text(),
                old: old.map(value_text),
                new: new.map(value_text),
                class,
            }),
        }
    }

    fn definition(&mut self, old: &Node, new: &Node) {
        let root = JsonPath::default();
        let (Node::Map(_), Node::Map(_)) = (old, new) else {
            return self.note(root, (Some(old), Some(new)), ChangeClass::Other);
        };
        for (name, sides) in members(old, new) {
            let place = root.member(name);
            match name {
                "title" | "description" | "instructions" => self.tree(place, sides, ChangeClass::Text),
                "inputSchema" | "outputSchema" => schema::compare(self, place, sides),
                "annotations" => self.tree(place, sides, ChangeClass::Annotation),
                "arguments" => self.arguments(place, sides),
                _ => self.tree(place, sides, ChangeClass::Other),
            }
        }
    }

    /// Descends while both sides have the same type; members that hold prose are text at any depth.
    pub(super) fn tree(&mut self, place: JsonPath, sides: Sides<'_>, class: ChangeClass) {
        match sides {
            (Some(old @ Node::Map(_)), Some(new @ Node::Map(_))) => {
                for (name, sides) in members(old, new) {
                    let class = if is_wording(name) { ChangeClass::Text } else { class };
                    self.tree(place.member(name), sides, class);
                }
            }
            (Some(Node::List(old)), Some(Node::List(new))) => {
                for index in 0..old.len().max(new.len()) {
                    if self.has_too_many || old.get(index) == new.get(index) {
                        continue;
                    }
                    self.tree(place.item(index), (old.get(index), new.get(index)), class);
                }
            }
            sides => self.note(place, sides, class),
        }
    }

    /// The arguments of a prompt: a list of objects that are identified by their names.
    fn arguments(&mut self, place: JsonPath, sides: Sides<'_>) {
        let nothing = Node::List(Vec::new());
        let old = sides.0.unwrap_or(&nothing);
        let new = sides.1.unwrap_or(&nothing);
        let (Some(old_by_name), Some(new_by_name)) = (by_name(old), by_name(new)) else {
            return self.tree(place, sides, ChangeClass::SchemaChanged);
        };
        let before = self.changes.len();
        for (name, sides) in join(old_by_name, new_by_name) {
            let place = place.member(name);
            match sides {
                (Some(old), Some(new)) => self.argument(&place, old, new),
                (None, Some(new)) if is_required(new) => self.note(place, sides, ChangeClass::SchemaChanged),
                (None, _) => self.note(place, sides, ChangeClass::SchemaWidened),
                (Some(_), None) => self.note(place, sides, ChangeClass::SchemaNarrowed),
            }
        }
        // Only their order differs, or an empty list replaces a missing one.
        if self.changes.len() == before {
            self.note(place, sides, ChangeClass::Other);
        }
    }

    fn argument(&mut self, place: &JsonPath, old: &Node, new: &Node) {
        for (name, sides) in members(old, new) {
            let class = match (name, is_required(old), is_required(new)) {
                ("required", true, false) => ChangeClass::SchemaWidened,
                ("required", false, true) => ChangeClass::SchemaNarrowed,
                (name, _, _) if is_wording(name) => ChangeClass::Text,
                _ => ChangeClass::Other,
            };
            self.tree(place.member(name), sides, class);
        }
    }
}

/// Whether a member of this name holds prose.
pub(super) fn is_wording(name: &str) -> bool {
    matches!(name, "title" | "description" | "$comment" | "examples" | "instructions")
}

/// Whether two values have the same canonical form.
pub(super) fn is_same(old: &Node, new: &Node) -> bool {
    old == new || canonical_text(old).is_ok_and(|old| canonical_text(new).is_ok_and(|new| old == new))
}

/// The values of both sides by name, those of the new side first.
pub(super) fn members<'a>(old: &'a Node, new: &'a Node) -> Vec<(&'a str, Sides<'a>)> {
    join(named_members(old), named_members(new))
}

fn named_members(node: &Node) -> Vec<(&str, &Node)> {
    match node {
        Node::Map(members) => members.iter().map(|(name, value)| (name.as_str(), value)).collect(),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::Text(_) | Node::List(_) => Vec::new(),
    }
}

/// Pairs members by name. Servers write these lists, so the cost must not be quadratic.
fn join<'a>(old: Vec<(&'a str, &'a Node)>, new: Vec<(&'a str, &'a Node)>) -> Vec<(&'a str, Sides<'a>)> {
    let by_name: HashMap<&str, &Node> = old.iter().copied().collect();
    let new_names: HashSet<&str> = new.iter().map(|(name, _)| *name).collect();
    let kept = new.iter().map(|(name, value)| (*name, (by_name.get(name).copied(), Some(*value))));
    let gone = old.iter().filter(|(name, _)| !new_names.contains(name));
    kept.chain(gone.map(|(name, value)| (*name, (Some(*value), None)))).collect()
}

fn value_text(node: &Node) -> String {
    match node {
        Node::Text(text) => escaped(text),
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::List(_) | Node::Map(_) => {
            escaped(&canonical_text(node).unwrap_or_else(|error| error.to_string()))
        }
    }
}

/// Items by their names; `None` if a name is missing or duplicate.
fn by_name(list: &Node) -> Option<Vec<(&str, &Node)>> {
    let Node::List(items) = list else { return None };
    let named: Option<Vec<_>> = items.iter().map(|item| Some((item.get("name")?.as_text()?, item))).collect();
    let mut seen = HashSet::new();
    named.filter(|named| named.iter().all(|(name, _)| seen.insert(*name)))
}

fn is_required(argument: &Node) -> bool {
    argument.get("required") == Some(&Node::Bool(true))
}
