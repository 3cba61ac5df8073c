use expect_test::expect;
use octroi_core::tool::Risk;
use serde_json::json;

use super::*;
use crate::tests::support::schema;

#[test]
fn real_tools_have_a_readable_schema() {
    let schema = schema();
    let (_, tools) = schema.to_text().split_once("// Every tool.\n").unwrap();
    expect![[r#"
        action "call";

        action "db.*" in ["call"];

        // Without args.params: values of several types.
        // Without args.timeout_seconds: numbers with a fraction.
        @doc("risk: high; side effects: unknown")
        action "db.query" in ["db.*"] appliesTo {
          principal: [Agent],
          resource: [Tool],
          context: {
            args: {
              limit?: Long,
              "max-rows"?: Long,
              sql: String,
            },
            facts: Facts,
            session: Session,
          },
        };

        action "files.*" in ["call"];

        @doc("risk: low")
        action "files.read_file" in ["files.*"] appliesTo {
          principal: [Agent],
          resource: [Tool],
          context: {
            args: {
              head?: Long,
              path: String,
            },
            facts: Facts,
            session: Session,
          },
        };

        @doc("risk: high; side effects: fs.write")
        action "files.write_file" in ["files.*"] appliesTo {
          principal: [Agent],
          resource: [Tool],
          context: {
            args: {
              content: String,
              path: String,
            },
            facts: Facts,
            session: Session,
          },
        };

        action "github.*" in ["call"];

        @doc("risk: medium; side effects: data.write")
        action "github.create_issue" in ["github.*"] appliesTo {
          principal: [Agent],
          resource: [Tool],
          context: {
            args: {
              body?: String,
              draft?: Bool,
              labels?: Set<String>,
              milestone?: Long,
              repo: {
                name: String,
                owner: String,
              },
              title: String,
            },
            facts: Facts,
            session: Session,
          },
        };

        action "shell.*" in ["call"];

        @doc("risk: low")
        action "shell.list" in ["shell.*"] appliesTo {
          principal: [Agent],
          resource: [Tool],
          context: {
            args: {},
            facts: Facts,
            session: Session,
          },
        };

        // Without args.env: an object whose members are not listed.
        @doc("risk: critical; side effects: system.exec, unknown")
        action "shell.run" in ["shell.*"] appliesTo {
          principal: [Agent],
          resource: [Tool],
          context: {
            args: {
              command: String,
            },
            facts: Facts,
            session: Session,
          },
        };
    "#]]
    .assert_eq(tools);
}

fn shape<'a>(server: &'a str, tool: &'a str, input_schema: &'a Value) -> ToolShape<'a> {
    ToolShape { server, tool, risk: Risk::Low, side_effects: &[], input_schema }
}

#[test]
fn no_name_breaks_out_of_the_schema() {
    let evil = [
        "x\"; entity Evil; action \"y",
        "x\\\"; entity Evil; //",
        "line\nbreak\"] appliesTo { principal: [Server], resource: [Server] }; //",
        "quote'and`tick",
        "nul\0",
        "\u{202e}txet",
        "emoji 🦀 and ünïcödé",
        "e\u{301}",
        "a.b.c",
        "",
        " ",
        "*/ /*",
        "${x}",
        "\\u{41}",
    ];
    for name in evil {
        let input_schema = json!({
            "type": "object",
            "properties": {
                name: {"type": "string"},
                "inner": {"type": "object", "properties": {name: {"type": "boolean"}}, "required": [name]},
                "wrong": {"type": "object", "properties": {name: {"type": "number"}, "x": {"type": "string"}}},
            },
            "required": [name],
        });
        let side_effects = [name.to_owned()];
        let tool = ToolShape { side_effects: &side_effects, ..shape("server", name, &input_schema) };
        let schema = Schema::new(&[tool]).unwrap_or_else(|error| panic!("{name:?}: {error:?}"));
        let action = schema.types.action(&format!("server.{name}"));
        assert!(schema.cedar.actions().any(|known| *known == action), "{name:?} is not an action");
        let types: Vec<String> = schema.cedar.entity_types().map(ToString::to_string).collect();
        assert!(!types.iter().any(|known| known == "Evil"), "{name:?}: {types:?}");
        let arguments = &schema.tools["server"][name].arguments;
        assert_eq!(arguments.record.fields.len(), 3, "{name:?}");
        assert_eq!(arguments.left_out.len(), 1, "{name:?}");
        // A policy finds the argument under its exact name.
        let quoted = name.escape_debug();
        let policy = format!(
            "permit(principal, action == Action::\"server.{quoted}\", resource)
             when {{ context.args[\"{quoted}\"] == \"x\" }};"
        );
        let problems = crate::Policies::load(&policy, &schema).err();
        // Cedar does not accept names with ambiguous appearance.
        let is_strange = name.contains(['\n', '\0', '\u{202e}', '🦀']);
        assert_eq!(problems.is_some(), is_strange, "{name:?}: {problems:?}");
    }
}

#[test]
fn evil_servers_have_no_say_either() {
    let none = json!({});
    for server in ["x\"; entity Evil; action \"y", "line\nbreak", "ünï"] {
        let schema = Schema::new(&[shape(server, "t", &none)]).unwrap();
        assert_eq!(schema.cedar.entity_types().count(), 3, "{:?}", schema.to_text());
    }
}

#[test]
fn what_could_be_taken_for_something_else_is_left_out() {
    let none = json!({});
    let schema = Schema::new(&[
        shape("a", "*", &none),
        shape("a.b", "c", &none),
        shape("", "c", &none),
        shape("a", "b.c", &none),
        shape("a", "b.c", &json!({"properties": {"late": {"type": "string"}}})),
    ]);
    let schema = schema.unwrap();
    assert_eq!(schema.tool_names().collect::<Vec<_>>(), ["a.b.c"]);
    assert!(schema.tools["a"]["b.c"].arguments.record.fields.is_empty(), "the first one counts");
}

#[test]
fn no_tools_make_a_schema_too() {
    assert_eq!(Schema::new(&[]).unwrap().tool_names().count(), 0);
}
