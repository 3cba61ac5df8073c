//! YAML 1.2: one document, the core schema, anchors but no tags.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::super::node::{Map, Node, Value};
use super::{File, SyntaxError};

/// Deeper than any configuration, and shallow enough for the stack.
const DEPTH_MAX: usize = 64;
/// Aliases can multiply a short text; no real configuration is this large.
const NODES_MAX: usize = 100_000;

pub(super) fn parse(file: &File<'_>) -> Result<Node, SyntaxError> {
    let mut builder = Builder { file, open: Vec::new(), anchors: HashMap::new(), n_nodes: 0, root: None };
    for event in Parser::new_from_str(file.text) {
        let (event, span) = event.map_err(|error| {
            file.error(error.marker().line(), error.marker().col() + 1, error.info().to_owned())
        })?;
        builder.take(event, span)?;
    }
    Ok(builder.root.unwrap_or(Node { value: Value::Map(Map::default()), origin: file.line(1) }))
}

/// Builds the tree from the parser's events.
struct Builder<'a> {
    file: &'a File<'a>,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    n_nodes: usize,
    root: Option<Node>,
}

/// A list or a map that is still open.
struct Open {
    line: usize,
    anchor: usize,
    n_nodes_before: usize,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map(Map, Option<(String, usize)>),
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), SyntaxError> {
        let (line, column) = (span.start.line(), span.start.col() + 1);
        let begin = |content, anchor, n_nodes_before| Open { line, anchor, n_nodes_before, content };
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag(tag.is_some(), line, column)?;
                self.open.push(begin(Content::List(Vec::new()), anchor, self.n_nodes));
                self.check_size(line, column)
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.is_some(), line, column)?;
                self.open.push(begin(Content::Map(Map::default(), None), anchor, self.n_nodes));
                self.check_size(line, column)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => {
                    let value = match open.content {
                        Content::List(items) => Value::List(items),
                        Content::Map(map, _) => Value::Map(map),
                    };
                    let node = Node { value, origin: self.file.line(open.line) };
                    self.remember(open.anchor, &node, self.n_nodes - open.n_nodes_before + 1);
                    self.place(node, open.line, column)
                }
                None => Ok(()),
            },
            Event::Scalar(text, style, anchor, tag) => {
                let is_text =
                    tag.as_ref().is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                self.refuse_tag(tag.is_some() && !is_text, line, column)?;
                let value = if is_text || !matches!(style, ScalarStyle::Plain) {
                    Value::Text(text.into_owned())
                } else {
                    plain(&text)
                };
                let node = Node { value, origin: self.file.line(line) };
                self.remember(anchor, &node, 1);
                self.place(node, line, column)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some((node, n_nodes)) => {
                    self.n_nodes += n_nodes;
                    self.place(node.clone(), line, column)
                }
                None => Err(self.file.error(line, column, "the alias refers to itself")),
            },
        }
    }

    fn remember(&mut self, anchor: usize, node: &Node, n_nodes: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), n_nodes));
        }
    }

    fn place(&mut self, node: Node, line: usize, column: usize) -> Result<(), SyntaxError> {
        self.n_nodes += 1;
        self.check_size(line, column)?;
        match self.open.last_mut().map(|open| &mut open.content) {
            None if self.root.is_some() => {
                Err(self.file.error(line, column, "there is more than one document"))
            }
            None => {
                self.root = Some(node);
                Ok(())
            }
            Some(Content::List(items)) => {
                items.push(node);
                Ok(())
            }
            Some(Content::Map(map, waiting)) => match waiting.take() {
                Some((key, key_line)) => self.file.insert(map, key, key_line, node),
                None => {
                    let key = match node.value {
                        Value::Text(key) | Value::Other(key) => key,
                        Value::Bool(flag) => flag.to_string(),
                        Value::Integer(number) => number.to_string(),
                        Value::Null | Value::List(_) | Value::Map(_) => {
                            return Err(self.file.error(line, column, "a key must be a text"));
                        }
                    };
                    *waiting = Some((key, line));
                    Ok(())
                }
            },
        }
    }

    fn check_size(&self, line: usize, column: usize) -> Result<(), SyntaxError> {
        if self.open.len() > DEPTH_MAX || self.n_nodes > NODES_MAX {
            return Err(self.file.error(line, column, "the document is too deep or too large"));
        }
        Ok(())
    }

    fn refuse_tag(&self, is_tagged: bool, line: usize, column: usize) -> Result<(), SyntaxError> {
        if is_tagged {
            return Err(self.file.error(line, column, "tags are not supported"));
        }
        Ok(())
    }
}

/// An unquoted scalar, by YAML's core schema.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
            let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            match text.parse() {
                Ok(number) if is_whole => Value::Integer(number),
                _ if is_whole => Value::Other(text.to_owned()),
                _ => Value::Text(text.to_owned()),
            }
        }
    }
}
