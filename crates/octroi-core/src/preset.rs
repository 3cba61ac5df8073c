//! Presets: agents that are described once, to be created by name.
//!
//! A preset is a file in TOML or YAML. Pure: the text is passed in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::{Mode, Profile};
use crate::name::ServerKey;
use crate::policy::Document;
use crate::suggest::did_you_mean;
use crate::syntax::{self, Format, Map, Member, Node, Value};

/// The preset that always exists.
pub const DEFAULT_PRESET: &str = "default";
/// The longest name of a preset.
const LONGEST_NAME: usize = 64;
/// The longest system prompt, in bytes.
pub const SYSTEM_PROMPT_BYTES: usize = 64 << 10;

/// An agent that is described once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// What the agent is for.
    pub description: Option<String>,
    /// What the agent's model is told first.
    pub system_prompt: Option<String>,
    /// The servers that the agent has; its owner's whole pool, if none is named.
    pub servers: Vec<ServerKey>,
    /// The policy of the agent's level, as text.
    pub policy: Option<String>,
    /// The project it works on.
    pub project: Option<String>,
    /// Planning or execution.
    pub mode: Option<Mode>,
    /// How strict the gates are.
    pub profile: Option<Profile>,
    /// The file; `None` for the built-in one.
    pub file: Option<PathBuf>,
    /// When the file was last changed.
    pub modified_at_ms: Option<i64>,
}

/// All presets that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresetCatalogue {
    /// By name.
    pub presets: Vec<Preset>,
    /// Files that cannot be used, and why.
    pub problems: Vec<String>,
}

impl Default for PresetCatalogue {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new())
    }
}

impl PresetCatalogue {
    /// The presets of files, in the order of their directories, and the built-in one. The first of a name counts.
    pub fn new(own: Vec<Preset>, problems: Vec<String>) -> Self {
        let mut presets: Vec<Preset> = Vec::new();
        for preset in own.into_iter().chain([built_in()]) {
            if !presets.iter().any(|known| known.name == preset.name) {
                presets.push(preset);
            }
        }
        presets.sort_by(|left, right| left.name.cmp(&right.name));
        Self { presets, problems }
    }

    /// The preset of this name, or a message that lists those there are.
    pub fn find(&self, name: &str) -> Result<&Preset, String> {
        self.presets.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.presets.iter().map(|preset| preset.name.as_str()).collect();
            format!("there is no preset `{name}`; there are: {}", names.join(", "))
        })
    }
}

fn built_in() -> Preset {
    Preset {
        name: DEFAULT_PRESET.to_owned(),
        description: Some("An agent with the default settings and its owner's whole pool.".to_owned()),
        ..Preset::default()
    }
}

