use serde_json::json;

use super::*;

fn key(text: &str) -> ServerKey {
    ServerKey::parse(text).unwrap()
}

fn map(json: &Json) -> JsonMap<String, Json> {
    json.as_object().unwrap().clone()
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a lookup, which may fail elsewhere")]
fn lookup(kind: ReferenceKind, name: &str) -> Result<Option<String>, String> {
    Ok(match (kind, name) {
        (ReferenceKind::Env, "HOST") => Some("of the host".to_owned()),
        (ReferenceKind::Secret, "hub") => Some("hush-hush".to_owned()),
        _ => None,
    })
}

/// The specification, or its errors and hints.
fn check(server: &str, writer: EntryWriter, entry: &Json) -> Result<ServerSpec, String> {
    let context = StoredContext { writer, lookup: &lookup, health_interval: None, directory: None };
    let read = read_stored(&key(server), entry, context);
    let errors = read.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    read.spec.ok_or(errors)
}

const MEMBER: EntryWriter = EntryWriter::Member { may_run_commands: false };

#[test]
fn an_entry_is_read_like_one_of_a_file() {
    let entry = json!({"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${secret:hub}"},
        "timeout": "5s", "description": "x"});
    let spec = check("ana/notes", MEMBER, &entry).unwrap();
    assert_eq!(
        (spec.key.to_string().as_str(), spec.trust, spec.start),
        ("ana/notes", Trust::Low, Start::Lazy)
    );
    assert_eq!(spec.provenance, Provenance::Member);
    assert_eq!(secrets_of(&spec), [Secret::new("Bearer hush-hush")]);
    let system = json!({"command": "serve", "env": {"A": "${HOST}"}, "start": "eager", "trust": "high"});
    let spec = check("hub", EntryWriter::Administrator, &system).unwrap();
    assert_eq!((spec.trust, spec.start, spec.provenance), (Trust::High, Start::Eager, Provenance::Stored));
    assert_eq!(secrets_of(&spec), [Secret::new("of the host")]);
    for (entry, expected) in [
        (json!({"urll": "https://a.example"}), "unknown key `urll`"),
        (json!({}), "neither `command` nor `url`"),
        (json!({"url": "ws://a.example"}), "not supported"),
        (json!({"url": "https://a.example", "headers": {"A": "${secret:other}"}}), "`other` is not set"),
        (
            json!({"command": "serve", "env": {"A": "${file:/etc/passwd}"}}),
            "variables and stored secrets only",
        ),
    ] {
        let error = check("hub", EntryWriter::Administrator, &entry).unwrap_err();
        assert!(error.contains(expected), "{entry}: {error}");
    }
}

#[test]
fn a_user_refers_to_own_secrets_only() {
    for writer in [MEMBER, EntryWriter::Administrator] {
        for (entry, expected) in [
            (json!({"url": "https://a.example", "headers": {"A": "${HOST}"}}), "stored secrets only"),
            (json!({"url": "https://a.example/${env:HOST}"}), "stored secrets only"),
            (
                json!({"url": "https://a.example", "headers": {"A": "${file:/etc/passwd}"}}),
                "stored secrets only",
            ),
            (json!({"url": "https://a.example", "headers": {"A": "${auth:x}"}}), "stored secrets only"),
            (json!({"url": "https://a.example", "api_key_env": "HOST"}), "names variables of Octroi"),
            (json!({"url": "https://a.example", "description": "${secret:hub}"}), "must not hold"),
        ] {
            let error = check("ana/notes", writer, &entry).unwrap_err();
            assert!(error.contains(expected), "{entry}: {error}");
            assert!(!error.contains("of the host"), "{error}");
        }
    }
    let inherits = json!({"command": "serve", "inherit_env": ["HOST"]});
    assert!(check("ana/notes", EntryWriter::Administrator, &inherits).is_err());
}

#[test]
fn a_member_decides_nothing_that_calls_are_decided_with() {
    let with = |name: &str, value: Json| {
        let mut entry = json!({"url": "https://a.example"});
        entry[name] = value;
        entry
    };
    for (entry, expected) in [
        (json!({"command": "serve"}), "only administrators add servers that run a command"),
        (json!({"url": "stdio://serve x"}), "only administrators add servers that run a command"),
        (with("trust", json!("high")), "set `trust`"),
        (with("risk_overrides", json!({"*": "low"})), "set `risk_overrides`"),
        (with("tools_override", json!({"x": {"risk": "low"}})), "only switch tools off"),
        (with("max_message_bytes", json!(1_u64 << 40)), "raise the limits"),
        (with("health_interval", json!("1s")), "every 10 seconds"),
    ] {
        let error = check("ana/notes", MEMBER, &entry).unwrap_err();
        assert!(error.contains(expected), "{entry}: {error}");
        assert!(check("ana/notes", EntryWriter::Administrator, &entry).is_ok(), "{entry}");
    }
    let off = with("tools_override", json!({"x": {"enabled": false}}));
    assert!(check("ana/notes", MEMBER, &off).is_ok());
    let allowed = EntryWriter::Member { may_run_commands: true };
    assert!(check("ana/notes", allowed, &json!({"command": "serve"})).is_ok());
}

