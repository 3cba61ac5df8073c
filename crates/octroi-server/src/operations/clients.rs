//! Handlers of operations about the clients that are connected.

use octroi_api::operations::NoArguments;
use octroi_api::operations::clients::{Client, ClientList, ClientProgram};
use octroi_core::PrincipalKind;
use octroi_core::principal::TokenKind;
use octroi_gateway::ConnectedClient;
use octroi_mcp::Era;
use serde_json::Value;

use super::context::OperationContext;
use super::shape::count;
use crate::error::OperationError;

/// So many characters of what a client says about itself are shown.
const SHOWN: usize = 200;

pub(crate) async fn list(context: &OperationContext, _: NoArguments) -> Result<ClientList, OperationError> {
    let reader = context.principal();
    let mut clients = context.gateway.clients().list();
    clients.retain(|client| reader.is_admin() || client.principal.user() == reader.user());
    Ok(ClientList { count: count(clients.len()), clients: clients.into_iter().map(describe).collect() })
}

fn describe(client: ConnectedClient) -> Client {
    let moment = |at_ms: i64| u64::try_from(at_ms).unwrap_or_default();
    let kind = match client.principal.kind() {
        PrincipalKind::Person => TokenKind::Human,
        PrincipalKind::Agent => TokenKind::Agent,
        PrincipalKind::Session => TokenKind::Session,
        PrincipalKind::Service => TokenKind::Service,
    };
    let era = match client.era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    };
    Client {
        id: client.id,
        program: program(client.info.as_deref().unwrap_or_default()),
        kind: kind.into(),
        user: client.principal.user().to_string(),
        agent: client.principal.agent_id().map(ToString::to_string),
        era: era.to_owned(),
        transport: client.transport.to_owned(),
        session: client.session.as_deref().map(str::to_owned),
        since_ms: moment(client.since_ms),
        last_request_ms: moment(client.last_ms),
        requests: client.n_requests,
        in_flight: client.n_in_flight,
        streams: client.n_streams,
        subscriptions: count(client.n_watched),
    }
}

/// What a client says about itself. Anything may be there.
fn program(info: &[u8]) -> ClientProgram {
    let info: Value = serde_json::from_slice(info).unwrap_or_default();
    let text = |name: &str| {
        let text = info.get(name)?.as_str()?;
        Some(text.chars().take(SHOWN).collect::<String>())
    };
    ClientProgram { name: text("name"), title: text("title"), version: text("version") }
}