/// Reads a preset. Its name is that of its file unless it has one.
pub fn parse(text: &str, path: &Path, modified_at_ms: Option<i64>) -> Result<Preset, String> {
    let format = Format::of(path);
    let root = syntax::parse(format, text, &Arc::from(path))
        .map_err(|error| format!("line {}: this is not {}", error.line, format.name()))?;
    let map = match &root.value {
        Value::Map(map) => map.clone(),
        Value::Null => Map::default(),
        other => return Err(format!("a preset is a table, not {}", other.kind())),
    };
    let mut preset = Preset { file: Some(path.to_path_buf()), modified_at_ms, ..Preset::default() };
    for member in &map {
        read_member(&mut preset, member)?;
    }
    if preset.name.is_empty() {
        preset.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    check(&preset)?;
    Ok(preset)
}

/// Keys and their synonyms.
const KEYS: [(&str, &[&str]); 8] = [
    ("name", &[]),
    ("description", &[]),
    ("system_prompt", &["system"]),
    ("servers", &["mcp_servers"]),
    ("policy", &["approval_policy"]),
    ("project", &[]),
    ("mode", &[]),
    ("profile", &[]),
];

fn read_member(preset: &mut Preset, member: &Member) -> Result<(), String> {
    let key = KEYS
        .iter()
        .find(|(name, synonyms)| *name == member.key || synonyms.contains(&member.key.as_str()))
        .map(|(name, _)| *name);
    let Some(key) = key else {
        let hint = did_you_mean(&member.key, KEYS.iter().map(|(name, _)| *name));
        let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        return Err(format!("unknown key `{}`{hint}", member.key));
    };
    let is_set = match key {
        "name" => !preset.name.is_empty(),
        "description" => preset.description.is_some(),
        "system_prompt" => preset.system_prompt.is_some(),
        "servers" => !preset.servers.is_empty(),
        "policy" => preset.policy.is_some(),
        _ => false,
    };
    if is_set {
        return Err(format!("`{}` says again what another key says", member.key));
    }
    match key {
        "name" => preset.name = text(member)?,
        "description" => preset.description = Some(text(member)?),
        "system_prompt" => preset.system_prompt = Some(text(member)?),
        "servers" => preset.servers = servers(member)?,
        "policy" => preset.policy = Some(text(member)?),
        "project" => preset.project = Some(text(member)?),
        "mode" => {
            let word = text(member)?;
            let mode = Mode::parse(&word);
            preset.mode =
                Some(mode.ok_or_else(|| format!("`mode` cannot be `{word}`, only planning or execution"))?);
        }
        _ => {
            let word = text(member)?;
            let profile = Profile::parse(&word);
            let problem = || format!("`profile` cannot be `{word}`, only strict, guarded or open");
            preset.profile = Some(profile.ok_or_else(problem)?);
        }
    }
    Ok(())
}

fn text(member: &Member) -> Result<String, String> {
    let text = member.node.as_text();
    text.map(str::to_owned)
        .ok_or_else(|| format!("`{}` must be a text, not {}", member.key, member.node.value.kind()))
}

fn servers(member: &Member) -> Result<Vec<ServerKey>, String> {
    let Value::List(items) = &member.node.value else {
        return Err(format!(
            "`{}` must be a list of names of servers, not {}",
            member.key,
            member.node.value.kind()
        ));
    };
    let server = |item: &Node| {
        let name =
            item.as_text().ok_or_else(|| format!("`{}` must be a list of names of servers", member.key))?;
        ServerKey::parse(name).ok_or_else(|| format!("`{name}` is not the name of a server"))
    };
    items.iter().map(server).collect()
}

fn check(preset: &Preset) -> Result<(), String> {
    let name = &preset.name;
    let is_name = (1..=LONGEST_NAME).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if !is_name {
        return Err(format!("`{name}` is not a name: up to 64 letters, digits, `.`, `_` and `-`"));
    }
    if preset.system_prompt.as_ref().is_some_and(|prompt| prompt.len() > SYSTEM_PROMPT_BYTES) {
        return Err(format!("`system_prompt` is longer than {SYSTEM_PROMPT_BYTES} bytes"));
    }
    match preset.policy.as_deref().map(Document::parse) {
        Some(Err(complaints)) => {
            let first = complaints.first().map(ToString::to_string).unwrap_or_default();
            Err(format!("its policy cannot be used: {first}"))
        }
        Some(Ok(_)) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = r#"
description: Reviews pull requests.
system: |
  You review code.
  Be kind.
mcp_servers: [github, ana/notes]
mode: planning
profile: strict
project: web
approval_policy: |
  [[allow]]
  tool = "github.get_*"
"#;

    #[test]
    fn a_preset_is_yaml_or_toml() {
        let preset = parse(YAML, Path::new("/p/reviewer.yaml"), Some(5)).unwrap();
        let servers: Vec<String> = preset.servers.iter().map(ToString::to_string).collect();
        assert_eq!(
            (preset.name.as_str(), servers),
            ("reviewer", vec!["github".to_owned(), "ana/notes".to_owned()])
        );
        assert_eq!(preset.system_prompt.as_deref(), Some("You review code.\nBe kind.\n"));
        assert_eq!((preset.mode, preset.profile), (Some(Mode::Planning), Some(Profile::Strict)));
        assert_eq!((preset.project.as_deref(), preset.modified_at_ms), (Some("web"), Some(5)));
        assert!(preset.policy.is_some_and(|policy| policy.contains("github.get_*")));
        let toml = "name = \"writer\"\nsystem_prompt = \"Write.\"\nservers = [\"files\"]";
        let preset = parse(toml, Path::new("/p/x.toml"), None).unwrap();
        assert_eq!((preset.name.as_str(), preset.system_prompt.as_deref()), ("writer", Some("Write.")));
        assert_eq!(parse("", Path::new("/p/empty.yml"), None).unwrap().name, "empty");
    }

    #[test]
    fn what_is_no_preset_is_refused_with_the_reason() {
        for (path, text, expected) in [
            ("a.yaml", "a: [", "this is not YAML"),
            ("a.toml", "a = ", "this is not TOML"),
            ("a.yaml", "[a, b]", "a preset is a table, not a list"),
            ("a.yaml", "sistem_prompt: x", "unknown key `sistem_prompt`; did you mean `system_prompt`?"),
            ("a.yaml", "system: x\nsystem_prompt: y", "`system_prompt` says again"),
            ("a.yaml", "name: 5", "`name` must be a text, not a number"),
            ("a.yaml", "name: a b", "`a b` is not a name"),
            ("a b.yaml", "", "`a b` is not a name"),
            ("a.yaml", "servers: github", "must be a list of names of servers, not a text"),
            ("a.yaml", "servers: [Git Hub]", "`Git Hub` is not the name of a server"),
            ("a.yaml", "mode: thinking", "`mode` cannot be `thinking`"),
            ("a.yaml", "profile: loose", "`profile` cannot be `loose`"),
            ("a.yaml", "policy: '[[alow]]'", "its policy cannot be used"),
        ] {
            let problem = parse(text, Path::new(path), None).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
        let long = format!("system_prompt = \"{}\"", "x".repeat(SYSTEM_PROMPT_BYTES + 1));
        assert!(parse(&long, Path::new("a.toml"), None).is_err());
    }

    #[test]
    fn the_first_of_a_name_counts_and_default_is_always_there() {
        let of = |name: &str, file: &str| Preset {
            name: name.to_owned(),
            file: Some(file.into()),
            ..Preset::default()
        };
        let catalogue = PresetCatalogue::new(vec![of("b", "/1"), of("a", "/2"), of("b", "/3")], Vec::new());
        let names: Vec<&str> = catalogue.presets.iter().map(|preset| preset.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "default"]);
        assert_eq!(catalogue.find("b").unwrap().file, Some("/1".into()));
        assert_eq!(catalogue.find("c").unwrap_err(), "there is no preset `c`; there are: a, b, default");
        let own = PresetCatalogue::new(vec![of("default", "/1")], Vec::new());
        assert_eq!(own.find("default").unwrap().file, Some("/1".into()));
    }
}
