//! URI templates, as far as they tell which URIs could come from them: the fixed parts occur in order. Precise enough to
//! find the one server that may have a resource; the server itself decides.
//!
//! Whoever asks chooses the URI and a server chooses the templates, so matching has a limit in steps.

use super::{coarse_spellings, spellings};

/// Matching one URI with all templates takes at most so many steps; a step is about a byte that is looked at.
const STEPS_MAX: usize = 1_000_000;

/// What is left of the steps for one URI.
#[derive(Debug)]
pub struct Steps(usize);

/// There are no steps left, so it is not known whether a template fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySteps;

impl Steps {
    /// All that one URI may take.
    pub const fn for_one_uri() -> Self {
        Self(STEPS_MAX)
    }

    const fn take(&mut self, n_steps: usize) -> Result<(), TooManySteps> {
        match self.0.checked_sub(n_steps) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                self.0 = 0;
                Err(TooManySteps)
            }
        }
    }
}

/// A template, of which only the fixed parts count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriTemplate {
    text: Box<str>,
    /// Where the first variable begins.
    head_end: usize,
}

impl UriTemplate {
    /// Reads a template.
    pub fn new(template: &str) -> Self {
        let head_end = template.find('{').unwrap_or(template.len());
        Self { text: template.into(), head_end }
    }

    /// The template in all spellings of its fixed parts.
    pub fn spelled(template: &str) -> Vec<Self> {
        spellings(template).unwrap_or_default().iter().map(|spelling| Self::new(spelling)).collect()
    }

    /// The template as [`coarse_spellings`] shows URIs. One without such a form is only what it is.
    pub fn coarse(template: &str) -> Vec<Self> {
        let spellings = coarse_spellings(template).unwrap_or_else(|| vec![template.to_owned()]);
        spellings.iter().map(|spelling| Self::new(spelling)).collect()
    }

    /// Whether a URI could come from it.
    pub fn fits(&self, uri: &str, steps: &mut Steps) -> Result<bool, TooManySteps> {
        let (head, variables) = self.text.split_at(self.head_end);
        // Comparing from the front takes no longer than what is read anyway.
        steps.take(1 + head.len().min(uri.len()) / 16)?;
        let (Some(mut rest), false) = (uri.strip_prefix(head), variables.is_empty()) else {
            return Ok(false);
        };
        let mut parts = variables.split('{').skip(1).peekable();
        while let Some(part) = parts.next() {
            let literal = part.split_once('}').map_or("", |(_, literal)| literal);
            if parts.peek().is_none() {
                steps.take(1 + part.len())?;
                return Ok(rest.ends_with(literal));
            }
            let found = rest.find(literal);
            let n_read = found.map_or(rest.len(), |position| position + literal.len());
            steps.take(1 + n_read + part.len())?;
            let Some(position) = found else { return Ok(false) };
            rest = &rest[position + literal.len()..];
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_fit() {
        for (template, uri, fits) in [
            ("t://{id}", "t://5", true),
            ("t://{id}/data", "t://5/data", true),
            ("t://{id}/data", "t://data/data", true),
            ("t://{id}/data", "t://5/data/data", true),
            ("t://{id}/data", "t://5/other", false),
            ("t://{a}/{b}", "t://1/2", true),
            ("t://{a}/{b}/c", "t://1/2", false),
            ("t://fixed", "t://fixed", false),
            ("u://{id}", "t://5", false),
            ("t://{id", "t://5", true),
            ("", "", false),
        ] {
            let found = UriTemplate::new(template).fits(uri, &mut Steps::for_one_uri());
            assert_eq!(found, Ok(fits), "{template} {uri}");
        }
    }

    #[test]
    fn nobody_can_make_it_take_long() {
        let template = UriTemplate::new(&format!("t://{}aab", "{x}aab".repeat(1_000)));
        let uri = format!("t://{}", "aab".repeat(2_000));
        let mut steps = Steps::for_one_uri();
        let n_fitting = (0..1_000).take_while(|_| template.fits(&uri, &mut steps).is_ok()).count();
        assert!((10..1_000).contains(&n_fitting), "{n_fitting}");
        assert_eq!(template.fits("t://x", &mut steps), Err(TooManySteps));
        assert!(UriTemplate::new("t://{x}").fits("t://1", &mut Steps::for_one_uri()).unwrap());
    }
}
