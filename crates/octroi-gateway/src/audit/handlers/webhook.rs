//! Posts events as a JSON array.

use bytes::Bytes;
use octroi_core::server::Remote;
use octroi_upstream::{HttpClient, PostTarget};

use super::delivery::Delivery;
use super::error::HandlerError;
use super::{AuditHandler, Handling};

/// An HTTP endpoint for arrays of events.
pub(super) struct Webhook {
    target: PostTarget,
}

impl Webhook {
    pub(super) fn new(client: &HttpClient, remote: &Remote) -> Result<Self, HandlerError> {
        Ok(Self { target: PostTarget::new(client, remote)? })
    }
}

impl AuditHandler for Webhook {
    fn handle<'a>(&'a self, events: &'a [Delivery]) -> Handling<'a> {
        Box::pin(async move {
            let events: Vec<String> = events.iter().map(Delivery::to_json).collect();
            accepted(self.target.post(Bytes::from(format!("[{}]", events.join(",")))).await?)
        })
    }
}

/// Anything but success is retried: a receiver that refuses now may be fixed later.
pub(super) fn accepted(status: u16) -> Result<(), HandlerError> {
    if (200..300).contains(&status) { Ok(()) } else { Err(HandlerError::Status(status)) }
}
