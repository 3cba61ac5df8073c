//! What one server's entries look like in pools: their plain names, and their lists, rendered once for all pools.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use octroi_core::{ServerKey, wire_name};
use octroi_mcp::Method;
use parking_lot::Mutex;

use super::fetch::{Item, ServerLists};
use super::offer::Offer;
use super::render::{self, join, position};

/// Servers choose names, so the hashes of names must not be foreseeable.
static HASHES: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The hash of a wire name in the tables of all pools.
pub(crate) fn hash_of_name(name: &str) -> u64 {
    HASHES.hash_one(name)
}

/// The wire name that an entry has unless another one claims it too.
#[derive(Debug)]
pub(crate) struct PlainName {
    pub(crate) name: Box<str>,
    pub(crate) hash: u64,
}

/// The plain names of all tools and prompts of a server, in the order of its lists.
#[derive(Debug)]
pub(crate) struct PlainNames {
    pub(crate) tools: Box<[PlainName]>,
    pub(crate) prompts: Box<[PlainName]>,
}

impl PlainNames {
    pub(super) fn of(server: &ServerKey, lists: &ServerLists) -> Self {
        let plain = |items: &[Item]| {
            let names = items.iter().map(|item| wire_name::plain(server, &item.name).into_boxed_str());
            names.map(|name| PlainName { hash: hash_of_name(&name), name }).collect()
        };
        Self { tools: plain(&lists.tools), prompts: plain(&lists.prompts) }
    }
}

/// A server's lists as they were rendered, until nobody wants them for a while.
#[derive(Debug, Default)]
pub(super) struct RenderedLists(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    /// Under wire names and published URIs.
    published: [Option<Bytes>; 4],
    /// Under the server's own names.
    own: [Option<Bytes>; 4],
    is_used: bool,
    /// For how long nobody had wanted one when that was last looked at.
    idle: Duration,
}

impl Offer {
    /// The entries of a list under plain wire names and published URIs, separated by commas.
    pub(crate) fn published(&self, list: &Method) -> Bytes {
        let mut entries = self.rendered.0.lock();
        entries.is_used = true;
        let known = &mut entries.published[position(list)];
        known.get_or_insert_with(|| self.publish(list, |_| None)).clone()
    }

    /// The same, some of them under other wire names.
    pub(crate) fn publish<'a>(&self, list: &Method, name_of: impl Fn(usize) -> Option<&'a str>) -> Bytes {
        let key = self.key();
        let plain = match list {
            Method::PromptsList => &self.names.prompts,
            _ => &self.names.tools,
        };
        let name = |position: usize| name_of(position).unwrap_or(&plain[position].name);
        match list {
            Method::ResourcesList | Method::TemplatesList => {
                join(self.visible.list(list).iter().map(|item| render::published(list, &key.name, item)))
            }
            Method::PromptsList => {
                let shown =
                    self.raw.prompts.iter().enumerate().filter(|(_, item)| self.shows_prompt(&item.name));
                join(shown.map(|(position, item)| render::prompt(name(position), item)))
            }
            _ => {
                let shown = self.raw.tools.iter().enumerate().filter(|(_, item)| self.shows_tool(&item.name));
                join(shown.map(|(position, item)| render::tool(name(position), key, item)))
            }
        }
    }

    /// The entries of a list under the server's own names: definitions are forwarded unchanged.
    pub(crate) fn own_entries(&self, list: &Method) -> Bytes {
        let mut entries = self.rendered.0.lock();
        entries.is_used = true;
        let known = &mut entries.own[position(list)];
        known.get_or_insert_with(|| join(self.visible.list(list).iter().map(|item| &item.definition))).clone()
    }

    /// About how long a list is. Not rendered for that: where it is done depends on the answer.
    pub(crate) fn n_bytes(&self, list: &Method) -> usize {
        self.n_bytes[position(list)]
    }

    /// Drops the rendered lists if nobody wanted one for that long; `since_last` is the time since this was last done.
    pub(crate) fn forget_unused(&self, since_last: Duration, limit: Duration) {
        let mut entries = self.rendered.0.lock();
        entries.idle =
            if std::mem::take(&mut entries.is_used) { Duration::ZERO } else { entries.idle + since_last };
        if entries.idle >= limit {
            *entries = Entries { idle: entries.idle, ..Entries::default() };
        }
    }
}
