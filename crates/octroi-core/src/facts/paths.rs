//! Paths in the arguments.
//!
//! Resolved by their text alone: symbolic links cannot be checked here.

use super::keys::Use;

/// A path with `.` and `..` resolved as far as its text allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) text: String,
    /// Parts of it are only known once a shell has run.
    is_open: bool,
}

/// The agent's project.
pub(super) struct Project {
    /// Its root as configured: a path may repeat it literally, with spaces.
    given: String,
    root: String,
}

impl Project {
    pub(super) fn new(root: &str) -> Self {
        let given = root.trim_end_matches(['/', '\\']).to_owned();
        Self { root: resolve(None, root), given }
    }

    /// Whether the path is certainly inside the project.
    pub(super) fn holds(&self, path: &Path) -> bool {
        if path.is_open || !is_anchored(&path.text) {
            return false;
        }
        // Windows paths are case-insensitive.
        let is_windows = self.root.as_bytes().get(1) == Some(&b':');
        let starts = match path.text.get(..self.root.len()) {
            Some(start) if is_windows => start.eq_ignore_ascii_case(&self.root),
            Some(start) => start == self.root,
            None => false,
        };
        let rest = path.text.get(self.root.len()..).unwrap_or_default();
        starts && (rest.is_empty() || rest.starts_with('/') || self.root.ends_with('/'))
    }
}

/// Reports every path in a text.
pub(super) fn find(text: &str, use_of_text: Use, project: Option<&Project>, found: &mut dyn FnMut(Path)) {
    let is_listed = text.contains(['\n', '\0']);
    let is_whole =
        !text.is_empty() && !is_listed && !has_scheme(text) && (use_of_text.is_path || starts_path(text));
    if is_whole {
        report(text.trim(), use_of_text, project, found);
    }
    // The start of the text was reported with all its spaces; a piece of it would be another path, unless
    // there is a colon, as in `file:/etc`: then the piece is the path.
    let skips_first = is_whole && use_of_text.is_path && !text.contains(':');
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = piece_length(rest, project);
        let piece = &rest[..length];
        let is_tag = text[..at].ends_with('<') && rest[length..].starts_with('>');
        let is_skipped = skips_first && at == 0 || is_tag && !use_of_text.is_of_command();
        if !piece.is_empty() && !is_skipped {
            from_piece(piece, use_of_text, project, found);
        }
        at += length + rest[length..].chars().next().map_or(1, char::len_utf8);
    }
}

/// The length of the run that may be one path. The project's root counts as one even if it contains spaces.
fn piece_length(rest: &str, project: Option<&Project>) -> usize {
    let given = project.map(|project| project.given.as_str()).filter(|given| !given.is_empty());
    let known = match given {
        Some(given) if rest.starts_with(given) => given.len(),
        Some(_) | None => 0,
    };
    known + rest[known..].find(is_separator).unwrap_or(rest.len() - known)
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || "\0\"'`=,;|&<>()[]{}".contains(character)
}

/// One run of characters: `/a`, `-I/a`, `@/a`, `host:/a`, `/a:/b`, `file:///a`.
fn from_piece(piece: &str, use_of_text: Use, project: Option<&Project>, found: &mut dyn FnMut(Path)) {
    if has_scheme(piece) {
        if let Some(path) = local_url(piece) {
            report(path, use_of_text, project, found);
        }
        return;
    }
    if is_drive(piece) {
        report(piece, use_of_text, project, found);
        // On systems without drive letters this is a list of two paths.
        if project.is_none_or(|project| !is_drive(&project.root)) && piece[2..].starts_with('/') {
            report(&piece[2..], use_of_text, project, found);
        }
        return;
    }
    for part in piece.split(':') {
        let part = part.trim_start_matches(['@', '+', '!', '#']);
        let part = match part.find(['/', '~', '.']) {
            Some(start) if part.starts_with('-') => &part[start..],
            Some(_) | None => part,
        };
        let part = without_full_stop(part);
        let is_mark = part.bytes().all(|byte| byte == b'/' || byte == b'*');
        let is_open = use_of_text.is_of_command() && part.starts_with('$') && part.contains('/');
        let is_path = starts_path(part) && (!is_mark || use_of_text.is_of_command());
        if is_path || climbs(part) || is_open {
            report(part, use_of_text, project, found);
        }
    }
}

/// A final full stop belongs to the sentence, except in `..`.
fn without_full_stop(part: &str) -> &str {
    match part.strip_suffix('.') {
        Some(rest) if !rest.ends_with(['.', '/', '\\']) && !rest.is_empty() => rest,
        Some(_) | None => part,
    }
}

fn report(text: &str, use_of_text: Use, project: Option<&Project>, found: &mut dyn FnMut(Path)) {
    let is_open = use_of_text.is_of_command() && text.contains('$');
    let resolved = resolve(project.map(|project| project.root.as_str()), text);
    // Out of a home directory one may get anywhere.
    if let Some((_, above)) = resolved.strip_prefix('~').and_then(|home| home.split_once("/.."))
        && above.starts_with('/')
    {
        found(Path { text: resolve(None, above), is_open: true });
    }
    found(Path { text: resolved, is_open });
}

/// Other spellings of the home directory.
pub(crate) const HOMES: [&str; 5] = ["$HOME", "${HOME}", "%USERPROFILE%", "%HOMEPATH%", "$env:USERPROFILE"];

