//! Comparing a policy with the active one, and putting it in its place.

use std::collections::BTreeSet;

use octroi_core::policy::{Document, Rule};
use serde_json::{Value, json};

use super::{at, complain, put, read, text};
use crate::cli::policy::{Apply, At, OneFile};
use crate::client::Client;
use crate::commands::Failure;
use crate::commands::policy::offline::Checked;
use crate::diff::unified;
use crate::printer;

pub(super) async fn diff(options: &OneFile) -> Result<(), Failure> {
    let new = read(&options.file)?;
    let active = Client::find(&options.target)?.call("policy_show", at(&options.at)).await?;
    let difference = Difference::between(&active, &new, &options.at, &options.file.display().to_string());
    if options.target.json {
        printer::data(&difference.as_json().to_string());
    } else {
        difference.print();
    }
    Ok(())
}

/// How a policy differs from the active one.
struct Difference {
    text: String,
    added: Vec<String>,
    removed: Vec<String>,
}

impl Difference {
    fn between(active: &Value, new: &str, level: &At, new_name: &str) -> Self {
        let old = text(&active["source"]);
        let old_name = format!("{}, version {}", level.name(), active["version"]);
        let (old_rules, new_rules) = (sentences(old), sentences(new));
        Self {
            text: unified(old, new, &old_name, new_name),
            added: new_rules.difference(&old_rules).cloned().collect(),
            removed: old_rules.difference(&new_rules).cloned().collect(),
        }
    }

    fn print(&self) {
        if self.text.is_empty() {
            printer::say("no difference");
            return;
        }
        put(self.text.trim_end());
        self.added.iter().for_each(|rule| put(&format!("added    {rule}")));
        self.removed.iter().for_each(|rule| put(&format!("removed  {rule}")));
    }

    fn as_json(&self) -> Value {
        json!({"diff": self.text, "added": self.added, "removed": self.removed})
    }
}

fn sentences(source: &str) -> BTreeSet<String> {
    let document = Document::parse(source).unwrap_or_default();
    document.rules.iter().map(Rule::sentence).collect()
}

pub(super) async fn apply(options: &Apply) -> Result<(), Failure> {
    let Apply { file, version, at: level, yes, target } = options;
    let client = Client::find(target)?;
    let active = client.call("policy_show", at(level)).await?;
    if let Some(file) = active["file"].as_str() {
        return Err(Failure::new(format!("the {} stands in {file}", level.name()))
            .hint("change that file; a running gateway takes it over by itself, or with `octroi reload`"));
    }
    let (name, source) = match (file, version) {
        (Some(file), _) => (file.display().to_string(), read(file)?),
        (None, version) => {
            let version = version.unwrap_or_default();
            (format!("version {version}"), old_version(&client, level, version).await?)
        }
    };
    let asked = json!({"source": source, "level": level.level().as_str()});
    let checked = Checked::told(&client.call("policy_test", asked).await?);
    complain(&name, &checked, target.json)?;
    let difference = Difference::between(&active, &source, level, &name);
    if difference.text.is_empty() {
        printer::say(&format!("the {} says this already", level.name()));
        if target.json {
            printer::data(&active.to_string());
        }
        return Ok(());
    }
    if !target.json {
        difference.print();
        printer::say(&checked.passed());
    }
    let is_wanted = if *yes { Some(true) } else { printer::confirm("Make it active?") };
    match is_wanted {
        Some(true) => {}
        Some(false) => return Err(Failure::new("nothing was changed")),
        None => {
            return Err(Failure::new("nobody can be asked whether to go on").hint("say so with --yes"));
        }
    }
    let replaced = active["version"].as_i64().unwrap_or_default();
    let mut asked = json!({"source": source, "expected_version": replaced});
    let tool = match (&level.agent, level.floor) {
        (Some(agent), _) => {
            asked["agent_id"] = json!(agent);
            "agents_set_policy"
        }
        (None, true) => "policy_set_floor",
        (None, false) => "policy_set_global",
    };
    let told = client.call(tool, asked).await?;
    if target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let version = told["version"].as_i64().unwrap_or_default();
    put(&format!("{} version {version} is active; {}", level.name(), undo(level, version)));
    Ok(())
}

/// How to go back to what held before this version.
pub(super) fn undo(level: &At, version: i64) -> String {
    let flag = level.flag();
    match version - 1 {
        0 => format!("undo with `octroi policy apply /dev/null {flag}`"),
        before => format!("undo with `octroi policy apply --version {before} {flag}`"),
    }
}

async fn old_version(client: &Client, level: &At, version: i64) -> Result<String, Failure> {
    let told = client.call("policy_history", at(level)).await?;
    let versions = told["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = versions.iter().find(|one| one["version"] == version);
    found.map(|one| text(&one["source"]).to_owned()).ok_or_else(|| {
        Failure::new(format!("there is no version {version} of the {}", level.name()))
            .hint(format!("`octroi policy show {} --history` lists them", level.flag()))
    })
}
