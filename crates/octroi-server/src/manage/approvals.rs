//! Tools and resources about calls that wait for a person.

use octroi_core::approval::Approval;
use octroi_core::time::show_time;
use octroi_gateway::{
    ApprovalFilter, ApprovalPart, Caller, Choice, Gateway, PeopleProblem, Remember, RememberScope, Until,
    approval_uri,
};
use octroi_mcp::RpcError;
use serde_json::{Value, json};

use super::servers::{Arguments, Tool, tool};
use super::{not_found, told, unavailable};

pub(super) const PENDING: &str = "resource://approvals/pending";
const ONE: &str = "resource://approvals/";
const AGENTS: &str = "resource://agents/";
/// How many are told at once.
const SHOWN_MAX: u32 = 100;
/// Nobody lets more than that wait; if somebody does, the oldest come up when the newest are decided.
const PENDING_MAX: u32 = 1000;

pub(super) const TEMPLATES: [(&str, &str, &str); 3] = [
    (
        "resource://agents/{agent_id}/approvals/pending",
        "pending approvals of an agent",
        "The calls of an agent that wait for a person",
    ),
    (
        "resource://agents/{agent_id}/approvals/history",
        "past approvals of an agent",
        "The newest hundred of an agent's calls about which a person was asked",
    ),
    ("resource://agents/{agent_id}/approvals/{id}", "approval", "One call about which a person was asked"),
];

type Argument = (&'static str, &'static str, bool, &'static str);

const ID: Argument = ("call_id", "string", true, "The approval, ap_…");
const AGENT: Argument = ("agent_id", "string", false, "The agent; must be the one that asked");
const REASON: Argument = ("reason", "string", false, "What to tell the agent and the history");
const ARGUMENTS: Argument =
    ("arguments", "object", false, "Other arguments to make the call with; it is decided again with them");
const REMEMBER: Argument =
    ("remember", "string", false, "Make a rule of it: `exact` for these very arguments, `tool` for any");
const UNTIL: Argument =
    ("until", "string", false, "How long the rule holds: a time like `8h`, or `forever` [default: 8h]");
const PREVIEW: Argument =
    ("preview", "boolean", false, "Only show the rule that `remember` would make; nothing is decided");

pub(super) const TOOLS: [Tool; 5] = [
    tool(
        "agents_decide_request",
        "Decide about a call that waits for a person. The first decision stands.",
        &[
            AGENT,
            ID,
            ("decision", "string", true, "approve, deny_continue or deny_abort"),
            REASON,
            ARGUMENTS,
            REMEMBER,
            UNTIL,
            PREVIEW,
        ],
        false,
    ),
    tool(
        "agents_approve_request",
        "Approve a call that waits: it can be made once, exactly as it was asked for.",
        &[AGENT, ID, REASON, ARGUMENTS, REMEMBER, UNTIL, PREVIEW],
        false,
    ),
    tool(
        "agents_deny_request",
        "Deny a call that waits. It is not made.",
        &[
            AGENT,
            ID,
            (
                "mode",
                "string",
                false,
                "continue: the agent goes on; abort: it should stop [default: continue]",
            ),
            REASON,
            REMEMBER,
            UNTIL,
            PREVIEW,
        ],
        false,
    ),
    tool(
        "approvals_list",
        "Calls about which a person was or is asked, the newest first.",
        &[
            ("agent_id", "string", false, "Only those of this agent"),
            ("part", "string", false, "pending, history or all [default: pending]"),
            ("limit", "integer", false, "How many at most [default: 100]"),
        ],
        true,
    ),
    tool(
        "approvals_get",
        "One call about which a person was or is asked.",
        &[("id", "string", true, "The approval, ap_…")],
        true,
    ),
];

pub(super) async fn run(
    gateway: &Gateway,
    caller: &Caller,
    tool: &str,
    arguments: &Arguments,
) -> Result<Value, String> {
    match tool {
        "approvals_list" => {
            let part =
                arguments.word("part", part, "pending, history or all")?.unwrap_or(ApprovalPart::Pending);
            let limit = u32::try_from(arguments.number("limit", SHOWN_MAX.into())).unwrap_or(u32::MAX);
            let filter = ApprovalFilter { part, agent: arguments.text("agent_id").map(str::to_owned) };
            let found = gateway.approvals(&filter, limit.min(PENDING_MAX)).await;
            let found = found.map_err(|problem| told(&problem))?;
            Ok(json!({"approvals": found.iter().map(shown).collect::<Vec<_>>(), "count": found.len()}))
        }
        "approvals_get" => {
            let found = gateway.approval(arguments.text("id").unwrap_or_default()).await;
            Ok(shown(&found.map_err(|problem| told(&problem))?))
        }
        "agents_approve_request" => decide(gateway, caller, arguments, Choice::Approve).await,
        "agents_deny_request" => {
            let mode = |word: &str| match word {
                "continue" => Some(Choice::DenyContinue),
                "abort" => Some(Choice::DenyAbort),
                _ => None,
            };
            let choice = arguments.word("mode", mode, "continue or abort")?;
            decide(gateway, caller, arguments, choice.unwrap_or(Choice::DenyContinue)).await
        }
        "agents_decide_request" => {
            let choice = arguments.word("decision", Choice::parse, "approve, deny_continue or deny_abort")?;
            let choice = choice.ok_or("`decision` is missing")?;
            decide(gateway, caller, arguments, choice).await
        }
        other => Err(format!("there is no tool `{other}`")),
    }
}

async fn decide(
    gateway: &Gateway,
    caller: &Caller,
    arguments: &Arguments,
    choice: Choice,
) -> Result<Value, String> {
    let id = arguments.text("call_id").unwrap_or_default();
    let by = &caller.principal;
    let edited = arguments.get("arguments");
    let scope = arguments.word("remember", RememberScope::parse, "exact or tool")?;
    let until = arguments.word("until", Until::parse, "a time like `8h`, or `forever`")?;
    let remember = scope.map(|scope| Remember { scope, until: until.unwrap_or_default() });
    if until.is_some() && remember.is_none() {
        return Err("`until` says how long to remember, so it needs `remember`".to_owned());
    }
    if let Some(agent) = arguments.text("agent_id") {
        let approval = gateway.approval(id).await.map_err(|problem| told(&problem))?;
        // Another agent's approval is as good as none: whoever wrote both meant something else.
        if approval.binding.agent.as_deref() != Some(agent) {
            return Err(told(&PeopleProblem::UnknownApproval(format!("{agent}/{id}"))));
        }
    }
    if arguments.is("preview") {
        let remember = remember.ok_or("`preview` shows the rule to remember, so it needs `remember`")?;
        let rule = gateway.remembered_rule(id, choice, by, edited, remember).await;
        return Ok(json!({"rule": rule.map_err(|problem| told(&problem))?}));
    }
    let reason = arguments.text("reason").map(str::to_owned);
    let decided = gateway.decide_approval(id, choice, by, reason, edited, remember).await;
    let decided = decided.map_err(|problem| told(&problem))?;
    let mut told = shown(&decided);
    if let Some(hindrance) = gateway.hindrance(&decided) {
        told["warning"] = json!(hindrance);
    }
    Ok(told)
}

fn part(word: &str) -> Option<ApprovalPart> {
    match word {
        "pending" => Some(ApprovalPart::Pending),
        "history" => Some(ApprovalPart::History),
        "all" => Some(ApprovalPart::All),
        _ => None,
    }
}

/// An approval as people see it: never with the arguments themselves.
fn shown(approval: &Approval) -> Value {
    let preview = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!(text));
    let time = |at_ms: Option<i64>| at_ms.map(show_time);
    json!({
        "id": approval.id,
        "call_id": approval.id,
        "invocation_id": approval.call_id,
        "agent_id": approval.binding.agent,
        "principal": approval.binding.principal,
        "tool": approval.binding.tool,
        "args": preview(&approval.arguments_preview),
        "risk": approval.risk,
        "side_effects": approval.side_effects,
        "reasons": approval.reasons,
        "requested_at": show_time(approval.requested_at_ms),
        "expires_at": show_time(approval.expires_at_ms),
        "state": approval.state.as_str(),
        "decided_at": time(approval.decided_at_ms),
        "decided_by": approval.decided_by,
        "reason": approval.decision_reason,
        "edited": approval.edited_arguments.is_some(),
        "remembered_rule": approval.remembered_rule,
        "claimed_at": time(approval.claimed_at_ms),
        "finished_at": time(approval.finished_at_ms),
        "outcome": approval.outcome,
    })
}

