//! Which resources of one server can be read, beside those that are quarantined.

use std::collections::{HashMap, HashSet};

use octroi_core::pin::PinKind;
use octroi_core::uri::template::{Steps, TooManySteps, UriTemplate};
use octroi_core::uri::{coarse_spellings, spellings};

use super::fetch::{Item, ServerLists};

/// What is known of a URI.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Readability<'a> {
    Readable,
    /// It may be this quarantined entry.
    Held(PinKind, &'a str),
    /// It cannot be told, or it is nothing that was accepted.
    Unknown(&'static str),
}

/// The resources and templates of a server that are not quarantined, and those that are.
#[derive(Debug)]
pub(super) struct Readable {
    /// As they are listed.
    names: HashSet<String>,
    templates: Vec<UriTemplate>,
    /// What is needed while some are quarantined.
    guarded: Option<Guarded>,
}

/// Names under every spelling.
#[derive(Debug)]
struct Guarded {
    resources: HashSet<String>,
    templates: Vec<UriTemplate>,
    /// The quarantined ones under their coarse spellings, with their names as listed.
    held_resources: HashMap<String, String>,
    held_templates: Vec<(UriTemplate, String)>,
}

impl Readable {
    pub(super) fn of(visible: &ServerLists, held: &HashMap<(PinKind, String), String>) -> Self {
        let templates = visible.templates.iter().map(|item| UriTemplate::new(&item.name)).collect();
        let names = visible.resources.iter().map(|item| item.name.clone()).collect();
        Self { names, templates, guarded: Guarded::of(visible, held) }
    }

    /// Whether a URI is listed or could come from a template, as it is written.
    pub(super) fn has_listed(&self, uri: &str, steps: &mut Steps) -> Result<bool, TooManySteps> {
        Ok(self.names.contains(uri) || any_fits(&self.templates, uri, steps)?)
    }

    pub(super) fn check(&self, uri: &str) -> Readability<'_> {
        let Some(guarded) = &self.guarded else { return Readability::Readable };
        // This very resource was accepted.
        if self.names.contains(uri) {
            return Readability::Readable;
        }
        let (Some(spellings), Some(coarse)) = (spellings(uri), coarse_spellings(uri)) else {
            return Readability::Unknown("its URI is encoded too often to be compared");
        };
        let mut steps = Steps::for_one_uri();
        guarded.check(&spellings, &coarse, &mut steps).unwrap_or(Readability::Unknown(
            "its URI takes too long to compare with the templates of its server",
        ))
    }
}

impl Guarded {
    fn of(visible: &ServerLists, held: &HashMap<(PinKind, String), String>) -> Option<Self> {
        let names =
            |wanted: PinKind| held.keys().filter(move |(kind, _)| *kind == wanted).map(|(_, name)| name);
        if !held.keys().any(|(kind, _)| matches!(kind, PinKind::Resource | PinKind::Template)) {
            return None;
        }
        let spelled = |item: &Item| spellings(&item.name).unwrap_or_default();
        let held_resources = names(PinKind::Resource).flat_map(|name| {
            let spellings = coarse_spellings(name).unwrap_or_else(|| vec![name.clone()]);
            spellings.into_iter().map(move |spelling| (spelling, name.clone()))
        });
        Some(Self {
            resources: visible.resources.iter().flat_map(spelled).collect(),
            templates: visible.templates.iter().flat_map(|item| UriTemplate::spelled(&item.name)).collect(),
            held_resources: held_resources.collect(),
            held_templates: names(PinKind::Template)
                .flat_map(|name| {
                    UriTemplate::coarse(name).into_iter().map(move |template| (template, name.clone()))
                })
                .collect(),
        })
    }

    fn check(
        &self,
        spellings: &[String],
        coarse: &[String],
        steps: &mut Steps,
    ) -> Result<Readability<'_>, TooManySteps> {
        // A quarantined one first: an accepted template may be so wide that it matches it too.
        for spelling in coarse {
            if let Some(name) = self.held_resources.get(spelling) {
                return Ok(Readability::Held(PinKind::Resource, name));
            }
            for (template, name) in &self.held_templates {
                if template.fits(spelling, steps)? {
                    return Ok(Readability::Held(PinKind::Template, name));
                }
            }
        }
        for spelling in spellings {
            if !self.resources.contains(spelling) && !any_fits(&self.templates, spelling, steps)? {
                return Ok(Readability::Unknown(
                    "it matches no accepted resource or template, and some wait for review; see `octroi pins`",
                ));
            }
        }
        Ok(Readability::Readable)
    }
}

fn any_fits(templates: &[UriTemplate], uri: &str, steps: &mut Steps) -> Result<bool, TooManySteps> {
    for template in templates {
        if template.fits(uri, steps)? {
            return Ok(true);
        }
    }
    Ok(false)
}
