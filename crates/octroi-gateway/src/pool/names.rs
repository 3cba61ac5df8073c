//! The wire names of one kind of entry in a pool. Names live with the servers, where they are made once; here are numbers.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use octroi_core::{ServerKey, wire_name};

use crate::catalogue::{Builtins, Item, Offer, PlainName, hash_of_name};

/// What is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Named {
    #[default]
    Tools,
    Prompts,
}

impl Named {
    fn names_of(self, offer: &Offer) -> &[PlainName] {
        match self {
            Self::Tools => &offer.names.tools,
            Self::Prompts => &offer.names.prompts,
        }
    }

    fn items_of(self, offer: &Offer) -> &[Item] {
        match self {
            Self::Tools => &offer.raw.tools,
            Self::Prompts => &offer.raw.prompts,
        }
    }
}

/// Which entry each name stands for. Entries are numbered through, in the order of servers and of their lists.
#[derive(Debug, Default)]
pub(super) struct Names {
    named: Named,
    /// The number of each server's first entry.
    starts: Box<[u32]>,
    /// Entries under their plain names.
    plain: HashTable<u32>,
    /// Entries whose plain names are claimed by others too, or too long.
    renamed: HashMap<Box<str>, u32>,
    replaced: BTreeMap<u32, Box<str>>,
}

impl Names {
    /// Names all entries of a kind. The result is that of [`wire_name::assign`] for all of them, which is only asked about
    /// those whose plain name does not do.
    pub(super) fn new(
        offers: &[Arc<Offer>],
        named: Named,
        builtins: &Builtins,
        is_spelling: &dyn Fn(&str) -> bool,
        max: usize,
    ) -> Self {
        let mut starts = Vec::with_capacity(offers.len());
        let mut n_entries = 0;
        for offer in offers {
            starts.push(n_entries);
            n_entries += u32::try_from(named.names_of(offer).len()).unwrap_or(u32::MAX);
        }
        let plain = HashTable::with_capacity(n_entries as usize);
        let mut made = Self { named, starts: starts.into(), plain, ..Self::default() };
        let mut clashing = made.place(offers, is_spelling, max);
        for taken in builtins.taken() {
            clashing.extend(made.find_plain(offers, taken));
        }
        if !clashing.is_empty() {
            let is_taken = |name: &str| builtins.takes(name) || is_spelling(name);
            made.rename(offers, clashing, &is_taken, max);
        }
        made
    }

    /// Puts every entry under its plain name; returns those for which it does not do.
    fn place(
        &mut self,
        offers: &[Arc<Offer>],
        is_spelling: &dyn Fn(&str) -> bool,
        max: usize,
    ) -> BTreeSet<u32> {
        let Self { named, starts, plain: table, .. } = self;
        let mut clashing = BTreeSet::new();
        for (number, name) in (0u32..).zip(offers.iter().flat_map(|offer| named.names_of(offer))) {
            let is_same = |other: &u32| {
                plain_at(offers, *named, starts, *other).is_some_and(|other| other.name == name.name)
            };
            let hash = |other: &u32| plain_at(offers, *named, starts, *other).map_or(0, |other| other.hash);
            match table.entry(name.hash, is_same, hash) {
                Entry::Occupied(known) => clashing.extend([*known.get(), number]),
                Entry::Vacant(vacant) => drop(vacant.insert(number)),
            }
            if name.name.len() > max || (name.name.contains("__") && is_spelling(&name.name)) {
                clashing.insert(number);
            }
        }
        clashing
    }

