//! Administrator settings of single tools.

use expect_test::expect;
use octroi_core::config::Origins;
use octroi_core::syntax::Format::Toml;
use octroi_core::tool::{Risk, ToolOverride};

use crate::harness::{describe, load};

#[test]
fn each_tool_has_its_own_words() {
    let config = load(
        Toml,
        r#"
[[mcp.servers]]
name = "files"
command = "run"
risk_overrides = { "*" = "critical" }
[mcp.servers.tools_override.delete_all]
enabled = false
reason = "never"
[mcp.servers.tools_override."read file"]
risk = "LOW"
side_effects = []
requires_admin_token = true
"#,
    );
    let [server] = &config.servers[..] else { panic!("{}", describe(&config)) };
    let expected = [
        (
            "delete_all",
            ToolOverride {
                enabled: Some(false),
                reason: Some("never".into()),
                risk: Some(Risk::Critical),
                ..ToolOverride::default()
            },
        ),
        (
            "read file",
            ToolOverride {
                risk: Some(Risk::Low),
                side_effects: Some(Vec::new()),
                requires_admin: Some(true),
                ..ToolOverride::default()
            },
        ),
        ("other", ToolOverride { risk: Some(Risk::Critical), ..ToolOverride::default() }),
    ];
    for (tool, expected) in expected {
        assert_eq!(server.override_of(tool), expected, "{tool}");
    }
    let toml = config.effective.to_toml(Origins::Omitted);
    let line = toml.lines().find(|line| line.starts_with("tools_override")).unwrap_or_default();
    expect![[r#"tools_override = { delete_all = { enabled = false, reason = "never" }, "read file" = { risk = "low", side_effects = [], requires_admin_token = true } }"#]].assert_eq(line);
}

#[test]
fn a_mistake_leaves_the_server_out() {
    let text = r#"
[mcp]
strict = false
[[mcp.servers]]
name = "a"
command = "run"
tools_override = { x = false }
[[mcp.servers]]
name = "b"
command = "run"
tools_override = { x = {} }
[[mcp.servers]]
name = "c"
command = "run"
tools_override = { x = { enabeld = false } }
[[mcp.servers]]
name = "d"
command = "run"
tools_override = { x = { enabled = "no", risk = "none", reason = "" } }
[[mcp.servers]]
name = "e"
command = "run"
tools_override = ["x"]
"#;
    expect![[r#"
        left_out: file:7: server `a` is left out: `tools_override` needs a table with settings for `x`; write { enabled = false }
        left_out: file:11: server `b` is left out: `tools_override` needs a table with settings for `x`; write { enabled = false }
        left_out: file:15: server `c` is left out: unknown key `enabeld`; did you mean `enabled`?
        left_out: file:19: server `d` is left out: `enabled` must be true or false, not a text
        left_out: file:19: server `d` is left out: `reason` is empty
        left_out: file:19: server `d` is left out: `risk` cannot be `none`, only one of: low, medium, high, critical
        left_out: file:23: server `e` is left out: `tools_override` must be a table of tables, not a list
    "#]].assert_eq(&describe(&load(Toml, text)));
}
