//! The web interface inside the binary: its files as `cargo xtask build` made them, and which paths are its screens.
//!
//! A build without Node.js has no interface. It has a page that says how to get one.

mod asset;

pub use asset::{Asset, Encoding};

/// A file of the built interface, with its compressed forms.
struct File {
    path: &'static str,
    plain: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

/// All files; none if the interface was not built.
static FILES: &[File] = &include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Shown instead of an interface that was not built.
static STUB: File = File { path: "stub.html", plain: include_bytes!("stub.html"), brotli: None, gzip: None };

/// The paths of screens: each of them, and everything below it.
pub const SCREENS: [&str; 12] = [
    "/",
    "/approvals",
    "/activity",
    "/servers",
    "/tools",
    "/agents",
    "/sessions",
    "/policies",
    "/audit",
    "/settings",
    "/sign-in",
    "/search",
];

/// Whether this binary has the interface.
pub const fn is_built() -> bool {
    cfg!(ui_built)
}

/// Whether a path is one of a screen.
pub fn is_screen(path: &str) -> bool {
    SCREENS.iter().any(|screen| match path.strip_prefix(screen) {
        Some("") => true,
        Some(rest) => *screen != "/" && rest.starts_with('/'),
        None => false,
    })
}

/// The page that every screen begins with.
pub fn index() -> Asset {
    Asset::new(find("index.html").unwrap_or(&STUB))
}

/// A file under `/static/`, whose name changes with its content.
pub fn asset(path: &str) -> Option<Asset> {
    let name = path.strip_prefix('/')?;
    name.starts_with("static/").then(|| find(name)).flatten().map(Asset::new)
}

fn find(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.path == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screens_are_paths_and_what_is_below_them() {
        for (path, expected) in [
            ("/", true),
            ("/approvals", true),
            ("/approvals/ap_1", true),
            ("/servers/github/tools", true),
            ("/approvalsx", false),
            ("/mcp", false),
            ("/health", false),
            ("/api", false),
            ("/static/a.js", false),
            ("//evil.example", false),
            ("", false),
        ] {
            assert_eq!(is_screen(path), expected, "{path}");
        }
    }

    #[test]
    fn only_files_under_static_are_assets() {
        for path in
            ["/index.html", "/static/../index.html", "/static/", "/static", "static/a.js", "/etc/passwd"]
        {
            assert!(asset(path).is_none(), "{path}");
        }
        for file in FILES.iter().filter(|file| file.path.starts_with("static/")) {
            assert!(asset(&format!("/{}", file.path)).is_some(), "{}", file.path);
        }
    }

    #[test]
    fn there_is_always_a_page() {
        let index = index();
        assert!(index.media_type().starts_with("text/html"));
        let (body, _) = index.body(&[]);
        assert_eq!(String::from_utf8_lossy(body).contains("cargo xtask build"), !is_built());
    }
}