    /// Gives clashing entries other names. Whatever could be in the way of those clashes too.
    fn rename(
        &mut self,
        offers: &[Arc<Offer>],
        mut clashing: BTreeSet<u32>,
        is_taken: &dyn Fn(&str) -> bool,
        max: usize,
    ) {
        let named = self.named;
        let mut looked_at = HashSet::new();
        loop {
            let news: Vec<u32> =
                clashing.iter().copied().filter(|number| looked_at.insert(*number)).collect();
            if news.is_empty() {
                break;
            }
            for number in news {
                let Some((server, own)) = self.own_name(offers, number) else { continue };
                let others = wire_name::instead_of_plain(server, own, max);
                clashing.extend(others.filter_map(|other| self.find_plain(offers, &other)));
            }
        }
        let entries: Vec<(u32, &ServerKey, &str)> = clashing
            .iter()
            .filter_map(|number| {
                let (server, own) = self.own_name(offers, *number)?;
                Some((*number, server, own))
            })
            .collect();
        let own_names: Vec<_> = entries.iter().map(|(_, server, own)| (*server, *own)).collect();
        let assigned = wire_name::assign(&own_names, is_taken, max);
        let plain = |number| plain_at(offers, named, &self.starts, number);
        for (number, ..) in &entries {
            let Some(name) = plain(*number) else { continue };
            if let Ok(entry) = self.plain.find_entry(name.hash, |other| other == number) {
                entry.remove();
            }
        }
        for ((number, ..), assigned) in entries.into_iter().zip(assigned) {
            match plain(number) {
                Some(name) if *name.name == *assigned => {
                    let hash = |other: &u32| plain(*other).map_or(0, |other| other.hash);
                    self.plain.insert_unique(name.hash, number, hash);
                }
                _ => {
                    let assigned = assigned.into_boxed_str();
                    self.renamed.insert(assigned.clone(), number);
                    self.replaced.insert(number, assigned);
                }
            }
        }
    }

    /// The entry with a wire name: its server's place, and its own in the server's list.
    pub(super) fn find(&self, offers: &[Arc<Offer>], name: &str) -> Option<(usize, usize)> {
        let number = self.find_plain(offers, name).or_else(|| self.renamed.get(name).copied())?;
        Some(place_of(&self.starts, number))
    }

    /// The wire name of an entry.
    pub(super) fn name_at<'a>(
        &'a self,
        offers: &'a [Arc<Offer>],
        server: usize,
        position: usize,
    ) -> Option<&'a str> {
        let plain = || Some(&*self.named.names_of(offers.get(server)?).get(position)?.name);
        self.other_name(server, position).or_else(plain)
    }

    /// The wire name of an entry that does not have its plain one.
    pub(super) fn other_name(&self, server: usize, position: usize) -> Option<&str> {
        if self.replaced.is_empty() {
            return None;
        }
        let number = self.starts.get(server)? + u32::try_from(position).ok()?;
        self.replaced.get(&number).map(|name| &**name)
    }

    /// Whether an entry of a server does not have its plain name.
    pub(super) fn has_renamed(&self, server: usize) -> bool {
        let end = self.starts.get(server + 1).copied().unwrap_or(u32::MAX);
        let start = self.starts.get(server).copied().unwrap_or(end);
        self.replaced.range(start..end).next().is_some()
    }

    fn find_plain(&self, offers: &[Arc<Offer>], name: &str) -> Option<u32> {
        let is_it = |number: &u32| {
            plain_at(offers, self.named, &self.starts, *number).is_some_and(|plain| *plain.name == *name)
        };
        self.plain.find(hash_of_name(name), is_it).copied()
    }

    fn own_name<'a>(&self, offers: &'a [Arc<Offer>], number: u32) -> Option<(&'a ServerKey, &'a str)> {
        let (server, position) = place_of(&self.starts, number);
        let offer = offers.get(server)?;
        Some((offer.key(), &self.named.items_of(offer).get(position)?.name))
    }
}

fn plain_at<'a>(
    offers: &'a [Arc<Offer>],
    named: Named,
    starts: &[u32],
    number: u32,
) -> Option<&'a PlainName> {
    let (server, position) = place_of(starts, number);
    named.names_of(offers.get(server)?).get(position)
}

/// The place of an entry's server, and its own in the server's list.
fn place_of(starts: &[u32], number: u32) -> (usize, usize) {
    // Servers without entries begin where the next one does.
    let server = starts.partition_point(|start| *start <= number).saturating_sub(1);
    let start = starts.get(server).copied().unwrap_or_default();
    (server, (number - start) as usize)
}
