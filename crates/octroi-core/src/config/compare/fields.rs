//! Merges one table field by field.

use serde_json::Value as Json;

use super::{ConfigChange, Consequence};
use crate::config::show::{Setting, inline};

/// Merges the fields of one table: takes what may take effect, and lists every difference.
pub(super) struct FieldMerger<'a> {
    title: &'a str,
    kept: &'a mut Vec<Setting>,
    new: &'a [Setting],
    changes: &'a mut Vec<ConfigChange>,
}

impl<'a> FieldMerger<'a> {
    /// `kept` and `new` are the displayed settings of both sides.
    pub(super) fn new(
        title: &'a str,
        kept: &'a mut Vec<Setting>,
        new: &'a [Setting],
        changes: &'a mut Vec<ConfigChange>,
    ) -> Self {
        Self { title, kept, new, changes }
    }

    /// Compares one field, and takes the new value if that needs no person.
    pub(super) fn field<T: Clone + PartialEq>(
        &mut self,
        keys: &[&'static str],
        kept: &mut T,
        new: &T,
        judge: impl FnOnce(&T, &T) -> bool,
    ) {
        if kept == new {
            return;
        }
        let consequence = Consequence::immediate_if(judge(kept, new));
        let mut is_listed = false;
        for key in keys {
            let (before, after) = (value_of(self.kept, key), value_of(self.new, key));
            if before != after {
                is_listed = true;
                self.list(key, before.map(inline), after.map(inline), consequence);
            }
        }
        if !is_listed {
            // They differ in what is never displayed.
            let key = keys.first().copied().unwrap_or_default();
            self.list(key, Some("***".to_owned()), Some("*** (another value)".to_owned()), consequence);
        }
        if consequence == Consequence::Immediate {
            *kept = new.clone();
            for key in keys {
                self.kept.retain(|setting| setting.name != *key);
                self.kept.extend(self.new.iter().filter(|setting| setting.name == *key).cloned());
            }
        }
    }

    fn list(&mut self, key: &str, before: Option<String>, after: Option<String>, consequence: Consequence) {
        let setting = format!("{}: {key}", self.title);
        self.changes.push(ConfigChange { setting, before, after, consequence });
    }
}

fn value_of<'a>(settings: &'a [Setting], key: &str) -> Option<&'a Json> {
    settings.iter().find(|setting| setting.name == key).map(|setting| &setting.value)
}

/// A table in one line.
pub(super) fn table(settings: &[Setting]) -> String {
    let fields = settings.iter().map(|setting| format!("{} = {}", setting.name, inline(&setting.value)));
    format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
}

/// Any change of this field needs a person.
pub(super) fn ask<T>(_: &T, _: &T) -> bool {
    false
}

/// No change of this field needs a person.
pub(super) fn harmless<T>(_: &T, _: &T) -> bool {
    true
}

/// The new value is not above the accepted one.
pub(super) fn at_most<T: PartialOrd>(before: &T, after: &T) -> bool {
    after <= before
}

/// Everything new was there before.
pub(super) fn narrows(before: &[String], after: &[String]) -> bool {
    after.iter().all(|one| before.contains(one))
}

/// Everything that was there is still there.
pub(super) fn widens(before: &[String], after: &[String]) -> bool {
    narrows(after, before)
}
