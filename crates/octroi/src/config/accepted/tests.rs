use std::fmt::Write as _;

use octroi_core::Secret;
use octroi_gateway::SystemSecrets;

use super::*;
use crate::config::{StoredSecrets, load};

const ASK: &str = "[mcp]\nauto_reload = \"ask\"\n";

struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn sources(&self, name: &str) -> Sources {
        Sources {
            config: Some(self.directory.path().join(name)),
            data: self.directory.path().join("data"),
            ..Sources::default()
        }
    }

    fn read(&self, name: &str, text: &str) -> ReadConfig {
        self.read_all(name, &format!("{ASK}{text}"))
    }

    fn read_all(&self, name: &str, text: &str) -> ReadConfig {
        fs::write(self.directory.path().join(name), text).unwrap();
        let config = load(&self.sources(name)).unwrap();
        ReadConfig::new(config, FileSource::Disk).unwrap()
    }

    /// What a restart finds.
    fn kept(&self, name: &str, accepted: &Accepted) -> Accepted {
        fs::create_dir_all(self.sources(name).data).unwrap();
        accepted.keep(&self.sources(name).data).unwrap();
        match Accepted::read(&self.sources(name)).unwrap() {
            Kept::Accepted(accepted) => *accepted,
            Kept::NothingYet | Kept::Lost => panic!("it was kept"),
        }
    }
}

fn server(name: &str) -> String {
    format!("[[mcp.servers]]\nname = \"{name}\"\ncommand = \"/bin/true\"\n")
}

fn names(accepted: &Accepted) -> Vec<&str> {
    accepted.complete.settings.servers.iter().map(|server| server.name().as_str()).collect()
}

#[test]
fn a_missing_file_is_a_loss_unless_the_directory_is_new() {
    let files = Files::new();
    let sources = files.sources("octroi.toml");
    let found = || Accepted::read(&sources).unwrap();
    mark_first_start(&sources.data);
    assert!(matches!(found(), Kept::NothingYet));
    // A first start that failed, after the database was made.
    fs::write(sources.data.join("octroi.db"), "x").unwrap();
    mark_first_start(&sources.data);
    assert!(matches!(found(), Kept::NothingYet));
    let accepted = files.kept("octroi.toml", &Accepted::all_of(&files.read("octroi.toml", &server("a"))));
    assert_eq!(names(&accepted), ["a"]);
    fs::remove_file(path_in(&sources.data)).unwrap();
    mark_first_start(&sources.data);
    assert!(matches!(found(), Kept::Lost));
}

#[test]
fn another_file_changes_nothing_by_itself() {
    let files = Files::new();
    let accepted = Accepted::all_of(&files.read("octroi.toml", &server("a")));
    let always = format!("[mcp]\nauto_reload = true\n{}", server("a"));
    let always = Accepted::all_of(&files.read_all("octroi.toml", &always));
    for (accepted, text) in [(&accepted, server("b")), (&accepted, String::new()), (&always, server("b"))] {
        let review = accepted.review(&files.read("other.toml", &text), Agreement::Nobody);
        assert_eq!(names(&review.accepted), ["a"]);
        let first = review.waiting.first().map(|change| change.setting.as_str());
        assert_eq!(first, Some("the configuration file"));
        assert_eq!(review.waiting, review.changes);
    }
    // The same settings elsewhere: the file was moved.
    let moved = accepted.review(&files.read("other.toml", &server("a")), Agreement::Nobody);
    assert!(moved.changes.is_empty() && moved.waiting.is_empty());
    let next = moved.accepted.review(&files.read("other.toml", ""), Agreement::Nobody);
    assert_eq!(names(&next.accepted), Vec::<&str>::new(), "from now on this is the file");
}

#[test]
fn the_digest_is_that_of_all_files() {
    let files = Files::new();
    let digest = |text: &str| files.read("octroi.toml", text).digest();
    let policy = files.directory.path().join("floor.toml");
    let named = "[policy]\nfloor = \"floor.toml\"\n";
    fs::write(&policy, "").unwrap();
    let before = digest(named);
    assert_eq!(before, digest(named));
    assert_ne!(before, digest(&format!("{named}# x\n")));
    fs::write(&policy, "# x\n").unwrap();
    assert_ne!(before, digest(named));
}

