//! `[members]`, `[templates]` and `[presets]`.

use std::path::PathBuf;

use super::keys::{MEMBERS, PRESETS, TEMPLATES};
use super::problem::ProblemLog;
use super::settings::{Context, Read};
use crate::outward::AllowedHosts;
use crate::syntax::Map;

/// `[members]`: what users who are no administrators may do with servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MembersSection {
    /// Where their servers may be although it is no public address; each one is valid.
    pub allow_hosts: Vec<String>,
    /// Whether they may add servers that run a command on this machine.
    pub allow_host_commands: bool,
}

impl MembersSection {
    /// Where their servers may be.
    pub fn allowed_hosts(&self) -> AllowedHosts {
        AllowedHosts::parse(self.allow_hosts.iter().map(String::as_str)).0
    }
}

/// `[templates]` and `[presets]`: where files of one's own are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueDirectory {
    /// The directory, if one is configured.
    pub dir: Option<PathBuf>,
}

impl Context<'_> {
    pub(super) fn members(&self, map: &Map) -> Read<MembersSection> {
        let mut reader = self.reader(map, MEMBERS, ProblemLog::of_restriction(None));
        let written = reader.texts("allow_hosts");
        let (_, refused) = AllowedHosts::parse(written.iter().map(String::as_str));
        let origin = reader.origin("allow_hosts");
        for problem in refused {
            let hint = "write a host, `*.example.com`, or a network such as 10.1.0.0/16".to_owned();
            reader.log.error_with_hint(&origin, problem.to_string(), hint);
        }
        let section = MembersSection {
            allow_hosts: written,
            allow_host_commands: reader.flag("allow_host_commands", false),
        };
        (section, reader.settings, reader.log.problems)
    }

    pub(super) fn templates(&self, map: &Map) -> Read<CatalogueDirectory> {
        let mut reader = self.reader(map, TEMPLATES, ProblemLog::of_section(self.unknown));
        let section = CatalogueDirectory { dir: reader.path("dir") };
        (section, reader.settings, reader.log.problems)
    }

    pub(super) fn presets(&self, map: &Map) -> Read<CatalogueDirectory> {
        let mut reader = self.reader(map, PRESETS, ProblemLog::of_section(self.unknown));
        let section = CatalogueDirectory { dir: reader.path("dir") };
        (section, reader.settings, reader.log.problems)
    }
}
