//! Subscriptions to resources of servers: decided and recorded like reading them.

use octroi_core::audit::{Ruling, SourceType};
use octroi_core::config::DenialStyle;
use octroi_core::{Decision, Principal};
use octroi_mcp::{Method, RpcError};
use octroi_upstream::leave_worker;
use tracing::error;

use super::Pipeline;
use crate::answer::Answer;
use crate::audit_recorder::{DescribedRequest, Initiator, OtherParams};
use crate::catalogue::is_long;
use crate::denial;
use crate::governance::Pausing;
use crate::outcome::RecordedOutcome;
use crate::subscriptions::Listener;

impl Pipeline {
    /// Subscribes a client to a resource; returns once the server knows.
    pub(crate) async fn watch(
        &self,
        principal: &Principal,
        listener: &Listener,
        uri: &str,
    ) -> Result<(), RpcError> {
        if self.servers.watch_own(listener, uri).await {
            return Ok(());
        }
        if is_long(uri) {
            leave_worker().await;
        }
        let (upstream, own) = self.servers.watchable(listener, uri)?;
        let spec = upstream.spec();
        let catalogue = self.registry.catalogue();
        let held = catalogue.offer(&spec.key).and_then(|offer| offer.held_resource(&own));
        let switched_off = self.servers.switched_off_for(principal, &spec.key);
        let (switched_off, held) = (switched_off.as_ref(), held.as_deref());
        let decision = self.governance.decide_other(principal, Pausing::Stops, &spec.key, switched_off, held);
        let (initiator, server, at_ms) = (Initiator::of(principal), spec.key.to_string(), self.now_ms());
        let described = DescribedRequest {
            call: self.recorder.call_id(at_ms),
            initiator: &initiator,
            server: &server,
            source: SourceType::Mcp,
            project: self.governance.context(principal).project.clone(),
            method: Method::ResourcesSubscribe.as_str(),
            subject: ("uri", &own),
            completed: None,
            arguments: None,
            others: OtherParams::default(),
            at_ms,
        };
        let record = match decision {
            Decision::Allow(permit) => self.recorder.begin_request(described, permit.trace()).await,
            Decision::Ask(_) => {
                return Err(error_of(denial::unaskable()));
            }
            Decision::Deny(denied) => {
                let reason = (denied.gate.as_str(), denied.reason.as_str());
                let ruling = if denied.is_abort { Ruling::DenyAbort } else { Ruling::DenyContinue };
                if let Err(error) =
                    self.recorder.deny_request(&described, denied.trace(), reason, ruling).await
                {
                    error!(%error, hint = error.hint(), "a denial was not recorded");
                }
                return Err(error_of(denial::denied(&denied, DenialStyle::Rpc)));
            }
        };
        let record = record.map_err(|error| error_of(denial::unrecorded(&error)))?;
        let watched = self.servers.watch(listener, &upstream, &own).await;
        let outcome = if watched.is_ok() { RecordedOutcome::Completed } else { RecordedOutcome::Failed };
        record.end(outcome.as_str(), None).await;
        watched
    }
}

fn error_of(answer: Answer) -> RpcError {
    match answer {
        Answer::Error(error) => error,
        Answer::Result(_) | Answer::ErrorJson { .. } => {
            RpcError::invalid_params("the subscription was refused")
        }
    }
}
