//! `octroi policy`: what is allowed, why, and what would change it.

use std::io::IsTerminal as _;
use std::path::Path;

use octroi_core::server::parse_duration;
use octroi_core::time::{parse_time, show_time};
use serde_json::{Value, json};

use super::Failure;
use crate::cli::policy::{
    At, Explain, OneFile, OneProposal, PolicyCommand, Proposals, Reject, Replay, Show, Why,
};
use crate::client::{Client, DENIED, UNREACHABLE};
use crate::printer;

mod change;
mod offline;

use offline::Checked;

/// A person would be asked.
const ASKED: u8 = 7;

pub(super) async fn run(command: PolicyCommand) -> Result<(), Failure> {
    match command {
        PolicyCommand::Show(options) => show(&options).await,
        PolicyCommand::Check(options) => check(&options).await,
        PolicyCommand::Test(options) => test(&options).await,
        PolicyCommand::Why(options) => why(&options).await,
        PolicyCommand::Explain(options) => explain(&options).await,
        PolicyCommand::Diff(options) => change::diff(&options).await,
        PolicyCommand::Apply(options) => change::apply(&options).await,
        PolicyCommand::Replay(options) => replay(&options).await,
        PolicyCommand::Proposals(options) => proposals(&options).await,
        PolicyCommand::ApproveProposal(proposal) => approve(&proposal).await,
        PolicyCommand::RejectProposal(options) => reject(&options).await,
        PolicyCommand::Schema(target) => {
            let told = Client::find(&target)?.call("policy_schema", json!({})).await?;
            put(&if target.json { told.to_string() } else { text(&told["schema"]).to_owned() });
            Ok(())
        }
    }
}

fn at(at: &At) -> Value {
    let mut arguments = json!({"level": at.level().as_str()});
    if let Some(agent) = &at.agent {
        arguments["agent_id"] = json!(agent);
    }
    arguments
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| {
        Failure::new(format!("cannot read {}", path.display())).cause(error).hint("name a policy file")
    })
}

