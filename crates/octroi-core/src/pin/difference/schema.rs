//! Whether a JSON Schema accepts more or less than before, keyword by keyword.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::super::canonical::{Decimal, canonical_text};
use super::walk::{Differ, Sides, is_wording, members};
use super::{ChangeClass, JsonPath};
use crate::json::Node;

const ANYTHING: Node = Node::Bool(true);

/// Records every change between two schemas; a missing schema accepts anything.
pub(super) fn compare(differ: &mut Differ, place: JsonPath, sides: Sides<'_>) {
    Comparer { differ, can_tell: true }.schema(place, sides);
}

struct Comparer<'a> {
    differ: &'a mut Differ,
    /// False below keywords that invert the direction, such as `not`.
    can_tell: bool,
}

impl Comparer<'_> {
    fn note(&mut self, place: JsonPath, sides: Sides<'_>, class: ChangeClass) {
        let class = match class {
            ChangeClass::SchemaWidened | ChangeClass::SchemaNarrowed if !self.can_tell => {
                ChangeClass::SchemaChanged
            }
            class => class,
        };
        self.differ.note(place, sides, class);
    }

    fn schema(&mut self, place: JsonPath, sides: Sides<'_>) {
        let old = sides.0.unwrap_or(&ANYTHING);
        let new = sides.1.unwrap_or(&ANYTHING);
        match (old, new) {
            (Node::Map(_), Node::Map(_)) => {
                for (name, sides) in members(old, new) {
                    self.keyword(place.member(name), name, sides);
                }
            }
            _ => self.note(place, sides, between_whole(old, new)),
        }
    }

    fn keyword(&mut self, place: JsonPath, name: &str, sides: Sides<'_>) {
        match name {
            _ if is_wording(name) => self.differ.tree(place, sides, ChangeClass::Text),
            "properties" => self.properties(place, sides),
            "patternProperties" | "dependentSchemas" | "$defs" | "definitions" => {
                self.named_schemas(place, sides)
            }
            "additionalProperties"
            | "unevaluatedProperties"
            | "items"
            | "additionalItems"
            | "unevaluatedItems"
            | "propertyNames"
            | "contains" => self.schema(place, sides),
            "required" => self.members_of_set(place, sides, ChangeClass::SchemaNarrowed),
            "enum" => self.members_of_set(place, sides, ChangeClass::SchemaWidened),
            "type" => self.note(place, sides, between_types(sides)),
            "anyOf" | "allOf" => self.branches(place, sides, name == "anyOf"),
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" | "minContains" => {
                self.note(place, sides, between_limits(sides, Ordering::Less));
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" | "maxContains" => {
                self.note(place, sides, between_limits(sides, Ordering::Greater));
            }
            "const" | "pattern" | "format" | "multipleOf" => self.note(place, sides, by_presence(sides)),
            "uniqueItems" => {
                let is_true = |side: Option<&Node>| side == Some(&Node::Bool(true));
                let class = match (is_true(sides.0), is_true(sides.1)) {
                    (true, false) => ChangeClass::SchemaWidened,
                    (false, true) => ChangeClass::SchemaNarrowed,
                    (true, true) | (false, false) => ChangeClass::SchemaChanged,
                };
                self.note(place, sides, class);
            }
            // Among them `oneOf`, `not` and `if`, which accept more when their subschemas accept less.
            _ => self.unclear(place, sides),
        }
    }

    fn properties(&mut self, place: JsonPath, sides: Sides<'_>) {
        let nothing = Node::Map(Vec::new());
        let (old, new) = (sides.0.unwrap_or(&nothing), sides.1.unwrap_or(&nothing));
        let (Node::Map(_), Node::Map(_)) = (old, new) else { return self.unclear(place, sides) };
        if sides.0.is_none() != sides.1.is_none() && members(old, new).is_empty() {
            return self.note(place, sides, ChangeClass::SchemaChanged);
        }
        for (name, sides) in members(old, new) {
            let place = place.member(name);
            match sides {
                (Some(old), Some(new)) => self.schema(place, (Some(old), Some(new))),
                (None, new) => self.note(place, (None, new), ChangeClass::SchemaWidened),
                (old, None) => self.note(place, (old, None), ChangeClass::SchemaNarrowed),
            }
        }
    }

    /// Schemas that are referenced elsewhere, or apply only to some names: their direction is unclear.
    fn named_schemas(&mut self, place: JsonPath, sides: Sides<'_>) {
        let (Some(old @ Node::Map(_)), Some(new @ Node::Map(_))) = sides else {
            return self.unclear(place, sides);
        };
        for (name, sides) in members(old, new) {
            let place = place.member(name);
            match sides {
                (Some(old), Some(new)) => self.without_direction().schema(place, (Some(old), Some(new))),
                sides => self.note(place, sides, ChangeClass::SchemaChanged),
            }
        }
    }

    fn without_direction(&mut self) -> Comparer<'_> {
        Comparer { differ: self.differ, can_tell: false }
    }

    /// Descends to the differences without claiming a direction.
    fn unclear(&mut self, place: JsonPath, sides: Sides<'_>) {
        match sides {
            (Some(old @ Node::Map(_)), Some(new @ Node::Map(_))) => {
                for (name, sides) in members(old, new) {
                    let place = place.member(name);
                    if is_wording(name) {
                        self.differ.tree(place, sides, ChangeClass::Text);
                    } else {
                        self.unclear(place, sides);
                    }
                }
            }
            (Some(Node::List(old)), Some(Node::List(new))) if old.len() == new.len() => {
                for (index, sides) in old.iter().zip(new).enumerate() {
                    self.unclear(place.item(index), (Some(sides.0), Some(sides.1)));
                }
            }
            sides => self.note(place, sides, ChangeClass::SchemaChanged),
        }
    }

    /// A list whose order is irrelevant: each value that was added or removed is one change.
    fn members_of_set(&mut self, place: JsonPath, sides: Sides<'_>, when_added: ChangeClass) {
        let (old, new) = match sides {
            (Some(Node::List(old)), Some(Node::List(new))) => (old.as_slice(), new.as_slice()),
            // Without `required` nothing is required; without `enum` everything is allowed.
            (None, Some(Node::List(new))) if when_added == ChangeClass::SchemaNarrowed => {
                ([].as_slice(), new.as_slice())
            }
            (Some(Node::List(old)), None) if when_added == ChangeClass::SchemaNarrowed => {
                (old.as_slice(), [].as_slice())
            }
            _ => return self.note(place, sides, by_presence(sides)),
        };
        let when_removed = match when_added {
            ChangeClass::SchemaNarrowed => ChangeClass::SchemaWidened,
            _ => ChangeClass::SchemaNarrowed,
        };
        let (old_texts, new_texts) = (texts(old), texts(new));
        let gone: Vec<_> = old.iter().filter(|item| !new_texts.contains(&text(item))).collect();
        let added: Vec<_> = new.iter().filter(|item| !old_texts.contains(&text(item))).collect();
        for item in &gone {
            self.note(place.clone(), (Some(item), None), when_removed);
        }
        for item in &added {
            self.note(place.clone(), (None, Some(item)), when_added);
        }
        if gone.is_empty() && added.is_empty() {
            // Only the order differs, or an empty list replaces a missing one.
            self.note(place, sides, ChangeClass::SchemaChanged);
        }
    }

    /// `anyOf` accepts more with each branch, `allOf` less.
    fn branches(&mut self, place: JsonPath, sides: Sides<'_>, is_any: bool) {
        let (Some(Node::List(old)), Some(Node::List(new))) = sides else {
            return self.note(place, sides, by_presence(sides));
        };
        if old.len() == new.len() {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                self.schema(place.item(index), (Some(old), Some(new)));
            }
            return;
        }
        let (old_texts, new_texts) = (texts(old), texts(new));
        let has_more = old_texts.is_subset(&new_texts);
        let has_less = new_texts.is_subset(&old_texts);
        let class = match (has_more, has_less) {
            (true, false) if is_any => ChangeClass::SchemaWidened,
            (true, false) => ChangeClass::SchemaNarrowed,
            (false, true) if is_any => ChangeClass::SchemaNarrowed,
            (false, true) => ChangeClass::SchemaWidened,
            (true, true) | (false, false) => ChangeClass::SchemaChanged,
        };
        self.note(place, sides, class);
    }
}

