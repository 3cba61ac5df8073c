use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use octroi_core::Secret;
use octroi_core::server::Transport;
use octroi_gateway::SystemSecrets;

use super::*;

/// A directory with these files, and sources that read `octroi.toml` in it.
fn directory(files: &[(&str, &str)]) -> (tempfile::TempDir, Sources) {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let config = files.iter().map(|(name, _)| directory.path().join(name)).next();
    let sources = Sources { config, data: directory.path().join("data"), ..Sources::default() };
    (directory, sources)
}

fn problems(config: &Config) -> Vec<String> {
    config.settings.problems.iter().map(|problem| problem.message.clone()).collect()
}

fn command(config: &Config, name: &str) -> Vec<String> {
    let spec = config.settings.servers.iter().find(|spec| spec.name().as_str() == name);
    match spec.map(|spec| &spec.transport) {
        Some(Transport::Stdio(program)) => {
            std::iter::once(&program.command).chain(&program.args).cloned().collect()
        }
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn each_directory_with_an_entry_script_is_a_server() {
    let (directory, sources) = directory(&[
        ("octroi.toml", "[mcp.off]\nenabled = false\n[mcp.files]\ntimeout = 7\n"),
        ("mcpservers/files/server.mjs", ""),
        ("mcpservers/files/package.json", "{}"),
        (
            "mcpservers/files/config.jsonc",
            "{ /* slow */ \"timeout\": 60000, \"environment\": { \"A\": \"b\" } }",
        ),
        ("mcpservers/deep/src/index.ts", ""),
        ("mcpservers/snake/server.py", ""),
        ("mcpservers/off/index.js", ""),
        ("mcpservers/own/config.jsonc", "{ \"command\": [\"./run\"] }"),
        ("mcpservers/no-script/readme.md", ""),
        ("mcpservers/broken/server.js", ""),
        ("mcpservers/broken/config.jsonc", "{\n  timeout: 1 }"),
        ("mcpservers/.hidden/server.mjs", ""),
        ("mcpservers/server.mjs", "a plain file"),
    ]);
    let home = directory.path().join("mcpservers");
    let found = discovery::scan(Path::new("mcpservers"), &home, |program| program == "bun");
    assert_eq!(found.problems.len(), 1, "{:?}", found.problems);
    assert_eq!(found.problems[0].to_string(), {
        "mcpservers/broken/config.jsonc:2: server `broken` is left out: Expected string for object property"
    });

    let config = load(&sources).unwrap();
    let names: Vec<(&str, bool)> =
        config.settings.servers.iter().map(|spec| (spec.name().as_str(), spec.is_enabled())).collect();
    assert_eq!(names, [("off", false), ("files", true), ("deep", true), ("own", true), ("snake", true)]);
    let path = |name: &str| home.join(name).display().to_string();
    assert_eq!(command(&config, "snake"), ["python3", &path("snake/server.py")]);
    assert_eq!(command(&config, "own"), [path("own/run")]);
    assert_eq!(command(&config, "deep").last(), Some(&path("deep/src/index.ts")));
    let files = &config.settings.servers[1];
    assert_eq!(files.timeouts.call.as_millis(), 7, "the file takes precedence over the directory");
    let Transport::Stdio(program) = &files.transport else {
        panic!("{files:?}");
    };
    assert_eq!(program.cwd, Some(home.join("files")));
    assert_eq!(program.env["A"].expose(), "b");
    let own = home.join("files/config.jsonc");
    for watched in [home.clone(), home.join("no-script"), own, sources.config.unwrap()] {
        assert!(config.watched.contains(&watched), "{watched:?} {:?}", config.watched);
    }
}

#[test]
fn a_scan_that_fails_only_warns() {
    let (_directory, sources) = directory(&[("octroi.toml", ""), ("mcpservers", "a plain file")]);
    let config = load(&sources).unwrap();
    assert_eq!(config.settings.problems.len(), 1);
    assert_eq!(config.settings.problems[0].severity, Severity::Warning);
}

#[test]
fn runners_are_what_is_there() {
    let (directory, _) = directory(&[("a/server.ts", "")]);
    for (bun, runner) in [(true, vec!["bun", "run"]), (false, vec!["node"])] {
        let found = discovery::scan(Path::new("x"), directory.path(), |_| bun);
        let Some(octroi_core::syntax::Value::List(words)) =
            found.servers[0].layers[0].map.get("command").map(|node| &node.value)
        else {
            panic!("{found:?}");
        };
        let words: Vec<&str> = words.iter().filter_map(Node::as_text).collect();
        assert_eq!(words[..words.len() - 1], runner);
    }
}

const REFERENCES: &str = r#"
{ "mcpServers": {
  "stored": { "url": "https://example.com", "headers": { "A": "${auth:hub}", "B": "${secret:hub}" } },
  "filed": { "command": "run", "env": { "KEY": "${file:key.txt}", "MORE": "${file:gone.txt:-none}" } },
  "missing": { "command": "run", "args": ["${auth:other}"] },
  "gone": { "command": "run", "args": ["${file:gone.txt}"] }
} }
"#;

fn stored(secrets: &[(&str, Option<&str>)]) -> StoredSecrets {
    let by_name = secrets.iter().map(|(name, value)| ((*name).to_owned(), value.map(Secret::new)));
    StoredSecrets::Read(SystemSecrets { by_name: by_name.collect() })
}

#[test]
fn references_to_stored_secrets() {
    let file = "[[tokens]]\ntoken = \"${secret:token}\"\nrole = \"agent\"\nagent_id = \"a\"\n\
        [[mcp.servers]]\nname = \"one\"\nurl = \"https://example.com/${secret:hub}\"\n\
        [[mcp.servers]]\nname = \"two\"\ncommand = \"run\"\nenv = { A = \"${secret:other:-none}\" }\n";
    let (_directory, mut sources) = directory(&[("octroi.toml", file)]);
    // Without the store, all count as set.
    let config = load(&sources).unwrap();
    assert_eq!((problems(&config), config.settings.servers.len()), (Vec::new(), 2));
    let names: Vec<_> =
        config.settings.secret_uses.iter().map(|one| (&*one.secret, one.server.as_deref())).collect();
    assert_eq!(names, [("hub", Some("one")), ("other", Some("two")), ("token", None)]);
    sources.secrets = stored(&[("token", Some("a-token-of-a-test"))]);
    let config = load(&sources).unwrap();
    assert_eq!(problems(&config), ["the secret `hub` is not set"]);
    assert_eq!(config.settings.problems[0].hint.as_deref(), Some("set it with `octroi secret set hub`"));
    assert_eq!(config.settings.servers.len(), 1);
    sources.secrets = stored(&[("token", Some("a-token-of-a-test")), ("hub", None)]);
    assert!(problems(&load(&sources).unwrap())[0].contains("encrypted with another master key"));
    // A token that appears later would be one that nobody agreed to.
    sources.secrets = stored(&[("hub", Some("hunter3"))]);
    assert!(matches!(load(&sources), Err(ConfigError::Invalid { .. })));
}

#[test]
fn references_to_credentials_and_files() {
    let store = r#"{ "hub": { "type": "api", "key": "hunter2" } }"#;
    let (directory, mut sources) =
        directory(&[("mcp.json", REFERENCES), ("data/auth.json", store), ("key.txt", "from a file\n")]);
    let auth = directory.path().join("data/auth.json");
    fs::set_permissions(&auth, fs::Permissions::from_mode(0o600)).unwrap();
    sources.secrets = stored(&[("hub", Some("hunter3"))]);
    let config = load(&sources).unwrap();
    let [stored, filed] = &config.settings.servers[..] else {
        panic!("{:?}", config.settings.problems);
    };
    let Transport::Http(remote) = &stored.transport else {
        panic!("{stored:?}");
    };
    assert_eq!((remote.headers["A"].expose(), remote.headers["B"].expose()), ("hunter2", "hunter3"));
    let Transport::Stdio(program) = &filed.transport else {
        panic!("{filed:?}");
    };
    assert_eq!((program.env["KEY"].expose(), program.env["MORE"].expose()), ("from a file", "none"));
    assert_eq!(
        problems(&config),
        [
            "`${auth:other}` is not set and has no default (write `${auth:other:-default}` to give one)",
            "`${file:gone.txt}` cannot be read: No such file or directory (os error 2)",
        ]
    );
    assert!(!format!("{config:?}").contains("hunter2"), "a secret shows");
    assert!(config.watched.contains(&auth) && config.watched.contains(&directory.path().join("key.txt")));

    fs::set_permissions(&auth, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(problems(&load(&sources).unwrap()).iter().any(|problem| problem.starts_with("others can read")));
    fs::write(&auth, "{ \"hub\": hunter2").unwrap();
    let broken = load(&sources).unwrap();
    assert!(problems(&broken)[0].contains("auth.json:1 is not JSON"), "{:?}", problems(&broken));
    assert!(!format!("{:?}", problems(&broken)).contains("hunter2"));
}

#[test]
fn loading_again_reads_again() {
    let (directory, sources) =
        directory(&[("octroi.toml", "[[mcp.servers]]\nname = \"a\"\ncommand = \"x\"\n")]);
    assert_eq!(load(&sources).unwrap().settings.servers.len(), 1);
    let file = directory.path().join("octroi.toml");
    fs::write(&file, "[mcp]\nenabled = no\n").unwrap();
    assert!(matches!(load(&sources), Err(ConfigError::Syntax { .. })));
    fs::write(&file, "[mcp]\nenable = false\n").unwrap();
    assert!(matches!(load(&sources), Err(ConfigError::Invalid { .. })));
    fs::write(&file, "").unwrap();
    let empty = load(&sources).unwrap();
    assert_eq!(empty.settings.servers.len(), 0);
    assert!(empty.watched.contains(&directory.path().join("mcpservers")), "it may be created later");
    fs::remove_file(&file).unwrap();
    assert!(matches!(load(&sources), Err(ConfigError::Read { .. })));
}

#[test]
fn the_demo_server_is_configured_like_any_other() {
    let (_directory, sources) = directory(&[("octroi.toml", "[mcp.demo]\nenabled = false\n")]);
    let config = load(&Sources { demo: true, ..sources }).unwrap();
    assert!(config.settings.servers.iter().all(|server| !server.is_enabled()));
    assert_eq!(command(&config, "demo").last().map(String::as_str), Some("demo-server"));
}

#[test]
fn the_example_is_right() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/octroi.toml");
    let config = load(&Sources { config: Some(example), ..Sources::default() }).unwrap();
    assert_eq!(problems(&config), Vec::<String>::new());
    assert!(config.settings.servers.len() > 1);
}

#[test]
fn variables_of_the_file_beside_the_configuration() {
    let name = "OCTROI_TEST_OF_ENV_FILES";
    let file = format!(
        "[[mcp.servers]]\nname = \"one\"\ncommand = \"run\"\nenv = {{ A = \"${{{name}}}\", B = \"${{HOME}}\" }}\n"
    );
    let (directory, sources) = directory(&[("octroi.toml", &file)]);
    let missing = load(&sources).unwrap();
    assert!(problems(&missing)[0].contains("is not set"), "{:?}", problems(&missing));
    let path = directory.path().join(".env");
    assert!(missing.watched.contains(&path), "one that appears is noticed");

    fs::write(&path, format!("# keys\nexport {name}='hunter2 #'\nHOME=/elsewhere\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let config = load(&sources).unwrap();
    assert_eq!(problems(&config), Vec::<String>::new());
    let Transport::Stdio(program) = &config.settings.servers[0].transport else { panic!("it is a program") };
    assert_eq!(program.env["A"].expose(), "hunter2 #");
    // The environment comes first.
    assert_eq!(program.env["B"].expose(), std::env::var("HOME").unwrap());
    assert!(config.settings.secrets().contains(&"hunter2 #".to_owned()), "it is redacted");
    assert!(!format!("{config:?}").contains("hunter2"), "a secret shows");
    assert_eq!(config.resolved.variables_of_file().collect::<Vec<_>>(), [name]);

    // What was accepted is not what the file says now.
    let accepted = config.files.clone();
    fs::write(&path, format!("{name}=hunter3\n")).unwrap();
    let before = load_accepted(&accepted, &sources, Some(&config.resolved)).unwrap();
    let Transport::Stdio(program) = &before.settings.servers[0].transport else { panic!("it is a program") };
    assert_eq!(program.env["A"].expose(), "hunter2 #");
    let after_restart = load_accepted(&accepted, &sources, None).unwrap();
    assert!(after_restart.settings.servers.is_empty());
    assert!(
        problems(&after_restart).iter().any(|problem| problem.contains("has changed since it was accepted"))
    );

    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(problems(&load(&sources).unwrap()).iter().any(|problem| problem.starts_with("others can read")));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(refuse_exposed(&load(&sources).unwrap()).is_err());
    fs::write(&path, format!("{name}='hunter4")).unwrap();
    let text = problems(&load(&sources).unwrap()).join("\n");
    assert!(text.contains("a quote is not closed") && !text.contains("hunter4"), "{text}");
}
