//! Quarantined definitions as people read them.

use octroi_api::operations::pins::HeldPin;
use owo_colors::{OwoColorize as _, Style};

use crate::printer::visible;
use crate::table::{Cell, Column, Table};

/// One row for each definition. Below it: what changed, and what is suspicious.
pub(super) fn list_lines(pins: &[&HeldPin], width: usize) -> Vec<String> {
    let mut table = Table::new(&[Column::text("name"), Column::text("kind"), Column::sentence("reason")]);
    for pin in pins {
        let name = Cell::new(full_name(pin)).styled(Style::new().bold());
        table.row([name, pin.kind.to_string().into(), Cell::new(&pin.reason)]);
    }
    let mut rows = table.lines(width).into_iter();
    let mut lines: Vec<String> = rows.next().into_iter().collect();
    for (row, pin) in rows.zip(pins) {
        lines.push(row);
        lines.extend(summary_lines(pin).into_iter().skip(1));
    }
    lines
}

/// One definition in a few lines: its name, the reason, what changed, and what is suspicious.
pub(super) fn summary_lines(pin: &HeldPin) -> Vec<String> {
    let mut lines = vec![format!("{}  {}  {}", full_name(pin).bold(), pin.kind, visible(&pin.reason))];
    for change in &pin.changes {
        lines.push(format!("    {} ({})", path(&change.path), change.class));
        let (old, new) = (change.old.as_deref().map(indented), change.new.as_deref().map(indented));
        lines.extend(old.map(|text| format!("      {}", format!("- {text}").red())));
        lines.extend(new.map(|text| format!("      {}", format!("+ {text}").green())));
    }
    for finding in &pin.findings {
        lines.push(format!(
            "    {}: {} at {}: {}",
            finding.severity.yellow(),
            finding.kind,
            path(&finding.path),
            visible(&finding.excerpt)
        ));
    }
    for other in &pin.look_alikes {
        lines.push(format!("    {}: it looks like {}", "warning".yellow(), visible(other)));
    }
    lines
}

/// What `show` adds: what was accepted before, and the full definition.
pub(super) fn detail_lines(pin: &HeldPin) -> Vec<String> {
    let before = match (&pin.accepted_by, &pin.accepted_at) {
        (Some(person), Some(at)) => format!("the previous one was accepted by {} at {at}", visible(person)),
        _ => "no previous one was accepted".to_owned(),
    };
    let mut lines = vec![before, format!("hash {}", pin.hash)];
    lines.extend(format!("{:#}", pin.definition).lines().map(visible));
    lines.iter().map(|line| format!("    {line}")).collect()
}

fn full_name(pin: &HeldPin) -> String {
    match pin.name.as_str() {
        "" => visible(&pin.server),
        name => visible(&format!("{}.{name}", pin.server)),
    }
}

fn path(path: &str) -> String {
    if path.is_empty() { "everything".to_owned() } else { visible(path) }
}

fn indented(text: &str) -> String {
    text.lines().map(visible).collect::<Vec<_>>().join("\n        ")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_is_shown_with_what_changed() {
        let pin = json!({
            "server": "github", "kind": "tool", "name": "create_issue", "hash": "abc", "reason": "it differs",
            "kept_out_by": null, "accepted_at": "2027-01-31T12:00:00.000Z", "accepted_by": "first use",
            "changes": [
                {"path": "description", "old": "Creates\nan issue", "new": "Creates it", "class": "text"},
                {"path": "", "old": null, "new": "x", "class": "other"},
            ],
            "findings": [{"kind": "hidden_text", "severity": "danger", "path": "title", "excerpt": "a\u{200b}b"}],
            "look_alikes": ["gitlab.create_issue"], "definition": {"name": "create_issue"},
        });
        let pin: HeldPin = serde_json::from_value(pin).unwrap();
        let lines = [summary_lines(&pin), detail_lines(&pin)].concat().join("\n");
        expect![[r#"
            github.create_issue  tool  it differs
                description (text)
                  - Creates
                    an issue
                  + Creates it
                everything (other)
                  + x
                danger: hidden_text at title: a\u{200b}b
                warning: it looks like gitlab.create_issue
                the previous one was accepted by first use at 2027-01-31T12:00:00.000Z
                hash abc
                {
                  "name": "create_issue"
                }"#]]
        .assert_eq(&anstream::adapter::strip_str(&lines).to_string());
    }
}
