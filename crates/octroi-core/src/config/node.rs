//! A configuration as it was written: a tree of values that know where they come from.
//!
//! Every format is read into this tree, and everything after that works on the tree alone.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What was written.
    pub value: Value,
    /// Where.
    pub origin: Origin,
}

/// What can be written in any of the formats.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// Nothing; the same as not writing the key.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Node>),
    /// Values by name, in the order of writing.
    Map(Map),
    /// What no setting takes: a fraction, a date, a number that is too large.
    Other(String),
}

/// Values by name, in the order of writing; no name stands twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Map(Vec<Member>);

/// One value of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub key: String,
    /// Where the name stands.
    pub origin: Origin,
    /// The value.
    pub node: Node,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody wrote it.
    Default,
    /// It stands in a file.
    File {
        /// Which.
        path: Arc<Path>,
        /// In which line, from 1.
        line: usize,
    },
    /// It follows from a directory that was found.
    Directory(Arc<Path>),
    /// An environment variable.
    Environment(&'static str),
    /// An option of the command line.
    Flag(&'static str),
}

impl Node {
    /// A value that nobody wrote into a file.
    pub fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin }
    }

    /// The text, if it is one.
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

    /// The values by name, if it is a map.
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
    /// What it is, for messages.
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

/// Texts may be secrets, and nothing here knows which.
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
    /// Adds a value; `false` if the name is taken.
    pub fn insert(&mut self, member: Member) -> bool {
        let is_new = self.get(&member.key).is_none();
        if is_new {
            self.0.push(member);
        }
        is_new
    }

    /// The value of this name.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.iter().find(|member| member.key == key).map(|member| &member.node)
    }

    /// All values, in the order of writing.
    pub fn iter(&self) -> std::slice::Iter<'_, Member> {
        self.0.iter()
    }

    /// Puts values into the order in which they were written.
    pub(super) fn sort_by_line(&mut self) {
        self.0.sort_by_key(|member| match &member.origin {
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
