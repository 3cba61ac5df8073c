//! What needs a person: gathered from approvals, pins, proposals, servers, tokens and the configuration.

use octroi_api::operations::NoArguments;
use octroi_api::operations::attention::{Attention, AttentionCount, AttentionItem, AttentionKind, FirstStep};
use octroi_core::name::Scope;
use octroi_core::{Health, Lifecycle, ServerKey};
use octroi_gateway::{ApprovalFilter, ApprovalPart, PolicyStatus};

use super::context::OperationContext;
use super::shape::count;
use super::{PENDING_MAX, activity, servers};
use crate::error::OperationError;

/// So many items of one kind are listed; all are counted.
const LISTED_MAX: usize = 100;
/// A token that ends within this time needs a successor.
const EXPIRING_MS: i64 = 7 * 24 * 3_600_000;
/// So many past approvals are looked at for one that a person decided.
const PAST_MAX: u32 = 50;

/// The items, and how many there are of each kind.
#[derive(Default)]
struct Gathered {
    items: Vec<AttentionItem>,
    counts: Vec<AttentionCount>,
}

impl Gathered {
    fn add(&mut self, kind: AttentionKind, mut items: Vec<AttentionItem>) {
        if !items.is_empty() {
            self.counts.push(AttentionCount { kind, n: count(items.len()) });
        }
        items.truncate(LISTED_MAX);
        self.items.extend(items);
    }
}

pub(crate) async fn list(context: &OperationContext, _: NoArguments) -> Result<Attention, OperationError> {
    let mut gathered = Gathered::default();
    gathered.add(AttentionKind::Approval, approvals(context).await?);
    gathered.add(AttentionKind::Pin, pins(context).await?);
    gathered.add(AttentionKind::Proposal, proposals(context).await?);
    gathered.add(AttentionKind::Configuration, configuration(context));
    gathered.add(AttentionKind::Server, failing_servers(context));
    gathered.add(AttentionKind::Token, expiring_tokens(context));
    gathered.add(AttentionKind::Problem, problems(context));
    let Gathered { items, counts } = gathered;
    Ok(Attention { items, counts, first_steps: first_steps(context).await? })
}

fn item(kind: AttentionKind, title: impl Into<String>) -> AttentionItem {
    AttentionItem {
        kind,
        id: None,
        title: title.into(),
        reason: None,
        agent: None,
        since_ms: None,
        until_ms: None,
    }
}

fn moment(at_ms: i64) -> Option<u64> {
    u64::try_from(at_ms).ok()
}

/// Calls that wait, those that end first before others.
async fn approvals(context: &OperationContext) -> Result<Vec<AttentionItem>, OperationError> {
    let filter = ApprovalFilter { part: ApprovalPart::Pending, agent: None };
    let mut pending = context.gateway.approvals().list(&filter, PENDING_MAX).await?;
    pending.retain(|approval| context.may_see_approval(approval));
    pending.sort_by_key(|approval| approval.expires_at_ms);
    let items = pending.into_iter().map(|approval| AttentionItem {
        id: Some(approval.id),
        reason: approval.reasons.into_iter().next(),
        agent: approval.binding.agent,
        since_ms: moment(approval.requested_at_ms),
        until_ms: moment(approval.expires_at_ms),
        ..item(AttentionKind::Approval, approval.binding.tool)
    });
    Ok(items.collect())
}

/// Whether somebody may act on a server: administrators on every one, others on their own.
fn may_act_on(context: &OperationContext, server: &ServerKey) -> bool {
    let person = context.principal();
    let is_own = matches!(&server.scope, Scope::User(owner) if **owner == **person.user());
    person.is_admin() || is_own
}

async fn pins(context: &OperationContext) -> Result<Vec<AttentionItem>, OperationError> {
    let mut held = context.gateway.registry().held_pins().await?;
    held.retain(|held| held.kept_out_by.is_none() && may_act_on(context, &held.server));
    let items = held.into_iter().map(|held| {
        let (server, kind) = (held.server.to_string(), held.kind.as_str());
        let title = if held.name.is_empty() {
            format!("{server}: instructions")
        } else {
            format!("{server}.{}", held.name)
        };
        AttentionItem {
            id: Some(format!("{server} {kind} {}", held.name).trim_end().to_owned()),
            reason: Some(held.reason),
            ..item(AttentionKind::Pin, title)
        }
    });
    Ok(items.collect())
}

