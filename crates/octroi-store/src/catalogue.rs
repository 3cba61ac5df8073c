//! Stored catalogues: what each server last offered.

use crate::hash::ContentHash;
use crate::server::ServerKey;

/// Everything that one server offers, each entry as the server wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// The server's identity from the handshake, as JSON text.
    pub identity: String,
    /// Its tools, in its order, each as JSON text.
    pub tools: Vec<String>,
    /// Its prompts.
    pub prompts: Vec<String>,
    /// Its resources.
    pub resources: Vec<String>,
    /// Its resource templates.
    pub templates: Vec<String>,
}

impl Catalogue {
    /// The hash of all content, including the order.
    pub fn content_hash(&self) -> ContentHash {
        let identity = std::slice::from_ref(&self.identity);
        ContentHash::of_lists([identity, &self.tools, &self.prompts, &self.resources, &self.templates])
    }

    pub(crate) fn list(&self, list: List) -> &[String] {
        match list {
            List::Tools => &self.tools,
            List::Prompts => &self.prompts,
            List::Resources => &self.resources,
            List::Templates => &self.templates,
        }
    }

    pub(crate) fn list_mut(&mut self, list: List) -> &mut Vec<String> {
        match list {
            List::Tools => &mut self.tools,
            List::Prompts => &mut self.prompts,
            List::Resources => &mut self.resources,
            List::Templates => &mut self.templates,
        }
    }
}

/// A catalogue with its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCatalogue {
    /// The server.
    pub key: ServerKey,
    /// The content.
    pub catalogue: Catalogue,
    /// The hash of the content.
    pub content_hash: ContentHash,
    /// When this content was first saved.
    pub saved_at_ms: i64,
}

/// The result of saving a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// It replaced a different one.
    Written,
    /// The same content was already stored.
    Unchanged,
}

/// The lists of a catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    pub(crate) const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "templates",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.as_str() == word)
    }
}
