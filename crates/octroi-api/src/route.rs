//! Routes of the REST interface: a method, a path, and where the arguments are. Each belongs to an operation.

/// Everything below this path is the REST interface.
pub const PREFIX: &str = "/api";
/// Where its description is.
pub const DESCRIPTION_PATH: &str = "/api/openapi.json";

/// A method of HTTP that routes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "they are known")]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// As HTTP spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Reads it; `HEAD` asks for the headers of `GET`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "GET" | "HEAD" => Some(Self::Get),
            "POST" => Some(Self::Post),
            "PUT" => Some(Self::Put),
            "PATCH" => Some(Self::Patch),
            "DELETE" => Some(Self::Delete),
            _ => None,
        }
    }
}

/// Where the arguments are that the path does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the query, under their own names or those listed here: the name in the query, then the member.
    Query(&'static [(&'static str, &'static str)]),
    /// In the body, a JSON object.
    Body,
}

/// What a route is about. It decides the words of its errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Anything.
    #[default]
    Anything,
    /// A server.
    Server,
}

/// A method and a path that an operation answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path; `{id}` stands for one segment.
    pub path: &'static str,
    /// The member of the request that `{id}` is.
    pub id: Option<&'static str>,
    /// Where the other arguments are.
    pub place: Place,
    /// A member that the route itself sets, and no client: its name and its text.
    pub fixed: Option<(&'static str, &'static str)>,
    /// What it is about.
    pub subject: Subject,
    /// The status of a success.
    pub status: u16,
}

impl Route {
    const fn new(method: Method, path: &'static str, place: Place, status: u16) -> Self {
        Self { method, path, id: None, place, fixed: None, subject: Subject::Anything, status }
    }

    /// A route that reads.
    pub const fn get(path: &'static str) -> Self {
        Self::new(Method::Get, path, Place::Query(&[]), 200)
    }

    /// A route that does something.
    pub const fn post(path: &'static str) -> Self {
        Self::new(Method::Post, path, Place::Body, 200)
    }

    /// A route that replaces something.
    pub const fn put(path: &'static str) -> Self {
        Self::new(Method::Put, path, Place::Body, 200)
    }

    /// A route that changes a part of something.
    pub const fn patch(path: &'static str) -> Self {
        Self::new(Method::Patch, path, Place::Body, 200)
    }

    /// A route that removes something.
    pub const fn delete(path: &'static str) -> Self {
        Self::new(Method::Delete, path, Place::Query(&[]), 200)
    }

    /// The member of the request that `{id}` in the path is.
    #[must_use]
    pub const fn id(mut self, member: &'static str) -> Self {
        self.id = Some(member);
        self
    }

    /// Other names in the query: the name there, then the member.
    #[must_use]
    pub const fn query(mut self, names: &'static [(&'static str, &'static str)]) -> Self {
        self.place = Place::Query(names);
        self
    }

    /// A member that the route sets.
    #[must_use]
    pub const fn setting(mut self, member: &'static str, text: &'static str) -> Self {
        self.fixed = Some((member, text));
        self
    }

    /// A success creates something.
    #[must_use]
    pub const fn creating(mut self) -> Self {
        self.status = 201;
        self
    }

    /// It is about a server.
    #[must_use]
    pub const fn about_server(mut self) -> Self {
        self.subject = Subject::Server;
        self
    }

    /// The text of `{id}` if the path is this one's; empty if it has none.
    pub(crate) fn matches<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (mut pattern, mut given) = (self.path.split('/'), path.split('/'));
        let mut id = "";
        loop {
            match (pattern.next(), given.next()) {
                (None, None) => return Some(id),
                (Some("{id}"), Some(segment)) if !segment.is_empty() => id = segment,
                (Some(expected), Some(segment)) if expected == segment => {}
                _ => return None,
            }
        }
    }

    /// Whether a part of its path stands for any text.
    pub(crate) fn has_id(&self) -> bool {
        self.path.contains("{id}")
    }
}
