//! Patterns for texts, with what they are about: a path, an address, a host, or any text.

use std::fmt;

use serde::de::IgnoredAny;

use super::address::{self, AddressPattern, is_host_pattern, is_plain_host};
use super::spelling::{layers, paths, with_variables, written_paths};
use crate::facts::keys::Use;
use crate::facts::paths::{HOMES, resolve};
use crate::fold::{fold, has_invisible, without_case};
use crate::glob::{Glob, UNKNOWN};

/// Longer texts are no paths or addresses that could be read in every way: they match rules that deny or ask, and none
/// that allow.
pub(super) const TEXT_BYTES_MAX: usize = 65_536;
/// In longer texts a pattern for any text is looked for as it is, not as a path or host.
const NAME_BYTES_MAX: usize = 4_096;
/// So many entries of lists in a text are read in every way.
const ITEMS_MAX: usize = 256;
/// What stands between the entries of a list.
const LIST: [char; 3] = ['\n', ',', ';'];
/// What a shell takes for more than a word. A star in a pattern for commands does not take it.
const SHELL: [char; 7] = [';', '|', '&', '`', '$', '<', '>'];

/// A pattern in a rule.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TextPattern {
    written: Glob,
    /// The same for texts in small letters and in the usual form.
    folded: Vec<Glob>,
    subject: Subject,
    /// Whether a text may be meant that names a host.
    may_be_host: bool,
    /// Whether a shell runs the text.
    is_command: bool,
    /// Whether the argument is for paths, hosts or addresses only.
    is_of_names: bool,
}

/// What a pattern is about.
#[derive(Clone, Debug, PartialEq)]
enum Subject {
    Anything,
    Text,
    Path,
    Host,
    Address(AddressPattern),
}

impl TextPattern {
    /// Compiles a pattern for the argument or fact of this name.
    pub(super) fn new(text: &str, name: &str) -> Self {
        let used = Use::of(name.rsplit('.').next().unwrap_or(name));
        let written = Glob::new(text);
        let is_absolute = text.starts_with(['/', '~', '.', '\\']);
        let subject = if written.is_anything() {
            Subject::Anything
        } else if text.contains("://") || used.is_address && text.contains('/') && !is_absolute {
            Subject::Address(AddressPattern::new(text))
        } else if (used.is_host || used.is_address) && is_host_pattern(text) {
            Subject::Host
        } else if text.contains(['/', '\\', '~']) || text.starts_with("*.") || text.starts_with('.') {
            Subject::Path
        } else {
            Subject::Text
        };
        let mut folded = vec![Glob::new(&fold(text))];
        if text.contains('\\') {
            folded.push(Glob::new(&fold(&text.replace('\\', "/"))));
        }
        if let Some(rest) = HOMES.iter().find_map(|home| text.strip_prefix(home)) {
            folded.push(Glob::new(&fold(&format!("~{rest}"))));
        }
        match &subject {
            Subject::Address(pattern) => {
                folded.push(Glob::new(&pattern.usual()));
                folded.extend(pattern.local_path().map(|path| Glob::new(&fold(path))));
            }
            Subject::Host => folded.push(Glob::new(fold(text).trim_end_matches('.'))),
            Subject::Text | Subject::Path if !text.is_ascii() => {
                folded.push(Glob::new(&address::in_ascii(&fold(text))));
            }
            Subject::Anything | Subject::Text | Subject::Path => {}
        }
        let is_address = matches!(subject, Subject::Host | Subject::Address(_));
        let is_name = !text.contains(['/', '\\']);
        let may_be_host = is_address || is_name && (text.contains(['.', ':']) || text.contains("localhost"));
        let is_of_names = used.is_path || used.is_host || used.is_address;
        Self { written, folded, subject, may_be_host, is_command: used.is_of_command(), is_of_names }
    }

    /// Whether one reading of the text matches.
    pub(super) fn may_match(&self, text: &str, root: Option<&str>) -> bool {
        if self.written.matches(text) || self.fits(&fold(text)) {
            return true;
        }
        if text.len() > TEXT_BYTES_MAX {
            return self.subject != Subject::Text;
        }
        if let Some(fits) = self.fits_plain(text) {
            return fits;
        }
        let Some(layers) = layers(text) else { return true };
        let mut n_items = 0;
        layers.iter().any(|layer| {
            self.fits_layer(layer, root) || layer.contains(LIST) && self.fits_item(layer, root, &mut n_items)
        })
    }

