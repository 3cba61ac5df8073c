//! A configuration file as a tree of values that know their origin.
//!
//! Every format is read into this tree, and everything after that works on the tree alone.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub origin: Origin,
}

/// A value in any of the formats.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Null; the same as omitting the key.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of writing.
    Map(Map),
    /// A type that no setting accepts: a fraction, a date, a number that is too large.
    Other(String),
}

/// A map in the order of writing, without duplicate names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map {
    members: Vec<Member>,
    /// Their names: a text may have many, and each is looked up.
    names: HashSet<String>,
}

/// One entry of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name, as it is looked up.
    pub key: String,
    /// Where the name was written.
    pub origin: Origin,
    /// The value.
    pub node: Node,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The built-in default.
    Default,
    /// A line of a file.
    File {
        /// The file.
        path: Arc<Path>,
        /// The line, from 1.
        line: usize,
    },
    /// Derived from a discovered directory.
    Directory(Arc<Path>),
    /// An environment variable.
    Environment(&'static str),
    /// A command-line option.
    Flag(&'static str),
}

impl Node {
    /// A value with its origin.
    pub fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Null
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Other(_) => None,
        }
    }

    /// The map, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            Value::Null
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::List(_)
            | Value::Text(_)
            | Value::Other(_) => None,
        }
    }
}

impl Value {
    /// The name of its type, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a table",
            Self::Other(_) => "a fraction, a date or a number too large",
        }
    }
}

/// Strings may be secrets, so `Debug` shows none.
impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(flag) => write!(formatter, "{flag}"),
            Self::Integer(number) => write!(formatter, "{number}"),
            Self::List(items) => formatter.debug_list().entries(items).finish(),
            Self::Map(map) => map.fmt(formatter),
            Self::Null | Self::Text(_) | Self::Other(_) => formatter.write_str(self.kind()),
        }
    }
}

impl Map {
    /// Adds an entry; `false` if the name exists already.
    pub fn insert(&mut self, member: Member) -> bool {
        let is_new = self.names.insert(member.key.clone());
        if is_new {
            self.members.push(member);
        }
        is_new
    }

    /// The value of this name.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.iter().find(|member| member.key == key).map(|member| &member.node)
    }

    /// All entries, in the order of writing.
    pub fn iter(&self) -> std::slice::Iter<'_, Member> {
        self.members.iter()
    }

    /// Sorts entries into the order of writing.
    pub(super) fn sort_by_line(&mut self) {
        self.members.sort_by_key(|member| match &member.origin {
            Origin::File { line, .. } => *line,
            Origin::Default | Origin::Directory(_) | Origin::Environment(_) | Origin::Flag(_) => 0,
        });
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a Member;
    type IntoIter = std::slice::Iter<'a, Member>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File { path, line } => write!(formatter, "{}:{line}", path.display()),
            Self::Directory(path) => write!(formatter, "{}", path.display()),
            Self::Environment(name) => write!(formatter, "environment variable {name}"),
            Self::Flag(name) => write!(formatter, "option {name}"),
        }
    }
}
