//! Lists the files of the built web interface. It only looks: nothing is built, installed or fetched here.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The interface as `cargo xtask build` leaves it.
const DIST: &str = "../../web/dist";

fn main() -> io::Result<()> {
    println!("cargo::rustc-check-cfg=cfg(ui_built)");
    let dist = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(DIST);
    // The directory is always there, so that only a change of it leads to another build.
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    if dist.join("index.html").is_file() {
        println!("cargo::rustc-cfg=ui_built");
        list(&dist, &mut files)?;
        files.sort();
    }
    let mut table = String::from("[\n");
    for file in &files {
        entry(&mut table, &dist, file)?;
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("files.rs"), table)
}

/// All files, without the compressed forms of others.
fn list(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if !matches!(path.extension().and_then(|end| end.to_str()), Some("br" | "gz" | "placeholder"))
        {
            files.push(path);
        }
    }
    Ok(())
}

/// A `File` of `src/lib.rs`, with the compressed forms that lie beside it.
fn entry(table: &mut String, dist: &Path, file: &Path) -> io::Result<()> {
    let name = file.strip_prefix(dist).unwrap_or(file).to_string_lossy().replace('\\', "/");
    let compressed = |end: &str| {
        let path = PathBuf::from(format!("{}.{end}", file.display()));
        path.is_file().then(|| fs::canonicalize(path)).transpose()
    };
    let include = |path: &Path| format!("include_bytes!({:?})", path.display().to_string());
    let optional = |path: Option<PathBuf>| match path {
        Some(path) => format!("Some({})", include(&path)),
        None => "None".to_owned(),
    };
    let _ = writeln!(
        table,
        "    File {{ path: {name:?}, plain: {}, brotli: {}, gzip: {} }},",
        include(&fs::canonicalize(file)?),
        optional(compressed("br")?),
        optional(compressed("gz")?),
    );
    Ok(())
}
