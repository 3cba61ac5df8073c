//! Commands about agents.

use owo_colors::OwoColorize as _;
use serde_json::{Map, Value, json};

use super::Failure;
use crate::cli::people::{Agents, AgentsCommand, SetAgent};
use crate::client::Client;
use crate::printer::{self, visible};

pub(super) async fn run(agents: &Agents) -> Result<(), Failure> {
    if let Some(AgentsCommand::Set(options)) = &agents.command {
        return set(options).await;
    }
    let told = Client::find(&agents.target)?.call("agents_list", json!({})).await?;
    let all = told["agents"].as_array().map(Vec::as_slice).unwrap_or_default();
    if agents.target.json {
        printer::data(&json!(all).to_string());
    } else if all.is_empty() {
        printer::say("no agent is configured, and none has called a tool yet");
    } else {
        all.iter().for_each(tell);
    }
    Ok(())
}

async fn set(options: &SetAgent) -> Result<(), Failure> {
    let mut arguments = Map::new();
    let texts = [
        ("mode", options.mode.clone()),
        ("profile", options.profile.clone()),
        ("project", options.project.clone()),
        ("project_root", options.project_root.as_ref().map(|root| root.to_string_lossy().into_owned())),
        ("spec_hash", options.freeze.clone()),
    ];
    for (name, value) in texts {
        arguments.extend(value.map(|value| (name.to_owned(), json!(value))));
    }
    if options.unfreeze {
        arguments.insert("unfreeze".to_owned(), json!(true));
    }
    if let Some(tags) = &options.blacklist {
        let tags: Vec<&str> = tags.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty()).collect();
        arguments.insert("blacklist".to_owned(), json!(tags));
    }
    if arguments.is_empty() {
        let failure = Failure::new("there is nothing to set");
        return Err(Failure { exit_code: 2, ..failure.hint("`octroi agents set --help` lists what can be") });
    }
    arguments.insert("agent_id".to_owned(), json!(options.id));
    let told = Client::find(&options.target)?.call("agents_update", Value::Object(arguments)).await?;
    if options.target.json {
        printer::data(&told.to_string());
    } else {
        tell(&told);
    }
    Ok(())
}

fn tell(agent: &Value) {
    let text = |name: &str| visible(agent[name].as_str().unwrap_or_default());
    let mut parts = vec![text("id").bold().to_string(), text("profile"), text("mode")];
    for (name, label) in [("project", "project"), ("project_root", "in")] {
        if agent[name].is_string() {
            parts.push(format!("{label} {}", text(name)));
        }
    }
    if agent["spec_frozen"] == true {
        parts.push(format!("specification {} frozen", text("spec_hash")));
    }
    let tags: Vec<String> =
        agent["blacklist"].as_array().into_iter().flatten().filter_map(Value::as_str).map(visible).collect();
    if !tags.is_empty() {
        parts.push(format!("never {}", tags.join(", ")));
    }
    if agent["set_by"].is_string() {
        parts.push(format!("set by {}", text("set_by")));
    }
    printer::data(&parts.join("  "));
}