fn starts_path(text: &str) -> bool {
    text.starts_with(['/', '~']) && !starts_approximation(text)
        || text.starts_with("\\\\")
        || is_drive(text)
        || HOMES.iter().any(|home| text.starts_with(home))
}

/// `~5` and `~~` are not home directories; `~`, `~/x` and `~root/x` are.
fn starts_approximation(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('~') else { return false };
    !(rest.is_empty()
        || rest.starts_with(['/', '\\'])
        || rest.starts_with(|first: char| first.is_ascii_alphabetic()))
}

fn is_drive(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// Whether a component of the path is `..`.
fn climbs(text: &str) -> bool {
    text.contains("..") && text.split(['/', '\\']).any(|component| component == "..")
}

fn has_scheme(text: &str) -> bool {
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.:".contains(&byte);
    text.find("://").is_some_and(|at| at > 0 && text[..at].bytes().all(is_scheme))
}

/// The path of a URL without a host, or of a local file.
fn local_url(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let is_file = scheme.to_ascii_lowercase().ends_with("file");
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let path = match rest.find('/') {
        Some(0) => &rest[..end],
        // `file://host/share`: a network share.
        Some(start) if is_file && rest[..start].eq_ignore_ascii_case("localhost") => {
            &rest[start..end.max(start)]
        }
        Some(_) | None if is_file => &url[scheme.len() + 1..],
        Some(_) | None => return None,
    };
    let without_slash = path.trim_start_matches('/');
    Some(if is_drive(without_slash) { without_slash } else { path })
}

fn is_anchored(text: &str) -> bool {
    text.starts_with('/') || is_drive(text)
}

/// The path without `.`, `..` and doubled slashes; relative ones start at the root, if there is one.
pub(crate) fn resolve(root: Option<&str>, text: &str) -> String {
    let home = HOMES.iter().find_map(|home| text.strip_prefix(home)).map(|rest| format!("~{rest}"));
    let text = home.as_deref().unwrap_or(text);
    let is_windows = is_drive(text)
        || text.starts_with("\\\\")
        || text.starts_with("~\\")
        || text.contains("..\\")
        || text.contains("\\..");
    let slashed = if is_windows { text.replace('\\', "/") } else { text.to_owned() };
    let (anchor, rest) = if text.starts_with("\\\\") {
        ("//", slashed.trim_start_matches('/'))
    } else if slashed.starts_with('/') {
        ("/", slashed.as_str())
    } else if slashed.starts_with('~') && !starts_approximation(&slashed) {
        slashed.split_at(slashed.find('/').unwrap_or(slashed.len()))
    } else if is_drive(&slashed) {
        slashed.split_at(2)
    } else {
        match root {
            Some(root) if is_anchored(root) => return resolve(None, &format!("{root}/{slashed}")),
            Some(_) | None => ("", slashed.as_str()),
        }
    };
    let may_climb = anchor.is_empty() || anchor.starts_with('~');
    let mut components: Vec<&str> = Vec::new();
    for component in rest.split('/') {
        match (component, components.last()) {
            ("" | ".", _) => {}
            ("..", Some(last)) if *last != ".." => {
                components.pop();
            }
            ("..", Some(_) | None) if !may_climb => {}
            (component, _) => components.push(component),
        }
    }
    let joint = if anchor.is_empty() || anchor.ends_with('/') { "" } else { "/" };
    match (anchor, components.as_slice()) {
        ("", []) => ".".to_owned(),
        (anchor, []) if anchor.starts_with('~') => anchor.to_owned(),
        (anchor, components) => format!("{anchor}{joint}{}", components.join("/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_by_their_text() {
        for (root, text, expected) in [
            (None, "/a/./b//c/../d", "/a/b/d"),
            (None, "/../../etc", "/etc"),
            (None, "//etc/passwd", "/etc/passwd"),
            (None, "/", "/"),
            (None, "a/../../b", "../b"),
            (None, "a/..", "."),
            (None, "~/a/../../b", "~/../b"),
            (None, "~", "~"),
            (None, "~root/x", "~root/x"),
            (None, "$HOME/x", "~/x"),
            (None, "C:\\a\\..\\b", "C:/b"),
            (None, "C:/", "C:/"),
            (None, "\\\\host\\share\\x", "//host/share/x"),
            (None, "a\\b", "a\\b"),
            (Some("/p"), "a\\..\\..\\b", "/b"),
            (Some("/p"), "a/b", "/p/a/b"),
            (Some("/p"), "../b", "/b"),
            (Some("/p"), "/x", "/x"),
            (Some("p"), "x", "x"),
            (Some("C:/p"), "x", "C:/p/x"),
        ] {
            assert_eq!(resolve(root, text), expected, "{text}");
        }
    }

    #[test]
    fn projects_hold_what_is_below_them() {
        for (root, path, expected) in [
            ("/p", "/p", true),
            ("/p/", "/p/a", true),
            ("/p", "/pq", false),
            ("/p", "/P/a", false),
            ("/", "/etc", true),
            ("C:\\p", "c:\\P\\a", true),
            ("C:\\p", "D:\\p\\a", false),
            ("p", "p/a", false),
            ("~/p", "~/p/a", false),
            ("", "/a", false),
        ] {
            let path = Path { text: resolve(None, path), is_open: false };
            assert_eq!(Project::new(root).holds(&path), expected, "{root} {path:?}");
        }
    }
}
