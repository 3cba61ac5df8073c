//! Commands about calls that wait for approval.

use octroi_api::operations::approvals::{
    AgentsApproveRequest, AgentsDenyRequest, ApprovalRequest, ApprovalsGet, ApprovalsList, ApprovalsPart,
    ApprovalsReveal, ApproveRequest, Decided, DecidedApproval, DenyMode, DenyRequest, ListApprovalsRequest,
    RevealRequest,
};
use octroi_core::approval::ApprovalState;
use octroi_core::arguments::read;
use serde_json::Value;

use crate::cli::approvals::{
    Approvals, ApprovalsCommand, Approve, DecisionOptions, Deny, ListApprovals, OneApproval,
};
use crate::client::{Client, unreadable};
use crate::clock;
use crate::failure::Failure;
use crate::printer::{self, visible};
use crate::table::line_width;

mod render;
mod watch;

pub(super) use render::waiting_lines;
use render::{ArgumentLength, detail_lines, list_lines, revealed_lines, time_left, tool_name};

pub(super) async fn run(approvals: &Approvals) -> Result<(), Failure> {
    match &approvals.command {
        Some(ApprovalsCommand::Show(one)) => show(one).await,
        None if approvals.options.watch => watch::run(&approvals.options).await,
        None => list(&approvals.options).await,
    }
}

async fn list(options: &ListApprovals) -> Result<(), Failure> {
    let part = options.part();
    let request =
        ListApprovalsRequest { agent_id: options.agent.clone(), part: Some(part), ..Default::default() };
    let approvals = Client::find(&options.target)?.call::<ApprovalsList>(&request).await?.approvals;
    if options.target.json {
        printer::json(&approvals);
        return Ok(());
    }
    if approvals.is_empty() {
        let of_agent = options.agent.as_ref().map(|agent| format!(" of agent {agent}")).unwrap_or_default();
        let is_pending = part == ApprovalsPart::Pending;
        printer::say(&if is_pending {
            format!("no call{of_agent} waits for approval")
        } else {
            format!("there are no approvals{of_agent}")
        });
        return Ok(());
    }
    let now_ms = clock::system().now_ms();
    for line in list_lines(&approvals, now_ms, line_width()) {
        printer::data(&line);
    }
    if approvals.iter().any(|approval| approval.state.0 == ApprovalState::Pending) {
        printer::say(
            "`octroi approvals show ID` shows all of one; decide with `octroi approve ID` or `octroi deny ID`",
        );
    }
    Ok(())
}

async fn show(one: &OneApproval) -> Result<(), Failure> {
    let client = Client::find(&one.target)?;
    if !one.reveal.is_empty() {
        return reveal(&client, one).await;
    }
    let approval = client.call::<ApprovalsGet>(&ApprovalRequest { id: one.id.clone() }).await?;
    if one.target.json {
        printer::json(&approval);
        return Ok(());
    }
    let length = if one.all { ArgumentLength::Whole } else { ArgumentLength::Folded };
    for line in detail_lines(&approval, length) {
        printer::data(&line);
    }
    if !approval.masked.is_empty() {
        printer::say(&format!("see a masked value with `octroi approvals show {} --reveal PATH`", one.id));
    }
    if approval.state.0 == ApprovalState::Pending {
        printer::say(&format!("decide with `octroi approve {0}` or `octroi deny {0}`", one.id));
    }
    Ok(())
}

/// Shows masked values, each of which leaves a record.
async fn reveal(client: &Client, one: &OneApproval) -> Result<(), Failure> {
    let mut revealed = Vec::with_capacity(one.reveal.len());
    for path in &one.reveal {
        let request = RevealRequest { id: one.id.clone(), path: path.clone() };
        revealed.push(client.call::<ApprovalsReveal>(&request).await?);
    }
    if one.target.json {
        printer::json(&revealed);
        return Ok(());
    }
    for line in revealed.iter().flat_map(revealed_lines) {
        printer::data(&line);
    }
    Ok(())
}

