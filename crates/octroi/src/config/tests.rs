use super::*;

fn read(text: &str) -> Config {
    parse(text, |name| (name == "TOKEN").then(|| "hunter2".to_owned())).unwrap()
}

#[test]
fn a_local_and_a_remote_server() {
    let config = read(
        r#"
        [[mcp.servers]]
        name = "fs"
        command = "npx"
        args = ["-y", "server"]
        env = { KEY = "${TOKEN}" }
        timeout = 500

        [[mcp.servers]]
        name = "hub"
        url = "https://example.com/mcp"
        headers = { Authorization = "Bearer ${TOKEN}" }
        era = "modern"
        timeout = "2m"
        "#,
    );
    assert_eq!(config.problems, Vec::<String>::new());
    let [fs, hub] = &config.servers[..] else {
        panic!("{config:?}");
    };
    let Transport::Stdio(program) = &fs.transport else {
        panic!("{fs:?}");
    };
    assert_eq!((program.command.as_str(), program.args.len()), ("npx", 2));
    assert_eq!(program.env["KEY"].expose(), "hunter2");
    assert_eq!(fs.timeouts.call, Duration::from_millis(500));
    let Transport::Http(remote) = &hub.transport else {
        panic!("{hub:?}");
    };
    assert_eq!(remote.headers["Authorization"].expose(), "Bearer hunter2");
    assert_eq!((hub.era, hub.timeouts.call), (EraChoice::Modern, Duration::from_mins(2)));
    assert!(!format!("{config:?}").contains("hunter2"), "a secret shows");
}

#[test]
fn one_bad_server_leaves_the_others_alone() {
    let config = read(
        r#"
        [[mcp.servers]]
        name = "good"
        command = ["run", "me"]
        [[mcp.servers]]
        name = "Bad Name"
        command = "x"
        [[mcp.servers]]
        name = "unset"
        url = "https://example.com/${NOT_SET}"
        [[mcp.servers]]
        name = "empty"
        [[mcp.servers]]
        name = "ws"
        url = "ws://example.com"
        [[mcp.servers]]
        name = "good"
        command = "again"
        [[mcp.servers]]
        name = "off"
        enabled = false
        "#,
    );
    assert_eq!(config.servers.len(), 1);
    assert_eq!(config.problems.len(), 5, "{:#?}", config.problems);
    assert!(config.problems[1].contains("`${NOT_SET}` is not set"), "{:?}", config.problems);
}

#[test]
fn tokens_are_kept_as_hashes() {
    let config = read(
        r#"
        [[tokens]]
        token = "plain"
        role = "agent"
        agent_id = "coder"
        [[tokens]]
        sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
        role = "human"
        [[tokens]]
        role = "agent"
        token = "nameless"
        "#,
    );
    assert_eq!(config.tokens.find("plain").unwrap().agent_id.as_deref(), Some("coder"));
    assert_eq!(config.tokens.find("secret").unwrap().role, Role::Human);
    assert_eq!(config.problems, ["token 3 is left out: an agent's token needs `agent_id`"]);
    assert!(!format!("{config:?}").contains("plain"));
}

#[test]
fn a_misspelt_key_is_an_error_that_names_it() {
    let error = parse("[[mcp.servers]]\nname = \"a\"\ncomand = \"x\"", |_| None).unwrap_err();
    assert!(error.to_string().contains("comand"), "{error}");
}
