//! `octroi policy why` and `octroi policy explain`: how a call would be decided, and what is in effect.

use octroi_api::ErrorCode;
use octroi_api::operations::policies::{
    ExplainPolicyRequest, Explanation, PolicyExplain, PolicyInEffect, PolicySentences, PolicyWhy, WhyRequest,
};
use octroi_core::audit::Ruling;
use serde_json::Value;

use super::print;
use crate::cli::policy::{ExplainCall, ExplainPolicies};
use crate::client::Client;
use crate::commands::Failure;
use crate::printer;

pub(super) async fn explain_call(options: &ExplainCall) -> Result<(), Failure> {
    let Ok(Value::Object(arguments)) = serde_json::from_str(&options.arguments) else {
        return Err(Failure::usage(format!("`{}` is not a JSON object", options.arguments)).hint(format!(
            "write the arguments as in `octroi policy why {} '{{\"path\": \"/tmp\"}}'`",
            options.tool
        )));
    };
    let request = WhyRequest {
        tool: options.tool.clone(),
        arguments: Some(arguments),
        agent_id: options.agent.clone(),
        mode: options.mode.map(Into::into),
    };
    let answer = Client::find(&options.target)?.call::<PolicyWhy>(&request).await;
    let explanation = answer.map_err(|failure| match failure.code {
        Some(ErrorCode::NotFound | ErrorCode::ToolNotFound) => {
            failure.hint("`octroi tools` lists all tools, `octroi list` the servers")
        }
        _ => failure,
    })?;
    if options.target.json {
        printer::json(&explanation);
    } else {
        for line in call_lines(&explanation) {
            print(&line);
        }
    }
    exit_result(&explanation)
}

/// The exit code is that of the call: it is not zero if the call would be denied or need approval.
fn exit_result(explanation: &Explanation) -> Result<(), Failure> {
    let code = match explanation.decision.0 {
        Ruling::Allow => return Ok(()),
        Ruling::Ask => ErrorCode::ApprovalPending,
        Ruling::DenyContinue => ErrorCode::PolicyDeniedContinue,
        Ruling::DenyAbort => ErrorCode::PolicyDenied,
    };
    Err(Failure::answered(code, decision_line(explanation)))
}

fn decision_line(explanation: &Explanation) -> String {
    let reason = explanation.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{}{reason}", explanation.decision)
}

fn call_lines(explanation: &Explanation) -> Vec<String> {
    let or_none = |texts: Vec<String>| if texts.is_empty() { "none".to_owned() } else { texts.join(", ") };
    let policy = |policy: &PolicyInEffect| {
        let version = policy.version.map(|version| format!(" version {version}")).unwrap_or_default();
        format!("{}{version}", policy.level)
    };
    let Explanation { profile, mode, tool, .. } = explanation;
    let caller = explanation.agent.as_ref().map_or("a person".to_owned(), |agent| format!("agent {agent}"));
    let effects = or_none(tool.side_effects.clone());
    let policies = or_none(explanation.policies.iter().map(policy).collect());
    let mut lines = vec![
        format!("caller          {caller}, profile {profile}, mode {mode}"),
        format!(
            "tool            {}: {} risk, side effects {effects}, {} trust",
            tool.id, tool.risk, tool.trust
        ),
        format!("policies        {policies}"),
    ];
    for gate in &explanation.trace {
        let by = gate.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default();
        let reason = gate.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let answered = gate.answered_by.as_ref().map(|by| format!("; answered by {by}")).unwrap_or_default();
        lines.push(format!("{:<15} {}{by}{reason}{answered}", gate.gate, gate.outcome));
    }
    lines.push(decision_line(explanation));
    lines
}

pub(super) async fn explain_policies(options: &ExplainPolicies) -> Result<(), Failure> {
    let request = ExplainPolicyRequest { agent_id: options.agent.clone() };
    let sentences = Client::find(&options.target)?.call::<PolicyExplain>(&request).await?;
    if options.target.json {
        printer::json(&sentences);
        return Ok(());
    }
    let who = options.agent.as_ref().map_or("A person".to_owned(), |agent| format!("Agent {agent}"));
    for line in sentence_lines(&who, &sentences) {
        print(&line);
    }
    Ok(())
}

fn sentence_lines(who: &str, sentences: &PolicySentences) -> Vec<String> {
    let indented = |sentences: &[String]| {
        let sentences = sentences.iter().map(|sentence| format!("  {sentence}"));
        sentences.collect::<Vec<_>>()
    };
    let PolicySentences { profile, mode, .. } = sentences;
    let mut lines =
        vec![format!("{who} has the profile {profile} and is in mode {mode}."), "\nGates:".to_owned()];
    lines.extend(indented(&sentences.gates));
    for level in &sentences.levels {
        let version = level.version.map(|version| format!(", version {version}")).unwrap_or_default();
        lines.push(format!("\nPolicy {}{version}:", level.level));
        lines.extend(indented(&level.rules));
        if level.rules.is_empty() {
            lines.push("  no rules".to_owned());
        }
    }
    lines.push("\nCalls that no rule matches:".to_owned());
    lines.extend(indented(&sentences.otherwise));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_exit_code_says_how_the_call_would_end() {
        for (decision, reason, expected) in [
            ("allow", None, None),
            ("ask", Some("ask[1] asks"), Some((7, "ask: ask[1] asks"))),
            ("deny_continue", None, Some((6, "deny_continue"))),
            ("deny_abort", Some("no"), Some((6, "deny_abort: no"))),
        ] {
            let explanation: Explanation = serde_json::from_value(json!({
                "decision": decision, "reason": reason, "agent": null, "profile": "guarded", "mode": "execution",
                "trace": [{"gate": "mode", "outcome": "pass", "by": null, "reason": null}],
                "tool": {
                    "id": "mcp:a:b", "server": "a", "name": "b", "risk": "low", "side_effects": [],
                    "trust": "medium", "requires_admin": false, "enabled": true, "hash": "h",
                },
                "policies": [{"level": "floor", "version": null}, {"level": "global", "version": 2}],
                "facts": {
                    "paths": [], "paths_outside_project": [], "hosts": [], "sql_verbs": [], "shell_heads": [],
                    "secrets": [], "payload_bytes": 2, "is_first_use": true, "calls_last_minute": 0,
                },
            }))
            .unwrap();
            let failure = exit_result(&explanation).err();
            let outcome = failure.as_ref().map(|failure| (failure.exit.code(), failure.message.as_str()));
            assert_eq!(outcome, expected);
            assert!(failure.is_none_or(|failure| failure.is_answered), "it is an answer, and no error");
            let lines = call_lines(&explanation);
            assert_eq!(
                lines[..4],
                [
                    "caller          a person, profile guarded, mode execution",
                    "tool            mcp:a:b: low risk, side effects none, medium trust",
                    "policies        floor, global version 2",
                    "mode            pass",
                ]
            );
            assert_eq!(lines.len(), 5);
        }
    }
}
