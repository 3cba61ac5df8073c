use serde_json::json;

use super::*;
use crate::secret::Secret;

const WRITTEN: &str = r#"
id = "hub"
display_name = "Hub"
description = "A hub."
category = "development"
[provider]
registry = "npm"
package = "@acme/hub"
version = "1.2.3"
args = ["serve"]
env = { MODE = "quiet" }
[defaults]
connect_timeout = "3m"
description = "From the template."
[[fields]]
name = "key"
label = "API key"
required = true
secret = true
env = "HUB_KEY"
[[fields]]
name = "roots"
label = "Directories"
kind = "paths"
argument = "--root"
[[fields]]
name = "size"
label = "Size"
kind = "choice"
choices = ["small", "large"]
default = "small"
argument = ""
[[fields]]
name = "place"
label = "Place"
env = "HUB_PLACE"
"#;

const REMOTE: &str = r#"
id = "far"
display_name = "Far"
description = "Elsewhere."
category = "search"
[provider]
url = "https://far.example/{org}/mcp"
headers = { X-Client = "octroi" }
[[fields]]
name = "org"
label = "Organisation"
required = true
url = true
[[fields]]
name = "token"
label = "Token"
secret = true
header = "Authorization"
text = "Bearer {}"
"#;

fn template(text: &str) -> Template {
    parse(text, TemplateSource::Builtin).unwrap()
}

fn values(values: &[(&str, &str)]) -> FieldValues {
    let mut all = FieldValues::new();
    for (field, value) in values {
        all.entry((*field).to_owned()).or_default().push((*value).to_owned());
    }
    all
}

fn made(text: &str, given: &[(&str, &str)]) -> Result<TemplateInstance, String> {
    let name = ServerName::parse("mine").unwrap();
    template(text).instantiate(&name, &values(given)).map_err(|problem| problem.to_string())
}

#[test]
fn a_server_is_made_of_a_package() {
    let instance = made(
        WRITTEN,
        &[("key", "hunter2"), ("roots", "/a"), ("roots", "/b c"), ("size", "large"), ("place", "${HOME} $x")],
    )
    .unwrap();
    assert_eq!(
        Json::Object(instance.entry),
        json!({
            "name": "mine",
            "template_id": "hub",
            "command": "npx",
            "args": ["-y", "@acme/hub@1.2.3", "serve", "--root", "/a", "--root", "/b c", "large"],
            "env": {"MODE": "quiet", "HUB_KEY": "${secret:mine.key}", "HUB_PLACE": "$${HOME} $$x"},
        })
    );
    assert_eq!(instance.secrets, BTreeMap::from([("mine.key".to_owned(), Secret::new("hunter2"))]));
}

#[test]
fn a_server_is_made_of_an_address() {
    let instance = made(REMOTE, &[("org", "a/../b?c"), ("token", "hunter2")]).unwrap();
    assert_eq!(
        Json::Object(instance.entry),
        json!({
            "name": "mine",
            "template_id": "far",
            "url": "https://far.example/a%2F%2E%2E%2Fb%3Fc/mcp",
            "headers": {"X-Client": "octroi", "Authorization": "Bearer ${secret:mine.token}"},
        })
    );
    assert_eq!(instance.secrets.len(), 1);
}

#[test]
fn a_secret_that_is_stored_already_is_referred_to() {
    let instance = made(WRITTEN, &[("key", "${secret:hub}")]).unwrap();
    assert_eq!(instance.entry["env"]["HUB_KEY"], json!("${secret:hub}"));
    assert_eq!(instance.secrets, BTreeMap::new());
    for value in ["${secret:}", "${secret:a b}", "${secret:a}}"] {
        assert!(made(WRITTEN, &[("key", value)]).is_err(), "{value}");
    }
    // Anything else is the secret itself, not a reference.
    let instance = made(WRITTEN, &[("key", "${HOME}")]).unwrap();
    assert_eq!(instance.secrets["mine.key"].expose(), "${HOME}");
}

