//! Alerts on the terminal of `octroi up`: calls that wait for approval, what became of them, and quarantined definitions.

use std::time::Duration;

use octroi_core::approval::ApprovalState;
use octroi_gateway::{Alert, QuarantinedDefinition, WaitingCall};
use owo_colors::OwoColorize as _;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::printer::{self, visible};

/// How long the first alert waits for others, so that many are told together.
const GATHERING: Duration = Duration::from_millis(200);
/// How many calls, outcomes or definitions are printed at once; the rest is counted.
const PRINTED_MAX: usize = 3;

/// Prints alerts until the gateway ends. `program` is how a person runs Octroi for this data directory: what comes
/// before the command and after it.
pub(super) async fn print(mut alerts: Receiver<Alert>, program: (&str, &str)) {
    loop {
        let mut batch = Batch::default();
        match alerts.recv().await {
            Ok(alert) => batch.add(alert),
            Err(RecvError::Lagged(n_missed)) => batch.n_missed += n_missed,
            Err(RecvError::Closed) => return std::future::pending().await,
        }
        tokio::time::sleep(GATHERING).await;
        loop {
            match alerts.try_recv() {
                Ok(alert) => batch.add(alert),
                Err(TryRecvError::Lagged(n_missed)) => batch.n_missed += n_missed,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        batch.lines(program).iter().for_each(|line| printer::say(line));
    }
}

/// Alerts of the same moment.
#[derive(Default)]
struct Batch {
    waiting: Vec<std::sync::Arc<WaitingCall>>,
    settled: Vec<std::sync::Arc<WaitingCall>>,
    quarantined: Vec<std::sync::Arc<QuarantinedDefinition>>,
    n_missed: u64,
}

impl Batch {
    fn add(&mut self, alert: Alert) {
        match alert {
            Alert::CallWaits(call) => self.waiting.push(call),
            Alert::CallSettled(call) => self.settled.push(call),
            Alert::Quarantined(definition) => self.quarantined.push(definition),
        }
    }

    fn lines(&self, program: (&str, &str)) -> Vec<String> {
        let mut lines = Vec::new();
        for call in self.waiting.iter().take(PRINTED_MAX) {
            lines.extend(waiting_lines(call, program));
        }
        let n_more = self.waiting.len().saturating_sub(PRINTED_MAX) as u64 + self.n_missed;
        if n_more > 0 {
            let calls = if n_more == 1 {
                "1 more call waits".to_owned()
            } else {
                format!("{n_more} more calls wait")
            };
            lines.push(format!("  {calls} for approval: {}", command("approvals", program)));
        }
        lines.extend(self.settled.iter().take(PRINTED_MAX).map(|call| settled_line(call)));
        match self.settled.len().saturating_sub(PRINTED_MAX) {
            0 => {}
            n_more => lines.push(format!("  {} decided", printer::count(n_more, "more call"))),
        }
        for one in self.quarantined.iter().take(PRINTED_MAX) {
            let QuarantinedDefinition { server, kind, name, reason } = &**one;
            let name = visible(name);
            lines.push(format!("  {} {kind} `{server}.{name}`: {}", "quarantined".yellow(), visible(reason)));
        }
        match self.quarantined.len().saturating_sub(PRINTED_MAX) {
            0 => {}
            n_more => {
                let more = printer::count(n_more, "more definition");
                lines.push(format!("  {more} quarantined: {}", command("pins", program)));
            }
        }
        lines
    }
}

fn waiting_lines(call: &WaitingCall, program: (&str, &str)) -> Vec<String> {
    let mut lines = vec![format!("  {} {}: {}", "waits".yellow().bold(), call.caller, call.sentence())];
    lines.extend(call.page.as_ref().map(|page| format!("        {}", page.cyan())));
    lines.push(format!("        {}", command(&format!("approve {}", call.id), program)));
    lines
}

fn settled_line(call: &WaitingCall) -> String {
    let word = match call.state {
        ApprovalState::Approved => "approved".green().to_string(),
        ApprovalState::DeniedContinue | ApprovalState::DeniedAbort => "denied".red().to_string(),
        state => state.as_str().to_owned(),
    };
    let by = call.decided_by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
    let edited = if call.edited { ", with other arguments" } else { "" };
    let reason = call.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("  {word}{by} {} of {}{edited}{reason}", call.tool, call.caller)
}

/// A command line of this program.
fn command(words: &str, (before, after): (&str, &str)) -> String {
    format!("{before} {words}{after}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn call(id: &str) -> Arc<WaitingCall> {
        Arc::new(WaitingCall {
            id: id.to_owned(),
            caller: "coder".to_owned(),
            tool: "demo.write_note".to_owned(),
            risk: "medium".to_owned(),
            reasons: vec!["`demo.write_note` writes files; profile `guarded` asks before writes".to_owned()],
            arguments: "{}".to_owned(),
            page: Some(format!("http://127.0.0.1:7878/approvals/{id}")),
            requested_at_ms: 0,
            expires_at_ms: 1,
            state: ApprovalState::Pending,
            decided_by: None,
            reason: None,
            edited: false,
        })
    }

    fn shown(batch: &Batch) -> String {
        let lines = batch.lines(("octroi", " --data x"));
        anstream::adapter::strip_str(&lines.join("\n")).to_string()
    }

    /// The same below a line that is not indented, so that the indentation of the others is compared.
    fn below_a_line(batch: &Batch) -> String {
        format!("terminal\n{}", shown(batch))
    }

    #[test]
    fn a_call_says_where_to_decide() {
        let batch = Batch { waiting: vec![call("ap_a")], ..Batch::default() };
        expect_test::expect![[r"
            terminal
              waits coder: `demo.write_note` writes files; profile `guarded` asks before writes
                    http://127.0.0.1:7878/approvals/ap_a
                    octroi approve ap_a --data x"]]
        .assert_eq(&below_a_line(&batch));
        let denied = WaitingCall {
            state: ApprovalState::DeniedContinue,
            decided_by: Some("ann".to_owned()),
            reason: Some("not today".to_owned()),
            ..(*call("ap_a")).clone()
        };
        let edited =
            WaitingCall { state: ApprovalState::Approved, edited: true, reason: None, ..denied.clone() };
        let expired = WaitingCall { state: ApprovalState::Expired, ..(*call("ap_a")).clone() };
        let settled = vec![Arc::new(denied), Arc::new(edited), Arc::new(expired)];
        expect_test::expect![[r"
            terminal
              denied by ann demo.write_note of coder: not today
              approved by ann demo.write_note of coder, with other arguments
              expired demo.write_note of coder"]]
        .assert_eq(&below_a_line(&Batch { settled, ..Batch::default() }));
    }

    #[test]
    fn many_are_counted() {
        let waiting: Vec<_> = (0..500).map(|_| call("ap_a")).collect();
        let text = shown(&Batch { waiting, n_missed: 3, ..Batch::default() });
        assert_eq!(text.lines().count(), 3 * 3 + 1);
        assert!(text.ends_with("500 more calls wait for approval: octroi approvals --data x"), "{text}");
    }
}