/// Comparable forms of the values.
fn texts(items: &[Node]) -> BTreeSet<String> {
    items.iter().map(text).collect()
}

fn text(item: &Node) -> String {
    // A value without a canonical form equals only itself.
    canonical_text(item).unwrap_or_else(|_| format!("{item:?}"))
}

/// For keywords whose presence always restricts.
fn by_presence(sides: Sides<'_>) -> ChangeClass {
    match sides {
        (None, Some(_)) => ChangeClass::SchemaNarrowed,
        (Some(_), None) => ChangeClass::SchemaWidened,
        (Some(_), Some(_)) | (None, None) => ChangeClass::SchemaChanged,
    }
}

/// Compares schemas of which at least one is not an object.
fn between_whole(old: &Node, new: &Node) -> ChangeClass {
    let takes_all = |schema: &Node| *schema == ANYTHING || *schema == Node::Map(Vec::new());
    let takes_none = |schema: &Node| *schema == Node::Bool(false);
    let is_schema = |schema: &Node| matches!(schema, Node::Bool(_) | Node::Map(_));
    if !is_schema(old) || !is_schema(new) {
        ChangeClass::SchemaChanged
    } else if takes_all(old) == takes_all(new) && takes_none(old) == takes_none(new) {
        // `true` and `{}` are equivalent.
        ChangeClass::SchemaChanged
    } else if takes_none(old) || takes_all(new) {
        ChangeClass::SchemaWidened
    } else {
        ChangeClass::SchemaNarrowed
    }
}

