//! The agents: how each is started without a terminal, with Octroi as its only MCP server.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use octroi_testkit::client::options::Transport;
use serde_json::json;
use tokio::process::{Child, Command};

/// An agent may take this long to end, once it has nothing to do.
const END_LIMIT: Duration = Duration::from_secs(30);
/// A model server needs some key; the scripted one takes any.
const KEY: &str = "scripted";

/// Where the packages and the scripted model are.
pub(super) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/coding-agents")
}

/// An agent that people use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodingAgent {
    ClaudeCode,
    Codex,
    GeminiCli,
}

/// An agent at work.
pub(super) struct RunningAgent {
    child: Child,
    output: PathBuf,
}

impl CodingAgent {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
        }
    }

    const fn package(self) -> &'static str {
        match self {
            Self::ClaudeCode => "@anthropic-ai/claude-code",
            Self::Codex => "@openai/codex",
            Self::GeminiCli => "@google/gemini-cli",
        }
    }

    const fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini",
        }
    }

    /// The version that is pinned in `package.json`.
    pub(super) fn version(self) -> String {
        let text = std::fs::read_to_string(directory().join("package.json")).expect("it can be read");
        let package: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        package["dependencies"][self.package()].as_str().expect("it is pinned").to_owned()
    }

    /// Starts it with this home directory, which must be empty, and a model at this port.
    pub(super) fn start(self, home: &Path, model: u16, way: &Transport) -> RunningAgent {
        let program = directory().join("node_modules/.bin").join(self.program());
        assert!(
            program.exists(),
            "{} is not there; run `cargo xtask test`, which installs it",
            program.display()
        );
        let work = home.join("work");
        std::fs::create_dir_all(&work).expect("the directory can be made");
        let mut command = Command::new(program);
        // Nothing of the user's own settings and accounts.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home);
        match self {
            Self::ClaudeCode => claude_code(&mut command, home, model, way),
            Self::Codex => codex(&mut command, home, model, way),
            Self::GeminiCli => gemini_cli(&mut command, home, model, way),
        }
        let output = home.join("output");
        let file = std::fs::File::create(&output).expect("the file can be made");
        let child = command
            .current_dir(work)
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("a file can be shared"))
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .expect("the agent should start");
        RunningAgent { child, output }
    }
}

impl RunningAgent {
    /// What it printed, once it has ended by itself and successfully.
    pub(super) async fn finish(mut self) -> Result<String, String> {
        let ended = tokio::time::timeout(END_LIMIT, self.child.wait()).await;
        let output = self.output();
        match ended {
            Ok(Ok(status)) if status.success() => Ok(output),
            Ok(ended) => Err(format!("it ended with {ended:?}: {output}")),
            Err(_) => Err(format!("it did not end: {output}")),
        }
    }

    /// What it printed so far.
    pub(super) fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.output).unwrap_or_default()).into_owned()
    }
}

/// Writes a settings file below the home directory.
fn write(home: &Path, path: &str, text: &str) -> PathBuf {
    let file = home.join(path);
    std::fs::create_dir_all(file.parent().expect("it is in a directory")).expect("it can be made");
    std::fs::write(&file, text).expect("the file can be written");
    file
}

fn bearer(token: Option<&String>) -> String {
    format!("Bearer {}", token.map(String::as_str).unwrap_or_default())
}

fn claude_code(command: &mut Command, home: &Path, model: u16, way: &Transport) {
    let server = match way {
        Transport::Http { url, token } => {
            json!({ "type": "http", "url": url, "headers": { "Authorization": bearer(token.as_ref()) } })
        }
        Transport::Sse { url, token } => {
            json!({ "type": "sse", "url": url, "headers": { "Authorization": bearer(token.as_ref()) } })
        }
        Transport::Stdio { command, args, .. } => json!({ "command": command, "args": args }),
    };
    let file = write(home, "mcp.json", &json!({ "mcpServers": { "octroi": server } }).to_string());
    command
        .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{model}"))
        .env("ANTHROPIC_API_KEY", KEY)
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        // Otherwise its model searches for tools instead of being shown them.
        .env("ENABLE_TOOL_SEARCH", "false")
        .args(["-p", "go", "--strict-mcp-config", "--allowedTools", "mcp__octroi", "--mcp-config"])
        .arg(file);
}

fn codex(command: &mut Command, home: &Path, model: u16, way: &Transport) {
    let server = match way {
        Transport::Http { url, token } => {
            command.env("OCTROI_TOKEN", token.as_deref().unwrap_or_default());
            format!("url = {}\nbearer_token_env_var = \"OCTROI_TOKEN\"", json!(url))
        }
        Transport::Sse { .. } => panic!("Codex has no HTTP+SSE"),
        Transport::Stdio { command, args, .. } => {
            format!("command = {}\nargs = {}", json!(command), json!(args))
        }
    };
    let settings = format!(
        r#"model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{model}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[mcp_servers.octroi]
{server}
default_tools_approval_mode = "approve"
"#
    );
    write(home, ".codex/config.toml", &settings);
    command.env("SCRIPTED_KEY", KEY).args(["exec", "--skip-git-repo-check", "go"]);
}

fn gemini_cli(command: &mut Command, home: &Path, model: u16, way: &Transport) {
    let mut server = match way {
        Transport::Http { url, token } => {
            json!({ "httpUrl": url, "headers": { "Authorization": bearer(token.as_ref()) } })
        }
        Transport::Sse { url, token } => {
            json!({ "type": "sse", "url": url, "headers": { "Authorization": bearer(token.as_ref()) } })
        }
        Transport::Stdio { command, args, .. } => json!({ "command": command, "args": args }),
    };
    server["trust"] = json!(true);
    let settings = json!({
        "mcpServers": { "octroi": server },
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "enableAutoUpdate": false },
    });
    write(home, ".gemini/settings.json", &settings.to_string());
    command
        .env("GOOGLE_GEMINI_BASE_URL", format!("http://127.0.0.1:{model}"))
        .env("GEMINI_API_KEY", KEY)
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .args(["-m", "gemini-2.5-flash", "--yolo", "-p", "go"]);
}
