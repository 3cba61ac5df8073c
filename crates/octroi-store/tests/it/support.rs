//! Shared test helpers.

use std::path::Path;

use octroi_core::approval::{Approval, ApprovalState, ApprovalVerdict, Approvers, ArgumentsState, Binding};
use octroi_core::{Secret, ServerName};
use octroi_store::{CanonicalJson, Catalogue, KnownKey, ManagedBy, MasterKey, ServerKey, Store, StoreError};
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};

/// A key for every directory.
#[expect(clippy::unnecessary_wraps, reason = "the shape of a source of keys")]
pub(crate) fn test_key(_: &Path, _: Option<&KnownKey>) -> Result<Option<MasterKey>, StoreError> {
    Ok(Some(MasterKey::new([9; 32])))
}

pub(crate) fn key(name: &str) -> ServerKey {
    ServerKey::system(ServerName::parse(name).unwrap())
}

pub(crate) fn definition(command: &str) -> CanonicalJson {
    CanonicalJson::of(json!({ "transport": "stdio", "command": command }))
}

/// A catalogue that differs from others by its number.
pub(crate) fn catalogue(number: usize) -> Catalogue {
    let items = |kind: &str, n_items: usize| {
        (0..n_items).map(|item| format!(r#"{{"name":"{kind}{item}", "n":{number}}}"#)).collect()
    };
    Catalogue {
        identity: format!(r#"{{"version":"{number}"}}"#),
        tools: items("tool", 20 + number % 7),
        prompts: items("prompt", number % 3),
        resources: items("resource", 5),
        templates: items("template", 1),
    }
}

/// Creates a closed database in the directory with one server and its catalogue.
pub(crate) async fn fill(directory: &Path) {
    let store = Store::open(directory, &test_key).await.unwrap();
    store.record_server(&key("files"), ManagedBy::File, &definition("files"), 1).await.unwrap();
    store.save_catalogue(&key("files"), &catalogue(1), 1).await.unwrap();
    store.close().await;
}

/// Connects to the database file directly, bypassing the store.
pub(crate) async fn connect(directory: &Path) -> SqliteConnection {
    SqliteConnectOptions::new()
        .filename(directory.join("octroi.db"))
        .create_if_missing(true)
        .connect()
        .await
        .unwrap()
}

pub(crate) async fn run_sql(directory: &Path, sql: &str) {
    let mut connection = connect(directory).await;
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The error with its hint, with the directory called DIR.
pub(crate) fn describe(error: &octroi_store::StoreError, directory: &Path) -> String {
    format!("{error}\nhint: {}", error.hint()).replace(directory.to_str().unwrap(), "DIR")
}

/// A plain approval.
pub(crate) fn yes() -> ApprovalVerdict {
    ApprovalVerdict::approve(3, 1_000)
}

/// An approval that is requested at 1 and expires at 1,000.
pub(crate) fn approval(number: u32) -> Approval {
    let mut arguments_hash = [0; 32];
    arguments_hash[..4].copy_from_slice(&number.to_le_bytes());
    Approval {
        id: format!("ap_{number}"),
        call_id: format!("call-{number}"),
        binding: Binding {
            principal: "ada".to_owned(),
            agent: Some("coder".to_owned()),
            tool: "mcp:files:write".to_owned(),
            definition_hash: [1; 32],
            arguments_hash,
            policy_revision: 3,
        },
        state: ApprovalState::Pending,
        arguments_preview: "{}".to_owned(),
        other_params_preview: Some(r#"{"params":{"task":{}}}"#.to_owned()),
        other_params: Some(Secret::new(r#"{"params":{"task":{}}}"#)),
        arguments: Secret::new(format!("{{\"number\":{number}}}")),
        arguments_state: ArgumentsState::Whole,
        edited_arguments: None,
        risk: "high".to_owned(),
        side_effects: Vec::new(),
        reasons: vec!["it writes".to_owned()],
        approvers: Approvers::default(),
        requested_at_ms: 1,
        expires_at_ms: 1_000,
        decided_at_ms: None,
        decided_by: None,
        decision_reason: None,
        claimed_at_ms: None,
        finished_at_ms: None,
        outcome: None,
        remembered_rule: None,
        node: None,
    }
}