/// `when_wider` is how a wider limit compares with the one before it.
fn between_limits(sides: Sides<'_>, when_wider: Ordering) -> ChangeClass {
    let (Some(Node::Number(old)), Some(Node::Number(new))) = sides else {
        return match sides {
            (Some(Node::Number(_)), None) | (None, Some(Node::Number(_))) => by_presence(sides),
            _ => ChangeClass::SchemaChanged,
        };
    };
    match (Decimal::read(old), Decimal::read(new)) {
        (Ok(old), Ok(new)) if new.compare(&old) == when_wider => ChangeClass::SchemaWidened,
        (Ok(_), Ok(_)) => ChangeClass::SchemaNarrowed,
        (Err(_), _) | (_, Err(_)) => ChangeClass::SchemaChanged,
    }
}

fn between_types(sides: Sides<'_>) -> ChangeClass {
    let (Some(old), Some(new)) = sides else { return by_presence(sides) };
    let (Some(old), Some(new)) = (types(old), types(new)) else { return ChangeClass::SchemaChanged };
    match (old.is_subset(&new), new.is_subset(&old)) {
        (true, false) => ChangeClass::SchemaWidened,
        (false, true) => ChangeClass::SchemaNarrowed,
        (true, true) | (false, false) => ChangeClass::SchemaChanged,
    }
}

/// The accepted types; `number` includes integers.
fn types(keyword: &Node) -> Option<BTreeSet<&str>> {
    let mut types: BTreeSet<_> = match keyword {
        Node::Text(name) => [name.as_str()].into(),
        Node::List(items) => items.iter().map(Node::as_text).collect::<Option<_>>()?,
        Node::Null | Node::Bool(_) | Node::Number(_) | Node::Map(_) => return None,
    };
    if types.contains("number") {
        types.insert("integer");
    }
    Some(types)
}
