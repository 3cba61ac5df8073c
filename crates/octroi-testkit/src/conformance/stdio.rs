//! The fixture over stdin and stdout.

use std::borrow::Cow;
use std::io;

use rmcp::model::{
    ClientNotification, ClientRequest, DiscoverRequestMethod, ProtocolVersion, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, Service};
use rmcp::transport::stdio;
use rmcp::{ErrorData, RoleServer, ServiceExt};

use super::asking::Asks;
use super::era::Era;
use super::fixture::{Fixture, FixtureSession};

/// Serves one client on stdin and stdout until it closes them.
pub async fn serve_stdio(era: Era, asks: Asks) -> io::Result<()> {
    let session = Fixture::new(era, asks).session();
    match era {
        Era::Both | Era::Modern => serve(session).await,
        Era::Legacy => serve(LegacyOnly(session)).await,
    }
}

async fn serve<S: Service<RoleServer>>(service: S) -> io::Result<()> {
    let running = service.serve(stdio()).await.map_err(io::Error::other)?;
    running.waiting().await.map_err(io::Error::other)?;
    Ok(())
}

/// Does not know `server/discover`, by which a client recognizes a legacy server on stdio.
struct LegacyOnly(FixtureSession);

impl Service<RoleServer> for LegacyOnly {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        match request {
            ClientRequest::DiscoverRequest(_) => Err(ErrorData::method_not_found::<DiscoverRequestMethod>()),
            request => self.0.handle_request(request, context).await,
        }
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}
