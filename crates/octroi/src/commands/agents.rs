//! Commands about agents.

use octroi_api::operations::NoArguments;
use octroi_api::operations::agents::{Agent, AgentsList, AgentsUpdate, UpdateAgentRequest};
use owo_colors::{OwoColorize as _, Style};

use crate::cli::agents::{Agents, AgentsCommand, SetAgent};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

pub(super) async fn run(agents: &Agents) -> Result<(), Failure> {
    if let Some(AgentsCommand::Set(options)) = &agents.command {
        return set(options).await;
    }
    let list = Client::find(&agents.target)?.call::<AgentsList>(&NoArguments {}).await?;
    if agents.target.json {
        printer::json(&list.agents);
    } else if list.agents.is_empty() {
        printer::say("no agent is configured, and none has called a tool yet");
    } else {
        printer::table(&table(&list.agents));
    }
    Ok(())
}

async fn set(options: &SetAgent) -> Result<(), Failure> {
    let request = update_request(options);
    if request == (UpdateAgentRequest { agent_id: options.id.clone(), ..UpdateAgentRequest::default() }) {
        return Err(Failure::usage("there is nothing to set")
            .hint("`octroi agents set --help` lists what can be set"));
    }
    let agent = Client::find(&options.target)?.call::<AgentsUpdate>(&request).await?;
    if options.target.json {
        printer::json(&agent);
    } else {
        printer::data(&line(&agent));
    }
    Ok(())
}

fn update_request(options: &SetAgent) -> UpdateAgentRequest {
    let tags = |tags: &Vec<String>| {
        let tags = tags.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty());
        tags.map(str::to_owned).collect()
    };
    UpdateAgentRequest {
        agent_id: options.id.clone(),
        profile: options.profile.map(Into::into),
        mode: options.mode.map(Into::into),
        project: options.project.clone(),
        project_root: options.project_root.as_ref().map(|root| root.to_string_lossy().into_owned()),
        spec_hash: options.freeze.clone(),
        unfreeze: options.unfreeze,
        blacklist: options.blacklist.as_ref().map(tags),
    }
}

/// One row for each agent.
fn table(agents: &[Agent]) -> Table {
    let mut table = Table::new(&[
        Column::text("id"),
        Column::text("profile"),
        Column::text("mode"),
        Column::text("project"),
        Column::text("project_root"),
        Column::text("spec_hash"),
        Column::text("set_by"),
        Column::sentence("blacklist"),
    ]);
    for agent in agents {
        let text = |text: &Option<String>| Cell::new(text.as_deref().unwrap_or_default());
        let frozen = agent.spec_hash.clone().filter(|_| agent.spec_frozen);
        table.row([
            Cell::new(&agent.id).styled(Style::new().bold()),
            agent.profile.to_string().into(),
            agent.mode.to_string().into(),
            text(&agent.project),
            text(&agent.project_root),
            text(&frozen),
            text(&agent.set_by),
            agent.blacklist.join(", ").into(),
        ]);
    }
    table
}

/// An agent in one line: its settings, without those that are at their default.
fn line(agent: &Agent) -> String {
    let mut parts =
        vec![visible(&agent.id).bold().to_string(), agent.profile.to_string(), agent.mode.to_string()];
    parts.extend(agent.project.as_ref().map(|project| format!("project {}", visible(project))));
    parts.extend(agent.project_root.as_ref().map(|root| format!("in {}", visible(root))));
    if agent.spec_frozen {
        let hash = agent.spec_hash.as_deref().unwrap_or_default();
        parts.push(format!("specification {} frozen", visible(hash)));
    }
    if !agent.blacklist.is_empty() {
        let tags: Vec<String> = agent.blacklist.iter().map(|tag| visible(tag)).collect();
        parts.push(format!("never {}", tags.join(", ")));
    }
    parts.extend(agent.set_by.as_ref().map(|person| format!("set by {}", visible(person))));
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use octroi_core::agent::{Mode, Profile};

    use super::*;

    #[test]
    fn an_agent_is_one_line() {
        let mut agent = Agent {
            id: "coder".to_owned(),
            profile: Profile::Guarded.into(),
            mode: Mode::Execution.into(),
            project: None,
            project_root: None,
            spec_hash: Some("abc".to_owned()),
            spec_frozen: false,
            blacklist: Vec::new(),
            configured: true,
            set_at: None,
            set_by: None,
        };
        let plain = |agent: &Agent| anstream::adapter::strip_str(&line(agent)).to_string();
        assert_eq!(plain(&agent), "coder  guarded  execution");
        agent.project = Some("house".to_owned());
        agent.project_root = Some("/house\n".to_owned());
        agent.spec_frozen = true;
        agent.blacklist = vec!["fs.write".to_owned(), "network.http".to_owned()];
        agent.set_by = Some("admin".to_owned());
        assert_eq!(
            plain(&agent),
            "coder  guarded  execution  project house  in /house\\n  specification abc frozen  \
             never fs.write, network.http  set by admin"
        );
    }
}
