//! Following resources: a stream that says when one has changed.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use octroi_mcp::client::request;
use octroi_mcp::sse::EventReader;
use octroi_mcp::{Envelope, Method};
use serde_json::{Map, json};

use super::{COMMAND_LINE, Client, unreachable};
use crate::failure::Failure;

/// The longest notification.
const EVENT_BYTES: usize = 1 << 20;

/// A stream of changes.
pub(crate) struct ChangeStream<'a> {
    client: &'a Client,
    body: Incoming,
    reader: EventReader,
}

impl Client {
    /// Follows resources. Returns once the gateway follows them, so that nothing that is read afterwards is missed.
    pub(crate) async fn listen(&self, uris: &[String]) -> Result<ChangeStream<'_>, Failure> {
        let requested = json!({"resourceSubscriptions": uris});
        let params = Map::from_iter([("notifications".to_owned(), requested)]);
        let response = self.open(request(&Method::Listen, params, COMMAND_LINE)).await?;
        let body = response.into_body();
        let mut stream = ChangeStream { client: self, body, reader: EventReader::new(EVENT_BYTES) };
        match stream.message().await? {
            Some(first) if *first.method() == Method::Acknowledged => Ok(stream),
            Some(_) | None => Err(Failure::new(format!("the gateway at {} does not send changes", self.url))
                .hint("the gateway may be of another version; `octroi --version` prints this one's")),
        }
    }
}

impl ChangeStream<'_> {
    /// Waits until something has changed, and takes all changes that came at the same moment; `false` if the gateway
    /// ended the stream.
    pub(crate) async fn next(&mut self) -> Result<bool, Failure> {
        loop {
            let Some(message) = self.message().await? else {
                return Ok(false);
            };
            if *message.method() == Method::ResourceUpdated {
                // The list that is read next shows all of them.
                while self.reader.next_event().is_some() {}
                return Ok(true);
            }
            if message.result().is_some() {
                return Ok(false);
            }
        }
    }

    /// The next message; `None` at the end. Keep-alives are no messages.
    async fn message(&mut self) -> Result<Option<Envelope>, Failure> {
        loop {
            while let Some(event) = self.reader.next_event() {
                if let Ok(message) = Envelope::parse(event.data) {
                    return Ok(Some(message));
                }
            }
            let chunk: Bytes = match self.body.frame().await {
                None => return Ok(None),
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
                // A gateway that is killed ends the stream like this.
                Some(Err(error)) => return Err(unreachable(&self.client.url, &error)),
            };
            self.reader.push(&chunk).map_err(|error| super::unreadable(&error))?;
        }
    }
}