async fn show(options: &Show) -> Result<(), Failure> {
    let client = Client::find(&options.target)?;
    if options.history {
        let told = client.call("policy_history", at(&options.at)).await?;
        if options.target.json {
            printer::data(&told.to_string());
            return Ok(());
        }
        let versions = told["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
        for version in versions {
            let number = version["version"].to_string();
            let (status, author) = (text(&version["status"]), text(&version["author"]));
            put(&format!("{number:>4}  {status:<10}  {}  {author}", time(&version["created_at_ms"])));
        }
        if versions.is_empty() {
            printer::say(&format!("there was never a {}", options.at.name()));
        }
        return Ok(());
    }
    let told = client.call("policy_show", at(&options.at)).await?;
    if options.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    super::servers::gates(&told).for_each(|line| printer::say(&format!("# {line}")));
    if told["version"] == 0 {
        let next = format!("`octroi policy apply FILE {}` sets one", options.at.flag());
        printer::say(&format!("there is no {}; {next}", options.at.name()));
        return Ok(());
    }
    let by = match told["file"].as_str() {
        Some(file) => format!("from {file}"),
        None => format!("set by {}", text(&told["author"])),
    };
    printer::say(&format!("# {}, version {}, {by}", options.at.name(), told["version"]));
    let source = text(&told["source"]).trim_end();
    if std::io::stdout().is_terminal() {
        put(source)
    } else {
        printer::data(source)
    }
    Ok(())
}

/// What the gateway says of a policy, or what can be said without one.
async fn examine(options: &OneFile) -> Result<(String, Checked), Failure> {
    let source = read(&options.file)?;
    let level = options.at.level();
    let asked = match Client::find(&options.target) {
        Ok(client) => client.call("policy_test", json!({"source": source, "level": level.as_str()})).await,
        Err(failure) => Err(failure),
    };
    match asked {
        Ok(told) => Ok((source, Checked::told(&told))),
        Err(failure) if failure.exit_code == UNREACHABLE => {
            let checked = offline::check(level, &source);
            printer::warn(&format!("no gateway is running: {}", checked.limits()));
            Ok((source, checked))
        }
        Err(failure) => Err(failure),
    }
}

async fn check(options: &OneFile) -> Result<(), Failure> {
    let (source, checked) = examine(options).await?;
    let file = options.file.display().to_string();
    if options.target.json {
        printer::data(&checked.as_json().to_string());
    }
    complain(&file, &checked, options.target.json)?;
    let (n_rules, n_tests) = offline::count(&source);
    let rules = if n_rules == 1 { "1 rule".to_owned() } else { format!("{n_rules} rules") };
    let tests = if n_tests == 1 { "1 test".to_owned() } else { format!("{n_tests} tests") };
    printer::say(&format!("{file}: fine, {rules}, {tests}"));
    Ok(())
}

/// Prints what is wrong; fails if anything is.
fn complain(file: &str, checked: &Checked, is_silent: bool) -> Result<(), Failure> {
    let mut complaints: Vec<_> = checked.complaints.iter().filter(|_| !is_silent).collect();
    complaints.sort_by_key(|(line, _)| *line);
    for (line, message) in complaints {
        let place = if *line == 0 { file.to_owned() } else { format!("{file}:{line}") };
        put(&format!("{place}: {message}"));
    }
    match checked.complaints.len() {
        0 => Ok(()),
        1 => Err(Failure::new("1 thing is wrong")),
        n => Err(Failure::new(format!("{n} things are wrong"))),
    }
    .map_err(|failure| failure.hint("rules are explained in docs/policies.md"))
}

async fn test(options: &OneFile) -> Result<(), Failure> {
    let (_, checked) = examine(options).await?;
    let file = options.file.display().to_string();
    if options.target.json {
        printer::data(&checked.as_json().to_string());
        return complain(&file, &checked, true);
    }
    for test in &checked.tests {
        if test.passed {
            put(&format!("ok    {}", test.name));
        } else {
            put(&format!("FAIL  {}: expects {}, got {}", test.name, test.expected, test.got));
        }
    }
    let n_failed = checked.tests.iter().filter(|test| !test.passed).count();
    if n_failed > 0 {
        let message = format!("{n_failed} of {} tests failed", checked.tests.len());
        return Err(Failure::new(message).hint(format!("`octroi policy check {file}` tells the lines")));
    }
    complain(&file, &checked, false)?;
    printer::say(&format!("{file}: {}", checked.passed()));
    Ok(())
}

async fn why(options: &Why) -> Result<(), Failure> {
    let arguments: Value =
        serde_json::from_str(&options.arguments).ok().filter(Value::is_object).ok_or_else(|| {
            Failure::new(format!("`{}` is not a JSON object", options.arguments))
                .hint(format!("octroi policy why {} '{{\"path\": \"/tmp\"}}'", options.tool))
        })?;
    let mut asked = json!({"tool": options.tool, "arguments": arguments});
    for (name, value) in [("agent_id", &options.agent), ("mode", &options.mode)] {
        if let Some(value) = value {
            asked[name] = json!(value);
        }
    }
    let told = Client::find(&options.target)?.call("policy_why", asked).await.map_err(|failure| {
        if failure.exit_code == 1 { failure.hint("`octroi list` shows the servers") } else { failure }
    })?;
    if options.target.json {
        printer::data(&told.to_string());
    } else {
        explain_call(&told);
    }
    match text(&told["decision"]) {
        "allow" => Ok(()),
        "ask" => Err(Failure::outcome(ASKED)),
        _ => Err(Failure::outcome(DENIED)),
    }
}

fn explain_call(told: &Value) {
    let tool = &told["tool"];
    let effects: Vec<&str> = texts(&tool["side_effects"]).collect();
    let effects = if effects.is_empty() { "none".to_owned() } else { effects.join(", ") };
    let who = told["agent"].as_str().map_or("a person".to_owned(), |agent| format!("agent {agent}"));
    let (profile, mode) = (text(&told["profile"]), text(&told["mode"]));
    put(&format!("caller          {who}, profile {profile}, mode {mode}"));
    let (risk, trust) = (text(&tool["risk"]), text(&tool["trust"]));
    put(&format!(
        "tool            {}: {risk} risk, side effects {effects}, {trust} trust",
        text(&tool["id"])
    ));
    let policies = told["policies"].as_array().into_iter().flatten().map(|policy| {
        let version = policy["version"].as_i64().map(|version| format!(" version {version}"));
        format!("{}{}", text(&policy["level"]), version.unwrap_or_default())
    });
    let policies: Vec<String> = policies.collect();
    let policies = if policies.is_empty() { "none".to_owned() } else { policies.join(", ") };
    put(&format!("policies        {policies}"));
    for verdict in told["trace"].as_array().into_iter().flatten() {
        let by = verdict["by"].as_str().map(|by| format!(" by {by}")).unwrap_or_default();
        let reason = verdict["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
        put(&format!("{:<15} {}{by}{reason}", text(&verdict["gate"]), text(&verdict["outcome"])));
    }
    let reason = told["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
    put(&format!("{}{reason}", text(&told["decision"])));
}

async fn explain(options: &Explain) -> Result<(), Failure> {
    let asked = options.agent.as_ref().map_or(json!({}), |agent| json!({"agent_id": agent}));
    let told = Client::find(&options.target)?.call("policy_explain", asked).await?;
    if options.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let who = options.agent.as_ref().map_or("A person".to_owned(), |agent| format!("Agent {agent}"));
    let (profile, mode) = (text(&told["profile"]), text(&told["mode"]));
    put(&format!("{who} has the profile {profile} and is in mode {mode}."));
    put("\nGates:");
    texts(&told["gates"]).for_each(|sentence| put(&format!("  {sentence}")));
    for level in told["levels"].as_array().into_iter().flatten() {
        let name = text(&level["level"]);
        let rules: Vec<&str> = texts(&level["rules"]).collect();
        match level["version"].as_i64() {
            Some(version) => put(&format!("\nPolicy {name}, version {version}:")),
            None => put(&format!("\nPolicy {name}:")),
        }
        for sentence in &rules {
            put(&format!("  {sentence}"));
        }
        if rules.is_empty() {
            put("  says nothing");
        }
    }
    put("\nOf what no rule speaks:");
    texts(&told["otherwise"]).for_each(|sentence| put(&format!("  {sentence}")));
    Ok(())
}

async fn replay(options: &Replay) -> Result<(), Failure> {
    let source = read(&options.policy)?;
    let now_ms = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    let ago = parse_duration(&options.since).and_then(|ago| i64::try_from(ago.as_millis()).ok());
    let since_ms = ago.map(|ago| now_ms.saturating_sub(ago).max(0)).or_else(|| parse_time(&options.since));
    let since_ms = since_ms.ok_or_else(|| {
        Failure::new(format!("`{}` is no time", options.since))
            .hint("write --since 30d or --since 2027-01-31")
    })?;
    let mut asked = at(&options.at);
    asked["source"] = json!(source);
    asked["since_ms"] = json!(since_ms);
    let told = Client::find(&options.target)?.call("policy_replay", asked).await?;
    if options.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    put(&format!("{} calls, {} with another outcome", told["n_calls"], told["n_flipped"]));
    for (kind, count) in told["kinds"].as_object().into_iter().flatten() {
        put(&format!("{:>6}  {kind}", count.to_string()));
    }
    let flips = told["flips"].as_array().map(Vec::as_slice).unwrap_or_default();
    for flip in flips {
        let rule = flip["rule"].as_str().map(|rule| format!(" by {rule}")).unwrap_or_default();
        put(&format!(
            "{} #{} {} {}: {} → {}{rule}",
            time(&flip["at_ms"]),
            flip["seq"],
            flip["agent"].as_str().unwrap_or("a person"),
            text(&flip["tool"]),
            text(&flip["from"]),
            text(&flip["to"]),
        ));
    }
    if told["n_flipped"].as_u64() > Some(flips.len() as u64) {
        put(&format!("only the first {} are listed", flips.len()));
    }
    let unknown = &told["cannot_tell"];
    let n_unknown = |name: &str| unknown[name].as_u64().unwrap_or_default();
    let (cut, gone, broken) =
        (n_unknown("arguments_not_kept"), n_unknown("tool_gone"), n_unknown("unreadable"));
    if cut + gone + broken > 0 {
        put(&format!(
            "cannot tell of {}: arguments cut or redacted {cut}, tool gone {gone}, unreadable {broken}",
            cut + gone + broken
        ));
    }
    Ok(())
}

async fn proposals(options: &Proposals) -> Result<(), Failure> {
    let client = Client::find(&options.target)?;
    if let Some(id) = options.id {
        let told = client.call("policy_proposal", json!({ "id": id })).await?;
        if options.target.json {
            printer::data(&told.to_string());
            return Ok(());
        }
        printer::say(&printer::visible(&format!("# {}", line(&told))));
        for complaint in told["check"]["complaints"].as_array().into_iter().flatten() {
            let message = printer::visible(text(&complaint["message"]));
            printer::warn(&format!("line {}: {message}", complaint["line"]));
        }
        put(text(&told["source"]).trim_end());
        return Ok(());
    }
    let asked = options.agent.as_ref().map_or(json!({}), |agent| json!({"agent_id": agent}));
    let told = client.call("policy_proposals", asked).await?;
    if options.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let proposals = told["proposals"].as_array().map(Vec::as_slice).unwrap_or_default();
    for proposal in proposals {
        put(&line(proposal));
    }
    if proposals.is_empty() {
        printer::say("there are no proposals; agents may make them with `proposals = true` in [policy]");
    }
    Ok(())
}

fn line(proposal: &Value) -> String {
    let check = if proposal["check"]["ok"] == true { "fine" } else { "faulty" };
    format!(
        "{:>4}  {:<10}  {}  {check:<6}  {}: {}",
        proposal["id"].to_string(),
        text(&proposal["status"]),
        time(&proposal["created_at_ms"]),
        text(&proposal["agent"]),
        printer::visible(text(&proposal["rationale"])),
    )
}

async fn approve(proposal: &OneProposal) -> Result<(), Failure> {
    let id = proposal.id;
    let told = Client::find(&proposal.target)?.call("agents_approve_proposal", json!({ "id": id })).await?;
    if proposal.target.json {
        printer::data(&told.to_string());
        return Ok(());
    }
    let (agent, version) = (text(&told["agent"]), told["version"].as_i64().unwrap_or_default());
    let at = At { agent: Some(agent.to_owned()), ..At::default() };
    put(&format!("{} version {version} is active; {}", at.name(), change::undo(&at, version)));
    Ok(())
}

async fn reject(options: &Reject) -> Result<(), Failure> {
    let OneProposal { id, target } = &options.proposal;
    let asked = json!({"id": id, "reason": options.reason});
    let told = Client::find(target)?.call("agents_reject_proposal", asked).await?;
    put(&if target.json { told.to_string() } else { format!("proposal {id} is rejected") });
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Prints what may come from an agent or a server: nothing in it moves the cursor or hides.
fn put(text: &str) {
    let lines = text.split('\n').map(|line| line.split('\t').map(printer::visible).collect::<Vec<_>>());
    let lines: Vec<String> = lines.map(|parts| parts.join("\t")).collect();
    printer::data(&lines.join("\n"));
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn time(value: &Value) -> String {
    show_time(value.as_i64().unwrap_or_default())
}