/// Whoever writes many changes that wait must not keep others from tightening.
#[test]
fn many_mixed_changes_do_not_keep_what_tightens_waiting() {
    let files = Files::new();
    let mut accepted = Accepted::all_of(&files.read("octroi.toml", &server("a")));
    let mut denied = String::new();
    for n in 0..3 * MIXED_MAX {
        let _ = write!(denied, "\"t{n}\", ");
        let text = format!("{}deny_tools = [{denied}]\n{}", server("a"), server("evil"));
        let review = accepted.review(&files.read("octroi.toml", &text), Agreement::Nobody);
        let waiting: Vec<&str> = review.waiting.iter().map(|change| change.setting.as_str()).collect();
        assert_eq!(waiting, ["server evil"], "change {n}");
        accepted = review.accepted;
    }
    assert!(accepted.history.len() <= MIXED_MAX + 1);
    let accepted = files.kept("octroi.toml", &accepted);
    assert_eq!(accepted.complete.settings.servers[0].access.deny_tools.len(), 3 * MIXED_MAX);

    // If each of them still matters, everything waits, and the first line says why.
    let quota = |n| format!("[[quotas]]\nname = \"q{n}\"\nagent = \"*\"\ncalls_per_minute = 5\n");
    let mut review = None;
    let mut accepted = accepted;
    for n in 0..MIXED_MAX + 2 {
        let found = accepted.review(&files.read("octroi.toml", &quota(n)), Agreement::Nobody);
        accepted = found.accepted.clone();
        review = Some(found);
    }
    let review = review.unwrap();
    assert_eq!(review.waiting.first().map(|change| change.setting.as_str()), Some(TOO_MANY));
    assert!(accepted.history.len() <= MIXED_MAX + 1);
}

fn with_secret(name: &str, secret: &str, command: &str) -> String {
    format!(
        "[[mcp.servers]]\nname = \"{name}\"\ncommand = \"{command}\"\nenv = {{ KEY = \"${{secret:{secret}}}\" }}\n"
    )
}

/// A server that lacks a secret is in no list, so nobody is asked about it when its entry changes.
#[test]
fn what_lacked_a_secret_starts_only_if_somebody_agreed_to_it() {
    let files = Files::new();
    let name = "octroi.toml";
    let sources = |secrets: &[&str]| {
        let by_name = secrets.iter().map(|name| ((*name).to_owned(), Some(Secret::new("a-value"))));
        let secrets = StoredSecrets::Read(SystemSecrets { by_name: by_name.collect() });
        Sources { secrets, ..files.sources(name) }
    };
    let read = |text: &str, secrets: &[&str]| {
        fs::write(files.directory.path().join(name), format!("{ASK}{text}")).unwrap();
        ReadConfig::new(load(&sources(secrets)).unwrap(), FileSource::Disk).unwrap()
    };
    let (one, two) = (with_secret("one", "a", "/bin/true"), with_secret("two", "b", "/bin/true"));
    let both = format!("{one}{two}");
    // A person has seen both. Setting one secret after the other starts one server after the other.
    let agreed = Accepted::all_of(&read(&both, &[]));
    assert_eq!(names(&agreed), Vec::<&str>::new());
    let first = agreed.with_secrets(&sources(&["a"])).unwrap();
    let first = first.review(&read(&both, &["a"]), Agreement::Nobody);
    assert_eq!((names(&first.accepted), first.waiting.len()), (vec!["one"], 0));
    let second = first.accepted.with_secrets(&sources(&["a", "b"])).unwrap();
    let second = second.review(&read(&both, &["a", "b"]), Agreement::Nobody);
    assert_eq!((names(&second.accepted), second.waiting.len()), (vec!["one", "two"], 0));
    // Nobody has seen the program that the second one is now.
    let other = format!("{one}{}", with_secret("two", "b", "/bin/false"));
    let changed = first.accepted.review(&read(&other, &["a"]), Agreement::Nobody);
    assert_eq!((names(&changed.accepted), changed.waiting.len()), (vec!["one"], 0));
    let kept = changed.accepted.with_secrets(&sources(&["a", "b"])).unwrap();
    let waits = kept.review(&read(&other, &["a", "b"]), Agreement::Nobody);
    assert_eq!((names(&waits.accepted), waits.waiting.len()), (vec!["one"], 1));
    // Nor is it forgotten at a restart.
    fs::create_dir_all(sources(&[]).data).unwrap();
    kept.keep(&sources(&[]).data).unwrap();
    let Kept::Accepted(again) = Accepted::read(&sources(&["a", "b"])).unwrap() else { panic!("it was kept") };
    assert_eq!(names(&again), ["one"]);
    let agreed = again.review(&read(&other, &["a", "b"]), Agreement::Person);
    assert_eq!(names(&agreed.accepted), ["one", "two"]);
}
