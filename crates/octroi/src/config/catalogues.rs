//! Templates and presets of one's own: files in directories beside the configuration.
//!
//! A bad file is reported and left out; nothing else depends on it.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use octroi_core::config::Config as Settings;
use octroi_core::preset::{self, PresetCatalogue};
use octroi_core::template::{self, TemplateCatalogue, TemplateSource};

use super::directory_of;
use super::exposed::exposure;

/// The variable with another directory of presets.
const PRESETS_VARIABLE: &str = "OCTROI_PRESETS";
/// Larger files are no templates and no presets.
const FILE_BYTES: u64 = 1 << 20;
/// More files in one directory are not read.
const FILES_MAX: usize = 1_000;

/// What was found, and where it was looked for.
pub(crate) struct Catalogues {
    pub(crate) templates: TemplateCatalogue,
    pub(crate) presets: PresetCatalogue,
    pub(crate) watched: Vec<PathBuf>,
}

/// Reads the files of templates and presets.
pub(crate) fn read(settings: &Settings, file: Option<&Path>) -> Catalogues {
    let beside = |named: &Option<PathBuf>, usual: &str| {
        // Without a configuration there is no directory that belongs to it.
        named.clone().or_else(|| file.map(|file| directory_of(Some(file)).join(usual)))
    };
    let mut watched = Vec::new();
    let mut problems = Vec::new();
    let mut templates: Vec<template::Template> = Vec::new();
    let directory = beside(&settings.templates.dir, "templates");
    for found in files(directory.as_deref(), &["toml"], &mut watched, &mut problems) {
        let parsed = template::parse(&found.text, TemplateSource::File(found.path.clone()));
        match parsed {
            Ok(template) if templates.iter().any(|known| known.id == template.id) => {
                problems.push(format!("{}: another file has the id `{}`", found.path.display(), template.id));
            }
            Ok(template) => templates.push(template),
            Err(problem) => problems.push(format!("{}: {problem}", found.path.display())),
        }
    }
    let templates = TemplateCatalogue::new(templates, problems);
    let mut problems = Vec::new();
    let mut presets = Vec::new();
    let named = std::env::var_os(PRESETS_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    for directory in [named, beside(&settings.presets.dir, "presets")].into_iter().flatten() {
        for found in files(Some(&directory), &["toml", "yaml", "yml"], &mut watched, &mut problems) {
            match preset::parse(&found.text, &found.path, found.modified_at_ms) {
                Ok(preset) => presets.push(preset),
                Err(problem) => problems.push(format!("{}: {problem}", found.path.display())),
            }
        }
    }
    let presets = PresetCatalogue::new(presets, problems);
    Catalogues { templates, presets, watched }
}

struct FoundFile {
    path: PathBuf,
    text: String,
    modified_at_ms: Option<i64>,
}

/// The files of a directory with one of these endings, by name.
fn files(
    directory: Option<&Path>,
    endings: &[&str],
    watched: &mut Vec<PathBuf>,
    problems: &mut Vec<String>,
) -> Vec<FoundFile> {
    let Some(directory) = directory else { return Vec::new() };
    watched.push(directory.to_path_buf());
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            problems.push(format!("{}: {error}", directory.display()));
            return Vec::new();
        }
    };
    if let Some(failure) = exposure(directory) {
        problems.push(failure.message);
        return Vec::new();
    }
    let is_meant = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        endings.contains(&ending) && !is_hidden
    };
    let mut paths: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_meant).collect();
    paths.sort();
    if paths.len() > FILES_MAX {
        problems.push(format!("{}: only the first {FILES_MAX} files are read", directory.display()));
        paths.truncate(FILES_MAX);
    }
    let mut found = Vec::new();
    for path in paths {
        watched.push(path.clone());
        match file(&path) {
            Ok(file) => found.push(file),
            Err(problem) => problems.push(problem),
        }
    }
    found
}

fn file(path: &Path) -> Result<FoundFile, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(failure) = exposure(path) {
        return Err(failure.message);
    }
    let metadata = fs::metadata(path).map_err(failed)?;
    // A pipe would make the gateway wait.
    if !metadata.is_file() {
        return Err(format!("{}: it is no file", path.display()));
    }
    let mut text = String::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(FILE_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_BYTES {
        return Err(format!("{}: it is larger than {FILE_BYTES} bytes", path.display()));
    }
    let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let modified_at_ms = modified.and_then(|at| i64::try_from(at.as_millis()).ok());
    Ok(FoundFile { path: path.to_path_buf(), text, modified_at_ms })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use octroi_core::config::CatalogueDirectory;

    use super::*;

    #[test]
    fn files_that_cannot_be_used_are_reported_and_nothing_more() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path();
        let template = "id = \"hub\"\ndisplay_name = \"Hub\"\ndescription = \"A hub.\"\ncategory = \"x\"\n\
             [provider]\nurl = \"https://hub.example/mcp\"\n";
        fs::write(place.join("hub.toml"), template).unwrap();
        fs::write(place.join("same.toml"), template).unwrap();
        fs::write(place.join("bad.toml"), "id =").unwrap();
        fs::write(place.join("open.toml"), template).unwrap();
        fs::set_permissions(place.join("open.toml"), fs::Permissions::from_mode(0o666)).unwrap();
        fs::write(place.join("large.toml"), "#".repeat(usize::try_from(FILE_BYTES + 1).unwrap())).unwrap();
        fs::write(place.join("bytes.toml"), [0xff, 0xfe]).unwrap();
        fs::create_dir(place.join("directory.toml")).unwrap();
        fs::write(place.join(".hidden.toml"), "id =").unwrap();
        fs::write(place.join("notes.txt"), "id =").unwrap();
        let mut settings = octroi_core::config::build(octroi_core::config::Sources {
            file: None,
            base: place.into(),
            discovered: Vec::new(),
            listen: None,
            unknown: None,
            lookup: &|_, _| Ok(None),
            programs: octroi_core::config::ProgramPlaces::BESIDE_FILE,
        });
        settings.templates = CatalogueDirectory { dir: Some(place.to_path_buf()) };
        let found = read(&settings, None);
        assert!(found.templates.find("hub").is_some());
        let problems = found.templates.problems.join("\n");
        assert_eq!(found.templates.problems.len(), 6, "{problems}");
        for expected in
            ["bad.toml", "same.toml: another file", "open.toml", "larger than", "bytes.toml", "it is no file"]
        {
            assert!(problems.contains(expected), "{expected}: {problems}");
        }
        assert!(found.watched.len() >= 7 && found.presets.find("default").is_ok());
    }
}
