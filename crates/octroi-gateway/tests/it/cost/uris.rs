//! Templates of a server and a URI of a client: spelling them out and comparing them.

use octroi_core::uri::template::{Steps, UriTemplate};
use octroi_core::uri::{URI_BYTES_MAX, coarse_spellings, publish, resolve, spellings};

use super::{Meter, template};

/// A text `templates, one in each line === URI`; without the second part, the last line is the URI.
pub(crate) fn run(input: &[u8], meter: &mut Meter<'_>) {
    let parts = template::parts(input);
    let [templates, rest @ ..] = parts.as_slice() else { return };
    let templates = String::from_utf8_lossy(templates);
    let uri = rest.first().map(|uri| String::from_utf8_lossy(uri));
    let uri = uri.as_deref().or_else(|| templates.lines().last()).unwrap_or_default();
    let mut known = Vec::new();
    meter("read templates", templates.len(), &mut || {
        known = templates.lines().map(UriTemplate::new).collect();
    });
    let mut quarantined = Vec::new();
    meter("read quarantined templates", templates.len(), &mut || {
        quarantined = templates.lines().flat_map(UriTemplate::coarse).collect();
    });
    meter("spell templates out", templates.len(), &mut || {
        drop(templates.lines().flat_map(UriTemplate::spelled).collect::<Vec<_>>());
    });
    // The gateway refuses longer ones.
    let end = (0..=URI_BYTES_MAX.min(uri.len())).rev().find(|end| uri.is_char_boundary(*end));
    let uri = &uri[..end.unwrap_or_default()];
    let mut spelled = Vec::new();
    meter("spell a URI out", uri.len(), &mut || {
        spelled = [coarse_spellings(uri), spellings(uri)].into_iter().flatten().flatten().collect();
        drop(resolve(uri));
        if let Ok(server) = octroi_core::ServerName::parse("s") {
            drop(publish(&server, uri));
        }
    });
    for templates in [&known, &quarantined] {
        meter("compare a URI with templates", uri.len(), &mut || {
            let mut steps = Steps::for_one_uri();
            for spelling in &spelled {
                if templates.iter().any(|template| template.fits(spelling, &mut steps) != Ok(false)) {
                    return;
                }
            }
        });
    }
}