#[test]
fn values_that_do_not_fit_are_refused_by_the_label_of_their_field() {
    let key = ("key", "hunter2");
    for (given, expected) in [
        (&[][..], "API key is missing (field `key`)"),
        (&[("key", "")], "API key is missing (field `key`)"),
        (&[key, ("siez", "small")], "there is no field `siez`; did you mean `size`?"),
        (&[key, ("x", "y")], "there is no field `x`; there are key, roots, size, place"),
        (&[key, key], "API key cannot be used (field `key`): it can have one value only"),
        (&[key, ("size", "huge")], "Size cannot be used (field `size`): it must be one of: small, large"),
        (&[key, ("roots", "a")], "Directories cannot be used (field `roots`): it must be an absolute path"),
        (
            &[("key", "hunter2\nX-Other: y")],
            "API key cannot be used (field `key`): it contains a line break or another control character",
        ),
    ] {
        let problem = made(WRITTEN, given).unwrap_err();
        assert_eq!(problem, expected);
        assert!(!problem.contains("hunter2"));
    }
    let option = WRITTEN.replace("env = \"HUB_PLACE\"", "argument = \"--place\"");
    let problem = made(&option, &[key, ("place", "--eval=x")]).unwrap_err();
    assert!(problem.ends_with("it begins with `-`, as options do"), "{problem}");
}

#[test]
fn what_an_entry_does_not_say_is_inherited() {
    let mut entry = made(WRITTEN, &[("key", "x")]).unwrap().entry;
    entry.insert("description".to_owned(), json!("My own."));
    template(WRITTEN).inherit(&mut entry);
    assert_eq!((&entry["description"], &entry["connect_timeout"]), (&json!("My own."), &json!("3m")));
}

#[test]
fn templates_that_are_refused() {
    for (from, to, expected) in [
        ("id = \"hub\"", "id = \"Hub\"", "is not a server name"),
        ("version = \"1.2.3\"", "version = \"latest\"", "one exact version"),
        ("version = \"1.2.3\"", "version = \"^1.2.3\"", "one exact version"),
        ("version = \"1.2.3\"", "version = \"1\"", "one exact version"),
        ("@acme/hub", "@acme/hub --eval", "not the name of a package"),
        ("@acme/hub", "file:../x", "not the name of a package"),
        ("@acme/hub", "-g", "not the name of a package"),
        ("\"serve\"", "\"${HOME}\"", "must not contain `$`"),
        ("env = \"HUB_KEY\"", "argument = \"--key\"", "others can see arguments"),
        ("env = \"HUB_KEY\"", "header = \"X-Key\"", "is for a remote server"),
        ("env = \"HUB_KEY\"", "env = \"HUB_KEY\"\nargument = \"-k\"", "needs one of"),
        ("env = \"HUB_KEY\"", "env = \"LD_PRELOAD\"", "names no environment variable"),
        ("env = \"HUB_KEY\"", "env = \"NODE_OPTIONS\"", "names no environment variable"),
        ("secret = true", "secret = true\ndefault = \"x\"", "has no default"),
        ("name = \"roots\"", "name = \"key\"", "is there twice"),
        ("name = \"roots\"", "name = \"Roots\"", "needs a name"),
        ("label = \"API key\"", "label = \" \"", "needs a label"),
        ("connect_timeout = \"3m\"", "command = \"sh\"", "cannot be a default"),
        ("connect_timeout = \"3m\"", "env = { A = \"b\" }", "cannot be a default"),
        ("default = \"small\"", "default = \"tiny\"", "none of its choices"),
        ("choices = [\"small\", \"large\"]", "", "needs `choices`"),
        ("[provider]", "[provider]\nurl = \"https://x.example/\"", "needs `registry`"),
        ("category", "kategory", "unknown field"),
        ("[provider]", "[provider", "line "),
    ] {
        let text = WRITTEN.replacen(from, to, 1);
        assert_ne!(text, WRITTEN, "{from}");
        let problem = parse(&text, TemplateSource::Builtin).unwrap_err().to_string();
        assert!(problem.contains(expected), "{to}: {problem}");
    }
    for (from, to, expected) in [
        ("/{org}/mcp", "/mcp", "does not contain `{org}`"),
        ("far.example/{org}", "{org}.example/x", "characters that programs read"),
        ("/{org}/mcp", "/{org}/{other}", "no field of the URL"),
        ("https://", "file://", "http"),
        ("https://", "https://me@", "a name or a password"),
        ("text = \"Bearer {}\"", "text = \"Bearer\"", "one `{}`"),
        ("header = \"Authorization\"", "header = \"Host\"", "needs the name of a header"),
        ("required = true", "", "must be required"),
    ] {
        let text = REMOTE.replacen(from, to, 1);
        assert_ne!(text, REMOTE, "{from}");
        let problem = parse(&text, TemplateSource::Builtin).unwrap_err().to_string();
        assert!(problem.contains(expected), "{to}: {problem}");
    }
}