    /// Whether an entry of a list matches. In a long text of another kind, such as the content of a file, most entries
    /// are only looked at as they are.
    fn fits_item(&self, list: &str, root: Option<&str>, n_items: &mut usize) -> bool {
        list.split(LIST).map(str::trim).filter(|item| !item.is_empty()).any(|item| {
            *n_items += 1;
            if *n_items <= ITEMS_MAX {
                self.fits_layer(item, root)
            } else {
                self.is_of_names || self.fits_path(&fold(item))
            }
        })
    }

    /// Whether a text with one reading matches; `None` if it may have more. Most texts of calls end here.
    fn fits_plain(&self, text: &str) -> Option<bool> {
        match &self.subject {
            // Paths are relative to the project.
            Subject::Anything | Subject::Path => None,
            Subject::Text => is_word(text).then(|| self.fits_path(text)),
            Subject::Host => (is_word(text) && !text.ends_with('.')).then(|| self.fits(text)),
            Subject::Address(pattern) => {
                (!pattern.is_of_file() && address::is_usual(text)).then(|| self.fits(text))
            }
        }
    }

    fn fits_layer(&self, layer: &str, project: Option<&str>) -> bool {
        if self.fits(&fold(layer)) {
            return true;
        }
        if let Some(fits) = self.fits_plain(layer) {
            return fits;
        }
        if self.subject == Subject::Text && layer.len() > NAME_BYTES_MAX {
            return false;
        }
        let root = self.root(project);
        let fits = |path: &str| paths(path, root).iter().any(|path| self.fits_path(path));
        let has_paths = match &self.subject {
            Subject::Address(pattern) => pattern.is_of_file(),
            Subject::Anything | Subject::Text | Subject::Path | Subject::Host => true,
        };
        if has_paths && fits(layer) || self.names_host(layer) && self.fits_address(layer) {
            return true;
        }
        // A list of paths, as in `PATH`.
        if self.subject == Subject::Path && layer.contains(':') && layer.split(':').any(fits) {
            return true;
        }
        // A pattern for a relative path means it in the project.
        match project.filter(|_| root.is_none()) {
            Some(project) => {
                let start = without_case(&resolve(None, project));
                let inside = |path: &String| {
                    let rest = path.strip_prefix(&start).and_then(|rest| rest.strip_prefix('/'));
                    rest.is_some_and(|rest| self.fits_path(rest))
                };
                paths(layer, Some(project)).iter().any(inside)
            }
            None => false,
        }
    }

    /// Whether every reading of the text matches.
    pub(super) fn surely_matches(&self, text: &str, root: Option<&str>) -> bool {
        let root = self.root(root);
        let is_other = |letter: char| SHELL.contains(&letter) && !self.written.as_str().contains(letter);
        match &self.subject {
            Subject::Anything => true,
            _ if text.len() > TEXT_BYTES_MAX || text.chars().any(char::is_control) => false,
            _ if self.is_command && text.contains(is_other) => false,
            Subject::Address(pattern) => pattern.surely_matches(text),
            Subject::Host => is_plain_host(text) && self.written.matches(text),
            Subject::Path => {
                !has_invisible(text)
                    && !is_json(text)
                    && layers(text)
                        .is_some_and(|layers| layers.iter().all(|layer| self.surely_fits_path(layer, root)))
            }
            Subject::Text => {
                let is_fit = |layer: &str| !layer.chars().any(char::is_control) && self.fits(&fold(layer));
                self.written.matches(text)
                    && layers(text).is_some_and(|layers| layers.iter().all(|layer| is_fit(layer)))
            }
        }
    }

