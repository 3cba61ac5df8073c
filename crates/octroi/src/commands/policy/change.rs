//! Comparing a policy with the active one, and replacing the active one.

use std::collections::BTreeSet;

use octroi_api::operations::policies::{
    ActivePolicy, AgentsSetPolicy, PolicyHistory, PolicySetFloor, PolicySetGlobal, PolicyShow, PolicyTest,
    PolicyVersion, SetAgentPolicyRequest, SetPolicyRequest, TestPolicyRequest,
};
use octroi_core::policy::{Document, Rule};
use serde_json::{Value, json};

use super::check::{check_no_complaints, passed, print_complaints};
use super::{print, read};
use crate::cli::policy::{ApplyPolicy, CandidatePolicy, PolicyScope};
use crate::client::Client;
use crate::commands::Failure;
use crate::printer;
use octroi_core::diff::unified;

pub(super) async fn diff(options: &CandidatePolicy) -> Result<(), Failure> {
    let new = read(&options.file)?;
    let active = Client::find(&options.target)?.call::<PolicyShow>(&options.scope.request()).await?;
    let difference = Difference::between(&active, &new, &options.scope, &options.file.display().to_string());
    if options.target.json {
        printer::json(&difference.to_json());
    } else {
        difference.print();
    }
    Ok(())
}

/// How a policy differs from the active one.
struct Difference {
    text: String,
    added: Vec<String>,
    removed: Vec<String>,
}

impl Difference {
    fn between(active: &ActivePolicy, new: &str, scope: &PolicyScope, new_name: &str) -> Self {
        let old = active.policy.source();
        let old_name = format!("{}, version {}", scope.name(), active.policy.version());
        let (old_rules, new_rules) = (sentences(old), sentences(new));
        Self {
            text: unified(old, new, &old_name, new_name),
            added: new_rules.difference(&old_rules).cloned().collect(),
            removed: old_rules.difference(&new_rules).cloned().collect(),
        }
    }

    fn print(&self) {
        if self.text.is_empty() {
            printer::say("no difference");
            return;
        }
        print(self.text.trim_end());
        self.added.iter().for_each(|rule| print(&format!("added    {rule}")));
        self.removed.iter().for_each(|rule| print(&format!("removed  {rule}")));
    }

    fn to_json(&self) -> Value {
        json!({"diff": self.text, "added": self.added, "removed": self.removed})
    }
}

fn sentences(source: &str) -> BTreeSet<String> {
    let document = Document::parse(source).unwrap_or_default();
    document.rules.iter().map(Rule::sentence).collect()
}

pub(super) async fn apply(options: &ApplyPolicy) -> Result<(), Failure> {
    let ApplyPolicy { file, version, scope, yes, target } = options;
    let client = Client::find(target)?;
    let active = client.call::<PolicyShow>(&scope.request()).await?;
    if let Some(file) = &active.file {
        return Err(Failure::new(format!("the {} is in {file}", scope.name()))
            .hint("change that file; a running gateway reloads it by itself, or with `octroi reload`"));
    }
    let (name, source) = match (file, version) {
        (Some(file), _) => (file.display().to_string(), read(file)?),
        (None, version) => {
            let version = version.unwrap_or_default();
            (format!("version {version}"), old_version(&client, scope, version).await?)
        }
    };
    let request = TestPolicyRequest {
        source: Some(source.clone()),
        level: Some(scope.level().into()),
        ..TestPolicyRequest::default()
    };
    let tested = client.call::<PolicyTest>(&request).await?;
    if !target.json {
        print_complaints(&name, &tested);
    }
    check_no_complaints(&tested)?;
    let difference = Difference::between(&active, &source, scope, &name);
    if difference.text.is_empty() {
        printer::say(&format!("the {} is the same already", scope.name()));
        if target.json {
            printer::json(&active);
        }
        return Ok(());
    }
    if !target.json {
        difference.print();
        printer::say(&passed(&tested));
    }
    if !yes {
        confirm()?;
    }
    let policy = set(&client, scope, source, active.policy.version()).await?;
    if target.json {
        printer::json(&policy);
        return Ok(());
    }
    let version = policy.version.unwrap_or_default();
    print(&format!("{} version {version} is active; {}", scope.name(), undo(scope, version)));
    Ok(())
}

fn confirm() -> Result<(), Failure> {
    match printer::confirm("Make it active?") {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::new("nothing was changed")),
        None => {
            Err(Failure::new("cannot ask for confirmation without a terminal").hint("confirm with --yes"))
        }
    }
}

/// Makes a policy the active one of its level. Fails if the active one has changed since it was compared.
async fn set(
    client: &Client,
    scope: &PolicyScope,
    source: String,
    replaced: i64,
) -> Result<PolicyVersion, Failure> {
    let expected_version = Some(replaced);
    match (&scope.agent, scope.floor) {
        (Some(agent), _) => {
            let request = SetAgentPolicyRequest { agent_id: agent.clone(), source, expected_version };
            client.call::<AgentsSetPolicy>(&request).await
        }
        (None, true) => client.call::<PolicySetFloor>(&SetPolicyRequest { source, expected_version }).await,
        (None, false) => client.call::<PolicySetGlobal>(&SetPolicyRequest { source, expected_version }).await,
    }
}

/// How to go back to what was in effect before this version.
pub(super) fn undo(scope: &PolicyScope, version: i64) -> String {
    let flag = scope.flag();
    match version - 1 {
        0 => format!("undo with `octroi policy apply /dev/null {flag}`"),
        before => format!("undo with `octroi policy apply --version {before} {flag}`"),
    }
}

async fn old_version(client: &Client, scope: &PolicyScope, version: i64) -> Result<String, Failure> {
    let history = client.call::<PolicyHistory>(&scope.request()).await?;
    let found = history.versions.into_iter().find(|policy| policy.version == Some(version));
    found.map(|policy| policy.source).ok_or_else(|| {
        Failure::new(format!("there is no version {version} of the {}", scope.name()))
            .hint(format!("`octroi policy show {} --history` lists them", scope.flag()))
    })
}
