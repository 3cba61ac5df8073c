//! Commands about sessions.

use octroi_api::operations::sessions::{
    CreateSessionRequest, ListSessionsRequest, Session, SessionRequest, SessionsClose, SessionsCreate,
    SessionsGetMcpConfig, SessionsList, SessionsSetMcpConfig, SetMcpConfigRequest,
};
use owo_colors::Style;

use crate::cli::sessions::{CreateSession, SessionCommand, SetSession};
use crate::client::Client;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::{Cell, Column, Table};

pub(super) async fn run(command: SessionCommand) -> Result<(), Failure> {
    match command {
        SessionCommand::List(options) => {
            let request = ListSessionsRequest { agent_id: options.agent, closed: options.all };
            let list = Client::find(&options.target)?.call::<SessionsList>(&request).await?;
            if options.target.json {
                printer::json(&list.sessions);
            } else if list.sessions.is_empty() {
                printer::say("there are no sessions; `octroi sessions create` begins one");
            } else {
                printer::table(&table(&list.sessions));
            }
            Ok(())
        }
        SessionCommand::Create(options) => create(options).await,
        SessionCommand::Set(options) => set(options).await,
        SessionCommand::Close(options) => {
            let request = SessionRequest { session_id: options.id };
            let session = Client::find(&options.target)?.call::<SessionsClose>(&request).await?;
            if options.target.json {
                printer::json(&session);
            } else {
                let id = visible(&session.id);
                printer::data(&format!(
                    "{id} closed, and its tokens revoked; `octroi sessions create` begins another"
                ));
            }
            Ok(())
        }
    }
}

async fn create(options: CreateSession) -> Result<(), Failure> {
    let CreateSession { agent, title, servers, target } = options;
    let request = CreateSessionRequest { agent_id: agent, title, enabled_servers: servers };
    let session = Client::find(&target)?.call::<SessionsCreate>(&request).await?;
    if target.json {
        printer::json(&session);
        return Ok(());
    }
    let id = visible(&session.id);
    printer::data(&id);
    printer::say(&format!("  {}; undo with `octroi sessions close {id}`", servers_of(&session)));
    let agent = session.agent_id.as_deref().map_or("NAME".into(), visible);
    printer::say(&format!("  a token for it: octroi token create --agent {agent} --session {id}"));
    Ok(())
}

async fn set(options: SetSession) -> Result<(), Failure> {
    let SetSession { id, servers, every: _, target } = options;
    let client = Client::find(&target)?;
    let before = client
        .call::<SessionsGetMcpConfig>(&SessionRequest { session_id: id.clone() })
        .await?
        .enabled_servers;
    let request = SetMcpConfigRequest { session_id: id, enabled_servers: servers };
    let config = client.call::<SessionsSetMcpConfig>(&request).await?;
    if target.json {
        printer::json(&config);
        return Ok(());
    }
    let id = visible(&config.session_id);
    let undo = match &before {
        Some(before) if !before.is_empty() => format!("--servers {}", visible(&before.join(","))),
        Some(_) => "--servers ''".to_owned(),
        None => "--every".to_owned(),
    };
    let now = names(config.enabled_servers.as_deref());
    printer::data(&format!("{id} uses {now}; undo with `octroi sessions set {id} {undo}`"));
    Ok(())
}

fn servers_of(session: &Session) -> String {
    format!("uses {}", names(session.enabled_servers.as_deref()))
}

fn names(servers: Option<&[String]>) -> String {
    match servers {
        None => "all servers of its agent".to_owned(),
        Some([]) => "no server".to_owned(),
        Some(servers) => visible(&servers.join(", ")),
    }
}

fn table(sessions: &[Session]) -> Table {
    let mut table = Table::new(&[
        Column::text("session"),
        Column::text("user"),
        Column::text("agent"),
        Column::text("state"),
        Column::text("created_at"),
        Column::sentence("servers"),
    ]);
    for session in sessions {
        table.row([
            Cell::new(&session.id).styled(Style::new().bold()),
            Cell::new(&session.user),
            Cell::new(session.agent_id.as_deref().unwrap_or("any")),
            Cell::new(&session.state),
            Cell::new(&session.created_at),
            names(session.enabled_servers.as_deref()).into(),
        ]);
    }
    table
}