async fn proposals(context: &OperationContext) -> Result<Vec<AttentionItem>, OperationError> {
    let mut found = context.gateway.governance().proposals(None).await?;
    found.retain(|one| one.status == PolicyStatus::Proposed && context.may_see(one.draft.level.agent()));
    let items = found.into_iter().map(|proposed| {
        let agent = proposed.draft.level.agent().map(str::to_owned);
        let title = format!("policy proposed by {}", proposed.draft.author);
        AttentionItem {
            id: Some(proposed.id.to_string()),
            reason: proposed.draft.rationale,
            agent,
            since_ms: moment(proposed.created_at_ms),
            ..item(AttentionKind::Proposal, title)
        }
    });
    Ok(items.collect())
}

/// Files and what they say are for administrators.
fn configuration(context: &OperationContext) -> Vec<AttentionItem> {
    let waiting = context.gateway.waiting_changes();
    if waiting.changes.is_empty() || !context.principal().is_admin() {
        return Vec::new();
    }
    let n_changes = waiting.changes.len();
    let title = match n_changes {
        1 => "1 change of the configuration waits to be accepted".to_owned(),
        n_changes => format!("{n_changes} changes of the configuration wait to be accepted"),
    };
    let reason = Some("`octroi reload` shows and accepts it".to_owned());
    vec![AttentionItem { id: waiting.digest.clone(), reason, ..item(AttentionKind::Configuration, title) }]
}

fn failing_servers(context: &OperationContext) -> Vec<AttentionItem> {
    let failing = servers::all(context).into_iter().filter(|server| {
        let is_bad = matches!(server.state.0, Lifecycle::Failed | Lifecycle::NeedsAuth)
            || (server.health.0 == Health::Unhealthy && server.state.0 != Lifecycle::Disabled);
        is_bad && ServerKey::parse(&server.name).is_some_and(|key| may_act_on(context, &key))
    });
    let items = failing.map(|server| {
        let title = format!("server {} is {}", server.name, server.state);
        AttentionItem { id: Some(server.name), reason: server.error, ..item(AttentionKind::Server, title) }
    });
    items.collect()
}

fn expiring_tokens(context: &OperationContext) -> Vec<AttentionItem> {
    let (person, now_ms) = (context.principal(), context.gateway.clock().now_ms());
    let tokens = context.gateway.identity().tokens().into_iter().filter(|token| {
        // One that has a successor is meant to end.
        token.is_valid
            && token.record.replaced_by.is_none()
            && (person.is_admin() || **person.user() == *token.record.user)
    });
    let ending = tokens.filter_map(|token| {
        let at_ms = token.record.expires_at_ms?;
        (at_ms.saturating_sub(now_ms) < EXPIRING_MS).then(|| AttentionItem {
            id: Some(token.record.id.clone()),
            reason: Some("`octroi token rotate` makes its successor".to_owned()),
            agent: token.record.agent.clone(),
            until_ms: moment(at_ms),
            ..item(
                AttentionKind::Token,
                format!("token {} of {} expires", token.record.label, token.record.user),
            )
        })
    });
    let mut ending: Vec<AttentionItem> = ending.collect();
    ending.sort_by_key(|token| token.until_ms);
    ending
}

fn problems(context: &OperationContext) -> Vec<AttentionItem> {
    if !context.principal().is_admin() {
        return Vec::new();
    }
    let problems = context.gateway.problems().into_iter();
    problems.map(|problem| item(AttentionKind::Problem, problem)).collect()
}

async fn first_steps(context: &OperationContext) -> Result<Vec<FirstStep>, OperationError> {
    let gateway = &context.gateway;
    let has_call = activity::is_any(context).await?;
    let has_client = || {
        let agents = gateway.governance().agents_of(context.principal().user());
        agents.iter().any(|agent| gateway.n_clients_of(agent) > 0)
    };
    let filter = ApprovalFilter { part: ApprovalPart::History, agent: None };
    let past = gateway.approvals().list(&filter, PAST_MAX).await?;
    let has_decision = past.iter().any(|past| past.decided_by.is_some() && context.may_see_approval(past));
    let step =
        |step: &str, done: bool, hint: &str| FirstStep { step: step.to_owned(), done, hint: hint.to_owned() };
    Ok(vec![
        step(
            "server_added",
            !gateway.servers().names_for(context.principal()).is_empty(),
            "add a server to octroi.toml",
        ),
        step("client_connected", has_call || has_client(), "connect a client with an agent's token"),
        step("call_seen", has_call, "have the agent call a tool"),
        step("decision_made", has_decision, "approve or deny a call that waits: `octroi approvals`"),
    ])
}
