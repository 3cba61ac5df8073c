//! `tools_override` of a server: an administrator's settings of single tools.

use std::collections::BTreeMap;

use serde_json::{Map as JsonMap, Value as Json};

use super::fields::{Field, read as read_fields};
use super::keys::{OVERRIDE, RISKS};
use super::reader::TableReader;
use crate::syntax::Map;
use crate::tool::ToolOverride;

const NAME: &str = "tools_override";

/// Reads the settings of each tool. An error disables the whole server: a tool that somebody meant to switch
/// off must not stay on.
pub(super) fn tools_override(reader: &mut TableReader<'_>) -> BTreeMap<String, ToolOverride> {
    let Some(field) = reader.fields.get(NAME).cloned() else {
        return BTreeMap::new();
    };
    let Some(map) = field.node.as_map() else {
        return reader.wrong(NAME, "a table of tables", BTreeMap::new());
    };
    let mut all = BTreeMap::new();
    let mut settings = JsonMap::new();
    for member in map {
        let Some(inner) = member.node.as_map().filter(|inner| inner.iter().next().is_some()) else {
            let message = format!("`{NAME}` needs a table with settings for `{}`", member.key);
            let hint = "write { enabled = false }".to_owned();
            reader.log.error_with_hint(&member.origin, message, hint);
            continue;
        };
        let (tool_override, tool_settings) = one(reader, inner, &field);
        settings.insert(member.key.clone(), Json::Object(tool_settings));
        all.insert(member.key.clone(), tool_override);
    }
    reader.show(NAME, Json::Object(settings));
    all
}

fn one(outer: &mut TableReader<'_>, map: &Map, field: &Field) -> (ToolOverride, JsonMap<String, Json>) {
    let mut log = outer.log.of_restricting_part();
    let fields = read_fields(map, OVERRIDE, &field.base, &mut log);
    let mut reader = TableReader::new(fields, log, outer.lookup);
    let written = |reader: &mut TableReader<'_>, name| reader.has(name).then(|| reader.flag(name, true));
    let tool_override = ToolOverride {
        enabled: written(&mut reader, "enabled"),
        reason: reader.some_text("reason"),
        risk: reader.word("risk", &RISKS),
        side_effects: reader.has("side_effects").then(|| reader.tags("side_effects")),
        requires_admin: written(&mut reader, "requires_admin_token"),
    };
    outer.log.problems.extend(reader.log.problems);
    let settings =
        reader.settings.into_iter().map(|setting| (setting.name.to_owned(), setting.value)).collect();
    (tool_override, settings)
}
