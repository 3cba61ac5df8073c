//! Octroi's own tools and resources for agents, in the catalogue.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use octroi_core::ServerKey;
use octroi_mcp::Method;
use serde_json::Value;

use super::offer::Tool;
use super::render::{join, position};

/// The key under which Octroi's own tools are decided, recorded and watched. No server may have this name.
static OCTROI: LazyLock<ServerKey> = LazyLock::new(ServerKey::octroi);

/// The definitions for the lists.
#[derive(Clone, Debug, Default)]
pub struct OfferedByOctroi {
    /// As in `tools/list`.
    pub tools: Vec<Value>,
    /// As in `resources/list`.
    pub resources: Vec<Value>,
    /// As in `resources/templates/list`.
    pub templates: Vec<Value>,
    /// Names of operator tools. They are answered elsewhere; no server's tool gets one of them, so that a
    /// name has the same meaning for every caller.
    pub reserved_names: Vec<String>,
}

/// The rendered definitions, and the tools as the gates see them.
#[derive(Debug, Default)]
pub(crate) struct Builtins {
    /// The entries of each list, separated by commas.
    lists: [Bytes; 4],
    tools: HashMap<String, Arc<Tool>>,
    reserved: HashSet<String>,
}

impl Builtins {
    pub(crate) fn new(offered: &OfferedByOctroi) -> Self {
        let written =
            |definitions: &[Value]| join(definitions.iter().map(|value| value.to_string().into_bytes()));
        let tools = offered.tools.iter().filter_map(|definition| {
            let name = definition["name"].as_str()?;
            let tool = Tool::builtin(name, &Self::key().name, Bytes::from(definition.to_string()));
            Some((name.to_owned(), Arc::new(tool)))
        });
        Self {
            tools: tools.collect(),
            reserved: offered.reserved_names.iter().cloned().collect(),
            lists: [
                written(&offered.tools),
                Bytes::new(),
                written(&offered.resources),
                written(&offered.templates),
            ],
        }
    }

    /// The key of Octroi among the servers.
    pub(crate) fn key() -> &'static ServerKey {
        &OCTROI
    }

    /// One of Octroi's own tools.
    pub(crate) fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(name)
    }

    /// Whether the name is reserved, so that no server's tool may have it.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.tools.contains_key(name) || self.reserved.contains(name)
    }

    /// All names that no server's tool may have.
    pub(crate) fn taken(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().chain(&self.reserved).map(String::as_str)
    }

    /// The entries of a list, separated by commas.
    pub(crate) fn entries(&self, list: &Method) -> &Bytes {
        &self.lists[position(list)]
    }

    /// All of Octroi's own tools, by name.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }
}
