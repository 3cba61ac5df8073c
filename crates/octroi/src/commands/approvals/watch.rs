//! `octroi approvals --watch`: follows calls that wait for approval.
//!
//! Subscribes to the list of pending approvals and reads it again when it changes. What was missed while the gateway
//! was away is found in the list.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use octroi_api::operations::approvals::{
    Approval, ApprovalRequest, ApprovalsGet, ApprovalsList, ApprovalsPart, ListApprovalsRequest,
};
use octroi_api::{ErrorCode, Exit, ResourceUri};
use serde_json::{Value, json};

use super::render::{settled_line, summary_lines};
use crate::cli::approvals::ListApprovals;
use crate::client::Client;
use crate::clock;
use crate::commands::run::stop_signal;
use crate::failure::Failure;
use crate::printer;

/// How long to wait before a gateway that is gone is looked for again.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// More calls than this are not followed at once; the oldest appear once others are decided.
const FOLLOWED_MAX: u64 = 1000;

/// Follows until Ctrl-C, or until nobody reads the output.
pub(super) async fn run(options: &ListApprovals) -> Result<(), Failure> {
    let mut stop = pin!(stop_signal());
    let mut watch = Watch { options, waiting: BTreeSet::new(), has_begun: false, is_lost: false };
    loop {
        let ended = tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            ended = watch.follow() => ended,
        };
        match ended {
            Ok(Ended::NobodyReads) => return Ok(()),
            Ok(Ended::StreamEnded) => watch.lost("the gateway ended the stream"),
            Err(failure) if failure.exit == Exit::Unreachable && watch.has_begun => {
                watch.lost(&failure.message)
            }
            Err(failure) => return Err(failure),
        }
        tokio::select! {
            biased;
            () = &mut stop => return Ok(()),
            () = tokio::time::sleep(TRY_AGAIN) => {}
        }
    }
}

/// Why following ended.
enum Ended {
    /// The gateway ended the stream, as it does when it stops.
    StreamEnded,
    /// The output was closed.
    NobodyReads,
}

struct Watch<'a> {
    options: &'a ListApprovals,
    /// The calls that were printed and still wait.
    waiting: BTreeSet<String>,
    has_begun: bool,
    is_lost: bool,
}

impl Watch<'_> {
    /// Follows one connection to its end. The gateway is looked up anew: it may have another address.
    async fn follow(&mut self) -> Result<Ended, Failure> {
        let client = Client::find(&self.options.target)?;
        let mut changes = client.listen(&[ResourceUri::PendingApprovals.to_string()]).await?;
        if std::mem::take(&mut self.is_lost) && !self.event("gateway_back", "the gateway is back") {
            return Ok(Ended::NobodyReads);
        }
        if !std::mem::replace(&mut self.has_begun, true) && !self.options.target.json {
            printer::say("following calls that wait for approval; Ctrl-C ends it");
        }
        loop {
            if !self.look(&client).await? {
                return Ok(Ended::NobodyReads);
            }
            if !changes.next().await? {
                return Ok(Ended::StreamEnded);
            }
        }
    }

    /// Prints what changed since the last look; `false` if nobody reads it.
    async fn look(&mut self, client: &Client) -> Result<bool, Failure> {
        let request = ListApprovalsRequest {
            agent_id: self.options.agent.clone(),
            part: Some(ApprovalsPart::Pending),
            limit: Some(FOLLOWED_MAX),
        };
        let pending = client.call::<ApprovalsList>(&request).await?.approvals;
        let now: BTreeSet<String> = pending.iter().map(|approval| approval.id.clone()).collect();
        for id in self.waiting.difference(&now).cloned().collect::<Vec<_>>() {
            let settled = match client.call::<ApprovalsGet>(&ApprovalRequest { id: id.clone() }).await {
                Ok(approval) => Some(approval),
                Err(failure) if failure.code == Some(ErrorCode::NotFound) => None,
                Err(failure) => return Err(failure),
            };
            self.waiting.remove(&id);
            if let Some(approval) = settled
                && !self.print("settled", &approval, &[settled_line(&approval)])
            {
                return Ok(false);
            }
        }
        let now_ms = clock::system().now_ms();
        // The oldest first, as they came.
        for approval in pending.iter().rev() {
            if self.waiting.insert(approval.id.clone())
                && !self.print("waiting", approval, &summary_lines(approval, now_ms))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn print(&self, event: &str, approval: &Approval, lines: &[String]) -> bool {
        if self.options.target.json {
            return printer::is_still_read(&printer::json_text(
                &json!({"event": event, "approval": approval}),
            ));
        }
        lines.iter().all(|line| printer::is_still_read(line))
    }

    /// Reports once that the gateway is gone.
    fn lost(&mut self, why: &str) {
        if !std::mem::replace(&mut self.is_lost, true) {
            self.event("gateway_gone", &format!("{why}; waiting until it is back"));
        }
    }

    /// A change of the connection: in the output for programs, a message for people.
    fn event(&self, event: &str, text: &str) -> bool {
        if self.options.target.json {
            let line: Value = json!({"event": event});
            return printer::is_still_read(&printer::json_text(&line));
        }
        printer::warn(text);
        true
    }
}