#[test]
fn a_file_replaces_a_built_in_template_and_is_never_verified() {
    let path = PathBuf::from("/t/time.toml");
    let text = WRITTEN.replace("id = \"hub\"", "id = \"time\"\nverified = true");
    let own = parse(&text, TemplateSource::File(path.clone())).unwrap();
    assert!(!own.verified);
    let catalogue = TemplateCatalogue::new(vec![own], Vec::new());
    assert_eq!(catalogue.templates.len(), builtin().len());
    assert_eq!(catalogue.find("time").unwrap().source, TemplateSource::File(path));
}

#[test]
fn built_in_templates_are_what_the_documents_say() {
    let catalogue = TemplateCatalogue::new(Vec::new(), Vec::new());
    for (id, required, category) in [
        ("github", &["api_token"][..], "development"),
        ("filesystem", &[], "development"),
        ("postgres", &["connection_string"], "database"),
        ("slack", &["bot_token"], "communication"),
        ("brave-search", &["api_key"], "search"),
    ] {
        let template = catalogue.find(id).unwrap();
        let found: Vec<&str> =
            template.fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
        assert_eq!((found.as_slice(), template.category.as_str()), (required, category), "{id}");
    }
    assert!(catalogue.templates.len() >= 13);
    for template in &catalogue.templates {
        assert!(template.verified || template.note.is_some(), "{} says why it is not verified", template.id);
        if let Some(other) = template.deprecated.as_ref().and_then(|deprecated| deprecated.instead.as_deref())
        {
            assert!(catalogue.find(other).is_some_and(|other| other.deprecated.is_none()), "{other}");
        }
    }
}

#[test]
fn the_servers_that_come_along_are_made_from_templates() {
    let text = include_str!("../../../../config/mcp_servers.toml");
    let parsed: toml::Table = text.parse().unwrap();
    let servers = parsed["servers"].as_array().unwrap();
    let catalogue = TemplateCatalogue::new(Vec::new(), Vec::new());
    let mut names = Vec::new();
    for server in servers {
        let text = |key: &str| server[key].as_str().unwrap();
        let (name, template, add) = (text("name"), text("template"), text("add"));
        assert!(ServerName::parse(name).is_ok(), "{name}");
        // The same package in the same version, or the same address, and the same places for fields.
        let template = catalogue.find(template).unwrap();
        let place = match &template.provider {
            Provider::Package { .. } => format!("-- {}", template.command_line().join(" ")),
            Provider::Remote { url, .. } => url.clone(),
        };
        assert!(add.starts_with(&format!("octroi add {name} --system ")) && add.contains(&place), "{add}");
        for field in template.fields.iter().filter(|field| field.required) {
            let place = match &field.binding {
                Binding::Env(variable) => variable,
                Binding::Header { name, .. } => name,
                Binding::Argument(_) | Binding::Url => continue,
            };
            assert!(add.contains(place.as_str()), "{add}");
        }
        assert!(server["suggested"].is_bool());
        names.push(name);
    }
    assert_eq!(names, ["files", "brave-search", "github", "postgres", "slack"]);
}