    /// Paths that a pattern anchors are relative to the agent's project.
    fn root<'a>(&self, root: Option<&'a str>) -> Option<&'a str> {
        root.filter(|_| self.written.as_str().starts_with(['/', '~', '*']))
    }

    fn fits(&self, reading: &str) -> bool {
        self.folded.iter().any(|pattern| pattern.matches(reading))
    }

    /// Whether a text may name a host that is not written in the usual way, and the pattern one.
    fn names_host(&self, layer: &str) -> bool {
        let is_address = matches!(self.subject, Subject::Host | Subject::Address(_));
        let is_unusual = || {
            layer.contains([':', '@', '['])
                || layer.starts_with(|first: char| first.is_ascii_digit())
                || !layer.is_ascii()
        };
        self.may_be_host && (is_address || is_unusual())
    }

    fn fits_address(&self, layer: &str) -> bool {
        address::readings(layer).iter().any(|reading| self.fits(reading))
    }

    /// Whether a path may match: as a directory, too, and wherever a relative path may begin.
    fn fits_path(&self, path: &str) -> bool {
        if self.fits(path) || self.fits(&format!("{path}/")) {
            return true;
        }
        // A relative path may begin anywhere; one that climbs may end anywhere.
        let climbed = path.trim_start_matches("../");
        let is_relative = !path.starts_with(['/', '~']) && !path.contains("://");
        let is_open = self.written.as_str().starts_with('*') || climbed.len() < path.len();
        if is_relative && is_open && self.fits(&format!("/{climbed}")) {
            return true;
        }
        // What a shell or a system puts in may match.
        self.subject == Subject::Path
            && !path.contains(' ')
            && is_partly_known(path)
            && self.overlaps(&with_stars(path))
    }

    fn overlaps(&self, path: &str) -> bool {
        let directory = format!("{path}/");
        self.folded.iter().any(|pattern| pattern.overlaps(path) || pattern.overlaps(&directory))
    }

    fn surely_fits_path(&self, layer: &str, root: Option<&str>) -> bool {
        let has_home = HOMES.iter().any(|home| layer.starts_with(home));
        let is_open = !has_home && with_variables(layer, "").is_some() || layer.contains(['`', '\u{fffd}']);
        if is_open || has_invisible(layer) || may_climb(layer) {
            return false;
        }
        // In a list, every path counts.
        let is_path = |item: &str| item.starts_with(['/', '~', '\\']) || item.starts_with("..");
        let mut items = layer.split([' ', ':', ',', ';', '|']).skip(1).filter(|item| is_path(item));
        if items.any(|item| !self.surely_fits_path(item, root)) {
            return false;
        }
        let n_up = |path: &str| path.split('/').filter(|name| *name == "..").count();
        written_paths(layer).iter().all(|path| {
            let path = resolve(root, path);
            // A star takes no `..`: nobody knows where that leads.
            n_up(&path) <= n_up(self.written.as_str())
                && self.written.matches(&path)
                && self.fits(&fold(&path))
        })
    }
}

/// Whether a text is one word that everybody reads in the same way, also as a name of a file or host.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    text.bytes().all(is_plain)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.ends_with(|last: char| last.is_ascii_alphanumeric())
}

/// Whether a path has parts that a shell or a system fills in.
fn is_partly_known(path: &str) -> bool {
    path.contains(['*', '?', '[', '{', UNKNOWN])
}

/// A path with a star for everything that a shell fills in.
fn with_stars(path: &str) -> String {
    let mut filled = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find(['?', '[', '{']) {
        filled.push_str(&rest[..at]);
        let end = match rest.as_bytes()[at] {
            b'[' => rest[at..].find(']').map(|end| at + end + 1),
            b'{' => rest[at..].find('}').map(|end| at + end + 1),
            _ => Some(at + 1),
        };
        match end {
            Some(end) => filled.push(if rest[at..end].starts_with('{') { UNKNOWN } else { '*' }),
            None => filled.push_str(&rest[at..=at]),
        }
        rest = &rest[end.unwrap_or(at + 1)..];
    }
    filled.push_str(rest);
    filled
}

/// Some servers parse texts that are lists or objects in JSON.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether a shell or a server may make `..` of a name: `.?`, `.[.]`, `{.,x}.`, `..;`, `.. `.
fn may_climb(path: &str) -> bool {
    let is_dotted = |name: &str| {
        name.contains("..") && name != ".." && !name.contains(|letter: char| letter.is_alphanumeric())
    };
    if path.split(['/', '\\']).any(is_dotted) {
        return true;
    }
    let has_braces = path.contains('{') && (path.contains(',') || path.contains(".."));
    let names = path.split(['/', '\\']);
    has_braces || names.into_iter().any(|name| name.starts_with('.') && name.contains(['?', '*', '[']))
}

impl fmt::Display for TextPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.written, formatter)
    }
}
