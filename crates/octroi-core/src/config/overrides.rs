//! `tools_override` of a server: what an administrator says of single tools.

use std::collections::BTreeMap;

use serde_json::{Map as JsonMap, Value as Json};

use super::fields::{Field, read as read_fields};
use super::keys::{OVERRIDE, RISKS};
use super::node::Map;
use super::reader::Reader;
use crate::tool::ToolOverride;

const NAME: &str = "tools_override";

/// Reads what is said of each tool. A mistake in it costs the whole server: a tool that somebody meant to switch
/// off must not stay on.
pub(super) fn tools_override(reader: &mut Reader<'_>) -> BTreeMap<String, ToolOverride> {
    let Some(field) = reader.fields.get(NAME).cloned() else {
        return BTreeMap::new();
    };
    let Some(map) = field.node.as_map() else {
        return reader.wrong(NAME, "a table of tables", BTreeMap::new());
    };
    let mut all = BTreeMap::new();
    let mut shown = JsonMap::new();
    for member in map {
        let Some(inner) = member.node.as_map().filter(|inner| inner.iter().next().is_some()) else {
            let message = format!("`{NAME}` must say something of `{}` in a table", member.key);
            let hint = "write { enabled = false }".to_owned();
            reader.notes.error_with_hint(&member.origin, message, hint);
            continue;
        };
        let (said, shown_here) = one(reader, inner, &field);
        shown.insert(member.key.clone(), Json::Object(shown_here));
        all.insert(member.key.clone(), said);
    }
    reader.show(NAME, Json::Object(shown));
    all
}

fn one(outer: &mut Reader<'_>, map: &Map, field: &Field) -> (ToolOverride, JsonMap<String, Json>) {
    let mut notes = outer.notes.of_restricting_part();
    let fields = read_fields(map, OVERRIDE, &field.base, &mut notes);
    let mut reader = Reader::new(fields, notes, outer.lookup);
    let written = |reader: &mut Reader<'_>, name| reader.has(name).then(|| reader.flag(name, true));
    let said = ToolOverride {
        enabled: written(&mut reader, "enabled"),
        reason: reader.some_text("reason"),
        risk: reader.word("risk", &RISKS),
        side_effects: reader.has("side_effects").then(|| reader.tags("side_effects")),
        requires_admin: written(&mut reader, "requires_admin_token"),
    };
    outer.notes.problems.extend(reader.notes.problems);
    let shown = reader.shown.into_iter().map(|shown| (shown.name.to_owned(), shown.value)).collect();
    (said, shown)
}