/// What a resource is about.
pub(super) enum Wanted<'a> {
    /// What waits, of one agent or of all.
    Pending(Option<&'a str>),
    /// What was decided about an agent's calls.
    History(&'a str),
    /// One approval, and whose it must be.
    One(Option<&'a str>, &'a str),
}

impl<'a> Wanted<'a> {
    pub(super) fn of(uri: &'a str) -> Option<Self> {
        if uri == PENDING {
            return Some(Self::Pending(None));
        }
        let is_name = |name: &str| !name.is_empty() && !name.contains('/');
        if let Some(id) = uri.strip_prefix(ONE) {
            return is_name(id).then_some(Self::One(None, id));
        }
        let (agent, what) = uri.strip_prefix(AGENTS)?.split_once("/approvals/")?;
        match what {
            _ if !is_name(agent) || !is_name(what) => None,
            "pending" => Some(Self::Pending(Some(agent))),
            "history" => Some(Self::History(agent)),
            id => Some(Self::One(Some(agent), id)),
        }
    }
}

pub(super) async fn read(gateway: &Gateway, uri: &str, wanted: &Wanted<'_>) -> Result<Value, RpcError> {
    let block = |uri: &str, value: &Value| json!({"uri": uri, "mimeType": "application/json", "text": value.to_string()});
    let failed = |problem: PeopleProblem| unavailable(told(&problem));
    let contents = match *wanted {
        Wanted::Pending(agent) => {
            let filter = ApprovalFilter { part: ApprovalPart::Pending, agent: agent.map(str::to_owned) };
            let pending = gateway.approvals(&filter, PENDING_MAX).await.map_err(failed)?;
            // Each under its own address, so that a client can tell which are new.
            pending.iter().map(|approval| block(&approval_uri(approval), &shown(approval))).collect()
        }
        Wanted::History(agent) => {
            let filter = ApprovalFilter { part: ApprovalPart::History, agent: Some(agent.to_owned()) };
            let past = gateway.approvals(&filter, SHOWN_MAX).await.map_err(failed)?;
            let shown: Vec<Value> = past.iter().map(shown).collect();
            let value = json!({"agent_id": agent, "count": shown.len(), "approvals": shown});
            vec![block(uri, &value)]
        }
        Wanted::One(agent, id) => {
            let found = match gateway.approval(id).await {
                Ok(found) => Some(found).filter(|found| found.binding.agent.as_deref() == agent),
                Err(PeopleProblem::UnknownApproval(_)) => None,
                Err(problem) => return Err(failed(problem)),
            };
            vec![block(uri, &shown(&found.ok_or_else(|| not_found(uri))?))]
        }
    };
    Ok(json!({ "contents": contents }))
}
