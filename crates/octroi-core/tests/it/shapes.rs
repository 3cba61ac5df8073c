//! Every file shape of other programs, as in their documentation.

use expect_test::expect;
use octroi_core::config::AutoReload;
use octroi_core::syntax::Format::{Jsonc, Toml, Yaml};

use crate::harness::{check, describe, load};

#[test]
fn a_list_in_yaml() {
    check(
        Yaml,
        r#"
mcp_servers:
  - id: echo-math
    enabled: true
    transport: stdio
    command: ["node", "servers/echo-math/index.js"]
    allow_tools: []  # 空 = 允许所有
    deny_side_effect_tags: []
    timeout_ms: 5000
    env:
      NODE_ENV: "production"
"#,
        expect![[r#"
            echo-math: stdio node ["servers/echo-math/index.js"] NODE_ENV=production in /cfg
                enabled = true, timeout = "5s", allow_tools = [], deny_side_effect_tags = []
        "#]],
    );
}

#[test]
fn the_least_that_a_list_needs() {
    check(
        Yaml,
        r#"
# ~/.agentos/mcp_servers.yaml
mcp_servers:
  - id: my-server
    enabled: true
    transport: stdio
    command: ["node", "path/to/my-mcp-server/index.js"]
"#,
        expect![[r#"
            my-server: stdio node ["path/to/my-mcp-server/index.js"] in /cfg
                enabled = true
        "#]],
    );
}

#[test]
fn fragments_without_a_name_are_left_out_one_by_one() {
    check(
        Yaml,
        r#"
# 配置推荐
mcp_servers:
  - timeout_ms: 5000   # 简单操作 (echo, sum)
  - timeout_ms: 30000  # 网络操作 (http fetch)
  - timeout_ms: 60000  # 复杂操作 (database query)
"#,
        expect![[r#"
            left_out: file:4: a server is left out: it has no name; write `name`
            left_out: file:5: a server is left out: it has no name; write `name`
            left_out: file:6: a server is left out: it has no name; write `name`
        "#]],
    );
}

#[test]
fn a_map_of_servers_under_mcp() {
    check(
        Jsonc,
        r#"
{
  "mcp": {
    // ========== 本地 MCP ==========
    "filesystem": {
      "type": "local",
      "command": ["bun", "run", "./mcpservers/filesystem/server.mjs"],
      "enabled": true,
      "timeout": 30000
    },
    
    // ========== 远程 MCP - API Key ==========
    "context7": {
      "type": "remote",
      "url": "https://mcp.context7.com/mcp",
      "enabled": true,
      "headers": {
        "CONTEXT7_API_KEY": "${auth:context7}"
      }
    },
    
    // ========== 远程 MCP - OAuth ==========
    "sentry": {
      "type": "remote",
      "url": "https://mcp.sentry.dev/mcp",
      "oauth": {},
      "enabled": true
    },
    
    // ========== 远程 MCP - OAuth 预注册 ==========
    "github": {
      "type": "remote",
      "url": "https://api.github.com/mcp",
      "oauth": {
        "clientId": "${env:GITHUB_CLIENT_ID}",
        "clientSecret": "${env:GITHUB_CLIENT_SECRET}",
        "scope": "repo read:user"
      },
      "enabled": true
    },
    
    // ========== 禁用 OAuth ==========
    "custom-api": {
      "type": "remote",
      "url": "https://mcp.example.com",
      "oauth": false,
      "headers": {
        "Authorization": "Bearer ${auth:custom-api}"
      }
    }
  }
}
"#,
        expect![[r#"
            filesystem: stdio bun ["run", "./mcpservers/filesystem/server.mjs"] in /cfg
                enabled = true, timeout = "30s"
            context7: http https://mcp.context7.com/mcp CONTEXT7_API_KEY: <auth context7>
                enabled = true
            sentry: http https://mcp.sentry.dev/mcp
                enabled = true, oauth = {}
            github: http https://api.github.com/mcp
                enabled = true, oauth = {"client_id":"***","client_secret":"***","scope":"repo read:user"}
            custom-api: http https://mcp.example.com Authorization: Bearer <auth custom-api>
                oauth = false
        "#]],
    );
}

#[test]
fn one_server_under_mcp() {
    check(
        Jsonc,
        r#"
{
  "mcp": {
    "my-server": {
      "type": "local",
      "command": ["bun", "run", "./mcpservers/my-server/server.mjs"]
    }
  }
}
"#,
        expect![[r#"
            my-server: stdio bun ["run", "./mcpservers/my-server/server.mjs"] in /cfg
        "#]],
    );
}

#[test]
fn octroi_itself_in_another_shape() {
    let text = r#"
{
  // MCP Server 配置
  "mcpServer": {
    "enabled": true,
    "transport": "stdio",  // 或 "http"
    "http": {
      "port": 3000,
      "host": "0.0.0.0"
    }
  }
}
"#;
    let config = load(Jsonc, text);
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:7878", "standard streams need no address");
    assert_eq!(describe(&config), "");
    assert!(config.listen_problem().is_none());

    let config = load(Jsonc, &text.replacen("\"stdio\"", "\"http\"", 1));
    assert_eq!(config.server.listen.to_string(), "0.0.0.0:3000");
    assert!(config.listen_problem().is_some(), "other machines would get in without a token");
}

#[test]
fn mcp_with_server_and_clients() {
    let text = r#"
{ "mcp": {
    "server": { "enabled": true, "transport": "http", "http": { "port": 3000, "host": "localhost" } },
    "clients": {
      "files": { "type": "local", "command": ["bun", "run", "x.mjs"], "environment": { "A": "b" }, "timeout": 1 },
      "far": { "type": "remote", "url": "https://example.com/mcp", "timeout": 60000 },
      "unheard-of": { "enabled": false }
} } }
"#;
    assert_eq!(load(Jsonc, text).server.listen.to_string(), "127.0.0.1:3000");
    check(
        Jsonc,
        text,
        expect![[r#"
        files: stdio bun ["run", "x.mjs"] A=b in /cfg
            timeout = "1ms"
        far: http https://example.com/mcp
            timeout = "1m"
        warning: file:7: server `unheard-of`: it has neither `command` nor `url`, and there is no such server to switch
    "#]],
    );
}

#[test]
fn a_server_may_be_called_server() {
    check(
        Jsonc,
        r#"{ "mcp": { "server": { "type": "local", "command": ["run"] }, "strict": true } }"#,
        expect![[r#"
            server: stdio run [] in /cfg
        "#]],
    );
}

#[test]
fn tables_in_toml() {
    let text = r#"
[[mcp.servers]]
name = "filesystem"
transport = "stdio"
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "HOME/user/projects"]

[[mcp.servers]]
name = "browser"
transport = "stdio"
command = "npx"
args = ["-y", "@anthropic-ai/mcp-server-browser"]

[[mcp.servers]]
name = "github"
transport = "sse"
url = "https://api.github.com/mcp/sse"
headers = { Authorization = "Bearer ${GITHUB_TOKEN}" }
"#;
    check(
        Toml,
        text,
        expect![[r#"
        filesystem: stdio npx ["-y", "@modelcontextprotocol/server-filesystem", "HOME/user/projects"] in /cfg
        browser: stdio npx ["-y", "@anthropic-ai/mcp-server-browser"] in /cfg
        github: sse https://api.github.com/mcp/sse Authorization: Bearer <GITHUB_TOKEN>
    "#]],
    );
}

#[test]
fn tables_in_toml_with_settings() {
    let text = r#"
[mcp]
enabled = true                    # 全局开关
auto_reload = true               # 配置变更自动重载
health_check_interval = "30s"    # 健康检查间隔

[[mcp.servers]]
name = "filesystem"
transport = "stdio"
command = "npx"
args = ["-y", "@modelcontextprotocol/server-filesystem", "HOME/user/projects"]
env = { NODE_ENV = "production" }
enabled = true

[[mcp.servers]]
name = "browser"
transport = "stdio"
command = "npx"
args = ["-y", "@anthropic-ai/mcp-server-browser"]

[[mcp.servers]]
name = "github"
transport = "sse"
url = "https://api.github.com/mcp/sse"
headers = { Authorization = "Bearer ${GITHUB_TOKEN}" }
timeout = "30s"                  # 单次调用超时
"#;
    let config = load(Toml, text);
    assert!(config.mcp.enabled && config.mcp.auto_reload == AutoReload::Always);
    assert!(config.servers.iter().all(|server| server.health_interval.unwrap().as_secs() == 30));
    check(
        Toml,
        text,
        expect![[r#"
            filesystem: stdio npx ["-y", "@modelcontextprotocol/server-filesystem", "HOME/user/projects"] NODE_ENV=production in /cfg
                enabled = true, health_interval = "30s"
            browser: stdio npx ["-y", "@anthropic-ai/mcp-server-browser"] in /cfg
                health_interval = "30s"
            github: sse https://api.github.com/mcp/sse Authorization: Bearer <GITHUB_TOKEN>
                timeout = "30s", health_interval = "30s"
        "#]],
    );
}

#[test]
fn a_list_of_tables_in_toml() {
    check(
        Toml,
        r#"
[[mcp_servers]]
name = "filesystem"
transport = "stdio"
command = "npx"
args = ["-y", "server"]
env = { A = "b" }
"#,
        expect![[r#"
            filesystem: stdio npx ["-y", "server"] A=b in /cfg
        "#]],
    );
}

#[test]
fn records_with_a_url_and_an_environment() {
    check(
        Jsonc,
        r#"
{ "mcp_servers": [
  {
    "name": "postgres", "display_name": "PostgreSQL", "description": "queries", "scope": "system", "user_id": null,
    "url": "stdio://python -m 'mcp server' --dsn=${API_KEY}", "enabled": true, "auto_start": false,
    "api_key_env": null,
  "env_type": "dynamic_injected",
  "env_config": {
    "runtime": "python",
    "package": "mcp-server-postgres"
  }
  },
  { "name": "box", "url": "stdio://run", "auto_start": true, "api_key_env": "BOX_KEY",
    "env_config": { "env": { "A": "b" }, "cwd": "inner" } },
  { "name": "old", "url": "sse://example.com/events", "env_config": { "headers": { "X": "y" } } },
  { "name": "near", "url": "sse://localhost:9/events" },
  { "name": "new", "url": "https://example.com/mcp", "api_key_env": "API_KEY" },
  { "name": "socket", "url": "ws://example.com/mcp" },
  { "name": "unclosed", "url": "stdio://run 'this" }
] }
"#,
        expect![[r#"
            postgres: stdio python ["-m", "mcp server", "--dsn=<API_KEY>"] in /cfg
                title = "PostgreSQL", description = "queries", enabled = true, start = "lazy", scope = "system", env_type = "dynamic_injected", runtime = "python", package = "mcp-server-postgres"
            box: stdio run [] A=b +BOX_KEY in /cfg/inner
                api_key_env = "BOX_KEY", start = "eager"
            old: sse https://example.com/events X: y
            near: sse http://localhost:9/events
            new: http https://example.com/mcp Authorization: Bearer <API_KEY>
                api_key_env = "API_KEY"
            warning: file:7: server `postgres`: environments are not built yet, so `env_type` is only kept: the command runs on this machine
            left_out: file:18: server `socket` is left out: `ws://` is not supported; MCP has no WebSocket transport; ask the server for its http:// or https:// address
            left_out: file:19: server `unclosed` is left out: quotes are not closed in the `stdio://` address
        "#]],
    );
}

#[test]
fn the_map_of_desktop_clients() {
    check(
        Jsonc,
        r#"
{
  "mcpServers": {
    "memory": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": { "PORT": 8080 } },
    "My Server": { "command": "x" },
    "linear": { "type": "http", "url": "https://mcp.linear.app/mcp" },
    "octroi": { "command": "octroi", "args": ["stdio"] }
  }
}
"#,
        expect![[r#"
            memory: stdio npx ["-y", "@modelcontextprotocol/server-memory"] PORT=8080 in /cfg
            linear: http https://mcp.linear.app/mcp
            left_out: file:5: server `My Server` is left out: `My Server` is not a server name: only a-z, 0-9, `_` and `-` are allowed; write `my-server`
            left_out: file:7: server `octroi` is left out: `octroi` is the name of Octroi's own tools; choose another name
        "#]],
    );
}

#[test]
fn the_map_of_editors_with_inputs() {
    check(
        Jsonc,
        r#"
{
  "inputs": [
    { "type": "promptString", "id": "key", "description": "API key", "password": true },
    { "type": "promptString", "id": "region", "description": "Region", "default": "eu" }
  ],
  "servers": {
    "asks": { "type": "stdio", "command": "npx", "args": ["-y", "x"], "env": { "KEY": "${input:key}" } },
    "knows": { "type": "http", "url": "https://example.com/${input:region}/mcp" }
  }
}
"#,
        expect![[r#"
            knows: http https://example.com/eu/mcp
            left_out: file:8: server `asks` is left out: `${input:key}` cannot be read: Octroi does not prompt for inputs; use a variable, as in `${NAME}`
        "#]],
    );
}
