//! `[rest]`: the REST interface.

use super::keys::REST;
use super::problem::ProblemLog;
use super::settings::{Context, Read};
use crate::syntax::Map;

/// `[rest]`: the REST interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestSection {
    /// Whether anything at its paths is answered.
    pub is_enabled: bool,
}

impl Context<'_> {
    pub(super) fn rest(&self, map: &Map) -> Read<RestSection> {
        // Whoever wanted to close it must not find it open because of a typing error.
        let mut reader = self.reader(map, REST, ProblemLog::of_restriction(None));
        let section = RestSection { is_enabled: reader.flag("enabled", true) };
        (section, reader.settings, reader.log.problems)
    }
}