#[test]
fn spellings_become_one() {
    for (given, expected) in [
        (json!({"display_name": "N", "auto_start": true}), Ok(json!({"title": "N", "start": true}))),
        (
            json!({"env_config": {"env": {"A": "1"}, "cwd": "/x"}}),
            Ok(json!({"env": {"A": "1"}, "cwd": "/x"})),
        ),
        (json!({"timeout_ms": 5, "nonsense": null}), Ok(json!({"timeout": 5, "nonsense": null}))),
        (
            json!({"env": {}, "environment": {}}),
            Err("`env` is written twice, under two names; write it once"),
        ),
        (json!({"env_config": {"secret": 1}}), Err("unknown key `env_config.secret`")),
    ] {
        let found = canonical(&map(&given)).map(Json::Object);
        assert_eq!(found, expected.map_err(str::to_owned), "{given}");
    }
}

#[test]
fn what_could_be_a_secret_is_masked_and_comes_back_unchanged() {
    let entry = map(&json!({
        "url": "https://ana:pw@a.example/mcp?key=abc&page=",
        "headers": {"Authorization": "Bearer abc", "X-Key": "${secret:hub}", "Y": "${X:-abc}"},
        "env": {"A": "abc"},
        "args": ["--verbose", "ghp_A1b2C3d4E5A1b2C3d4E5A1b2C3d4E5A1b2C3"],
        "oauth": {"client_id": "x", "client_secret": "abc"},
        "description": "x",
    }));
    let shown = masked(&entry);
    let text = Json::Object(shown.clone()).to_string();
    for secret in ["abc", "pw@", "ghp_"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert_eq!(shown["url"], "https://***@a.example/mcp?key=***&page=");
    assert_eq!(shown["headers"], json!({"Authorization": "***", "X-Key": "${secret:hub}", "Y": "***"}));
    assert_eq!(merged(&entry, &shown), entry);
}

#[test]
fn variables_are_merged_and_other_keys_replaced() {
    let entry = map(&json!({"command": "serve", "args": ["x"], "env": {"A": "1", "B": "2"}, "title": "T"}));
    for (change, expected) in [
        (json!({}), json!({"command": "serve", "args": ["x"], "env": {"A": "1", "B": "2"}, "title": "T"})),
        (
            json!({"env": {"B": "3", "C": "4"}, "args": ["y"]}),
            json!({"command": "serve", "args": ["y"], "env": {"A": "1", "B": "3", "C": "4"}, "title": "T"}),
        ),
        (
            json!({"env": {"A": "***", "B": null}, "title": null}),
            json!({"command": "serve", "args": ["x"], "env": {"A": "1"}}),
        ),
        (json!({"env": null}), json!({"command": "serve", "args": ["x"], "title": "T"})),
        (
            json!({"url": "https://a.example", "env": {"A": null, "B": null}}),
            json!({"url": "https://a.example", "title": "T"}),
        ),
    ] {
        assert_eq!(Json::Object(merged(&entry, &map(&change))), expected, "{change}");
    }
    let remote = map(&json!({"url": "https://a.example", "headers": {"A": "1", "B": "2"}}));
    let change = map(&json!({"headers": {"A": "***", "C": "3"}}));
    assert_eq!(
        Json::Object(merged(&remote, &change)),
        json!({"url": "https://a.example", "headers": {"A": "1", "C": "3"}})
    );
}

#[test]
fn an_export_has_references_in_place_of_secrets() {
    let entry = map(&json!({
        "url": "https://a.example/mcp?key=abc",
        "headers": {"X Key": "abc", "Y": "${secret:hub}"},
        "env": {"TOKEN": "abc"},
    }));
    let ExportedEntry { entry, secrets } = exported("notes", &entry);
    let expected = json!({
        "url": "${secret:notes.url}",
        "headers": {"X Key": "${secret:notes.X-Key}", "Y": "${secret:hub}"},
        "env": {"TOKEN": "${secret:notes.TOKEN}"},
    });
    assert_eq!(Json::Object(entry), expected);
    assert_eq!(secrets.into_iter().collect::<Vec<_>>(), ["hub", "notes.TOKEN", "notes.X-Key", "notes.url"]);
}