pub(super) async fn approve(options: &Approve) -> Result<(), Failure> {
    let decision = &options.decision;
    let request = ApproveRequest {
        call_id: decision.id.clone(),
        reason: decision.reason.clone(),
        arguments_json: options.args.as_deref().map(edited_arguments).transpose()?,
        remember: decision.remember.map(Into::into),
        until: decision.until.clone(),
        ..Default::default()
    };
    let client = Client::find(&decision.target)?;
    if request.remember.is_some() {
        // A preview decides nothing, so it needs no reason.
        let preview = ApproveRequest { reason: None, preview: true, ..request.clone() };
        confirm_rule(decision, client.call::<AgentsApproveRequest>(&preview).await?)?;
    }
    let decided = expect_decided(client.call::<AgentsApproveRequest>(&request).await?)?;
    if decision.target.json {
        printer::json(&decided);
        return Ok(());
    }
    let approval = &decided.approval;
    printer::data(&format!(
        "{} approved: {} may be called once{}, within {}",
        decision.id,
        visible(&tool_name(&approval.tool)),
        if approval.edited { " with your arguments" } else { "" },
        time_left(approval, clock::system().now_ms()),
    ));
    if let Some(warning) = &decided.warning {
        printer::warn(warning);
    }
    Ok(())
}

pub(super) async fn deny(options: &Deny) -> Result<(), Failure> {
    let decision = &options.decision;
    let request = DenyRequest {
        call_id: decision.id.clone(),
        mode: Some(if options.abort { DenyMode::Abort } else { DenyMode::Continue }),
        reason: decision.reason.clone(),
        remember: decision.remember.map(Into::into),
        until: decision.until.clone(),
        ..Default::default()
    };
    let client = Client::find(&decision.target)?;
    if request.remember.is_some() {
        let preview = DenyRequest { reason: None, preview: true, ..request.clone() };
        confirm_rule(decision, client.call::<AgentsDenyRequest>(&preview).await?)?;
    }
    let decided = expect_decided(client.call::<AgentsDenyRequest>(&request).await?)?;
    if decision.target.json {
        printer::json(&decided);
        return Ok(());
    }
    let then = if options.abort { "the agent has to stop" } else { "the agent continues without it" };
    printer::data(&format!("{} denied; {then}", decision.id));
    Ok(())
}

/// The arguments that replace those of the call, as they were typed.
fn edited_arguments(typed: &str) -> Result<String, Failure> {
    const EXAMPLE: &str = "write it like '{\"path\":\"/tmp/x\"}'";
    match read(typed.as_bytes()) {
        Ok(Value::Object(_)) => Ok(typed.to_owned()),
        read => {
            let problem = match serde_json::from_str(typed) {
                Ok(Value::Object(_)) => "--args cannot be used",
                Ok(_) => "--args must be a JSON object",
                Err(_) => "--args is not JSON",
            };
            let failure = Failure::usage(problem).hint(EXAMPLE);
            Err(match read {
                Err(error) => failure.cause(error),
                Ok(_) => failure,
            })
        }
    }
}

/// Shows the rule that a decision would create, and asks for confirmation.
fn confirm_rule(decision: &DecisionOptions, answer: Decided) -> Result<(), Failure> {
    let Decided::Preview(preview) = answer else {
        return Err(unreadable(&"a rule was expected"));
    };
    printer::say("this rule will be added to the policy:\n");
    for line in preview.rule.lines() {
        printer::say(&format!("    {}", visible(line)));
    }
    printer::say("");
    if decision.yes {
        return Ok(());
    }
    match printer::confirm("remember it?") {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::new("nothing was decided").hint("leave --remember out to decide once")),
        None => {
            Err(Failure::usage("cannot ask for confirmation without a terminal").hint("confirm with --yes"))
        }
    }
}

fn expect_decided(answer: Decided) -> Result<DecidedApproval, Failure> {
    match answer {
        Decided::Decided(decided) => Ok(*decided),
        Decided::Preview(_) => Err(unreadable(&"it is a rule instead of a decision")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object() {
        let long = "{\"account\": 12345678901234567890123}";
        assert_eq!(edited_arguments(long).unwrap(), long);
        for (typed, expected) in [
            ("[1]", "--args must be a JSON object"),
            ("{", "--args is not JSON"),
            (r#"{"a": 1, "a": 2}"#, "--args cannot be used"),
        ] {
            let failure = edited_arguments(typed).unwrap_err();
            assert_eq!((failure.message.as_str(), failure.exit.code()), (expected, 2));
        }
    }
}
