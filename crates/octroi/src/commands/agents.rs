//! Commands about agents.

mod mounts;

use octroi_api::operations::NoArguments;
use octroi_api::operations::agents::{
    AbortedWork, Agent, AgentReasonRequest, AgentRequest, AgentsAbort, AgentsBoot, AgentsCreate,
    AgentsDelete, AgentsList, AgentsStop, AgentsUpdate, CreateAgentRequest, UpdateAgentRequest,
};
use octroi_core::agent::RunState;
use owo_colors::{OwoColorize as _, Style};

use crate::cli::Target;
use crate::cli::agents::{Agents, AgentsCommand, CreateAgent, SetAgent};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

pub(super) async fn run(agents: &Agents) -> Result<(), Failure> {
    if let Some(command) = &agents.command {
        return change(command).await;
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

async fn change(command: &AgentsCommand) -> Result<(), Failure> {
    let one = |id: &String| AgentRequest { agent_id: id.clone() };
    let why = |id: &String, reason: &Option<String>| AgentReasonRequest {
        agent_id: id.clone(),
        reason: reason.clone(),
    };
    match command {
        AgentsCommand::Set(options) => set(options).await,
        AgentsCommand::Create(options) => {
            let created =
                Client::find(&options.target)?.call::<AgentsCreate>(&create_request(options)).await?;
            let next = "created; a token for its client: octroi token create --agent";
            done(&options.target, &created, &format!("{next} {}", visible(&created.id)));
            Ok(())
        }
        AgentsCommand::Stop(options) => {
            let request = why(&options.id, &options.reason);
            let paused = Client::find(&options.target)?.call::<AgentsStop>(&request).await?;
            let undo = format!("paused; undo with `octroi agents boot {}`", visible(&paused.id));
            done(&options.target, &paused, &undo);
            Ok(())
        }
        AgentsCommand::Boot(options) => {
            let resumed = Client::find(&options.target)?.call::<AgentsBoot>(&one(&options.id)).await?;
            done(&options.target, &resumed, "may make calls again");
            Ok(())
        }
        AgentsCommand::Abort(options) => {
            let request = why(&options.id, &options.reason);
            let aborted = Client::find(&options.target)?.call::<AgentsAbort>(&request).await?;
            if options.target.json {
                printer::json(&aborted);
            } else {
                printer::data(&aborted_line(&aborted));
            }
            Ok(())
        }
        AgentsCommand::Attach(options) => mounts::attach(options).await,
        AgentsCommand::Detach(options) => mounts::detach(options).await,
        AgentsCommand::Servers(options) => mounts::servers(options).await,
        AgentsCommand::Delete(options) => {
            let removed = Client::find(&options.target)?.call::<AgentsDelete>(&one(&options.id)).await?;
            let id = visible(&removed.id);
            let undo = format!("removed, and its tokens revoked; `octroi agents create {id}` makes it anew");
            done(&options.target, &removed, &undo);
            Ok(())
        }
    }
}

/// Prints an agent after a change: what has happened to it, or all of it for programs.
fn done(target: &Target, agent: &Agent, what: &str) {
    if target.json {
        printer::json(agent);
    } else {
        printer::data(&format!("{} {what}", visible(&agent.id)));
    }
}

fn aborted_line(aborted: &AbortedWork) -> String {
    let AbortedWork { agent_id, calls, approvals, tasks } = aborted;
    format!(
        "{} aborted: {}, {} that waited for approval, {}; `octroi agents stop {0}` keeps it from calling again",
        visible(agent_id),
        printer::count(*calls, "call"),
        printer::count(*approvals, "call"),
        printer::count(*tasks, "task"),
    )
}

fn create_request(options: &CreateAgent) -> CreateAgentRequest {
    CreateAgentRequest {
        agent_id: options.id.clone(),
        title: options.title.clone(),
        owner: options.owner.clone(),
        profile: options.profile.map(Into::into),
        mode: options.mode.map(Into::into),
        project: options.project.clone(),
        project_root: options.project_root.as_ref().map(|root| root.to_string_lossy().into_owned()),
        blacklist: options.blacklist.as_deref().map(tags),
        preset: options.preset.clone(),
    }
}

fn tags(tags: &[String]) -> Vec<String> {
    let tags = tags.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty());
    tags.map(str::to_owned).collect()
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
    UpdateAgentRequest {
        agent_id: options.id.clone(),
        title: options.title.clone(),
        owner: options.owner.clone(),
        profile: options.profile.map(Into::into),
        mode: options.mode.map(Into::into),
        project: options.project.clone(),
        project_root: options.project_root.as_ref().map(|root| root.to_string_lossy().into_owned()),
        spec_hash: options.freeze.clone(),
        unfreeze: options.unfreeze,
        blacklist: options.blacklist.as_deref().map(tags),
    }
}

/// One row for each agent.
fn table(agents: &[Agent]) -> Table {
    let mut table = Table::new(&[
        Column::text("id"),
        Column::text("owner"),
        Column::text("state"),
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
        let settings = &agent.settings;
        let frozen = settings.spec_hash.clone().filter(|_| settings.spec_frozen);
        table.row([
            Cell::new(&agent.id).styled(Style::new().bold()),
            Cell::new(&agent.owner),
            state(agent).into(),
            settings.profile.to_string().into(),
            settings.mode.to_string().into(),
            text(&settings.project),
            text(&settings.project_root),
            text(&frozen),
            text(&agent.set_by),
            settings.blacklist.join(", ").into(),
        ]);
    }
    table
}

/// What an agent is doing, in one word.
fn state(agent: &Agent) -> &'static str {
    match (&agent.paused, agent.activity.state.0) {
        (Some(_), _) => "paused",
        (None, RunState::Suspended) => "waiting",
        (None, RunState::Idle) => "idle",
        (None, RunState::Running) => "running",
    }
}

/// An agent in one line: its settings, without those that are at their default.
fn line(agent: &Agent) -> String {
    let settings = &agent.settings;
    let id = visible(&agent.id).bold().to_string();
    let mut parts = vec![id, settings.profile.to_string(), settings.mode.to_string()];
    parts.extend(agent.title.as_ref().map(|title| format!("“{}”", visible(title))));
    parts.extend(settings.project.as_ref().map(|project| format!("project {}", visible(project))));
    parts.extend(settings.project_root.as_ref().map(|root| format!("in {}", visible(root))));
    if settings.spec_frozen {
        let hash = settings.spec_hash.as_deref().unwrap_or_default();
        parts.push(format!("specification {} frozen", visible(hash)));
    }
    if !settings.blacklist.is_empty() {
        let tags: Vec<String> = settings.blacklist.iter().map(|tag| visible(tag)).collect();
        parts.push(format!("never {}", tags.join(", ")));
    }
    parts.extend(agent.paused.as_ref().map(|paused| format!("paused by {}", visible(&paused.by))));
    parts.extend(agent.set_by.as_ref().map(|person| format!("set by {}", visible(person))));
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use octroi_api::operations::agents::{AgentActivity, AgentCapabilities, AgentPause, AgentSettings};
    use octroi_core::agent::{Mode, Profile, RunPhase};

    use super::*;

    #[test]
    fn an_agent_is_one_line() {
        let mut agent = Agent {
            id: "coder".to_owned(),
            name: "coder".to_owned(),
            title: None,
            owner: "ana".to_owned(),
            settings: AgentSettings {
                profile: Profile::Guarded.into(),
                mode: Mode::Execution.into(),
                project: None,
                project_root: None,
                spec_hash: Some("abc".to_owned()),
                spec_frozen: false,
                blacklist: Vec::new(),
            },
            activity: AgentActivity {
                agent_mode: "bridge".to_owned(),
                live: false,
                state: RunState::Idle.into(),
                run_phase: RunPhase::Idle.into(),
                active_run_id: None,
                pending_approvals: 0,
                capabilities: AgentCapabilities::default(),
            },
            preset: None,
            system_prompt: None,
            configured: true,
            created_at: None,
            created_by: None,
            paused: None,
            set_at: None,
            set_by: None,
        };
        let plain = |agent: &Agent| anstream::adapter::strip_str(&line(agent)).to_string();
        assert_eq!(plain(&agent), "coder  guarded  execution");
        agent.settings.project = Some("house".to_owned());
        agent.settings.project_root = Some("/house\n".to_owned());
        agent.settings.spec_frozen = true;
        agent.settings.blacklist = vec!["fs.write".to_owned(), "network.http".to_owned()];
        agent.set_by = Some("admin".to_owned());
        assert_eq!(
            plain(&agent),
            "coder  guarded  execution  project house  in /house\\n  specification abc frozen  \
             never fs.write, network.http  set by admin"
        );
        assert_eq!(state(&agent), "idle");
        agent.activity.state = RunState::Suspended.into();
        assert_eq!(state(&agent), "waiting");
        agent.title = Some("My coder".to_owned());
        agent.paused = Some(AgentPause { at: "now".to_owned(), by: "ana".to_owned(), reason: None });
        assert_eq!(state(&agent), "paused");
        assert!(plain(&agent).contains("“My coder”") && plain(&agent).contains("paused by ana"));
    }
}
