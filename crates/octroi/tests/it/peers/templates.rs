//! Built-in templates that say they are verified: each package is installed in its version, and its tools are listed
//! through Octroi.

use std::fmt::Write as _;
use std::time::Duration;

use octroi_core::template::{PackageRegistry, Provider, Template, builtin};
use octroi_testkit::gateway::TestGateway;
use serde_json::{Value, json};
use tokio::process::Command;

use super::installed::Installed;
use crate::harness::octroi;
use crate::manage;

/// Values of required fields, and of those without which a server does nothing.
fn values(template: &Template, directory: &str) -> Vec<(&'static str, String)> {
    match template.id.as_str() {
        "filesystem" => vec![("allowed_roots", directory.to_owned())],
        "memory" => vec![("file", format!("{directory}/memory.jsonl"))],
        _ => Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verified_templates_list_their_tools() {
    let installed = Installed::find();
    let files = tempfile::tempdir().expect("a directory");
    let directory = files.path().to_string_lossy().into_owned();
    let verified: Vec<&Template> = builtin().iter().filter(|template| template.verified).collect();
    assert!(verified.len() >= 5, "{verified:?}");
    let mut config = String::new();
    for template in &verified {
        let filled = values(template, &directory).into_iter();
        let filled = filled.map(|(field, value)| (field.to_owned(), vec![value])).collect();
        let mut entry = template.instantiate(&template.name, &filled).expect("it can be made").entry;
        match &template.provider {
            Provider::Package { registry: PackageRegistry::Npm, .. } => {
                // The package of exactly this version is there, and npx must use it: it may not download another.
                entry.insert("cwd".to_owned(), json!(installed.node()));
                entry.insert("inherit_env".to_owned(), json!(["npm_config_cache"]));
                entry.entry("env").or_insert_with(|| json!({}))["npm_config_offline"] = json!("true");
            }
            Provider::Package { registry: PackageRegistry::Pypi, package, version, .. } => {
                // What `uvx` would install from the same index, pip has installed.
                let python = installed.python("v2");
                let script = format!("import importlib.metadata as m; print(m.version('{package}'))");
                let output = Command::new(&python).args(["-c", &script]).output().await.expect("python runs");
                assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), version, "{package}");
                let args: Vec<Value> = entry["args"].as_array().expect("a list")[3..].to_vec();
                entry.insert("command".to_owned(), json!(python.with_file_name(package)));
                entry.insert("args".to_owned(), json!(args));
            }
            Provider::Remote { .. } => panic!("{}: a remote server cannot be verified here", template.id),
        }
        config.push_str("[[mcp.servers]]\n");
        for (key, value) in entry {
            let value = match value {
                Value::Object(members) => {
                    let members: Vec<String> =
                        members.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                    format!("{{ {} }}", members.join(", "))
                }
                value => value.to_string(),
            };
            let _ = writeln!(config, "{key} = {value}");
        }
    }
    let gateway = TestGateway::start(&octroi(), &config).await;
    for template in &verified {
        let name = template.name.as_str();
        let mut found = Value::Null;
        for _ in 0..600 {
            let listed = manage::command(&gateway, 0, &["list", "--json"]).await;
            let listed: Value = serde_json::from_str(&listed).expect("JSON");
            found = listed
                .as_array()
                .into_iter()
                .flatten()
                .find(|one| one["name"] == name)
                .cloned()
                .unwrap_or_default();
            if found["tools"].as_u64().is_some_and(|n_tools| n_tools > 0) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert!(found["tools"].as_u64().is_some_and(|n_tools| n_tools > 0), "{}: {found}", template.id);
    }
    gateway.stop().await;
}
