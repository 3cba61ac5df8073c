//! Which programs one command runs: its own, and those in its arguments.

use super::super::INCOMPLETE;
use super::{NESTED_MAX, Word, nested};

/// Programs that run another program: their options that take a value, and how many positional arguments come
/// before that program.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("sudo", "CDghpRrTtUu", 0),
    ("doas", "Cu", 0),
    ("env", "uC", 0),
    ("xargs", "ILnPsEda", 0),
    ("nohup", "", 0),
    ("time", "fo", 0),
    ("nice", "n", 0),
    ("ionice", "cnpPu", 0),
    ("timeout", "sk", 1),
    ("stdbuf", "ioe", 0),
    ("setsid", "", 0),
    ("chroot", "", 1),
    ("flock", "wE", 1),
    ("strace", "eopsuaOSPXI", 0),
    ("watch", "nq", 0),
    ("parallel", "jIaS", 0),
    ("command", "", 0),
    ("builtin", "", 0),
    ("exec", "a", 0),
    ("busybox", "", 0),
    ("unbuffer", "", 0),
    ("caffeinate", "tw", 0),
    ("runuser", "ugG", 0),
    ("start", "", 0),
];

/// Shell keywords that may precede a command.
const KEYWORDS: &[&str] = &[
    "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "!", "}", "coproc", "esac", "call",
    "@",
];
/// After these come names and values, not a command.
const HEADERS: &[&str] = &["for", "case", "select", "function", "in"];
const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "ash",
    "fish",
    "su",
    "pwsh",
    "powershell",
    "powershell.exe",
    "cmd",
    "cmd.exe",
];
/// Options that are followed by a command.
const RUNNERS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Reports the programs of a command given as a list of words.
pub(in crate::facts) fn arguments(words: &[&str], found: &mut dyn FnMut(&str)) {
    // A lone `-c …` holds arguments of a program that is named elsewhere.
    if words.first().is_some_and(|first| first.starts_with('-')) {
        if let Some(text) = words.windows(2).find(|pair| is_script_option(pair[0])).map(|pair| pair[1]) {
            nested(text, NESTED_MAX, found);
        }
        return;
    }
    // Not a program but a whole command line, which is parsed as one.
    if words.first().is_some_and(|first| first.contains(char::is_whitespace)) {
        return;
    }
    let words: Vec<_> = words.iter().map(|word| Word { text: (*word).to_owned(), raw: None }).collect();
    command(&words, NESTED_MAX, found);
}

/// Reports the programs of one command.
pub(super) fn command(words: &[Word], levels_left: usize, found: &mut dyn FnMut(&str)) {
    // `f() { rm` and `function f { rm`: after a brace a command starts again.
    for words in words.split(|word| word.text == "{") {
        simple_command(words, levels_left, found);
    }
}

fn simple_command(words: &[Word], levels_left: usize, found: &mut dyn FnMut(&str)) {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        at += 1;
        if is_assignment(text) || KEYWORDS.contains(&text) {
            continue;
        }
        if HEADERS.contains(&text) {
            return;
        }
        report(word, found);
        let name = name_of(word);
        match WRAPPERS.iter().find(|(wrapper, _, _)| *wrapper == name) {
            Some((_, with_value, n_own)) => {
                at = past_options(words, at, with_value, levels_left, found) + n_own;
            }
            None => return inner(&name, &words[at..], levels_left, found),
        }
    }
}

/// The end of a wrapper's options.
fn past_options(
    words: &[Word],
    mut at: usize,
    with_value: &str,
    levels_left: usize,
    found: &mut dyn FnMut(&str),
) -> usize {
    while let Some(option) = words.get(at).map(|word| word.text.as_str()).filter(|text| text.starts_with('-'))
    {
        at += 1;
        let takes_value = match option.strip_prefix("--") {
            Some("") => return at,
            // It is unknown whether a value follows: the next word is reported in case it is the program.
            Some(long) if !long.contains('=') => {
                let next = words.get(at).filter(|next| !next.text.starts_with('-'));
                if let Some(next) = next.filter(|_| words.len() > at + 1) {
                    report(next, found);
                }
                next.is_some() && words.len() > at + 1
            }
            Some(_) => false,
            None => option.len() == 2 && option.ends_with(|letter| with_value.contains(letter)),
        };
        if matches!(option, "-S" | "--split-string")
            && let Some(value) = words.get(at)
        {
            nested(&value.text, levels_left, found);
        }
        at += usize::from(takes_value);
    }
    at
}

/// Commands in the arguments of a program.
fn inner(name: &str, words: &[Word], levels_left: usize, found: &mut dyn FnMut(&str)) {
    if SHELLS.contains(&name) {
        let option = words.iter().position(|word| is_script_option(&word.text));
        if let Some(script) = option.map(|at| &words[at + 1..]).filter(|script| !script.is_empty()) {
            // The Windows shells take all following words, the others one.
            nested(&script[0].text, levels_left, found);
            if script.len() > 1
                && matches!(name, "cmd" | "cmd.exe" | "pwsh" | "powershell" | "powershell.exe")
            {
                nested(&joined(script), levels_left, found);
            }
        }
    } else if matches!(name, "eval" | "iex" | "invoke-expression" | "trap") {
        nested(&joined(words), levels_left, found);
    } else if name == "ssh" {
        // Everything after the host runs there. Without knowing all options of ssh, the end of the host is
        // unknown.
        let remote =
            words.iter().position(|word| !word.text.starts_with('-')).map_or(words.len(), |at| at + 1);
        if remote < words.len() {
            nested(&joined(&words[remote..]), levels_left, found);
        }
    } else {
        for (at, _) in words.iter().enumerate().filter(|(_, word)| RUNNERS.contains(&word.text.as_str())) {
            if let Some(program) = words.get(at + 1) {
                report(program, found);
            }
        }
    }
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// `-c`, `-lc`, `-Command`, `/c`.
fn is_script_option(option: &str) -> bool {
    let lower = option.to_ascii_lowercase();
    let is_cluster =
        lower.len() <= 5 && lower.starts_with('-') && !lower.starts_with("--") && lower.ends_with('c');
    is_cluster || matches!(lower.as_str(), "/c" | "/k" | "-command" | "--command")
}

fn is_assignment(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Reports the program that a word names.
fn report(word: &Word, found: &mut dyn FnMut(&str)) {
    if matches!(word.text.as_str(), "[" | "[[") {
        return found(&word.text);
    }
    for text in std::iter::once(&word.text).chain(&word.raw) {
        // The caret is the escape character of the Windows shell.
        let text = text.replace('^', "");
        let is_open = text.contains(['$', '*', '?', '[', '{']);
        if is_open {
            found(INCOMPLETE);
            text.split(['$', '{', '}', ',', '*', '?', '[', ']']).map(base).for_each(&mut *found);
        } else {
            found(base(&text));
        }
    }
}

/// The name to look the program up by: the original text is a Windows path if it names a known program.
fn name_of(word: &Word) -> String {
    let raw = word.raw.as_deref().map(|raw| base(raw).to_lowercase());
    raw.filter(|raw| SHELLS.contains(&raw.as_str())).unwrap_or_else(|| base(&word.text).to_lowercase())
}

fn base(text: &str) -> &str {
    text.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(text)
}
